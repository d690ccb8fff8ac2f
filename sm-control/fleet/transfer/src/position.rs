//! Where an announcement stands in the order of all: what a poll says that it knows.
//!
//! Written `era.term.seq.beat`, in decimal digits. Larger is newer, compared from left to right.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// Of an announcement. Nothing is judged by it but whether a poll has news: who follows judges the signed bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Position {
    /// Raised by a person with the root keys, after data was lost or restored.
    pub era: u32,
    /// Of the leader.
    pub term: u64,
    /// Of the publication in the term, from 1.
    pub seq: u64,
    /// Of the repetition of it, from 0.
    pub beat: u64,
}

/// No position: `era.term.seq.beat` in decimal digits is expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("a position is era.term.seq.beat, four numbers in decimal digits")]
pub struct NoPosition;

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            era,
            term,
            seq,
            beat,
        } = self;
        write!(f, "{era}.{term}.{seq}.{beat}")
    }
}

impl FromStr for Position {
    type Err = NoPosition;

    fn from_str(text: &str) -> Result<Self, NoPosition> {
        let mut parts = text.split('.');
        let mut next = || parts.next().ok_or(NoPosition);
        let position = Self {
            era: number(next()?)?,
            term: number(next()?)?,
            seq: number(next()?)?,
            beat: number(next()?)?,
        };
        match parts.next() {
            None => Ok(position),
            Some(_) => Err(NoPosition),
        }
    }
}

/// Digits alone: what `str::parse` takes beyond them, a sign, is no number here.
fn number<N: FromStr>(text: &str) -> Result<N, NoPosition> {
    match text.bytes().all(|byte| byte.is_ascii_digit()) {
        true => text.parse().map_err(|_| NoPosition),
        false => Err(NoPosition),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_read_back_and_ordered_from_the_left() {
        let position = Position {
            era: 1,
            term: 20,
            seq: 3,
            beat: 400,
        };
        assert_eq!(position.to_string(), "1.20.3.400");
        assert_eq!("1.20.3.400".parse(), Ok(position));
        let later_term = Position {
            term: 21,
            seq: 0,
            ..position
        };
        assert!(later_term > position);
    }

    #[test]
    fn nothing_else_is_a_position() {
        for text in [
            "",
            "1",
            "1.2.3",
            "1.2.3.4.5",
            "+1.2.3.4",
            "1..3.4",
            "1.2.3.-4",
            "4294967296.1.1.1",
        ] {
            assert_eq!(text.parse::<Position>(), Err(NoPosition), "{text}");
        }
    }
}
