//! The bytes, and every reason to refuse them.

use std::time::Duration;

use proptest::collection::{btree_map, btree_set};
use proptest::prelude::*;
use proptest::sample::Index;
use sa_fleet::announcement::{Announcement, Blob, Content, Delta, LeaderKey, MAX_SIZE};
use sa_fleet::highest::Highest;
use sa_fleet::identity::{Digest, FleetId, Generation, KeyId, Position};
use sa_fleet::judge::{Judge, WALL_TOLERANCE, WallRule};
use sa_fleet::refusal::Refusal;
use sa_fleet::rules::Sound;
use sa_fleet::time::Wall;
use sa_wire::SubnetPrefix;

use super::made::{
    DAY, TTL, announcement, at, content, digest, generation, judge, key, position, signed,
};

fn digests() -> impl Strategy<Value = Digest> {
    any::<[u8; 32]>().prop_map(Digest)
}

fn contents() -> impl Strategy<Value = Content> {
    let blobs = btree_map(any::<u32>(), (digests(), 1..u64::MAX), 1..=4);
    let deltas = btree_set((any::<u8>(), any::<[u8; 32]>()), 0..=8);
    let in_force = (digests(), digests(), blobs, deltas, digests(), 1..u32::MAX);
    let in_force = in_force.prop_map(|(paths, policy, blobs, deltas, patch, size)| {
        let made = blobs.into_iter();
        let blobs: Vec<_> = made
            .map(|(format, (digest, size))| Blob {
                format,
                digest,
                size,
            })
            .collect();
        let to = |number: u8| number % blobs.len() as u8;
        let delta = |(number, from)| Delta {
            to: to(number),
            from: Digest(from),
            patch,
            size,
        };
        let deltas = deltas.into_iter().map(delta).collect();
        Content::new(Generation { paths, policy }, blobs.clone(), deltas).unwrap()
    });
    let withdrawn = (digests(), digests())
        .prop_map(|(paths, policy)| Content::withdrawal(Generation { paths, policy }));
    let content = prop_oneof![4 => in_force, 1 => withdrawn];
    (content, any::<bool>()).prop_map(|(it, drill)| if drill { it.as_drill() } else { it })
}

fn announcements() -> impl Strategy<Value = Announcement> {
    let numbers = (
        1..u64::MAX,
        1..u64::MAX,
        1..u64::MAX,
        any::<u32>(),
        any::<u64>(),
        any::<u32>(),
    );
    (contents(), numbers).prop_map(|(content, (term, seq, beat, root_version, issued, ttl))| {
        Announcement {
            root_version,
            issued: Wall(issued),
            ttl: Duration::from_millis(ttl.into()),
            ..announcement(position(term, seq, beat), content)
        }
    })
}

/// The first reason against it, of a follower that has seen nothing.
fn refusal(judge: &Judge, bytes: &[u8]) -> Option<Refusal> {
    let wall = at(0.0).wall;
    let opened = judge.open(bytes, wall, &Sound);
    opened
        .and_then(|it| judge.admit(&it, &Highest::NOTHING, wall, &Sound))
        .err()
}

proptest! {
    #[test]
    fn what_is_signed_is_what_is_opened(said in announcements()) {
        let bytes = signed(&said);
        prop_assert!(bytes.len() <= MAX_SIZE);
        let opened = judge().open(&bytes, at(0.0).wall, &Sound);
        prop_assert_eq!(opened.as_ref(), Ok(&said));
        prop_assert_eq!(signed(&opened.unwrap()), bytes);
    }

    #[test]
    fn a_byte_that_is_changed_anywhere_is_refused(
        said in announcements(), place: Index, change in 1..=255_u8,
    ) {
        let mut bytes = signed(&said);
        bytes[place.index(said_length(&said))] ^= change;
        prop_assert!(judge().open(&bytes, at(0.0).wall, &Sound).is_err());
    }

    #[test]
    fn any_other_length_is_refused(said in announcements(), place: Index, more in 1..40_usize) {
        let mut bytes = signed(&said);
        let cut = &bytes[..place.index(bytes.len())];
        prop_assert_eq!(refusal(&judge(), cut), Some(Refusal::Length));
        bytes.extend(vec![0; more]);
        prop_assert_eq!(refusal(&judge(), &bytes), Some(Refusal::Length));
    }

    #[test]
    fn no_bytes_are_taken_for_one(mut bytes in prop::collection::vec(any::<u8>(), 0..1100), real: bool) {
        if real && bytes.len() > 14 {
            bytes[..10].copy_from_slice(b"SAPFLEET\x01\x00");
            (bytes[12], bytes[13]) = (bytes[12] % 5, bytes[13] % 9);
        }
        prop_assert!(judge().open(&bytes, at(0.0).wall, &Sound).is_err());
    }
}

