//! Any bytes, and messages made of them, to the agent of the local service and to the emulated
//! kernel; replies and outcomes are judged.
#![no_main]

use std::cell::RefCell;

use sa_tests::fuzz::netlink::World;

thread_local!(static WORLD: RefCell<World> = RefCell::new(World::new()));

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    WORLD.with_borrow_mut(|world| world.play(input));
});
