//! What hosts of a fleet read: announcements, records of what was seen, root files. Nothing may panic, and what is
//! accepted has one encoding.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    sa_tests::fuzz::fleet::run(input);
});
