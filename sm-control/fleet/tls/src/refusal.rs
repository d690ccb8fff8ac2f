//! Why a connection did not come about.
//!
//! The same words for both sides: what one host counts as `expired` of another, that one counts as
//! `refused_there`, so an operator who looks at either finds the host whose files are to be
//! renewed.

use std::error::Error as StdError;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use rustls::{CertificateError, Error};

/// The reasons. Each has a counter, as an operator does something else about each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// It does not speak TLS: mostly `http://` where `https://` is meant.
    #[error("it speaks no TLS")]
    NoTls,
    /// It does not end the handshake in its time.
    #[error("it did not end the handshake in time")]
    Slow,
    /// It shows none, and has to.
    #[error("it shows no certificate")]
    NoCertificate,
    /// Of an authority that does not count here.
    #[error("its certificate is not of an authority that is in the file `ca` here")]
    OtherAuthority,
    /// By the wall clock here.
    #[error("its certificate has expired by the clock here")]
    Expired,
    /// By the wall clock here.
    #[error("its certificate is not good yet by the clock here")]
    NotYet,
    /// The certificate is for another host.
    #[error("its certificate is not for the name or address by which it was asked")]
    OtherName,
    /// Extended key usage.
    #[error("its certificate is for another use (extended key usage)")]
    OtherUse,
    /// None, or more than one.
    #[error("its certificate has not one role, such as the URI sapphire:role/node")]
    NoRole,
    /// A node is not followed.
    #[error("its certificate is that of a node, and only a leader or a relay is asked")]
    WrongRole,
    /// Damaged, or of a kind that is not known here.
    #[error("its certificate cannot be used")]
    BadCertificate,
    /// It is this host that is refused there.
    #[error("it refuses the certificate of this host")]
    RefusedThere,
    /// Anything else of the protocol: other versions, ciphers, nonsense.
    #[error("the handshake failed")]
    Handshake,
}

impl Refusal {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 13] = [
        Self::NoTls,
        Self::Slow,
        Self::NoCertificate,
        Self::OtherAuthority,
        Self::Expired,
        Self::NotYet,
        Self::OtherName,
        Self::OtherUse,
        Self::NoRole,
        Self::WrongRole,
        Self::BadCertificate,
        Self::RefusedThere,
        Self::Handshake,
    ];

    /// The label of its counter.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NoTls => "no_tls",
            Self::Slow => "slow",
            Self::NoCertificate => "no_certificate",
            Self::OtherAuthority => "other_authority",
            Self::Expired => "expired",
            Self::NotYet => "not_yet",
            Self::OtherName => "other_name",
            Self::OtherUse => "other_use",
            Self::NoRole => "no_role",
            Self::WrongRole => "wrong_role",
            Self::BadCertificate => "bad_certificate",
            Self::RefusedThere => "refused_there",
            Self::Handshake => "handshake",
        }
    }

    /// What an error of a handshake means here.
    pub(crate) fn of(error: &Error) -> Self {
        use CertificateError as Of;
        match error {
            Error::NoCertificatesPresented => Self::NoCertificate,
            Error::InvalidMessage(_) => Self::NoTls,
            Error::AlertReceived(_) => Self::RefusedThere,
            Error::InvalidCertificate(why) => match why {
                // What is refused by the role is refused by `verify`, which says so in its own words.
                Of::Other(other) => other
                    .0
                    .downcast_ref()
                    .copied()
                    .unwrap_or(Self::BadCertificate),
                // The latter where two authorities have one name.
                Of::UnknownIssuer | Of::BadSignature => Self::OtherAuthority,
                Of::Expired | Of::ExpiredContext { .. } => Self::Expired,
                Of::NotValidYet | Of::NotValidYetContext { .. } => Self::NotYet,
                Of::NotValidForName | Of::NotValidForNameContext { .. } => Self::OtherName,
                Of::InvalidPurpose | Of::InvalidPurposeContext { .. } => Self::OtherUse,
                _ => Self::BadCertificate,
            },
            _ => Self::Handshake,
        }
    }
}

/// A refusal as it is told.
#[derive(Debug, thiserror::Error)]
#[error("{refusal}{detail}")]
pub struct Refused {
    /// Why.
    pub refusal: Refusal,
    /// In rustls's words, in parentheses; or empty.
    pub detail: String,
}

impl Refused {
    /// None: it is an error of the network, and not one of TLS.
    pub(crate) fn of(error: &io::Error) -> Option<Self> {
        let error = error.get_ref()?.downcast_ref::<Error>()?;
        let refusal = Refusal::of(error);
        let detail = match error {
            Error::InvalidCertificate(CertificateError::Other(_)) => String::new(),
            error => format!(" ({error})"),
        };
        Some(Self { refusal, detail })
    }
}

impl Refusal {
    /// As rustls takes it from who verifies.
    pub(crate) fn into_error(self) -> Error {
        let other: std::sync::Arc<dyn StdError + Send + Sync> = std::sync::Arc::new(self);
        Error::InvalidCertificate(CertificateError::Other(rustls::OtherError(other)))
    }
}

/// How often each reason was met, by any thread.
#[derive(Debug, Default)]
pub struct Refusals([AtomicU64; Refusal::ALL.len()]);

impl Refusals {
    /// One more.
    pub(crate) fn count(&self, refusal: Refusal) {
        if let Some(count) = self.0.get(refusal as usize) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Of one reason.
    pub fn of(&self, refusal: Refusal) -> u64 {
        let count = self.0.get(refusal as usize);
        count.map_or(0, |count| count.load(Ordering::Relaxed))
    }

    /// Each reason with its count.
    pub fn all(&self) -> impl Iterator<Item = (Refusal, u64)> + '_ {
        Refusal::ALL.into_iter().map(|it| (it, self.of(it)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_has_a_counter_and_a_name_of_its_own() {
        let refusals = Refusals::default();
        for (number, refusal) in Refusal::ALL.into_iter().enumerate() {
            assert_eq!(refusal as usize, number);
            refusals.count(refusal);
        }
        assert!(refusals.all().all(|(_, count)| count == 1));
        let mut names = Refusal::ALL.map(Refusal::name);
        names.sort_unstable();
        assert!(names.windows(2).all(|two| two[0] != two[1]), "{names:?}");
    }

    #[test]
    fn a_reason_comes_through_rustls_as_it_went_in() {
        for refusal in Refusal::ALL {
            assert_eq!(Refusal::of(&refusal.into_error()), refusal);
        }
        let lost = io::Error::from(io::ErrorKind::ConnectionReset);
        assert!(Refused::of(&lost).is_none());
    }
}
