//! A root file and its signatures as one body: they are of no use apart.
//!
//! ```text
//! sapphire-root-file 1 LENGTH LENGTH LENGTH      the root file, then each signature
//! bytes one after the other
//! ```

use sa_fleet::root::{MAX_KEYS, MAX_ROOT_SIZE, MAX_SIGNATURE_SIZE};

const BEGINNING: &str = "sapphire-root-file 1";

/// The longest body. Units: bytes.
pub const MAX_PACKED: usize = MAX_ROOT_SIZE + (MAX_KEYS + 1) * (MAX_SIGNATURE_SIZE + 8) + 64;

/// A root file as it was written, and the signatures beside it. Neither is believed here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RootFile {
    /// What is signed.
    pub text: Vec<u8>,
    /// Files of minisign.
    pub signatures: Vec<String>,
}

impl RootFile {
    /// As one body.
    pub fn pack(&self) -> Vec<u8> {
        let signatures = self.signatures.iter().map(String::as_bytes);
        let parts: Vec<&[u8]> = [self.text.as_slice()]
            .into_iter()
            .chain(signatures)
            .collect();
        let lengths: String = parts.iter().map(|it| format!(" {}", it.len())).collect();
        let mut packed = format!("{BEGINNING}{lengths}\n").into_bytes();
        parts.iter().for_each(|part| packed.extend_from_slice(part));
        packed
    }

    /// The other way round. None: it is no such body, or longer than one may be.
    pub fn unpack(packed: &[u8]) -> Option<Self> {
        if packed.len() > MAX_PACKED {
            return None;
        }
        let end = packed.iter().position(|byte| *byte == b'\n')?;
        let (line, mut rest) = packed.split_at_checked(end + 1)?;
        let line = core::str::from_utf8(line).ok()?;
        let lengths = line.trim_end().strip_prefix(BEGINNING)?;
        let mut parts = Vec::new();
        for word in lengths.split_ascii_whitespace() {
            let (part, behind) = rest.split_at_checked(word.parse().ok()?)?;
            parts.push(part);
            rest = behind;
        }
        let (text, signatures) = parts.split_first()?;
        if !rest.is_empty() || text.len() > MAX_ROOT_SIZE || signatures.len() > MAX_KEYS {
            return None;
        }
        let signatures = signatures
            .iter()
            .map(|it| String::from_utf8(it.to_vec()).ok());
        Some(Self {
            text: text.to_vec(),
            signatures: signatures.collect::<Option<_>>()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_packed_is_unpacked_and_nothing_else() {
        let file = RootFile {
            text: b"sapphire-root 1\n".to_vec(),
            signatures: vec!["one\n".to_owned(), String::new()],
        };
        let packed = file.pack();
        assert_eq!(RootFile::unpack(&packed), Some(file));
        for end in 0..packed.len() {
            assert_eq!(RootFile::unpack(&packed[..end]), None, "{end}");
        }
        assert_eq!(RootFile::unpack(&[packed.as_slice(), b"x"].concat()), None);
        for odd in [
            "sapphire-root-file 2 1\na",
            "sapphire-root-file 1\n",
            "sapphire-root-file 1 -1\na",
            "sapphire-root-file 1 18446744073709551615\na",
        ] {
            assert_eq!(RootFile::unpack(odd.as_bytes()), None, "{odd}");
        }
    }
}
