//! Digests and positions as people and URLs write them: one spelling each.
//!
//! A second spelling of one name would be a second entry in every cache, and a second way around
//! every check.

use std::str::FromStr;

use thiserror::Error;

use crate::identity::{Digest, Issue, Position};

/// No digest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("a digest is 64 hexadecimal digits in small letters")]
pub struct NoDigest;

/// No position.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("a position is era.term.seq.beat, four numbers in decimal digits")]
pub struct NoPosition;

impl FromStr for Digest {
    type Err = NoDigest;

    fn from_str(text: &str) -> Result<Self, NoDigest> {
        let digits = text.as_bytes();
        if digits.len() != 64 {
            return Err(NoDigest);
        }
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            let [high, low] = pair else {
                return Err(NoDigest);
            };
            *byte = value(*high)? << 4 | value(*low)?;
        }
        Ok(Self(bytes))
    }
}

/// Of a hexadecimal digit in small letters.
fn value(digit: u8) -> Result<u8, NoDigest> {
    match digit {
        b'0'..=b'9' => Ok(digit - b'0'),
        b'a'..=b'f' => Ok(digit - b'a' + 10),
        _ => Err(NoDigest),
    }
}

impl FromStr for Position {
    type Err = NoPosition;

    fn from_str(text: &str) -> Result<Self, NoPosition> {
        let mut parts = text.split('.');
        let mut next = || parts.next().ok_or(NoPosition);
        let position = Self {
            issue: Issue {
                era: number(next()?)?,
                term: number(next()?)?,
                seq: number(next()?)?,
            },
            beat: number(next()?)?,
        };
        match parts.next() {
            None => Ok(position),
            Some(_) => Err(NoPosition),
        }
    }
}

/// As it is written by us: what `str::parse` takes beyond that, signs and zeros in front, is no
/// number here.
fn number<N: FromStr + ToString>(text: &str) -> Result<N, NoPosition> {
    let number: N = text.parse().map_err(|_| NoPosition)?;
    match number.to_string() == text {
        true => Ok(number),
        false => Err(NoPosition),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_a_digest_is_read_back_and_no_other_spelling_is() {
        let digest = Digest(*blake3::hash(b"one snapshot").as_bytes());
        let text = digest.to_string();
        assert_eq!(text.parse(), Ok(digest));
        assert_eq!(text.to_uppercase().parse::<Digest>(), Err(NoDigest));
        assert_eq!(text[1..].parse::<Digest>(), Err(NoDigest));
        assert_eq!(format!("{text}0").parse::<Digest>(), Err(NoDigest));
    }

    #[test]
    fn a_position_is_read_back_and_no_other_spelling_is() {
        let issue = Issue {
            era: 1,
            term: 20,
            seq: 3,
        };
        let position = Position { issue, beat: 400 };
        assert_eq!(position.to_string(), "1.20.3.400");
        assert_eq!("1.20.3.400".parse(), Ok(position));
        for text in [
            "",
            "1",
            "1.2.3",
            "1.2.3.4.5",
            "+1.2.3.4",
            "01.2.3.4",
            "1..3.4",
            "1.2.3.-4",
            "4294967296.1.1.1",
        ] {
            assert_eq!(text.parse::<Position>(), Err(NoPosition), "{text}");
        }
    }
}
