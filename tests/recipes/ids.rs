// SPDX-License-Identifier: MIT
//
// Ids of flake.h and sno.h in Rust. `make lib` builds the two libraries; `rustc -O -L build ids.rs` links
// with them, or cargo with a build script that prints `cargo:rustc-link-search=build`. (Before version 1.82
// it is `extern`, without `unsafe`.)
//
// Threads may share a generator. Its handle may move; its memory must not, and is in a box.
use std::cell::UnsafeCell;
use std::ffi::{CStr, CString};
use std::os::raw::{c_char, c_int, c_void};
use std::{error::Error, thread, time::Instant};

#[link(name = "flake")]
unsafe extern "C" {
    fn flake_sizeof_gen() -> usize;
    fn flake_sizeof_options() -> usize;
    fn flake_options_set(
        o: *mut c_void, name: *const c_char, value: *const c_char, why: *mut c_char,
    ) -> c_int;
    fn flake_options_why(options: *const c_void) -> *const c_char;
    fn flake_init(generator: *mut c_void, options: *const c_void) -> c_int;
    fn flake_next(generator: *mut c_void, id: *mut u64) -> c_int;
    fn flake_next_n(generator: *mut c_void, ids: *mut u64, n: usize) -> c_int;
    fn flake_uuid7(text: *mut c_char) -> c_int;
    fn flake_status_str(status: c_int) -> *const c_char;
}

#[link(name = "sno")]
unsafe extern "C" {
    fn sno_sizeof_gen() -> usize;
    fn sno_sizeof_snapshot() -> usize;
    fn sno_snapshot_set(
        s: *mut c_void, name: *const c_char, value: *const c_char, why: *mut c_char,
    ) -> c_int;
    fn sno_init(
        generator: *mut c_void, snapshot: *const c_void, options: *const c_void, why: *mut c_char,
    ) -> c_int;
    fn sno_next_n(generator: *mut c_void, meta: u8, ids: *mut u8, n: usize) -> c_int;
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

/// A call that says in its last argument what it refuses.
fn told(call: impl FnOnce(*mut c_char) -> c_int) -> Result<()> {
    let mut why = [0; 200];
    match call(why.as_mut_ptr()) {
        0 => Ok(()),
        _ => Err(unsafe { string(why.as_ptr()) }.into()),
    }
}

/// An object of C's, all zero at first.
struct Memory(Box<[UnsafeCell<u8>]>);
unsafe impl Sync for Memory {} // in C what threads share is atomic
impl Memory {
    fn new(size: usize) -> Memory {
        Memory((0..size).map(|_| UnsafeCell::new(0)).collect())
    }
    fn at(&self) -> *mut c_void {
        self.0.as_ptr() as *mut c_void
    }
}

/// 64-bit ids.
pub struct Generator(Memory);
impl Generator {
    /// Further options of flake.h are set as these are.
    pub fn new(layout: &str, node: u32) -> Result<Generator> {
        let (layout, node) = (CString::new(layout)?, CString::new(node.to_string())?);
        unsafe {
            let (memory, o) =
                (Memory::new(flake_sizeof_gen()), Memory::new(flake_sizeof_options()));
            let options: [(&[u8], &CStr); 2] = [(b"layout\0", &layout), (b"node\0", &node)];
            for (name, value) in options {
                let (name, value) = (name.as_ptr().cast(), value.as_ptr());
                told(|why| flake_options_set(o.at(), name, value, why))?;
            }
            let why = flake_options_why(o.at());
            if !why.is_null() {
                return Err(string(why).into());
            }
            flake(flake_init(memory.at(), o.at()))?;
            Ok(Generator(memory))
        }
    }
    pub fn next(&self) -> Result<u64> {
        let mut id = 0;
        flake(unsafe { flake_next(self.0.at(), &mut id) })?;
        Ok(id)
    }
    pub fn next_n(&self, n: usize) -> Result<Vec<u64>> {
        let mut ids = vec![0; n];
        flake(unsafe { flake_next_n(self.0.at(), ids.as_mut_ptr(), n) })?;
        Ok(ids)
    }
}

/// Greater than all that it returned before in this process.
pub fn uuid7() -> Result<String> {
    let mut text = [0; 37];
    flake(unsafe { flake_uuid7(text.as_mut_ptr()) })?;
    Ok(unsafe { string(text.as_ptr()) })
}

/// 80-bit ids, here as texts. Generators that run at once need partitions of their own.
pub struct SnoGenerator(Memory);
impl SnoGenerator {
    pub fn new(partition: u16) -> Result<SnoGenerator> {
        let partition = CString::new(partition.to_string())?;
        unsafe {
            let (memory, start) = (Memory::new(sno_sizeof_gen()), Memory::new(sno_sizeof_snapshot()));
            let name = b"partition\0".as_ptr().cast();
            told(|why| sno_snapshot_set(start.at(), name, partition.as_ptr(), why))?;
            told(|why| sno_init(memory.at(), start.at(), std::ptr::null(), why))?;
            Ok(SnoGenerator(memory))
        }
    }
    pub fn next(&self, meta: u8) -> Result<String> {
        let (mut id, mut text) = ([0; 10], [0; 16]);
        flake(unsafe { sno_next_n(self.0.at(), meta, id.as_mut_ptr(), 1) })?;
        unsafe { sno_encode_n(id.as_ptr(), 1, text.as_mut_ptr()) };
        Ok(String::from_utf8(text.to_vec())?)
    }
}

fn main() -> Result<()> {
    let (ids, snos) = (Generator::new("twitter", 7)?, SnoGenerator::new(7)?);
    println!("flake {}", ids.next()?);
    println!("uuid7 {}", uuid7()?);
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

    for (layout, node) in [("twitter", 99999), ("twitte", 7)] {
        match Generator::new(layout, node) {
            Ok(_) => return Err(format!("not refused: {}, {}", layout, node).into()),
            Err(refused) => println!("refused: {}", refused),
        }
    }
    Ok(())
}
