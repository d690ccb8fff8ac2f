//! Snapshot files whose digest is right, whatever else is wrong: refused, or safe to answer from.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sa_snapshot::Snapshot;
use xxhash_rust::xxh3::xxh3_64;

fuzz_target!(|bytes: &[u8]| {
    let mut bytes = bytes.to_vec();
    if bytes.len() > 16 {
        let digest = xxh3_64(&bytes[16..]);
        bytes[8..16].copy_from_slice(&digest.to_le_bytes());
    }
    if let Ok(snapshot) = Snapshot::from_bytes(&bytes) {
        sa_fuzz::ask_some(&snapshot);
    }
});
