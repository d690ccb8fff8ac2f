//! Secret keys of minisign without a password, and what they sign.
//!
//! ```text
//! untrusted comment: key of leader-1          never believed
//! RWQAAEIy...                                 of 158 bytes:
//!   "Ed", 0 0, "B2"                           2, 2, 2       for which signatures, no password, which checksum
//!   salt, two limits                          32, 8, 8      0 without a password
//!   key number                                8
//!   seed, public key                          32, 32
//!   BLAKE2b of "Ed", number, seed and key     32            or 0, as minisign 0.11 has it without a password
//! ```
//!
//! Everything that has held a secret is zeroed: the text too, and what BLAKE2b has of it.

use core::fmt;
use std::io;

use base64ct::{Base64, Encoding};
use blake2::digest::Digest;
use blake2::{Blake2b256, Blake2b512};
use ed25519_dalek::{Signer, SigningKey};
use rustix::rand::{GetRandomFlags, getrandom};
use sa_fleet::announcement::LeaderKey;
use sa_fleet::identity::KeyId;
use zeroize::{Zeroize, Zeroizing};

use crate::problem::KeyFault;
use crate::public::PublicKey;

/// Bytes of one, and characters of its text.
const SIZE: usize = 158;
const TEXT: usize = 212;

/// How both files of minisign begin.
const COMMENT: &str = "untrusted comment: ";

/// A key that signs. It is zeroed when it is dropped, and never shown.
pub struct SecretKey {
    id: KeyId,
    // In a box: what is moved leaves a copy where it was.
    seed: Box<Zeroizing<[u8; 32]>>,
    public: [u8; 32],
}

impl SecretKey {
    /// A new one, of the system's randomness. Errors: there is none.
    pub fn generate() -> io::Result<Self> {
        let (mut seed, mut id) = (Box::new(Zeroizing::new([0; 32])), [0; 8]);
        random(&mut **seed)?;
        random(&mut id)?;
        Ok(Self::of(KeyId(id), seed))
    }

    fn of(id: KeyId, seed: Box<Zeroizing<[u8; 32]>>) -> Self {
        let public = SigningKey::from_bytes(&seed).verifying_key().to_bytes();
        Self { id, seed, public }
    }

    /// What checks its signatures.
    pub const fn public(&self) -> PublicKey {
        PublicKey {
            id: self.id,
            key: self.public,
        }
    }

    /// To sign announcements with.
    pub fn leader(&self) -> LeaderKey {
        LeaderKey::new(self.id, &self.seed)
    }

    /// A signature as minisign writes it, which hashes first. `said` is signed with it, and is for
    /// people.
    ///
    /// Shape: four lines; what would begin another in `said` becomes a blank.
    pub fn sign(&self, message: &[u8], said: &str) -> String {
        let said = said.replace(|letter: char| letter.is_control(), " ");
        let key = SigningKey::from_bytes(&self.seed);
        let signature = key.sign(&Blake2b512::digest(message)).to_bytes();
        let all = [&signature[..], said.as_bytes()].concat();
        let global = key.sign(&all).to_bytes();
        let first = [&b"ED"[..], &self.id.0, &signature].concat();
        let (first, global) = (base64(&first), base64(&global));
        format!("{COMMENT}signature by sapphire\n{first}\ntrusted comment: {said}\n{global}\n")
    }

    /// The text of its file.
    pub(crate) fn text(&self, said: &str) -> Zeroizing<String> {
        let said = said.replace(|letter: char| letter.is_control(), " ");
        let mut bytes = Zeroizing::new([0; SIZE]);
        let checksum = self.checksum();
        let parts: [&[u8]; 6] = [
            b"Ed\0\0B2",
            &[0; 48],
            &self.id.0,
            &**self.seed,
            &self.public,
            &*checksum,
        ];
        let values = parts.into_iter().flatten();
        bytes.iter_mut().zip(values).for_each(|(to, of)| *to = *of);
        let mut encoded = Zeroizing::new([0; TEXT]);
        let encoded = Base64::encode(&*bytes, &mut *encoded).unwrap_or_default();
        // As long as it will ever be: what grows leaves copies behind.
        let length = COMMENT.len() + said.len() + encoded.len() + 2;
        let mut text = Zeroizing::new(String::with_capacity(length));
        for part in [COMMENT, &said, "\n", encoded, "\n"] {
            text.push_str(part);
        }
        text
    }

