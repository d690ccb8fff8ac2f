//! Authorities and certificates that tests make, and a client that shows what it likes.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;

use fleet_tls::rustls::crypto::ring;
use fleet_tls::rustls::pki_types::pem::PemObject as _;
use fleet_tls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use fleet_tls::rustls::version::TLS13;
use fleet_tls::rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use fleet_tls::{Clients, Files, Tls};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair, SanType, date_time_ymd,
};

use crate::rig::DEADLINE;

/// An authority.
pub(crate) struct Site(CertifiedIssuer<'static, KeyPair>);

/// A certificate with its key, in PEM.
pub(crate) struct Made {
    cert: String,
    key: String,
}

impl Site {
    pub(crate) fn new() -> Self {
        Self::called("a site")
    }

    pub(crate) fn called(name: &str) -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, name);
        let key = KeyPair::generate().unwrap();
        Self(CertifiedIssuer::self_signed(params, key).unwrap())
    }

    /// Of a host with this role, good for a long time.
    pub(crate) fn made(&self, role: &str) -> Made {
        self.made_with(role, |_| {})
    }

    pub(crate) fn expired(&self, role: &str) -> Made {
        self.made_with(role, |params| params.not_after = date_time_ymd(2020, 1, 1))
    }

    pub(crate) fn made_with(
        &self,
        role: &str,
        change: impl FnOnce(&mut CertificateParams),
    ) -> Made {
        let mut params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
        let role = format!("sapphire:role/{role}").try_into().unwrap();
        params.subject_alt_names.push(SanType::URI(role));
        params.not_before = date_time_ymd(2019, 1, 1);
        params.extended_key_usages = vec![
            ExtendedKeyUsagePurpose::ClientAuth,
            ExtendedKeyUsagePurpose::ServerAuth,
        ];
        change(&mut params);
        let key = KeyPair::generate().unwrap();
        let cert = params.signed_by(&key, &self.0).unwrap();
        Made {
            cert: cert.pem(),
            key: key.serialize_pem(),
        }
    }

    /// The files of a host in a directory, as an operator lays them there.
    pub(crate) fn lay(&self, directory: &Path, made: &Made) -> Files {
        std::fs::create_dir_all(directory).unwrap();
        let [ca, cert, key] = ["ca.pem", "cert.pem", "key.pem"].map(|it| directory.join(it));
        std::fs::write(&ca, self.0.pem()).unwrap();
        std::fs::write(&cert, &made.cert).unwrap();
        std::fs::write(&key, &made.key).unwrap();
        std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).unwrap();
        Files { ca, cert, key }
    }

    pub(crate) fn tls(&self, directory: &Path, role: &str) -> Tls {
        let files = self.lay(directory, &self.made(role));
        Tls::open(files, Clients::Required).unwrap()
    }

    /// A client that believes this authority, and shows this or nothing.
    pub(crate) fn client(&self, shows: Option<&Made>) -> Arc<ClientConfig> {
        let mut roots = RootCertStore::empty();
        roots.add(self.0.der().clone()).unwrap();
        let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_protocol_versions(&[&TLS13])
            .unwrap()
            .with_root_certificates(roots);
        Arc::new(match shows {
            None => builder.with_no_client_auth(),
            Some(made) => {
                let chain = CertificateDer::from_pem_slice(made.cert.as_bytes()).unwrap();
                let key = PrivateKeyDer::from_pem_slice(made.key.as_bytes()).unwrap();
                builder.with_client_auth_cert(vec![chain], key).unwrap()
            }
        })
    }
}

pub(crate) type Stream = StreamOwned<ClientConnection, TcpStream>;

/// A connection by hand; the handshake comes with the first use.
pub(crate) fn connect(address: SocketAddr, config: Arc<ClientConfig>) -> Stream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(DEADLINE)).unwrap();
    let name = ServerName::try_from("127.0.0.1").unwrap();
    StreamOwned::new(ClientConnection::new(config, name).unwrap(), stream)
}

/// What comes until the end, of requests that are sent in one piece. Errors: how it is refused.
pub(crate) fn asked(
    address: SocketAddr,
    config: Arc<ClientConfig>,
    requests: &str,
) -> io::Result<String> {
    let mut stream = connect(address, config);
    stream.write_all(requests.as_bytes())?;
    let mut answer = Vec::new();
    match stream.read_to_end(&mut answer) {
        // Without a word of TLS: what came is what counts here.
        Err(error) if error.kind() != io::ErrorKind::UnexpectedEof => return Err(error),
        _ => {}
    }
    Ok(String::from_utf8(answer).unwrap())
}
