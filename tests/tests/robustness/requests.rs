//! Any bytes as a request or as a part of an RMPP transfer, on whole snapshots and on damaged ones
//! whose digest is right: never a panic, and every reply is a legal one.
//!
//! The bodies are those of the fuzzers (`fuzz`); `SAPPHIRE_FUZZ_SCALE=20` runs them twenty times as
//! often, `SAPPHIRE_FUZZ_SEED=7` on other numbers. What they have found is in `tests/golden/fuzz`.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on should stop"
)]

use std::collections::BTreeMap;

use super::files::{WORLD, cases, inputs};
use proptest::prelude::*;
use proptest::sample::Index;
use sa_answer::whole::{punted, respond, too_long};
use sa_compiler::pipeline::{self, OnPolicyError};
use sa_service::dispatch::respond_with;
use sa_snapshot::Snapshot;
use sa_tests::fuzz::asks::{Request, Seen, ask, mad, multi_path_record, path_record, to_mad_input};
use sa_tests::fuzz::corpus::{Line, programs, requests};
use sa_tests::fuzz::legal::{Made, judge};
use sa_tests::fuzz::transfers;
use sa_tests::rng::Rng;
use sa_wire::umad::Slot;

const MADS: &str = include_str!("../../golden/fuzz/mad.txt");
const PATH_RECORDS: &str = include_str!("../../golden/fuzz/path_record.txt");
const MULTI_PATH_RECORDS: &str = include_str!("../../golden/fuzz/multi_path_record.txt");
const PROGRAMS: &str = include_str!("../../golden/fuzz/rmpp.txt");

/// How often each kind of reply was seen.
type Counts = BTreeMap<Seen, u64>;

fn corpus() -> Vec<Line> {
    let files = [MADS, PATH_RECORDS, MULTI_PATH_RECORDS];
    files.into_iter().flat_map(requests).collect()
}

#[test]
fn the_corpus_gets_what_it_says() {
    let (mut counts, mut others) = (Counts::new(), Vec::new());
    for line in corpus() {
        for request in &line.requests {
            let seen = ask(request);
            *counts.entry(seen).or_default() += 1;
            if line.gets.is_some_and(|gets| gets != seen) {
                others.push(format!("{}: {seen:x?}, not {:x?}", line.name, line.gets));
            }
        }
    }
    println!("{counts:?}");
    assert!(others.is_empty(), "{others:#?}");
    let statuses = [0x0004, 0x000c, 0x0200, 0x0300, 0x0400, 0x0500, 0x0600];
    let all = statuses.map(Seen::Status).into_iter();
    let all = all.chain([Seen::Silence, Seen::Empty, Seen::Short, Seen::Long]);
    for seen in all {
        assert!(
            counts.contains_key(&seen),
            "nothing in the corpus gets {seen:?}"
        );
    }
}

#[test]
fn the_corpus_is_what_the_fuzzer_begins_with() {
    for line in corpus() {
        let (world, slot) = &line.requests[0];
        let (same_world, same) = mad(&to_mad_input(&line.requests[0]));
        assert_eq!(world.name, same_world.name);
        assert!(
            (slot.header, slot.mad) == (same.header, same.mad),
            "{}",
            line.name
        );
    }
}

#[test]
fn every_single_bit_flip_of_the_corpus_gets_a_legal_reply() {
    let lines = corpus();
    let seeds: Vec<_> = lines
        .iter()
        .filter(|line| line.requests.len() == 1)
        .collect();
    println!("{} seeds", seeds.len());
    assert!(seeds.len() >= 50, "{}", seeds.len());
    for seed in seeds {
        let (world, slot) = &seed.requests[0];
        for bit in 0..8 * slot.mad.len() {
            let mut flipped = *slot;
            flipped.mad[bit / 8] ^= 1 << (bit % 8);
            ask(&(world, flipped));
        }
    }
}

#[test]
fn programs_of_the_corpus_leave_nothing_behind() {
    let programs = programs(PROGRAMS);
    assert!(programs.len() >= 10, "{}", programs.len());
    for (name, program) in programs {
        println!("{name}: {:?}", transfers::run(&program));
    }
}

#[test]
fn any_mad_gets_a_legal_reply() {
    let counts = roll(1, 400_000, 300, mad);
    let wanted = [0x0004, 0x000c, 0x0200, 0x0300].map(Seen::Status);
    let others = [Seen::Silence, Seen::Empty, Seen::Short];
    assert!(
        wanted
            .iter()
            .chain(&others)
            .all(|seen| counts.contains_key(seen)),
        "{counts:?}"
    );
}

#[test]
fn any_path_record_request_gets_a_legal_reply() {
    let counts = roll(2, 300_000, 128, path_record);
    let wanted = [0x000c, 0x0200, 0x0300, 0x0600].map(Seen::Status);
    let others = [Seen::Silence, Seen::Empty, Seen::Short, Seen::Long];
    assert!(
        wanted
            .iter()
            .chain(&others)
            .all(|seen| counts.contains_key(seen)),
        "{counts:?}"
    );
}

#[test]
fn any_multi_path_record_request_gets_a_legal_reply() {
    let counts = roll(3, 300_000, 160, multi_path_record);
    let wanted = [0x000c, 0x0200, 0x0500, 0x0600].map(Seen::Status);
    let others = [Seen::Silence, Seen::Empty, Seen::Short, Seen::Long];
    assert!(
        wanted
            .iter()
            .chain(&others)
            .all(|seen| counts.contains_key(seen)),
        "{counts:?}"
    );
}

