// SPDX-License-Identifier: MIT
//
// peers NAME THREADS IDS REPEATS   times IDs of a Rust crate in bursts, checks them outside the timed part, and writes
// a line for each repetition, as Go's benchmarks do. --list: the names.
use std::collections::HashSet;
use std::env;
use std::hash::Hash;
use std::hint::spin_loop;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};

const BURST: usize = 1024; // of all threads; a ms has 4096 IDs

struct Run {
    name: &'static str,
    threads: usize,
    ids: usize,
    repeats: usize,
}

/// Waits until all threads are here; each waits busily, so that they begin at once.
fn meet(arrived: &AtomicUsize, threads: usize) {
    let before = arrived.fetch_add(1, SeqCst);
    while arrived.load(SeqCst) < (before / threads + 1) * threads {
        spin_loop();
    }
}

/// `make` is called by each thread, with its number, for a function that generates one ID.
fn measure<Id: Copy + Default + Eq + Hash + Ord + Send, Draw: FnMut() -> Id>(run: &Run, make: impl Fn(usize) -> Draw + Sync) {
    let each = BURST / run.threads;
    for _ in 0..run.repeats {
        let arrived = AtomicUsize::new(0);
        let of_threads: Vec<(Vec<Id>, Vec<f64>)> = thread::scope(|scope| {
            let crew: Vec<_> = (0..run.threads)
                .map(|number| {
                    let (arrived, make) = (&arrived, &make);
                    scope.spawn(move || {
                        let mut draw = make(number);
                        let (mut ids, mut took) = (Vec::new(), Vec::new());
                        let mut burst = vec![Id::default(); each];
                        while ids.len() < run.ids {
                            let pause = Instant::now(); // longer than a unit, so that none is exhausted
                            while pause.elapsed() < Duration::from_micros(1500) {
                                spin_loop();
                            }
                            meet(arrived, run.threads);
                            let began = Instant::now();
                            for id in burst.iter_mut() {
                                *id = draw();
                            }
                            took.push(began.elapsed().as_nanos() as f64 / each as f64);
                            ids.extend_from_slice(&burst);
                        }
                        (ids, took)
                    })
                })
                .collect();
            crew.into_iter().map(|member| member.join().unwrap()).collect()
        });
        let (mut seen, mut falls, mut ns) = (HashSet::new(), 0, 0.0);
        for (ids, took) in &of_threads {
            falls += ids.windows(2).filter(|pair| pair[1] <= pair[0]).count();
            seen.extend(ids.iter().copied());
            let mut sorted = took.clone();
            sorted.sort_by(f64::total_cmp);
            ns += sorted[sorted.len() / 2] / run.threads as f64;
        }
        let all: usize = of_threads.iter().map(|(ids, _)| ids.len()).sum();
        println!(
            "Benchmark{}-{} {} {:.3} ns/op {} ids {} duplicates {} falls",
            run.name, run.threads, run.ids, ns, all, all - seen.len(), falls
        );
    }
}

/// Twitter's layout: 41 bits of time, 10 of node, 12 of sequence.
#[cfg(feature = "ferroid")]
fn ferroid(run: &Run) -> bool {
    use ferroid::generator::{AtomicSnowflakeGenerator, BasicSnowflakeGenerator, LockSnowflakeGenerator};
    use ferroid::id::SnowflakeTwitterId;
    use ferroid::time::{MonotonicClock, TWITTER_EPOCH};
    let clock = MonotonicClock::<1>::with_epoch(TWITTER_EPOCH);
    match run.name {
        "FerroidBasic" => measure(run, |thread| {
            let own = BasicSnowflakeGenerator::<SnowflakeTwitterId, _>::new(thread as u64, clock.clone());
            move || own.next_id(|_| spin_loop()).to_raw()
        }),
        "FerroidAtomic" => {
            let shared = AtomicSnowflakeGenerator::<SnowflakeTwitterId, _>::new(7, clock);
            measure(run, |_| || shared.next_id(|_| spin_loop()).to_raw())
        }
        "FerroidLock" => {
            let shared = LockSnowflakeGenerator::<SnowflakeTwitterId, _>::new(7, clock);
            measure(run, |_| || shared.try_next_id(|_| spin_loop()).unwrap().to_raw())
        }
        _ => return false,
    }
    true
}

#[cfg(feature = "fast-uuid-v7")]
fn fast_uuid_v7(run: &Run) -> bool {
    match run.name {
        "FastUuidV7" => measure(run, |_| fast_uuid_v7::gen_id),
        "FastUuidV7Text" => {
            #[derive(Clone, Copy, Eq, Hash, Ord, PartialEq, PartialOrd)]
            struct Text(fast_uuid_v7::UuidString);
            impl Default for Text {
                fn default() -> Self {
                    Text(fast_uuid_v7::format_uuid(0))
                }
            }
            measure(run, |_| || Text(fast_uuid_v7::gen_id_str()))
        }
        _ => return false,
    }
    true
}

fn main() {
    let words: Vec<String> = env::args().skip(1).collect();
    let peers: &[(&'static str, fn(&Run) -> bool)] = &[
        #[cfg(feature = "ferroid")]
        ("FerroidBasic", ferroid),
        #[cfg(feature = "ferroid")]
        ("FerroidAtomic", ferroid),
        #[cfg(feature = "ferroid")]
        ("FerroidLock", ferroid),
        #[cfg(feature = "fast-uuid-v7")]
        ("FastUuidV7", fast_uuid_v7),
        #[cfg(feature = "fast-uuid-v7")]
        ("FastUuidV7Text", fast_uuid_v7),
    ];
    for (name, measure) in peers {
        match &words[..] {
            [word] if word == "--list" => println!("{name}"),
            [word, numbers @ ..] if word == name => {
                let number = |at: usize| numbers[at].parse().expect("a number");
                let _ = measure(&Run { name, threads: number(0), ids: number(1), repeats: number(2) });
            }
            _ => {}
        }
    }
}
