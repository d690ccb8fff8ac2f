//! An allocator that counts for each thread, to show that a thread neither allocates nor frees.
//! A test makes it the global one: `#[global_allocator] static ALLOCATOR: Counting = Counting;`

#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// The system's allocator, counting what the calling thread does.
#[derive(Debug)]
pub struct Counting;

thread_local! {
    static CALLS: Cell<u64> = const { Cell::new(0) };
}

/// Allocator calls of this thread so far.
pub fn calls() -> u64 {
    CALLS.with(Cell::get)
}

/// Allocator calls of `work` on this thread, and what it gives.
pub fn counted<T>(work: impl FnOnce() -> T) -> (u64, T) {
    let before = calls();
    let result = work();
    (calls() - before, result)
}

/// Does `work` without counting.
pub fn uncounted<T>(work: impl FnOnce() -> T) -> T {
    let before = calls();
    let result = work();
    CALLS.with(|calls| calls.set(before));
    result
}

fn count() {
    // The counter has no destructor, so it can be reached at any time.
    let _ = CALLS.try_with(|calls| calls.set(calls.get() + 1));
}

// SAFETY: every method hands its arguments to the system allocator unchanged; counting touches a
// thread-local that needs no allocation.
// WHY: nothing but a global allocator sees every allocation.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: as given.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        count();
        // SAFETY: as given.
        unsafe { System.dealloc(place, layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: as given.
        unsafe { System.realloc(place, layout, size) }
    }
}