    /// From the text of its file. Errors: it is none, has a password, or is damaged.
    pub(crate) fn parse(text: &[u8]) -> Result<Self, KeyFault> {
        let text = core::str::from_utf8(text).map_err(|_| KeyFault::NoKey)?;
        let mut lines = text.lines();
        let comment = lines.next().unwrap_or_default();
        let encoded = lines.next().unwrap_or_default().trim_end();
        let mut bytes = Zeroizing::new([0; SIZE]);
        let whole = Base64::decode(encoded, &mut *bytes).map_err(|_| KeyFault::NoKey)?;
        let is_one = comment.starts_with(COMMENT) && whole.len() == SIZE;
        let (head, rest) = whole.split_at_checked(6).ok_or(KeyFault::NoKey)?;
        match head {
            b"Ed\0\0B2" if is_one => {}
            b"EdScB2" if is_one => return Err(KeyFault::Password),
            _ => return Err(KeyFault::NoKey),
        }
        // Behind the salt and two limits, which nobody needs.
        let rest = rest.get(48..).ok_or(KeyFault::NoKey)?;
        let (id, rest) = rest.split_first_chunk::<8>().ok_or(KeyFault::NoKey)?;
        let (seed, rest) = rest.split_first_chunk::<32>().ok_or(KeyFault::NoKey)?;
        let (public, checksum) = rest.split_first_chunk::<32>().ok_or(KeyFault::NoKey)?;
        let mut own = Box::new(Zeroizing::new([0; 32]));
        own.copy_from_slice(seed);
        let key = Self::of(KeyId(*id), own);
        // Both: the checksum has the number in it, the public key is what others check by. minisign 0.11 writes 0 for the
        // checksum of a key without a password: then the number is held by the root file alone, which has to know it.
        let is_summed = *key.checksum() == *checksum || checksum == [0; 32];
        let is_whole = key.public == *public && is_summed;
        is_whole.then_some(key).ok_or(KeyFault::Damaged)
    }

    /// Against damage, not against people. Without the secret it says nothing of it, yet it is
    /// zeroed with all else.
    fn checksum(&self) -> Zeroizing<[u8; 32]> {
        let hasher = Blake2b256::new_with_prefix(b"Ed")
            .chain_update(self.id.0)
            .chain_update(**self.seed)
            .chain_update(self.public);
        let mut digest = hasher.finalize();
        let checksum = Zeroizing::new(digest.into());
        digest.zeroize();
        checksum
    }
}

impl fmt::Debug for SecretKey {
    // The secret stays here.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SecretKey({})", self.public())
    }
}

/// Fills it. Errors: the system has no randomness, or not yet.
pub fn random(buffer: &mut [u8]) -> io::Result<()> {
    let mut filled = 0;
    while let Some(rest @ [_, ..]) = buffer.get_mut(filled..) {
        match getrandom(rest, GetRandomFlags::empty()) {
            Ok(count) => filled += count,
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Of what is public.
fn base64(bytes: &[u8]) -> String {
    let mut text = [0; 128];
    // 74 bytes are the most that come here.
    Base64::encode(bytes, &mut text).unwrap_or_default().into()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

    use super::*;

    #[test]
    fn a_key_is_read_as_it_was_written_and_no_damage_is_taken() {
        let key = SecretKey::generate().unwrap();
        let text = key.text("of a\ntest");
        assert!(text.starts_with("untrusted comment: of a test\nRWQAAEIy"));
        assert_eq!(text.lines().count(), 2);
        let read = SecretKey::parse(text.as_bytes()).unwrap();
        assert_eq!(
            (read.public(), &read.seed[..]),
            (key.public(), &key.seed[..])
        );
        assert_eq!(read.leader().public(), key.public().key);
        let (comment, encoded) = text.split_once('\n').unwrap();
        let bytes = Base64::decode(encoded.trim_end(), &mut [0; SIZE])
            .unwrap()
            .to_vec();
        // Behind what a password would need, every byte counts.
        for at in (0..6).chain(54..SIZE) {
            let mut bytes = bytes.clone();
            bytes[at] ^= 1;
            let mut buffer = [0; TEXT];
            let encoded = Base64::encode(&bytes, &mut buffer).unwrap();
            let text = format!("{comment}\n{encoded}\n");
            let fault = SecretKey::parse(text.as_bytes()).unwrap_err();
            let is_said = match at {
                0..6 => matches!(fault, KeyFault::NoKey),
                _ => matches!(fault, KeyFault::Damaged),
            };
            assert!(is_said, "{at}: {fault}");
        }
        for text in [
            "",
            "untrusted comment: x",
            encoded,
            "x\ny\n",
            &text[..text.len() - 3],
        ] {
            let fault = SecretKey::parse(text.as_bytes()).unwrap_err();
            assert!(matches!(fault, KeyFault::NoKey), "{text}: {fault}");
        }
    }

    #[test]
    fn nothing_shows_the_secret() {
        let key = SecretKey::generate().unwrap();
        let shown = format!("{key:?} {:?}", key.leader());
        let seed: String = key.seed.iter().map(|byte| format!("{byte:02x}")).collect();
        assert!(!shown.contains(&seed[..16]), "{shown}");
        assert!(shown.contains(&key.public().to_string()), "{shown}");
    }
}
