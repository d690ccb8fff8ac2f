//! Any bytes as announcements, records and root files: never a panic, and one encoding of what is accepted.
//!
//! The body is that of the fuzzer `fleet`; `SAPPHIRE_FUZZ_SCALE=20` runs it twenty times as often.

use sa_tests::fuzz::fleet::random;

#[test]
fn any_bytes_of_a_fleet_are_refused_or_have_one_encoding() {
    let scale = std::env::var("SAPPHIRE_FUZZ_SCALE").ok();
    let scale: u64 = scale.and_then(|text| text.parse().ok()).unwrap_or(1);
    let done = random(20_000 * scale, 1);
    println!("{done:?}");
    // Both sides of the checks behind the signature are reached.
    assert!(done.opened > 500 * scale, "{done:?}");
    assert!(done.refused > 10_000 * scale, "{done:?}");
}
