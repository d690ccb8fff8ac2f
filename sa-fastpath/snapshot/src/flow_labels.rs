//! What rules say of flow labels, in the form that answers are made from.
//!
//! In a snapshot each rule has one word, the default's last:
//!
//! ```text
//!  0x00000000           none
//!  0x01000000 | label   this label, 1 to 0xfffff
//!  0x02000000           a hash of the GIDs and the service id
//!  0x03000000 | count   2 to 127 labels, one for each of a pair's paths
//! ```
//!
//! How labels act in a fabric: docs/roce-entropy.md.

use core::fmt;

use sa_wire::roce::FlowLabel;

/// Which flow labels the paths of a rule carry.
///
/// A word of four bytes for each rule in a snapshot, and each distinct one once where common
/// answers look it up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum FlowLabels {
    /// None: as OpenSM answers.
    #[default]
    None,
    /// This one. Never [`FlowLabel::UNSET`].
    Fixed(FlowLabel),
    /// One that follows from both GIDs and the service id, the same from either end.
    Hash,
    /// Several for each pair of ports, each with a UDP source port of its own. Shape: how many,
    /// 2 to [`Self::MOST`].
    Spread(u8),
}

impl FlowLabels {
    /// Labels that [`Self::Spread`] has at most: no request can name more paths.
    pub const MOST: u8 = 127;

    /// This label. None for 0, which would be no label.
    pub fn fixed(label: FlowLabel) -> Option<Self> {
        label.is_set().then_some(Self::Fixed(label))
    }

    /// So many labels. None below 2 and above [`Self::MOST`].
    pub fn spread(count: u8) -> Option<Self> {
        (2..=Self::MOST)
            .contains(&count)
            .then_some(Self::Spread(count))
    }

    /// True when paths carry a label.
    pub fn are_set(self) -> bool {
        self != Self::None
    }

    /// As a snapshot has it: what they are above bit 24, a number below.
    pub(crate) const fn word(self) -> u32 {
        match self {
            Self::None => 0,
            Self::Fixed(label) => 1 << KIND | label.get(),
            Self::Hash => 2 << KIND,
            Self::Spread(count) => 3 << KIND | count as u32,
        }
    }

    /// The reverse of [`Self::word`]. None for words that mean nothing.
    pub(crate) fn from_word(word: u32) -> Option<Self> {
        // One word for each meaning, so that the same policy always gives the same bytes.
        let number = word & ((1 << KIND) - 1);
        match (word >> KIND, number) {
            (0, 0) => Some(Self::None),
            (1, label) => Self::fixed(FlowLabel::new(label).ok()?),
            (2, 0) => Some(Self::Hash),
            (3, count) => Self::spread(u8::try_from(count).ok()?),
            _ => None,
        }
    }
}

/// Where a word says what the labels are.
const KIND: u32 = 24;

impl fmt::Display for FlowLabels {
    /// As policies have it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::Fixed(label) => write!(f, "fixed {:#x}", label.get()),
            Self::Hash => f.write_str("hash"),
            Self::Spread(count) => write!(f, "spread {count}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_back_and_others_mean_nothing() {
        let fixed = |raw| FlowLabels::fixed(FlowLabel::new(raw).unwrap()).unwrap();
        let some = [fixed(1), fixed(0xf_ffff), FlowLabels::Hash];
        let spread = [2, 127].map(|count| FlowLabels::spread(count).unwrap());
        for labels in some.into_iter().chain(spread).chain([FlowLabels::None]) {
            assert_eq!(FlowLabels::from_word(labels.word()), Some(labels));
        }
        let bad = [
            1,
            1 << 24,
            1 << 24 | 1 << 20,
            2 << 24 | 1,
            3 << 24 | 1,
            3 << 24 | 128,
            4 << 24,
            u32::MAX,
        ];
        assert!(
            bad.iter()
                .all(|word| FlowLabels::from_word(*word).is_none())
        );
    }
}
