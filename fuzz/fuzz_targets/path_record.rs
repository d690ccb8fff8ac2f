//! PathRecord requests, asked of several fabrics in every way; replies are judged.
#![no_main]

use sa_tests::fuzz::asks::{ask, path_record};

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    ask(&path_record(input));
});
