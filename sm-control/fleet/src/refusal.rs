//! Why an announcement is refused.

/// The reasons, in the order in which they are looked for.
///
/// Each has a counter: an operator tells an attack, a wrong clock and a wrong file apart by them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// Its length is not what its counts say, or more than 1 KiB.
    #[error("its length is not that of an announcement")]
    Length,
    /// It begins otherwise.
    #[error("it is no announcement")]
    Magic,
    /// A layout that this program does not know.
    #[error("its layout is of another version")]
    Version,
    /// No key of the root file has this number.
    #[error("the root file has no such key")]
    UnknownKey,
    /// By this host's wall clock the key may not sign any more.
    #[error("its key has expired")]
    ExpiredKey,
    /// Not signed by that key.
    #[error("its signature is not of that key")]
    Signature,
    /// Signed, and not in the one way in which such things are written.
    #[error("it is signed and malformed")]
    Malformed,
    /// Of another fleet.
    #[error("it is of another fleet")]
    OtherFleet,
    /// Of another subnet of the same fleet.
    #[error("it is of another subnet")]
    OtherSubnet,
    /// Of an era that the root keys have ended.
    #[error("its era is over")]
    EraOver,
    /// Of an era that the root file here does not know yet: a newer root file is needed.
    #[error("its era has not begun by the root file here")]
    EraUnknown,
    /// Of an earlier term than one that was seen.
    #[error("a later term was seen")]
    OldTerm,
    /// Of an earlier issue of the term.
    #[error("a later issue was seen")]
    OldIssue,
    /// The issue that was seen with other content: neither is believed.
    #[error("the same issue was seen with other content")]
    Contradiction,
    /// An issue that was seen with two contents.
    #[error("two contents of this issue were seen")]
    Contradicted,
    /// A beat that was counted before.
    #[error("this beat or a later one was seen")]
    OldBeat,
    /// It claims to be good for longer than may be, or for no time.
    #[error("it is good for longer than is allowed")]
    Lifetime,
    /// Issued at a time that is far from this host's wall clock, where that counts.
    #[error("it was issued far from what the wall clock here says")]
    Clock,
}

impl Refusal {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 18] = [
        Self::Length,
        Self::Magic,
        Self::Version,
        Self::UnknownKey,
        Self::ExpiredKey,
        Self::Signature,
        Self::Malformed,
        Self::OtherFleet,
        Self::OtherSubnet,
        Self::EraOver,
        Self::EraUnknown,
        Self::OldTerm,
        Self::OldIssue,
        Self::Contradiction,
        Self::Contradicted,
        Self::OldBeat,
        Self::Lifetime,
        Self::Clock,
    ];

    /// The label of its counter.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Length => "length",
            Self::Magic => "magic",
            Self::Version => "version",
            Self::UnknownKey => "unknown_key",
            Self::ExpiredKey => "expired_key",
            Self::Signature => "signature",
            Self::Malformed => "malformed",
            Self::OtherFleet => "other_fleet",
            Self::OtherSubnet => "other_subnet",
            Self::EraOver => "era_over",
            Self::EraUnknown => "era_unknown",
            Self::OldTerm => "old_term",
            Self::OldIssue => "old_issue",
            Self::Contradiction => "contradiction",
            Self::Contradicted => "contradicted",
            Self::OldBeat => "old_beat",
            Self::Lifetime => "lifetime",
            Self::Clock => "clock",
        }
    }
}

/// How often each reason was met.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Refusals([u64; Refusal::ALL.len()]);

impl Refusals {
    /// One more.
    pub fn count(&mut self, refusal: Refusal) {
        if let Some(count) = self.0.get_mut(refusal as usize) {
            *count = count.saturating_add(1);
        }
    }

    /// Of one reason.
    pub fn of(&self, refusal: Refusal) -> u64 {
        self.0.get(refusal as usize).copied().unwrap_or(0)
    }

    /// Each reason with its count.
    pub fn all(&self) -> impl Iterator<Item = (Refusal, u64)> + '_ {
        Refusal::ALL.into_iter().zip(self.0.iter().copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_has_a_counter_and_a_name_of_its_own() {
        let mut refusals = Refusals::default();
        for (number, refusal) in Refusal::ALL.into_iter().enumerate() {
            assert_eq!(refusal as usize, number);
            refusals.count(refusal);
        }
        assert!(
            refusals
                .all()
                .all(|(refusal, count)| count == 1 && refusals.of(refusal) == 1)
        );
        let mut names = Refusal::ALL.map(Refusal::name);
        names.sort_unstable();
        assert!(names.windows(2).all(|two| two[0] != two[1]), "{names:?}");
    }
}