#[test]
fn any_program_of_rmpp_leaves_nothing_behind() {
    let mut rng = rng(4);
    let mut sum = transfers::Done::default();
    for _ in 0..scaled(20_000) {
        let mut bytes = [0; 120];
        rng.fill(&mut bytes);
        let done = transfers::run(&bytes);
        sum.sent += done.sent;
        sum.messages += done.messages;
        sum.delivered += done.delivered;
        sum.given_up += done.given_up;
    }
    println!("{sum:?}");
    assert!(
        sum.messages > 0 && sum.delivered > 0 && sum.given_up > 0,
        "{sum:?}"
    );
}

/// Asks for what so many inputs of so many random bytes stand for.
fn roll(seed: u64, times: u64, bytes: usize, request: fn(&[u8]) -> Request) -> Counts {
    let (mut rng, mut counts) = (rng(seed), Counts::new());
    let mut input = vec![0; bytes];
    for _ in 0..scaled(times) {
        rng.fill(&mut input);
        *counts.entry(ask(&request(&input))).or_default() += 1;
    }
    println!("{counts:?}");
    counts
}

/// The same numbers in every run, unless the environment asks for others.
fn rng(test: u64) -> Rng {
    let seed = std::env::var("SAPPHIRE_FUZZ_SEED")
        .ok()
        .and_then(|text| text.parse::<u64>().ok());
    Rng::new(seed.unwrap_or(0) << 8 | test)
}

fn scaled(times: u64) -> u64 {
    times * u64::from(cases(1).cases)
}

#[test]
fn the_judge_sees_changed_replies() {
    let (mut changed, mut passed) = (0, BTreeMap::<usize, u32>::new());
    for line in corpus() {
        let (world, slot) = &line.requests[0];
        let (snapshot, parts) = (&world.compiled.snapshot, &world.compiled.parts);
        let Some(reply) = respond_with(snapshot, Some(parts), slot) else {
            continue;
        };
        let is_state = sa_service::records::serves(sa_wire::sa::AttributeId(u16::from_be_bytes([
            slot.mad[16],
            slot.mad[17],
        ])));
        let judged = if is_state || slot.mad[17] == 1 {
            56
        } else {
            reply.len().min(120)
        };
        for at in 0..judged {
            let mut reply = reply.clone();
            reply[at] ^= 0x40;
            changed += 1;
            if judge(world, Made::FromParts, slot, Some(&reply)).is_ok() {
                *passed.entry(at).or_default() += 1;
            }
        }
        let is_seen = |reply: &[u8]| judge(world, Made::FromParts, slot, Some(reply)).is_err();
        assert!(is_seen(&reply[..reply.len() - 1]), "{}: cut off", line.name);
        assert!(
            is_seen(&[&reply[..], &[0]].concat()),
            "{}: too long",
            line.name
        );
    }
    println!("{changed} changes");
    assert!(
        passed.is_empty(),
        "of {changed} changes these pass, by offset: {passed:?}"
    );
}

/// Asks in every way there is, where nothing is known of the fabric but the snapshot.
fn survive(snapshot: &Snapshot, slot: &Slot) {
    let reply = respond(snapshot, slot);
    assert_eq!(
        reply,
        respond(snapshot, slot),
        "the same request gets the same bytes"
    );
    let _ = punted(snapshot, slot);
    let _ = too_long(slot);
}

/// The digest that a snapshot of these bytes must carry. Whatever is read as an input is noted
/// with it; a policy may be anything here.
fn digest(bytes: &[u8]) -> u64 {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("policy.conf");
    std::fs::write(&path, bytes).unwrap();
    std::fs::write(directory.path().join("net"), WORLD.file("net")).unwrap();
    let inputs = pipeline::Inputs {
        policy: Some(path),
        on_policy_error: OnPolicyError::None,
        lids: None,
        torus_conf: None,
        partitions: None,
        opensm_conf: None,
        ..inputs(directory.path())
    };
    let sources = pipeline::read(&inputs).unwrap();
    let line = sources
        .provenance
        .iter()
        .find(|line| line.starts_with("policy "))
        .unwrap();
    let (_, digits) = line.split_once("xxh3:").unwrap();
    u64::from_str_radix(digits, 16).unwrap()
}

#[test]
fn the_digest_is_the_snapshots() {
    let bytes = WORLD.compiled.snapshot.as_bytes();
    assert_eq!(bytes[8..16], digest(&bytes[16..]).to_le_bytes());
}

/// Mostly requests for paths between ports that exist: the torus of the worlds is [`WORLD`]'s.
fn likely() -> impl Strategy<Value = Slot> {
    let bytes = prop::collection::vec(any::<u8>(), 160);
    (bytes, any::<bool>()).prop_map(|(mut bytes, is_multi)| {
        bytes[0] = 0;
        let (_, slot) = if is_multi {
            multi_path_record(&bytes)
        } else {
            path_record(&bytes)
        };
        slot
    })
}

proptest! {
    #![proptest_config(cases(1000))]

    /// Damage that keeps the digest right reaches the structural checks; what they let through
    /// must still be safe to answer from.
    #[test]
    fn damaged_snapshots_are_refused_or_safe(
        edits in prop::collection::vec((any::<Index>(), any::<u8>(), any::<bool>()), 1..4),
        requests in prop::collection::vec(likely(), 4),
    ) {
        let mut bytes = WORLD.compiled.snapshot.as_bytes().to_vec();
        for (at, value, early) in edits {
            // Headers and small tables, where structure lies, are hit more often.
            let end = if early { 4096 } else { bytes.len() };
            bytes[16 + at.index(end - 16)] = value;
        }
        let digest = digest(&bytes[16..]);
        bytes[8..16].copy_from_slice(&digest.to_le_bytes());
        if let Ok(snapshot) = Snapshot::from_bytes(&bytes) {
            for slot in requests {
                survive(&snapshot, &slot);
            }
        }
    }
}
