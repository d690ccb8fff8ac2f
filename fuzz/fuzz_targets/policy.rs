//! QoS policies in OpenSM's dialect: reading, compiling.
#![no_main]

use libfuzzer_sys::fuzz_target;
use policy::Dialect;

fuzz_target!(|bytes: &[u8]| {
    sa_fuzz::policy(bytes, Dialect::OpenSm);
});
