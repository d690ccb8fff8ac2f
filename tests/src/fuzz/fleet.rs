//! Any bytes as what hosts of a fleet read: announcements, the record of what was seen, root files. Nothing panics, and
//! what is accepted is written again to the same bytes.

use std::time::Duration;

use sa_fleet::announcement::LeaderKey;
use sa_fleet::highest::{Highest, RECORD_SIZE};
use sa_fleet::identity::{FleetId, KeyId};
use sa_fleet::judge::{Judge, WallRule};
use sa_fleet::root::Root;
use sa_fleet::rules::{Flaw, Rules, SigningKey, Sound, VerifyingKey};
use sa_fleet::time::Wall;
use sa_fleet::trust::{Trust, TrustedKey};
use sa_wire::SubnetPrefix;

use crate::rng::Rng;

/// What became of inputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Done {
    /// Announcements that were opened.
    pub opened: u64,
    /// Records that were read.
    pub records: u64,
    /// Everything that was refused.
    pub refused: u64,
}

/// Takes every signature for good: behind it lies what only a leader can reach.
struct Anybody;

impl Rules for Anybody {
    fn has(&self, _: Flaw) -> bool {
        false
    }

    fn sign(&self, _: &SigningKey, _: &[&[u8]]) -> [u8; 64] {
        [0; 64]
    }

    fn is_signed(&self, _: &VerifyingKey, _: &[&[u8]], _: &[u8; 64]) -> bool {
        true
    }
}

/// One input: the first byte tells what the rest is.
pub fn run(input: &[u8]) -> Done {
    let Some((kind, rest)) = input.split_first() else {
        return Done::default();
    };
    let is_accepted = match kind % 4 {
        0 => {
            assert!(
                judge().open(rest, Wall(0), &Sound).is_err(),
                "nobody signed it"
            );
            false
        }
        1 => announcement(rest),
        2 => record(rest),
        _ => {
            let text = [b"sapphire-root 1\n", rest].concat();
            assert!(Root::installed(&text, &[]).is_err(), "nobody signed it");
            false
        }
    };
    Done {
        opened: u64::from(is_accepted && kind % 4 == 1),
        records: u64::from(is_accepted && kind % 4 == 2),
        refused: u64::from(!is_accepted),
    }
}

/// Inputs by a seed, put right here and there so that not all end at the first check.
pub fn random(times: u64, seed: u64) -> Done {
    let (mut rng, mut sum) = (Rng::new(seed), Done::default());
    for _ in 0..times {
        let mut input = vec![0; 1 + rng.number() as usize % 600];
        rng.fill(&mut input);
        if input[0] % 4 == 1 {
            input = nearly(&mut rng);
        }
        let done = run(&input);
        sum.opened += done.opened;
        sum.records += done.records;
        sum.refused += done.refused;
    }
    sum
}

/// An announcement of few wrong places: lengths and zeros are right, and up to three bytes are not.
fn nearly(rng: &mut Rng) -> Vec<u8> {
    let (blobs, deltas) = (rng.number() as usize % 5, rng.number() as usize % 9);
    let mut bytes = vec![0; 160 + 48 * blobs + 72 * deltas];
    bytes[..10].copy_from_slice(b"SAPFLEET\x01\x00");
    (bytes[12], bytes[13]) = (blobs as u8, deltas as u8);
    bytes[10] = u8::from(blobs == 0);
    (bytes[40], bytes[48], bytes[56], bytes[64]) = (1, 1, 1, 1);
    for blob in 0..blobs {
        (bytes[160 + 48 * blob + 32], bytes[160 + 48 * blob + 40]) = (1, blob as u8);
    }
    for delta in 0..deltas {
        let at = 160 + 48 * blobs + 72 * delta;
        (bytes[at], bytes[at + 64]) = (delta as u8, 1);
    }
    for _ in 0..rng.number() % 4 {
        let at = rng.number() as usize % bytes.len();
        bytes[at] = rng.number() as u8;
    }
    [&[1], &bytes[..], &[0; 64]].concat()
}

fn announcement(bytes: &[u8]) -> bool {
    let Ok(opened) = judge().open(bytes, Wall(0), &Anybody) else {
        return false;
    };
    let key = LeaderKey::new(opened.key, &[1; 32]);
    let again = opened.sign(&key, &Anybody);
    let body = bytes.len() - 64;
    assert_eq!(again[..body], bytes[..body], "one encoding");
    assert!(Highest::NOTHING.admit(&opened).is_ok());
    let highest = Highest::of(&opened);
    assert!(highest.admit(&opened).is_err(), "no beat counts twice");
    assert_eq!(Highest::from_record(&highest.to_record()), Ok(highest));
    true
}

fn record(bytes: &[u8]) -> bool {
    let read = Highest::from_record(bytes);
    if let Ok(highest) = read {
        assert_eq!(highest.to_record()[..], bytes[..RECORD_SIZE]);
    }
    read.is_ok()
}

fn judge() -> Judge {
    let key = LeaderKey::new(KeyId([0; 8]), &[1; 32]);
    let trusted = TrustedKey::new(key.id, &key.public(), Wall(u64::MAX)).unwrap();
    Judge {
        trust: Trust {
            fleet: FleetId([0; 16]),
            era: 1,
            root_version: 1,
            keys: vec![trusted],
        },
        subnet: SubnetPrefix(0),
        max_ttl: Duration::from_secs(300),
        wall: WallRule::Counted,
    }
}
