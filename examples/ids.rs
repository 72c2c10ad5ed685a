// SPDX-License-Identifier: MIT
//
// When a Rust program needs IDs of flake.h and sno.h. `make lib` builds the two libraries; `rustc -O -L build ids.rs` links
// with them, or cargo with a build script that prints `cargo:rustc-link-search=build`. (Before version 1.82
// it is `extern`, without `unsafe`.)
//
// Threads may share a generator. Dropping it frees its number; close() says whether that succeeded.
use std::ffi::{CStr, CString};
use std::os::raw::{c_char, c_int};
use std::{error::Error, ptr::null_mut, thread, time::Instant};

#[repr(C)]
pub struct FlakeGen([u8; 0]);
#[repr(C)]
pub struct SnoGen([u8; 0]);
/// flake_parts: the time, the node, and the position within the time unit.
#[repr(C)]
#[derive(Debug, Default)]
pub struct Parts {
    pub unix_ms: i64,
    pub node: u64,
    pub seq: u32,
}

#[link(name = "flake")]
unsafe extern "C" {
    fn flake_new(config: *const c_char, why: *mut c_char) -> *mut FlakeGen;
    fn flake_free(generator: *mut FlakeGen, why: *mut c_char) -> c_int;
    fn flake_next(generator: *mut FlakeGen, id: *mut u64) -> c_int;
    fn flake_next_n(generator: *mut FlakeGen, ids: *mut u64, n: usize) -> c_int;
    fn flake_gen_options(generator: *const FlakeGen) -> *const u8;
    fn flake_decompose(layout: *const u8, id: u64, parts: *mut Parts) -> c_int;
    fn flake_uuid7(text: *mut c_char) -> c_int;
    fn flake_status_str(status: c_int) -> *const c_char;
}

#[link(name = "sno")]
unsafe extern "C" {
    fn sno_gen_new(config: *const c_char, why: *mut c_char) -> *mut SnoGen;
    fn sno_gen_free(generator: *mut SnoGen, why: *mut c_char) -> c_int;
    fn sno_next_n(generator: *mut SnoGen, meta: u8, ids: *mut u8, n: usize) -> c_int;
    fn sno_encode_n(ids: *const u8, n: usize, texts: *mut u8);
}

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

unsafe fn string(text: *const c_char) -> String {
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}
fn flake(status: c_int) -> Result<()> {
    match status {
        0 => Ok(()),
        _ => Err(unsafe { string(flake_status_str(status)) }.into()),
    }
}

/// A generator made of a configuration, whose words are in flake.h, at flake_config.
fn made<T>(
    new: unsafe extern "C" fn(*const c_char, *mut c_char) -> *mut T, config: &str,
) -> Result<*mut T> {
    let (config, mut why) = (CString::new(config)?, [0; 200]);
    let generator = unsafe { new(config.as_ptr(), why.as_mut_ptr()) };
    if generator.is_null() {
        return Err(unsafe { string(why.as_ptr()) }.into());
    }
    Ok(generator)
}

/// 64-bit IDs: Generator::new("twitter node=0-99 dir=/var/lib/app").
pub struct Generator(*mut FlakeGen);
unsafe impl Send for Generator {}
unsafe impl Sync for Generator {} // in C what threads share is atomic
impl Generator {
    pub fn new(config: &str) -> Result<Generator> {
        Ok(Generator(made(flake_new, config)?))
    }
    pub fn close(mut self) -> Result<()> {
        let generator = std::mem::replace(&mut self.0, null_mut());
        let mut why = [0; 200];
        match unsafe { flake_free(generator, why.as_mut_ptr()) } {
            0 => Ok(()),
            _ => Err(unsafe { string(why.as_ptr()) }.into()),
        }
    }
    pub fn next(&self) -> Result<u64> {
        let mut id = 0;
        flake(unsafe { flake_next(self.0, &mut id) })?;
        Ok(id)
    }
    pub fn next_n(&self, n: usize) -> Result<Vec<u64>> {
        let mut ids = vec![0; n];
        flake(unsafe { flake_next_n(self.0, ids.as_mut_ptr(), n) })?;
        Ok(ids)
    }
    pub fn decode(&self, id: u64) -> Result<Parts> {
        let mut parts = Parts::default(); // a generator's options begin with its layout
        flake(unsafe { flake_decompose(flake_gen_options(self.0), id, &mut parts) })?;
        Ok(parts)
    }
}
impl Drop for Generator {
    fn drop(&mut self) {
        unsafe { flake_free(self.0, null_mut()) };
    }
}

