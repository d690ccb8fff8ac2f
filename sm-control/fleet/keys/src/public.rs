//! Public keys, as minisign writes them.

use core::fmt;
use std::str::FromStr;

use base64ct::{Base64, Encoding};
use sa_fleet::identity::KeyId;

/// Bytes of one: what it is for, its number, and the key.
const SIZE: usize = 2 + 8 + 32;

/// A public key of minisign. Shape as text: 56 characters that begin with `RW`.
///
/// Whether it is one that signatures can be checked by is for whoever checks them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PublicKey {
    /// What minisign calls the key number.
    pub id: KeyId,
    /// Of ed25519.
    pub key: [u8; 32],
}

/// No public key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected a public key of minisign: 56 characters that begin with RW")]
pub struct NoKey;

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut bytes = Vec::with_capacity(SIZE);
        bytes.extend_from_slice(b"Ed");
        bytes.extend_from_slice(&self.id.0);
        bytes.extend_from_slice(&self.key);
        let mut text = [0; 56];
        // 42 bytes are 56 characters without a rest.
        let text = Base64::encode(&bytes, &mut text).map_err(|_| fmt::Error)?;
        f.write_str(text)
    }
}

impl FromStr for PublicKey {
    type Err = NoKey;

    fn from_str(text: &str) -> Result<Self, NoKey> {
        let mut bytes = [0; SIZE];
        let [b'E', b'd', rest @ ..] = Base64::decode(text, &mut bytes).map_err(|_| NoKey)? else {
            return Err(NoKey);
        };
        let (id, key) = rest.split_first_chunk::<8>().ok_or(NoKey)?;
        let key = key.try_into().map_err(|_| NoKey)?;
        Ok(Self {
            id: KeyId(*id),
            key,
        })
    }
}
