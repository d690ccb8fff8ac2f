//! `torus-2QoS.conf`, and routing a small torus by whatever it says.
#![no_main]

use libfuzzer_sys::fuzz_target;
use routing::{Qos, TorusConfig};
use routing::engine::torus;

fuzz_target!(|bytes: &[u8]| {
    let text = sa_text::decode(bytes);
    match TorusConfig::parse(&text) {
        Ok(config) => {
            let _ = torus::route(&sa_fuzz::WORLD.parts.topology, &config, Qos::On);
        }
        Err(errors) => {
            assert!(!errors.0.is_empty());
            errors.0.iter().for_each(|error| sa_fuzz::in_text(bytes, error.at.line, error.at.column));
        }
    }
});
