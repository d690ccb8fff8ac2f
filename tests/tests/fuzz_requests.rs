//! Any bytes as a request, on whole snapshots and on damaged ones whose digest is right: never a
//! panic, and every reply is one.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on should stop"
)]

mod fuzz_common;

use fuzz_common::{WORLD, cases, inputs};
use proptest::prelude::*;
use proptest::sample::Index;
use sa_snapshot::Snapshot;
use sa_wire::umad::Slot;
use sm_control::config::OnPolicyError;
use sm_control::pipeline;
use sm_control::slow_sa::{punted, respond, too_long};

/// Asks in every way there is.
fn ask(snapshot: &Snapshot, slot: &Slot) {
    let reply = respond(snapshot, slot);
    assert_eq!(
        reply,
        respond(snapshot, slot),
        "the same request gets the same bytes"
    );
    let _ = punted(snapshot, slot);
    if let Some(reply) = &reply {
        check(slot, reply);
        check(slot, &too_long(slot));
    }
}

/// A reply is the request's: its headers but for method, status, key and offset, then records.
fn check(slot: &Slot, reply: &[u8]) {
    assert!(reply.len() >= 56, "{} bytes", reply.len());
    assert_eq!(reply[..3], slot.mad[..3]);
    assert_eq!(
        reply[6..16],
        slot.mad[6..16],
        "class-specific bits and transaction"
    );
    assert_eq!(reply[3] & 0x80, 0x80, "a response");
    assert_eq!(reply[36..44], [0; 8], "no key comes back");
    assert_eq!(reply[48..56], slot.mad[48..56], "component mask");
    let status = u16::from_be_bytes([reply[4], reply[5]]);
    let stride = usize::from(u16::from_be_bytes([reply[44], reply[45]])) * 8;
    let is_paths = slot.mad[16..18] == [0, 0x35] || slot.mad[16..18] == [0, 0x3a];
    if status == 0 && is_paths && reply.len() > 56 {
        assert_eq!((stride, (reply.len() - 56) % 64), (64, 0), "whole records");
    }
    if is_paths {
        assert_eq!(reply[16..18], [0, 0x35], "all paths are PathRecords");
    } else {
        assert_eq!(reply[16..18], slot.mad[16..18]);
    }
}

fn slot(lid: u16, mad: [u8; 256]) -> Slot {
    let mut slot = Slot::EMPTY;
    slot.header.lid = lid.into();
    slot.mad = mad;
    slot
}

fn any_mad() -> impl Strategy<Value = [u8; 256]> {
    prop::collection::vec(any::<u8>(), 256).prop_map(|bytes| bytes.try_into().unwrap())
}

/// Mostly a PathRecord request about ports that exist.
fn likely_mad() -> impl Strategy<Value = [u8; 256]> {
    let heads = (
        prop_oneof![8 => Just(0x01), 8 => Just(0x12), 1 => Just(0x14), 1 => any::<u8>()],
        prop_oneof![8 => Just(0x35), 1 => Just(0x3a), 1 => Just(0x01), 1 => any::<u8>()],
        prop_oneof![8 => 0..1u64 << 22, 1 => any::<u64>()],
    );
    let ends = (any::<Index>(), any::<Index>());
    let noise = prop::collection::vec((0..256usize, any::<u8>()), 0..12);
    (heads, ends, any_mad(), noise).prop_map(|(heads, ends, mut mad, noise)| {
        let (method, attribute, mask) = heads;
        mad[..24].fill(0);
        mad[..4].copy_from_slice(&[1, 3, 2, method]);
        mad[17] = attribute;
        mad[24..48].fill(0);
        mad[48..56].copy_from_slice(&mask.to_be_bytes());
        let ports = &WORLD.compiled.parts.topology.end_ports;
        for (at, end) in [(64, ends.0), (80, ends.1)] {
            let port = &ports[end.index(ports.len())];
            mad[at..at + 8].copy_from_slice(&[0xfe, 0x80, 0, 0, 0, 0, 0, 0]);
            mad[at + 8..at + 16].copy_from_slice(&port.guid.get().to_be_bytes());
            let lid = 96 + (at - 64) / 8;
            mad[lid..lid + 2].copy_from_slice(&port.lid.get().to_be_bytes());
        }
        for (at, value) in noise {
            mad[at] = value;
        }
        mad
    })
}