fn said_length(said: &Announcement) -> usize {
    signed(said).len()
}

/// The same bytes with others in one place, signed by a leader who writes what must not be written.
fn resigned(place: usize, with: &[u8]) -> Vec<u8> {
    let said = announcement(position(1, 1, 1), content(1));
    let mut bytes = signed(&said);
    bytes.truncate(bytes.len() - 64);
    bytes[place..place + with.len()].copy_from_slice(with);
    use sa_fleet::rules::Rules;
    let secret = sa_fleet::rules::SigningKey::from_bytes(&[3; 32]);
    let signature = Sound.sign(&secret, &[b"sapphire announcement v1", &bytes]);
    bytes.extend(signature);
    bytes
}

#[test]
fn signed_and_malformed_is_refused_wherever_it_is() {
    assert_eq!(
        refusal(&judge(), &resigned(0, b"SAPFLEET")),
        None,
        "the way is right"
    );
    let zeros = [(14, 1), (84, 1), (160 + 44, 1), (160 + 47, 9)];
    let unknown_flags = [(10, 4), (11, 0x80)];
    let from_one = [(48, 0), (56, 0), (64, 0)];
    let withdrawn_with_files = [(10, 1)];
    let empty_file = [(160 + 32, 0)];
    let mut all = Vec::from(zeros);
    all.extend(
        unknown_flags
            .iter()
            .chain(&from_one)
            .chain(&withdrawn_with_files),
    );
    for (place, byte) in all {
        let bytes = resigned(place, &[byte]);
        assert_eq!(
            refusal(&judge(), &bytes),
            Some(Refusal::Malformed),
            "{place}: {byte}"
        );
    }
    for (place, _) in empty_file {
        let bytes = resigned(place, &[0; 8]);
        assert_eq!(
            refusal(&judge(), &bytes),
            Some(Refusal::Malformed),
            "{place}"
        );
    }
}

#[test]
fn each_reason_has_its_name() {
    let first = announcement(position(1, 1, 1), content(1));
    let refused = |change: fn(&mut Announcement)| {
        let mut other = first.clone();
        change(&mut other);
        refusal(&judge(), &signed(&other))
    };
    assert_eq!(refused(|_| ()), None);
    assert_eq!(
        refused(|it| it.fleet = FleetId([8; 16])),
        Some(Refusal::OtherFleet)
    );
    assert_eq!(
        refused(|it| it.subnet = SubnetPrefix(1)),
        Some(Refusal::OtherSubnet)
    );
    assert_eq!(
        refused(|it| it.position.issue.era = 0),
        Some(Refusal::EraOver)
    );
    assert_eq!(
        refused(|it| it.position.issue.era = 2),
        Some(Refusal::EraUnknown)
    );
    assert_eq!(
        refused(|it| it.ttl = Duration::ZERO),
        Some(Refusal::Lifetime)
    );
    assert_eq!(
        refused(|it| it.ttl = Duration::from_secs(301)),
        Some(Refusal::Lifetime)
    );
    assert_eq!(
        refused(|it| it.issued = Wall(0)),
        None,
        "counted, not refused"
    );
    let mut bytes = signed(&first);
    bytes[8] = 2;
    assert_eq!(refusal(&judge(), &bytes), Some(Refusal::Version));
    bytes[0] = b'T';
    assert_eq!(refusal(&judge(), &bytes), Some(Refusal::Magic));
}

