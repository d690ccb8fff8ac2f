//! Whom a follower believes: what the root file says, without its signatures.

use ed25519_dalek::VerifyingKey;

use crate::identity::{FleetId, KeyId};
use crate::refusal::Refusal;
use crate::time::Wall;

/// A fleet, its era, and the keys that may sign for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trust {
    /// Which fleet.
    pub fleet: FleetId,
    /// Announcements of other eras are refused.
    pub era: u32,
    /// Of the root file that says this.
    pub root_version: u32,
    /// Leaders.
    pub keys: Vec<TrustedKey>,
}

/// A leader's key, as followers have it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustedKey {
    /// Named by announcements.
    pub id: KeyId,
    /// Checks signatures.
    pub key: VerifyingKey,
    /// From then on it signs nothing that is believed.
    pub expires: Wall,
}

impl TrustedKey {
    /// From the 32 bytes of a public key; `None` where they are no point of the curve, or one under
    /// which signatures fit any message.
    pub fn new(id: KeyId, public: &[u8; 32], expires: Wall) -> Option<Self> {
        let key = VerifyingKey::from_bytes(public).ok()?;
        (!key.is_weak()).then_some(Self { id, key, expires })
    }
}

impl Trust {
    /// The key of this number, if it may sign at this time.
    ///
    /// # Errors
    ///
    /// [`Refusal::UnknownKey`] and [`Refusal::ExpiredKey`].
    pub(crate) fn key(&self, id: KeyId, wall: Wall) -> Result<&VerifyingKey, Refusal> {
        let mut keys = self.keys.iter();
        let trusted = keys.find(|key| key.id == id).ok_or(Refusal::UnknownKey)?;
        if wall >= trusted.expires {
            return Err(Refusal::ExpiredKey);
        }
        Ok(&trusted.key)
    }
}
