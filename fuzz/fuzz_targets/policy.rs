//! QoS policies: reading, compiling, and a snapshot with them.
#![no_main]

use libfuzzer_sys::fuzz_target;
use policy::{ParseOptions, compile, decode, parse};

fuzz_target!(|bytes: &[u8]| {
    let parts = &sa_fuzz::WORLD.parts;
    let compiled = parse(&decode(bytes), &ParseOptions::default())
        .and_then(|policy| compile(&policy, &parts.facts, &parts.partitions));
    if let Err(error) = compiled {
        sa_fuzz::in_text(bytes, error.line(), error.column());
    }
});
