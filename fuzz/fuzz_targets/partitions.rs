//! `partitions.conf`, and who is in which partition by it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use policy::{PartitionOptions, Partitions, PartitionsConfig};

fuzz_target!(|bytes: &[u8]| {
    match PartitionsConfig::parse(&sa_text::decode(bytes)) {
        Ok(config) => {
            for allow_both_pkeys in [false, true] {
                let options = PartitionOptions { qos: true, allow_both_pkeys };
                drop(Partitions::new(&config, &sa_fuzz::WORLD.parts.facts, options));
            }
        }
        Err(error) => sa_fuzz::in_text(bytes, error.line(), error.column()),
    }
});
