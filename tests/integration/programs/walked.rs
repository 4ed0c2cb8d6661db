// SPDX-License-Identifier: MIT
//! walked.rs - as walked.c, in Rust: trait objects, closures, collections, panics. It goes on until it is killed.
use std::collections::{BTreeMap, HashMap};
use std::panic;

trait Shape {
    fn area(&self, depth: u32) -> u64;
}

struct Square(u64);
struct Pair(Box<dyn Shape>, Box<dyn Shape>);

impl Shape for Square {
    fn area(&self, depth: u32) -> u64 {
        if depth == 0 {
            panic!("no depth is left");
        }
        self.0 * self.0
    }
}

impl Shape for Pair {
    fn area(&self, depth: u32) -> u64 {
        let kept = vec![1u8; 40]; // dropped by the panic
        self.0.area(depth - 1) + self.1.area(depth - 1) + kept.len() as u64
    }
}

fn make(depth: u32) -> Box<dyn Shape> {
    if depth == 0 {
        Box::new(Square(3))
    } else {
        Box::new(Pair(make(depth - 1), make(depth - 1)))
    }
}

fn main() {
    let mut seen: HashMap<String, u64> = HashMap::new();
    panic::set_hook(Box::new(|_| {}));
    for round in 0u32.. {
        let whole = make(4);
        let area = panic::catch_unwind(panic::AssertUnwindSafe(|| whole.area(4 + u32::from(round % 2 > 0))));
        seen.insert(format!("{round}"), area.unwrap_or(0));
        let mut names: Vec<String> = (0..20).map(|i| format!("{} {:.1}", i * 7 % 20, f64::from(i) * 1.5)).collect();
        names.sort_by_key(|name| name.len());
        let sorted: BTreeMap<&str, usize> = names.iter().map(|name| (name.as_str(), name.len())).collect();
        if seen.len() + sorted.len() > 70 {
            seen.clear();
        }
    }
}
