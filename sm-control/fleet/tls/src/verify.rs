//! Who is believed: what rustls says of a certificate, and then its role.
//!
//! Chains, times, names and signatures are webpki's work, and nothing of it is done again or left
//! out: these two ask it first, and only what it has let through is asked for its role. What they
//! refuse comes out of the handshake as a [`Refusal`], and the other side gets an alert.

use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{
    DigitallySignedStruct, DistinguishedName, Error, OtherError, RootCertStore, SignatureScheme,
};

use crate::refusal::Refusal;
use crate::role::Role;

/// Whether those who ask have to show a certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Clients {
    /// Who has none gets nothing.
    #[default]
    Required,
    /// Who has none may read: the topology is public on that network then. One that is shown has to
    /// be good all the same.
    Optional,
}

/// For who is asked.
#[derive(Debug)]
pub(crate) struct OfClients(Arc<dyn ClientCertVerifier>);

/// For who asks.
#[derive(Debug)]
pub(crate) struct OfServers(Arc<WebPkiServerVerifier>);

impl OfClients {
    /// Errors: no authority.
    pub(crate) fn new(
        roots: &Arc<RootCertStore>,
        clients: Clients,
        provider: &Arc<CryptoProvider>,
    ) -> Result<Self, Error> {
        let builder =
            WebPkiClientVerifier::builder_with_provider(Arc::clone(roots), Arc::clone(provider));
        let builder = match clients {
            Clients::Required => builder,
            Clients::Optional => builder.allow_unauthenticated(),
        };
        // Hosts have one certificate, and strangers need not know whose authority counts here.
        let built = builder.clear_root_hint_subjects().build();
        built.map(Self).map_err(other)
    }
}

impl ClientCertVerifier for OfClients {
    fn offer_client_auth(&self) -> bool {
        self.0.offer_client_auth()
    }

    fn client_auth_mandatory(&self) -> bool {
        self.0.client_auth_mandatory()
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.0.root_hint_subjects()
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        let verified = self.0.verify_client_cert(end_entity, intermediates, now)?;
        match Role::of(end_entity) {
            Some(Role::Leader | Role::Relay | Role::Node) => Ok(verified),
            None => Err(Refusal::NoRole.into_error()),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_verify_schemes()
    }
}

impl OfServers {
    /// Errors: no authority.
    pub(crate) fn new(
        roots: &Arc<RootCertStore>,
        provider: &Arc<CryptoProvider>,
    ) -> Result<Self, Error> {
        let builder =
            WebPkiServerVerifier::builder_with_provider(Arc::clone(roots), Arc::clone(provider));
        builder.build().map(Self).map_err(other)
    }
}

impl ServerCertVerifier for OfServers {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let chain = (end_entity, intermediates);
        let verified =
            self.0
                .verify_server_cert(chain.0, chain.1, server_name, ocsp_response, now)?;
        match Role::of(end_entity) {
            Some(role) if role.is_asked() => Ok(verified),
            Some(_) => Err(Refusal::WrongRole.into_error()),
            None => Err(Refusal::NoRole.into_error()),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_verify_schemes()
    }
}

/// An error of a builder, as one of rustls.
fn other(error: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::Other(OtherError(Arc::new(error)))
}
