//! Whether an announcement is believed, and whether it is news.

use core::time::Duration;

use sa_wire::SubnetPrefix;

use crate::announcement::{Announcement, seal};
use crate::highest::Highest;
use crate::refusal::Refusal;
use crate::rules::{Flaw, Rules};
use crate::time::Wall;
use crate::trust::Trust;

/// By what announcements are judged.
#[derive(Debug, Clone)]
pub struct Judge {
    /// Which fleet, and whose signatures.
    pub trust: Trust,
    /// Which subnet.
    pub subnet: SubnetPrefix,
    /// The longest time that an announcement may be good for.
    pub max_ttl: Duration,
    /// What the wall clock is good for.
    pub wall: WallRule,
}

/// What the wall clock is good for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WallRule {
    /// An odd time of issue is counted, and believed.
    Counted,
    /// It is refused. For hosts whose clock somebody keeps right, and where relays are not trusted:
    /// no sender can stretch an announcement by more than the tolerance then.
    Strict,
}

/// How far wall clocks may be apart, beside the TTL.
pub const WALL_TOLERANCE: Duration = Duration::from_secs(60);

impl Judge {
    /// Opens an announcement: form, key, signature, fleet, subnet, era, in this order.
    ///
    /// # Errors
    ///
    /// The first reason against it.
    pub fn open(
        &self,
        bytes: &[u8],
        wall: Wall,
        rules: &impl Rules,
    ) -> Result<Announcement, Refusal> {
        let sealed = seal(bytes)?;
        let key = self.trust.key(sealed.key(), wall)?;
        let (message, signature) = sealed.signed();
        if !rules.has(Flaw::SkipsSignature) && !rules.is_signed(key, &message, signature) {
            return Err(Refusal::Signature);
        }
        let announcement = sealed.open()?;
        if announcement.fleet != self.trust.fleet {
            return Err(Refusal::OtherFleet);
        }
        if announcement.subnet != self.subnet {
            return Err(Refusal::OtherSubnet);
        }
        // Root keys alone raise the era: a leader's key that was stolen must not be able to shut out all others.
        match announcement.position.issue.era.cmp(&self.trust.era) {
            core::cmp::Ordering::Less => Err(Refusal::EraOver),
            core::cmp::Ordering::Greater => Err(Refusal::EraUnknown),
            core::cmp::Ordering::Equal => Ok(announcement),
        }
    }

    /// Whether what was opened is newer than what was seen, and good now.
    ///
    /// # Errors
    ///
    /// The first reason against it.
    pub fn admit(
        &self,
        announcement: &Announcement,
        highest: &Highest,
        wall: Wall,
        rules: &impl Rules,
    ) -> Result<(), Refusal> {
        match highest.admit(announcement) {
            Err(Refusal::Contradiction | Refusal::Contradicted)
                if rules.has(Flaw::TakesContradiction) => {}
            Err(Refusal::OldBeat) if rules.has(Flaw::CountsBeatsTwice) => {}
            other => other?,
        }
        if announcement.ttl.is_zero() || announcement.ttl > self.max_ttl {
            return Err(Refusal::Lifetime);
        }
        let is_strict = self.wall == WallRule::Strict && !rules.has(Flaw::IgnoresWallClock);
        if is_strict && is_odd(announcement, wall) {
            return Err(Refusal::Clock);
        }
        Ok(())
    }

    /// How long an announcement can be good from now on by the wall clock, where that counts.
    pub(crate) fn most_left(
        &self,
        announcement: &Announcement,
        wall: Wall,
        rules: &impl Rules,
    ) -> Duration {
        if self.wall == WallRule::Counted || rules.has(Flaw::IgnoresWallClock) {
            return Duration::MAX;
        }
        let age = wall.since(announcement.issued);
        (announcement.ttl + WALL_TOLERANCE).saturating_sub(age)
    }
}

/// True where an announcement was issued further from this wall clock than its TTL and the
/// tolerance.
pub(crate) fn is_odd(announcement: &Announcement, wall: Wall) -> bool {
    announcement.issued.apart(wall) > announcement.ttl + WALL_TOLERANCE
}