/// Greater than all that it returned before in this process.
pub fn uuid7() -> Result<String> {
    let mut text = [0; 37];
    flake(unsafe { flake_uuid7(text.as_mut_ptr()) })?;
    Ok(unsafe { string(text.as_ptr()) })
}

/// 80-bit IDs, here as texts: SnoGenerator::new("node=7 dir=none").
pub struct SnoGenerator(*mut SnoGen);
unsafe impl Send for SnoGenerator {}
unsafe impl Sync for SnoGenerator {}
impl SnoGenerator {
    pub fn new(config: &str) -> Result<SnoGenerator> {
        Ok(SnoGenerator(made(sno_gen_new, config)?))
    }
    pub fn next(&self, meta: u8) -> Result<String> {
        let (mut id, mut text) = ([0; 10], [0; 16]);
        flake(unsafe { sno_next_n(self.0, meta, id.as_mut_ptr(), 1) })?;
        unsafe { sno_encode_n(id.as_ptr(), 1, text.as_mut_ptr()) };
        Ok(String::from_utf8(text.to_vec())?)
    }
}
impl Drop for SnoGenerator {
    fn drop(&mut self) {
        unsafe { sno_gen_free(self.0, null_mut()) };
    }
}

fn main() -> Result<()> {
    let ids = Generator::new("twitter node=7 dir=none")?;
    let snos = SnoGenerator::new("node=7 dir=none")?;
    let first = ids.next()?;
    let parts = ids.decode(first)?;
    println!("flake {}", first);
    println!("made {} by node {}", parts.unix_ms / 1000, parts.node);
    println!("uuid7 {}", uuid7()?);
    // Bits of time, node and sequence of your own, in units of 10 ms since 2020.
    let own = "layout=39-8-16 unit_ms=10 epoch_ms=1577836800000 node=200 dir=none";
    let own = Generator::new(own)?;
    let id = own.next()?;
    println!("own {} of {} by node {}", id, own.decode(id)?.unix_ms, own.decode(id)?.node);
    own.close()?;
    println!("sno {}", snos.next(42)?);

    let begin = Instant::now();
    let mut all = (0..1_000_000).map(|_| ids.next()).collect::<Result<Vec<u64>>>()?;
    println!("one by one: {:.0} ids/s", 1e6 / begin.elapsed().as_secs_f64());
    let begin = Instant::now();
    for _ in 0..1000 {
        all.extend(ids.next_n(1000)?);
    }
    println!("in batches: {:.0} ids/s", 1e6 / begin.elapsed().as_secs_f64());
    let draw = || (0..100_000).map(|_| ids.next()).collect::<Result<Vec<u64>>>();
    let drawn =
        thread::scope(|scope| [(); 4].map(|_| scope.spawn(draw)).map(|t| t.join().unwrap()));
    for some in drawn {
        all.extend(some?);
    }
    all.sort_unstable();
    all.dedup();
    if all.len() != 2_400_000 {
        return Err("an id came twice".into());
    }
    println!("4 threads: 2400000 ids, all differ");

    for config in ["twitter node=99999 dir=none", "twitte", "twitter"] {
        match Generator::new(config) {
            Ok(_) => return Err(format!("not refused: {}", config).into()),
            Err(refused) => println!("refused: {}", refused),
        }
    }
    match SnoGenerator::new("node=65536 dir=none") {
        Ok(_) => return Err("not refused: node 65536".into()),
        Err(refused) => println!("refused: {}", refused),
    }
    ids.close()
}
