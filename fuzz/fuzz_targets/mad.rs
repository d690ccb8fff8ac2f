//! Any MAD, asked of several fabrics in every way; replies are judged. What the first bytes choose
//! is put right in it.
#![no_main]

use sa_tests::fuzz::asks::{ask, mad};

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    ask(&mad(input));
});
