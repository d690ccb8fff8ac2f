//! Any bytes as messages of the local service in the layout of its RFC v2.
#![no_main]

use sa_tests::fuzz::netlink::rfc;

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    rfc(input);
});
