//! Keys, contents and announcements for tests.

use std::time::Duration;

use sa_fleet::announcement::{Announcement, Blob, Content, LeaderKey};
use sa_fleet::identity::{Digest, FleetId, Generation, Issue, KeyId, Position};
use sa_fleet::judge::{Judge, WallRule};
use sa_fleet::rules::Sound;
use sa_fleet::time::{Boot, Now, Wall};
use sa_fleet::trust::{Trust, TrustedKey};
use sa_wire::SubnetPrefix;

pub(crate) const FLEET: FleetId = FleetId([7; 16]);
pub(crate) const TTL: Duration = Duration::from_secs(30);
/// 2026, in the second that boot clocks call 1,000.
pub(crate) const DAY: u64 = 1_795_000_000_000;

pub(crate) fn key() -> LeaderKey {
    LeaderKey::new(KeyId(*b"leader 1"), &[3; 32])
}

pub(crate) fn judge() -> Judge {
    let trusted = TrustedKey::new(key().id, &key().public(), Wall(u64::MAX)).unwrap();
    Judge {
        trust: Trust {
            fleet: FLEET,
            era: 1,
            root_version: 1,
            keys: vec![trusted],
        },
        subnet: SubnetPrefix::LINK_LOCAL,
        max_ttl: Duration::from_secs(300),
        wall: WallRule::Counted,
    }
}

pub(crate) fn digest(number: u8) -> Digest {
    Digest([number; 32])
}

pub(crate) fn generation(number: u8) -> Generation {
    Generation {
        paths: digest(number),
        policy: digest(200),
    }
}

/// Generation and file by one number.
pub(crate) fn content(number: u8) -> Content {
    let blob = Blob {
        format: 7,
        digest: digest(number),
        size: 1_000_000,
    };
    Content::new(generation(number), vec![blob], Vec::new()).unwrap()
}

/// This many seconds after 1,000 s from boot.
pub(crate) fn at(seconds: f64) -> Now {
    let time = Duration::from_secs_f64(seconds);
    let boot = Boot::NEVER.after(Duration::from_secs(1_000) + time);
    Now {
        boot,
        wall: Wall(DAY + time.as_millis() as u64),
    }
}

pub(crate) fn position(term: u64, seq: u64, beat: u64) -> Position {
    Position {
        issue: Issue { era: 1, term, seq },
        beat,
    }
}

pub(crate) fn announcement(position: Position, content: Content) -> Announcement {
    Announcement {
        fleet: FLEET,
        subnet: SubnetPrefix::LINK_LOCAL,
        position,
        root_version: 1,
        key: key().id,
        issued: at(0.0).wall,
        ttl: TTL,
        content,
    }
}

pub(crate) fn signed(announcement: &Announcement) -> Vec<u8> {
    announcement.sign(&key(), &Sound)
}
