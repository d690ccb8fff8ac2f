//! TLS under ureq, by what `fleet-tls` has: ureq's own way takes no say in whom to believe, and no
//! certificate that is renewed.
//!
//! This is ureq's interface for transports, which may change with any minor version: all that is
//! used of it is here.

use std::io::{self, Read as _, Write as _};
use std::sync::Arc;

use fleet_tls::rustls::pki_types::ServerName;
use fleet_tls::rustls::{ClientConnection, StreamOwned};
use fleet_tls::{Refused, Side, Tls};
use ureq::config::Config;
use ureq::unversioned::resolver::DefaultResolver;
use ureq::unversioned::transport::{
    Buffers, ConnectionDetails, Connector, Either, LazyBuffers, NextTimeout, TcpConnector,
    Transport, TransportAdapter,
};
use ureq::{Agent, Error};

/// One that can ask by `https://`.
pub(super) fn agent(config: Config, tls: &Tls) -> Agent {
    let secure = Secure(tls.clone());
    let connector = ().chain(TcpConnector::default()).chain(secure);
    Agent::with_parts(config, connector, DefaultResolver::default())
}

/// What was made an error of ureq's below, again. Errors: it is another.
pub(super) fn refused(error: Error) -> Result<Refused, Error> {
    match error {
        Error::Other(other) => match other.downcast() {
            Ok(refused) => Ok(*refused),
            Err(other) => Err(Error::Other(other)),
        },
        error => Err(error),
    }
}

#[derive(Debug)]
struct Secure(Tls);

impl<In: Transport> Connector<In> for Secure {
    type Out = Either<In, SecureTransport>;

    fn connect(
        &self,
        details: &ConnectionDetails<'_>,
        chained: Option<In>,
    ) -> Result<Option<Self::Out>, Error> {
        let Some(transport) = chained else {
            return Ok(None);
        };
        if !details.needs_tls() {
            return Ok(Some(Either::A(transport)));
        }
        let host = details.uri.host().unwrap_or_default();
        // An address of IPv6 stands in brackets there.
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let name = ServerName::try_from(host.to_owned())
            .map_err(|_| Error::Tls("its host is neither a name nor an address"))?;
        let connection = ClientConnection::new(self.0.client(), name)
            .map_err(|why| Error::Io(io::Error::other(why)))?;
        let mut socket = TransportAdapter::new(transport.boxed(), details.current_time.clone());
        // As long again as the connection itself may have taken.
        socket.set_timeout(details.timeout);
        let mut secure = SecureTransport {
            buffers: LazyBuffers::new(
                details.config.input_buffer_size(),
                details.config.output_buffer_size(),
            ),
            stream: StreamOwned::new(connection, socket),
            tls: self.0.clone(),
            who: details
                .uri
                .authority()
                .map_or_else(|| Arc::from(""), |it| it.as_str().into()),
        };
        let StreamOwned { conn, sock } = &mut secure.stream;
        if let Err(why) = conn.complete_io(sock) {
            // Why it is refused: rustls writes once, and this comes in two pieces.
            while conn.wants_write() && conn.write_tls(sock).is_ok_and(|written| written > 0) {}
            return Err(secure.told(why));
        }
        Ok(Some(Either::B(secure)))
    }
}

/// A connection under TLS.
struct SecureTransport {
    buffers: LazyBuffers,
    stream: StreamOwned<ClientConnection, TransportAdapter>,
    tls: Tls,
    who: Arc<str>,
}

impl SecureTransport {
    /// The other side looks at the certificate of this one after its own handshake is over, so a
    /// refusal comes with any read.
    fn told(&self, why: io::Error) -> Error {
        match self.tls.failed(Side::Server, &self.who, &why) {
            Some(refused) => Error::Other(Box::new(refused)),
            None => why.into(),
        }
    }
}

impl Transport for SecureTransport {
    fn buffers(&mut self) -> &mut dyn Buffers {
        &mut self.buffers
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), Error> {
        self.stream.sock.set_timeout(timeout);
        let output = self.buffers.output().get(..amount).unwrap_or_default();
        let written = self.stream.write_all(output);
        written.map_err(|why| self.told(why))
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, Error> {
        self.stream.sock.set_timeout(timeout);
        let read = self.stream.read(self.buffers.input_append_buf());
        let read = read.map_err(|why| self.told(why))?;
        self.buffers.input_appended(read);
        Ok(read > 0)
    }

    fn is_open(&mut self) -> bool {
        self.stream.sock.get_mut().is_open()
    }

    fn is_tls(&self) -> bool {
        true
    }
}

impl std::fmt::Debug for SecureTransport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SecureTransport")
            .field("who", &self.who)
            .finish_non_exhaustive()
    }
}
