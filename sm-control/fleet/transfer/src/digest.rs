//! The name of a blob: the BLAKE3 digest of its bytes.
//!
//! Whoever has the name can take the bytes from anybody, and a name never means anything else, so copies may be kept for ever.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// BLAKE3 with its 32 bytes. Written as 64 hexadecimal digits, small letters.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest(pub [u8; 32]);

/// No digest: 64 hexadecimal digits in small letters are expected.
// One spelling only: two names of one blob would be two entries in every cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("a digest is 64 hexadecimal digits in small letters")]
pub struct NoDigest;

impl Digest {
    /// Of these bytes. About a millisecond for a megabyte.
    pub fn of(bytes: &[u8]) -> Self {
        Self(*blake3::hash(bytes).as_bytes())
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_a_digest_is_read_back_and_no_other_spelling_is() {
        let digest = Digest::of(b"one snapshot");
        let text = digest.to_string();
        assert_eq!(text.parse(), Ok(digest));
        assert_eq!(text.to_uppercase().parse::<Digest>(), Err(NoDigest));
        assert_eq!(text[1..].parse::<Digest>(), Err(NoDigest));
        assert_eq!(format!("{text}0").parse::<Digest>(), Err(NoDigest));
    }

    /// BLAKE3's own test vector for no input at all.
    #[test]
    fn it_is_blake3() {
        let empty = "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262";
        assert_eq!(Digest::of(b"").to_string(), empty);
    }
}