#[test]
fn keys_are_known_and_not_expired_and_theirs_is_the_signature() {
    let first = announcement(position(1, 1, 1), content(1));
    let stranger = LeaderKey::new(KeyId(*b"stranger"), &[3; 32]);
    assert_eq!(
        refusal(&judge(), &first.sign(&stranger, &Sound)),
        Some(Refusal::UnknownKey)
    );
    let forger = LeaderKey::new(key().id, &[4; 32]);
    assert_eq!(
        refusal(&judge(), &first.sign(&forger, &Sound)),
        Some(Refusal::Signature)
    );
    let mut judge = judge();
    judge.trust.keys[0].expires = Wall(DAY + 1);
    assert_eq!(refusal(&judge, &signed(&first)), None);
    judge.trust.keys[0].expires = Wall(DAY);
    assert_eq!(refusal(&judge, &signed(&first)), Some(Refusal::ExpiredKey));
}

#[test]
fn a_signature_of_another_domain_is_none() {
    use sa_fleet::rules::Rules;
    let mut bytes = signed(&announcement(position(1, 1, 1), content(1)));
    let body = bytes.len() - 64;
    let secret = sa_fleet::rules::SigningKey::from_bytes(&[3; 32]);
    for domain in [&b""[..], b"sapphire announcement v2"] {
        let signature = Sound.sign(&secret, &[domain, &bytes[..body]]);
        bytes[body..].copy_from_slice(&signature);
        assert_eq!(refusal(&judge(), &bytes), Some(Refusal::Signature));
    }
}

#[test]
fn where_the_wall_clock_counts_old_and_future_ones_are_refused() {
    let mut judge = judge();
    judge.wall = WallRule::Strict;
    let far = (TTL + WALL_TOLERANCE).as_millis() as u64;
    for (issued, refused) in [(DAY - far, None), (DAY + far, None)] {
        let said = Announcement {
            issued: Wall(issued),
            ..announcement(position(1, 1, 1), content(1))
        };
        assert_eq!(refusal(&judge, &signed(&said)), refused);
    }
    for issued in [DAY - far - 1, DAY + far + 1] {
        let said = Announcement {
            issued: Wall(issued),
            ..announcement(position(1, 1, 1), content(1))
        };
        assert_eq!(refusal(&judge, &signed(&said)), Some(Refusal::Clock));
    }
}

#[test]
fn what_cannot_be_announced_is_said_before_it_is_signed() {
    let blob = |format| Blob {
        format,
        digest: digest(1),
        size: 1,
    };
    let delta = |to, from| Delta {
        to,
        from: digest(from),
        patch: digest(9),
        size: 1,
    };
    let new = |blobs: Vec<Blob>, deltas| Content::new(generation(1), blobs, deltas).is_ok();
    assert!(new(vec![blob(8), blob(7)], vec![delta(1, 3), delta(0, 4)]));
    assert!(!new(vec![], vec![]));
    assert!(!new((0..5).map(blob).collect(), vec![]));
    assert!(!new(vec![blob(7), blob(7)], vec![]));
    assert!(!new(
        vec![blob(7)],
        (0..9).map(|from| delta(0, from)).collect()
    ));
    assert!(!new(vec![blob(7)], vec![delta(0, 1), delta(0, 1)]));
    assert!(!new(vec![blob(7)], vec![delta(1, 1)]));
    assert!(!new(vec![Blob { size: 0, ..blob(7) }], vec![]));
}

#[test]
fn patches_stay_with_their_files_when_these_are_put_in_order() {
    let blob = |format, number| Blob {
        format,
        digest: digest(number),
        size: 1,
    };
    let delta = |to, from| Delta {
        to,
        from: digest(from),
        patch: digest(9),
        size: 1,
    };
    let blobs = vec![blob(8, 80), blob(7, 70)];
    let content = Content::new(generation(1), blobs, vec![delta(0, 8), delta(1, 7)]).unwrap();
    assert_eq!(content.blob_of(&[9, 8, 7]).unwrap().digest, digest(80));
    assert!(content.delta(digest(8), digest(80)).is_some());
    assert!(content.delta(digest(7), digest(70)).is_some());
    assert!(content.delta(digest(7), digest(80)).is_none());
}

#[test]
fn a_later_position_is_later_in_the_written_order() {
    let order = [(1, 1, 1), (1, 1, 2), (1, 2, 1), (2, 1, 1)];
    let order = order.map(|(term, seq, beat)| position(term, seq, beat));
    assert!(order.is_sorted() && Position::default() < order[0]);
}
