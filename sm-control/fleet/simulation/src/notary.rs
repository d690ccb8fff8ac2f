//! Signatures without arithmetic: what was signed is what this remembers. And the rules with a
//! flaw.
//!
//! A signature costs as much as a thousand steps of a simulation. Here one is a number, and is good
//! if it was given out for these bytes and this key; so nobody can forge one, which is what is
//! wanted of signatures.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::Rc;

use sa_fleet::identity::{Digest, Position, Token};
use sa_fleet::rules::{Flaw, Rules, SigningKey, Sound, VerifyingKey};

use crate::clock::Time;

/// What the oracle knows of an announcement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Truth {
    /// Among all others.
    pub(crate) position: Position,
    /// What it says.
    pub(crate) content: Digest,
    /// What is in force by it.
    pub(crate) in_force: Option<Token>,
    /// When it was made, in true time.
    pub(crate) made: Time,
}

/// Who remembers.
#[derive(Debug, Default)]
pub(crate) struct Notary {
    given: HashSet<u64>,
    by_bytes: HashMap<u64, Truth>,
    by_position: HashMap<(Position, Digest), Truth>,
}

/// Rules with at most one flaw.
#[derive(Debug, Clone)]
pub(crate) struct Broken {
    /// What is broken.
    pub(crate) flaw: Option<Flaw>,
    /// Whether signatures are real.
    pub(crate) is_real: bool,
    /// Who remembers, of this simulation.
    pub(crate) notary: Rc<RefCell<Notary>>,
}

impl Notary {
    /// Remembers an announcement; false if it was known.
    pub(crate) fn enter(&mut self, bytes: &[u8], truth: Truth) -> bool {
        // Two leaders that say the same say it at two times; which was heard is not asked.
        let same = self.by_position.entry((truth.position, truth.content));
        let same = same.or_insert(truth);
        same.made = same.made.max(truth.made);
        self.by_bytes.insert(hash(bytes), truth).is_none()
    }

    /// What is known of these bytes.
    pub(crate) fn of(&self, bytes: &[u8]) -> Option<Truth> {
        self.by_bytes.get(&hash(bytes)).copied()
    }

    /// What is known of what stands there.
    pub(crate) fn at(&self, position: Position, content: Digest) -> Option<Truth> {
        self.by_position.get(&(position, content)).copied()
    }
}

impl Rules for Broken {
    fn has(&self, flaw: Flaw) -> bool {
        self.flaw == Some(flaw)
    }

    fn sign(&self, key: &SigningKey, message: &[&[u8]]) -> [u8; 64] {
        if self.is_real {
            return Sound.sign(key, message);
        }
        let number = hash(&(message, key.verifying_key().as_bytes()));
        let mut signature = [0; 64];
        signature[..8].copy_from_slice(&number.to_le_bytes());
        self.notary.borrow_mut().given.insert(number);
        signature
    }

    fn is_signed(&self, key: &VerifyingKey, message: &[&[u8]], signature: &[u8; 64]) -> bool {
        if self.is_real {
            return Sound.is_signed(key, message, signature);
        }
        let number = hash(&(message, key.as_bytes()));
        let mut expected = [0; 64];
        expected[..8].copy_from_slice(&number.to_le_bytes());
        expected == *signature && self.notary.borrow().given.contains(&number)
    }
}

/// Two that are equal by chance are as rare as a forged signature.
fn hash(value: &(impl Hash + ?Sized)) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}
