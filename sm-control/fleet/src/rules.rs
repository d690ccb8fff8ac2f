//! The rules that an implementation could break, so that tests can break each and see whether it is
//! found.
//!
//! What runs follows [`Sound`], which breaks none and has no size: the compiler removes every
//! question below. The simulation gives rules of its own, with one flaw at a time, and must find a
//! wrong answer for each.

use ed25519_dalek::{Signature, Signer};
pub use ed25519_dalek::{SigningKey, VerifyingKey};

/// What a broken implementation would do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Flaw {
    /// A follower counts the time left from the arrival of a reply, not from the sending of its
    /// request.
    CountsFromArrival,
    /// A follower uses an announcement before it is stored.
    UsesBeforeStored,
    /// After a restart a follower knows nothing of what it had stored.
    ForgetsWhatItSaw,
    /// A withdrawal is taken for an announcement like others.
    IgnoresWithdrawal,
    /// What was fresh stays fresh when another generation is announced.
    KeepsFreshness,
    /// Of two contents of one issue the later beat counts.
    TakesContradiction,
    /// Clocks are taken to be exact.
    LeavesNoMargin,
    /// What a sender says of the time left is believed without a bound.
    BelievesRemaining,
    /// What a sender says of the time that it held a request is believed without a bound.
    BelievesHeld,
    /// The wall clock is not looked at where it counts.
    IgnoresWallClock,
    /// Signatures are not checked.
    SkipsSignature,
    /// Beats that were counted before are counted again.
    CountsBeatsTwice,
    /// Ports that changed are not looked at.
    IgnoresPorts,
    /// A relay hands on every beat as if it were just issued.
    StretchesRemaining,
    /// A leader issues beats when its lease may be over.
    BeatsPastLease,
    /// A leader counts its lease from the arrival of the engine's reply.
    LeaseFromArrival,
    /// A leader hands out what it had said while it publishes another generation.
    SpeaksWhilePublishing,
    /// A publication of which nobody knows is taken for one that did not happen.
    UnknownIsNo,
    /// A publication of which nobody knows is taken for one that happened.
    UnknownIsYes,
    /// A leader goes on though the engine refused it as fenced.
    IgnoresFence,
    /// A leader goes on though it saw a later term.
    IgnoresLaterTerm,
}

/// Which rules hold, and how signatures are made and checked.
pub trait Rules {
    /// Whether this rule is broken.
    fn has(&self, flaw: Flaw) -> bool;

    /// Signs a message.
    fn sign(&self, key: &SigningKey, message: &[&[u8]]) -> [u8; 64];

    /// Whether it is the signature of that key.
    fn is_signed(&self, key: &VerifyingKey, message: &[&[u8]], signature: &[u8; 64]) -> bool;
}

/// All rules hold.
#[derive(Debug, Clone, Copy, Default)]
pub struct Sound;

impl Rules for Sound {
    fn has(&self, _: Flaw) -> bool {
        false
    }

    fn sign(&self, key: &SigningKey, message: &[&[u8]]) -> [u8; 64] {
        key.sign(&message.concat()).to_bytes()
    }

    // Strictly: no key and no point of small order, under which a signature fits many messages.
    fn is_signed(&self, key: &VerifyingKey, message: &[&[u8]], signature: &[u8; 64]) -> bool {
        let signature = Signature::from_bytes(signature);
        key.verify_strict(&message.concat(), &signature).is_ok()
    }
}