/// Mostly a MultiPathRecord request between ports that exist, with counts that may be wrong.
fn likely_multi() -> impl Strategy<Value = [u8; 256]> {
    let heads = (
        prop_oneof![12 => Just(0x14), 1 => any::<u8>()],
        prop_oneof![8 => 0..1u64 << 22, 1 => any::<u64>()],
        prop_oneof![12 => Just(7), 1 => any::<u8>()],
    );
    let counts = prop_oneof![8 => (1..4u8, 1..4u8), 1 => any::<(u8, u8)>()];
    let ends = prop::collection::vec(any::<Index>(), 11);
    let noise = prop::collection::vec((0..256usize, any::<u8>()), 0..6);
    let fields = prop::collection::vec(any::<u8>(), 24);
    (heads, counts, ends, fields, noise).prop_map(|(heads, counts, ends, fields, noise)| {
        let (method, mask, flags) = heads;
        let mut mad = [0; 256];
        mad[..4].copy_from_slice(&[1, 3, 2, method]);
        mad[17] = 0x3a;
        mad[24..27].copy_from_slice(&[1, 1, flags]);
        mad[48..56].copy_from_slice(&(mask | 3 << 19).to_be_bytes());
        mad[56..80].copy_from_slice(&fields);
        (mad[71], mad[72]) = counts;
        let ports = &WORLD.compiled.parts.topology.end_ports;
        for (gid, end) in mad[80..].chunks_exact_mut(16).zip(ends) {
            let port = &ports[end.index(ports.len())];
            gid[..8].copy_from_slice(&[0xfe, 0x80, 0, 0, 0, 0, 0, 0]);
            gid[8..].copy_from_slice(&port.guid.get().to_be_bytes());
        }
        for (at, value) in noise {
            mad[at] = value;
        }
        mad
    })
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

proptest! {
    #![proptest_config(cases(6000))]

    #[test]
    fn any_bytes_are_survived(lid in any::<u16>(), mad in any_mad()) {
        ask(&WORLD.compiled.snapshot, &slot(lid, mad));
    }

    #[test]
    fn likely_requests_are_survived(lid in 0..60u16, mad in likely_mad()) {
        ask(&WORLD.compiled.snapshot, &slot(lid, mad));
    }

    /// Silence is for strangers, strange keys, RMPP control and what is no request.
    #[test]
    fn multi_path_requests_are_survived(lid in 0..60u16, mad in likely_multi()) {
        let snapshot = &WORLD.compiled.snapshot;
        let slot = slot(lid, mad);
        ask(snapshot, &slot);
        if respond(snapshot, &slot).is_none() {
            let has_key = ![0, 1].contains(&u64::from_be_bytes(mad[36..44].try_into().unwrap()));
            let is_stranger = snapshot.port_by_lid(lid).is_none();
            let is_control = sa_fastpath::rmpp::is_part(sa_wire::sa::SaMad::from_bytes(&slot.mad));
            let is_request = [0x01, 0x02, 0x12, 0x13, 0x14, 0x15].contains(&mad[3]);
            prop_assert!(has_key || is_stranger || is_control || !is_request || mad[1] != 3);
        }
    }
}

proptest! {
    #![proptest_config(cases(1000))]

    /// Damage that keeps the digest right reaches the structural checks; what they let through
    /// must still be safe to answer from.
    #[test]
    fn damaged_snapshots_are_refused_or_safe(
        edits in prop::collection::vec((any::<Index>(), any::<u8>(), any::<bool>()), 1..4),
        lids in prop::collection::vec(0..60u16, 4),
        mads in prop::collection::vec(prop_oneof![likely_mad(), likely_multi()], 4),
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
            for (lid, mad) in lids.into_iter().zip(mads) {
                ask(&snapshot, &slot(lid, mad));
            }
        }
    }
}
