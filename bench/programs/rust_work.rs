// SPDX-License-Identifier: MIT
//! Work that is all over Rust's library: rust_work ROUNDS. Prints its own times.
use std::collections::{BTreeMap, HashMap};
use std::time::Instant;

#[repr(C)]
struct Timespec {
    seconds: i64,
    nanoseconds: i64,
}

extern "C" {
    fn clock_gettime(clock: i32, now: *mut Timespec) -> i32;
}

const CLOCK_PROCESS_CPUTIME_ID: i32 = 2;

fn cpu_ns() -> i64 {
    let mut now = Timespec { seconds: 0, nanoseconds: 0 };
    unsafe { clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &mut now) };
    now.seconds * 1_000_000_000 + now.nanoseconds
}

fn work(number: u64) -> u64 {
    let words: Vec<String> = (0..200).map(|i| format!("{}-{:x}", i * number, i ^ number)).collect();
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for word in &words {
        for part in word.split('-') {
            *counts.entry(part).or_insert(0) += 1;
        }
    }
    let ordered: BTreeMap<_, _> = counts.iter().collect();
    let mut all: Vec<_> = ordered.iter().map(|(part, count)| (part.len() * **count, part.to_uppercase())).collect();
    all.sort();
    all.iter().map(|(size, part)| *size as u64 + part.bytes().map(u64::from).sum::<u64>()).sum()
}

fn main() {
    let begun = Instant::now();
    let rounds: u64 = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(0);
    let result = (1..=rounds).map(work).fold(0, u64::wrapping_add);
    println!("work wall_ns={} cpu_ns={} result={:x}", begun.elapsed().as_nanos(), cpu_ns(), result);
}
