//! What a host is in its fleet, by its certificate.

use rustls::pki_types::CertificateDer;
use webpki::EndEntityCert;

/// Before the word, in an URI among the names of a certificate. URIs, as no host can be asked by
/// such a name: a certificate for a host called `leader` is no leader's.
const PREFIX: &str = "sapphire:role/";

/// What a host may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// Announces. Answers and asks others.
    Leader,
    /// Hands on. Answers and asks others.
    Relay,
    /// Follows, and only asks.
    Node,
}

impl Role {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Leader, Self::Relay, Self::Node];

    /// Its word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Leader => "leader",
            Self::Relay => "relay",
            Self::Node => "node",
        }
    }

    /// Whether others may ask it: who follows a node would follow anybody whose host was broken
    /// into.
    pub const fn is_asked(self) -> bool {
        matches!(self, Self::Leader | Self::Relay)
    }

    /// None: the certificate has no role, or more than one, and each of the two sides might go by
    /// another.
    pub(crate) fn of(certificate: &CertificateDer<'_>) -> Option<Self> {
        let certificate = EndEntityCert::try_from(certificate).ok()?;
        let mut words = certificate
            .valid_uri_names()
            .filter_map(|uri| uri.strip_prefix(PREFIX));
        let word = words.next()?;
        let role = Self::ALL.into_iter().find(|role| role.name() == word);
        role.filter(|_| words.next().is_none())
    }
}
