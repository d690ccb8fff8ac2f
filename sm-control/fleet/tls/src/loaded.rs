//! What the three files say, once they are found to be good.
//!
//! A certificate is looked at as those will who are shown it: by the same authorities, for the same
//! uses, with the same clock. So what is wrong with it is said here, at the start, and not by ten
//! thousand hosts that refuse this one.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use rustls::client::{Resumption, verify_server_cert_signed_by_trust_anchor};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::danger::ClientCertVerifier as _;
use rustls::server::{NoServerSessionStorage, ParsedCertificate};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::version::TLS13;
use rustls::{CertificateError, ClientConfig, Error, RootCertStore, ServerConfig};

use crate::files::{Fault, Files, Problem, fault};
use crate::role::Role;
use crate::verify::{Clients, OfClients, OfServers};

/// A certificate with its key, and the authorities that count.
#[derive(Debug)]
pub struct Loaded {
    roots: Arc<RootCertStore>,
    own: Arc<CertifiedKey>,
    provider: Arc<CryptoProvider>,
    role: Role,
    good_until: Option<SystemTime>,
}

impl Loaded {
    /// Reads the files and finds out whether others that go by the same authorities will take them.
    /// Errors: the first [`Fault`].
    pub fn read(files: &Files) -> Result<Self, Fault> {
        Self::read_at(files, UnixTime::now())
    }

    /// As of a time. The authorities' own time is not looked at: webpki takes what stands in `ca`
    /// for good.
    fn read_at(files: &Files, now: UnixTime) -> Result<Self, Fault> {
        let provider = Arc::new(ring::default_provider());
        let mut roots = RootCertStore::empty();
        for (number, authority) in (1..).zip(files.authorities()?) {
            let added = roots.add(authority);
            added.map_err(|why| fault(&files.ca, Problem::Authority(number, why)))?;
        }
        let roots = Arc::new(roots);
        let chain = files.chain()?;
        let key = files.private_key()?;
        let certificate = chain.first().cloned().unwrap_or_else(|| Vec::new().into());
        let own = CertifiedKey::from_der(chain, key, &provider).map_err(|why| match why {
            Error::InconsistentKeys(_) => fault(&files.key, Problem::OtherKey(files.cert.clone())),
            Error::InvalidCertificate(_) => fault(&files.cert, Problem::Certificate(why)),
            why => fault(&files.key, Problem::KeyKind(why)),
        })?;
        let problem = |why| fault(&files.cert, problem_of(why, files, now));
        let between = own.cert.get(1..).unwrap_or_default();
        // Whoever it is, it asks others.
        let asking = OfClients::new(&roots, Clients::Required, &provider)
            .map_err(|why| problem((why, ASKS)))?;
        let verified = asking.verify_client_cert(&certificate, between, now);
        verified.map_err(|why| problem((why, ASKS)))?;
        let role = Role::of(&certificate).ok_or_else(|| fault(&files.cert, Problem::NoRole))?;
        if role.is_asked() {
            let parsed = ParsedCertificate::try_from(&certificate);
            let algorithms = provider.signature_verification_algorithms.all;
            let verified = parsed.and_then(|it| {
                verify_server_cert_signed_by_trust_anchor(&it, &roots, between, now, algorithms)
            });
            verified.map_err(|why| problem((why, ANSWERS)))?;
        }
        let good_until = good_until(&asking, &certificate, between);
        Ok(Self {
            roots,
            own: Arc::new(own),
            provider,
            role,
            good_until,
        })
    }

    /// What this host is.
    pub const fn role(&self) -> Role {
        self.role
    }

    /// When the certificate of this host ends. None: it does not say.
    pub const fn good_until(&self) -> Option<SystemTime> {
        self.good_until
    }

    /// For who is asked. Errors: none that [`Self::read`] would have let through.
    pub(crate) fn server(&self, clients: Clients) -> Result<Arc<ServerConfig>, Error> {
        let verifier = OfClients::new(&self.roots, clients, &self.provider)?;
        let builder = ServerConfig::builder_with_provider(Arc::clone(&self.provider));
        let mut config = builder
            .with_protocol_versions(&[&TLS13])?
            .with_client_cert_verifier(Arc::new(verifier))
            .with_cert_resolver(Arc::new(SingleCertAndKey::from(Arc::clone(&self.own))));
        // A ticket is good for as long as it says, and not for as long as the certificate.
        config.send_tls13_tickets = 0;
        config.session_storage = Arc::new(NoServerSessionStorage {});
        Ok(Arc::new(config))
    }

    /// For who asks. Errors: none that [`Self::read`] would have let through.
    pub(crate) fn client(&self) -> Result<Arc<ClientConfig>, Error> {
        let verifier = OfServers::new(&self.roots, &self.provider)?;
        let builder = ClientConfig::builder_with_provider(Arc::clone(&self.provider));
        let mut config = builder
            .with_protocol_versions(&[&TLS13])?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier))
            .with_client_cert_resolver(Arc::new(SingleCertAndKey::from(Arc::clone(&self.own))));
        config.resumption = Resumption::disabled();
        Ok(Arc::new(config))
    }
}

/// For which side of TLS, in words and as openssl calls it.
type Use = (&'static str, &'static str);

const ASKS: Use = ("clients", "clientAuth");
const ANSWERS: Use = ("servers", "serverAuth");

/// In words for who has the files; rustls's are for who has the connection.
fn problem_of((why, of): (Error, Use), files: &Files, now: UnixTime) -> Problem {
    use CertificateError as Of;
    let apart = |one: UnixTime, other: UnixTime| {
        Duration::from_secs(one.as_secs().saturating_sub(other.as_secs()))
    };
    let Error::InvalidCertificate(certificate) = &why else {
        return Problem::Certificate(why);
    };
    match certificate {
        Of::ExpiredContext { not_after, .. } => Problem::Expired(apart(now, *not_after)),
        Of::NotValidYetContext { not_before, .. } => Problem::NotYet(apart(*not_before, now)),
        // The latter where two authorities have one name.
        Of::UnknownIssuer | Of::BadSignature => Problem::OtherAuthority(files.ca.clone()),
        // Of ours is only the role.
        Of::Other(_) => Problem::NoRole,
        Of::InvalidPurpose | Of::InvalidPurposeContext { .. } => Problem::OtherUse(of.0, of.1),
        _ => Problem::Certificate(why),
    }
}

/// webpki keeps the day to itself, but says it of a certificate that is over: so it is asked about
/// a time when all are.
fn good_until(
    verifier: &OfClients,
    certificate: &CertificateDer<'_>,
    between: &[CertificateDer<'_>],
) -> Option<SystemTime> {
    let never = UnixTime::since_unix_epoch(Duration::from_secs(u64::from(u32::MAX) << 8));
    match verifier.verify_client_cert(certificate, between, never) {
        Err(Error::InvalidCertificate(CertificateError::ExpiredContext { not_after, .. })) => {
            SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(not_after.as_secs()))
        }
        _ => None,
    }
}
