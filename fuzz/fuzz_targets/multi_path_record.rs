//! MultiPathRecord requests, asked of several fabrics in every way; replies are judged.
#![no_main]

use sa_tests::fuzz::asks::{ask, multi_path_record};

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    ask(&multi_path_record(input));
});
