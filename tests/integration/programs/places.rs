// SPDX-License-Identifier: MIT
//! places.rs - as places.c, in Rust.
use std::hint::black_box;

const COUNT: usize = 64;
const ROUNDS: usize = 50;

extern "C" {
    fn clock() -> i64; // in microseconds
}

#[inline]
fn mix(mut value: u32) -> u32 {
    value ^= value << 13;
    value ^= value >> 17;
    value ^= value << 5;
    value
}

#[no_mangle]
#[inline(never)]
pub extern "C" fn compare(one: &u32, other: &u32) -> i32 {
    (*one > *other) as i32 - (*one < *other) as i32
}

#[no_mangle]
#[inline(never)]
pub extern "C" fn draw(state: &mut u32) -> u32 {
    *state = mix(*state);
    *state
}

#[no_mangle]
#[inline(never)]
pub extern "C" fn triple(value: u32) -> u32 {
    black_box(value).wrapping_mul(3)
}

#[no_mangle]
#[inline(never)]
pub extern "C" fn divide(value: u32, by: u32) -> u32 {
    value / (by | 1)
}

#[no_mangle]
#[inline(never)]
pub extern "C" fn fill(array: &mut [u32; COUNT], state: &mut u32) {
    for each in array.iter_mut() {
        *each = draw(state);
    }
}

#[no_mangle]
#[inline(never)]
pub extern "C" fn sort(array: &mut [u32; COUNT]) {
    for i in 1..COUNT {
        let mut k = i;
        while k > 0 && compare(&array[k - 1], &array[k]) > 0 {
            array.swap(k - 1, k);
            k -= 1;
        }
    }
}

#[no_mangle]
#[inline(never)]
pub extern "C" fn work(state: &mut u32) {
    let mut array = [0u32; COUNT];
    for _ in 0..ROUNDS {
        fill(&mut array, state);
        sort(&mut array);
        for each in array.iter() {
            black_box(divide(triple(*each), draw(state)));
        }
    }
}

fn main() {
    let milliseconds: i64 = std::env::args().nth(1).map_or(100, |word| word.parse().unwrap());
    let mut state = 1;
    while unsafe { clock() } < milliseconds * 1000 {
        work(&mut state);
    }
}
