//! How an SA is asked, whatever lies between.

use std::time::Duration;

use sa_fastpath::port::umad::{
    AskError as PortAskError, ClientPort, Destination, Patience, Reply, UmadClient,
};
use sa_fastpath::port::{PortError, ibsim};
use sa_wire::umad::MAD_SIZE;
use sa_wire::{Lid, Sl};
use thiserror::Error;

use crate::{SaSource, SaTransport};

/// Asks the SA of the SM that runs the fabric.
pub trait Ask: Send {
    /// The whole reply to a request.
    ///
    /// Shape: 56 header bytes and all records, put together from however many MADs they came in.
    /// The transaction is this trait's user's, unique among its own requests; whoever implements
    /// it may replace it on the way. Errors: [`AskError`].
    fn ask(&mut self, request: &[u8; MAD_SIZE]) -> Result<Vec<u8>, AskError>;

    /// The LID that requests come from; 0 where it is not known.
    fn lid(&self) -> u16;

    /// Who is asked, for people.
    fn whom(&self) -> String;
}

/// Why no reply came.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum AskError {
    /// The SA says nothing; it may later.
    #[error("{0}")]
    Unanswered(String),
    /// The way to it is gone.
    #[error("{0}")]
    Gone(String),
}

impl From<PortAskError> for AskError {
    fn from(error: PortAskError) -> Self {
        match error {
            PortAskError::Port(cause @ (PortError::Os { .. } | PortError::Closed)) => {
                Self::Gone(cause.to_string())
            }
            other => Self::Unanswered(other.to_string()),
        }
    }
}

/// Asks through a port of the fabric.
pub struct PortAsk {
    port: Box<dyn ClientPort + Send>,
    to: Destination,
    lid: u16,
    patience: Patience,
    reply: Reply,
}

impl PortAsk {
    /// Through an open port, whose LID is `lid`.
    pub fn new(
        port: Box<dyn ClientPort + Send>,
        to: Destination,
        lid: u16,
        patience: Patience,
    ) -> Self {
        Self {
            port,
            to,
            lid,
            patience,
            reply: Reply::default(),
        }
    }

    /// Through the port that a configuration names. Errors: no such port; no SM has been there and
    /// no LID is given.
    pub fn open(source: &SaSource) -> Result<Self, AskError> {
        match &source.transport {
            SaTransport::Umad { device, port } => umad(source, device.as_deref(), *port),
            SaTransport::Ibsim { node, sockname } => ibsim(source, node, sockname.as_deref()),
        }
    }
}

impl Ask for PortAsk {
    fn ask(&mut self, request: &[u8; MAD_SIZE]) -> Result<Vec<u8>, AskError> {
        self.port
            .ask(&self.to, request, self.patience, &mut self.reply)?;
        // The buffer of a table is not worth keeping: the next reply may be short.
        Ok(core::mem::take(&mut self.reply.mad))
    }

    fn lid(&self) -> u16 {
        self.lid
    }

    fn whom(&self) -> String {
        format!("the SA at LID {}", self.to.lid)
    }
}

/// Asks through the port that a configuration names, opened when it is first needed and again when
/// nobody answered: the device may have come back, the SM may have moved.
pub struct Reopening {
    source: SaSource,
    open: Option<PortAsk>,
    /// The LID that requests came from last.
    lid: u16,
}

impl Reopening {
    /// Nothing is opened yet.
    pub const fn new(source: SaSource) -> Self {
        Self {
            source,
            open: None,
            lid: 0,
        }
    }
}

impl Ask for Reopening {
    fn ask(&mut self, request: &[u8; MAD_SIZE]) -> Result<Vec<u8>, AskError> {
        let port = match &mut self.open {
            Some(port) => port,
            closed => closed.insert(PortAsk::open(&self.source)?),
        };
        self.lid = port.lid();
        let reply = port.ask(request);
        if reply.is_err() {
            self.open = None;
        }
        reply
    }

    fn lid(&self) -> u16 {
        self.lid
    }

    fn whom(&self) -> String {
        let open = self.open.as_ref();
        open.map_or_else(|| "the SA".to_owned(), PortAsk::whom)
    }
}

fn umad(source: &SaSource, device: Option<&str>, port: Option<u8>) -> Result<PortAsk, AskError> {
    let client = UmadClient::open(device, port).map_err(|error| gone(&error))?;
    let lid = client.name().state().lid;
    let to = match (source.sa_lid, client.sa()) {
        // The SL of the SM's own SA; for another it is the best guess.
        (Some(given), named) => Destination {
            sl: named.map_or_else(Sl::default, |sa| sa.sl),
            ..destination(given)?
        },
        (None, Some(named)) => named,
        (None, None) => return Err(no_sm()),
    };
    Ok(PortAsk::new(Box::new(client), to, lid, source.patience()))
}

fn ibsim(source: &SaSource, node: &str, sockname: Option<&str>) -> Result<PortAsk, AskError> {
    let mut options = ibsim::Options::on(node);
    if let Some(sockname) = sockname {
        sockname.clone_into(&mut options.base);
    }
    let mut attachment = ibsim::Attachment::new(&options).map_err(|error| gone(&error))?;
    let facts = attachment.port().map_err(|error| gone(&error))?;
    let to = destination(source.sa_lid.unwrap_or(facts.sm_lid))?;
    let client = attachment.client().map_err(|error| gone(&error))?;
    let (client, patience) = (Box::new(client), source.patience());
    Ok(PortAsk::new(client, to, facts.lid, patience))
}

fn destination(lid: u16) -> Result<Destination, AskError> {
    Lid::new(lid).map(Destination::sa).map_err(|_| no_sm())
}

fn no_sm() -> AskError {
    AskError::Unanswered(
        "the port knows no SM yet; wait until one has configured it, or give sa_lid".to_owned(),
    )
}

fn gone(error: &dyn core::fmt::Display) -> AskError {
    AskError::Gone(error.to_string())
}

impl SaSource {
    /// How long an answer is waited for.
    pub(crate) fn patience(&self) -> Patience {
        Patience {
            timeout: Duration::from_millis(self.timeout_ms.into()),
            retries: self.retries,
        }
    }
}
