//! Any bytes, and messages that are nearly right, to both ends of the kernel's local service.
//!
//! The bodies are those of the fuzzers (`fuzz`); `SAPPHIRE_FUZZ_SCALE=20` runs them twenty times as
//! often, `SAPPHIRE_FUZZ_SEED=7` on other numbers.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on should stop"
)]

use sa_tests::fuzz::netlink::{World, rfc, rfc_message};
use sa_tests::rng::Rng;
use serde_json::Value;

const VECTORS: [&str; 2] = [
    include_str!("../../golden/netlink/vectors.json"),
    include_str!("../../golden/netlink/own.json"),
];

#[test]
fn every_request_is_answered_rightly_and_nothing_else_is() {
    let times = 100_000 * number("SAPPHIRE_FUZZ_SCALE", 1);
    let mut rng = Rng::new(number("SAPPHIRE_FUZZ_SEED", 1));
    let (mut world, mut input) = (World::new(), [0; 200]);
    for _ in 0..times {
        let length = usize::try_from(8 * (rng.number() % 25 + 1)).unwrap();
        rng.fill(&mut input[..length]);
        world.play(&input[..length]);
    }
    let done = world.done();
    println!("{times} inputs: {done:?}");
    for count in [
        done.requests,
        done.granted,
        done.refused,
        done.accepted,
        done.failed,
    ] {
        assert!(count > times / 1000, "{done:?}");
    }
}

#[test]
fn recorded_messages_with_any_bit_flipped() {
    let mut world = World::new();
    for vector in VECTORS.iter().flat_map(|text| messages(text)) {
        // As they lie there, to each of the three kernels.
        for first in [1, 3, 5] {
            let mut input = [&[first][..], &vector].concat();
            world.play(&input);
            for bit in 8..8 * input.len() {
                input[bit / 8] ^= 1 << (bit % 8);
                world.play(&input);
                input[bit / 8] ^= 1 << (bit % 8);
            }
        }
    }
    assert!(world.done().requests > 10_000, "{:?}", world.done());
}

#[test]
fn proposals_are_read_as_written() {
    let times = 20_000 * number("SAPPHIRE_FUZZ_SCALE", 1);
    let mut rng = Rng::new(number("SAPPHIRE_FUZZ_SEED", 1));
    let (mut input, mut bytes, mut read) = ([0; 160], Vec::new(), 0);
    for _ in 0..times {
        rng.fill(&mut input);
        bytes.clear();
        rfc_message(&input, &mut bytes);
        read += rfc(&bytes);
        rfc(&input);
    }
    assert!(read > times / 4, "{read} of {times}");
}

fn number(name: &str, otherwise: u64) -> u64 {
    let given = std::env::var(name).ok().and_then(|text| text.parse().ok());
    given.unwrap_or(otherwise)
}

fn messages(text: &str) -> Vec<Vec<u8>> {
    let corpus: Value = serde_json::from_str(text).unwrap();
    let bytes = |vector: &Value| {
        let digits = vector["hex"].as_str().unwrap().as_bytes();
        let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16);
        digits.chunks(2).map(|pair| byte(pair).unwrap()).collect()
    };
    corpus["vectors"]
        .as_array()
        .unwrap()
        .iter()
        .map(bytes)
        .collect()
}
