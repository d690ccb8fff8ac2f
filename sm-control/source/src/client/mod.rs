//! The one client of an SA: whoever asks a running SA, in the daemon, the operator's tool or a
//! benchmark, asks through [`Client`].
//!
//! A [`SaTransport`] says what lies between: the kernel's user MAD device, a client of the fabric
//! simulator, or the ring of a `sapphired` on this node. [`Client::open`] opens it, finds the SA
//! (the LID that the SM wrote into the port, unless one is given) and sends one request at a time,
//! resent as often as its [`Patience`] says. [`Reopening`] opens it anew after each failure, for
//! programs that run on while cables, SMs and devices come and go.
//!
//! Users that only want an answer take [`Ask`], a trait, because OpenSM's own socket and the SAs of
//! tests are asked as well. Those that keep many requests under way at once take the port out of
//! the client ([`Client::way_mut`]) and drive it themselves: waiting for one reply at a time would
//! measure the waiting.
//!
//! Nothing here knows records: requests come from [`sa_wire::request`], and a reply is handed back
//! whole.
//!
//! Errors are of two kinds, and callers act on which it is: [`AskError::Unanswered`] may pass by
//! itself, [`AskError::Gone`] needs the way to be opened anew. [`AskError::NoSm`] is the first
//! sweep that has not come yet.

mod hurried;
mod reopening;
mod transport;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use sa_port::umad::UmadClient;
use sa_port::{
    AskError as PortAskError, ClientPort, Destination, Patience, PortError, Reply, ibsim,
};
use sa_wire::umad::MAD_SIZE;
use sa_wire::{Lid, Sl};
use thiserror::Error;

use crate::written::Written;

pub(crate) use self::hurried::Hurried;
pub use self::reopening::Reopening;
pub use self::transport::{RETRIES, SaSource, SaTransport, TIMEOUT_MS, TransportError};

/// Asks the SA of the SM that runs the fabric.
///
/// `Send`, as most who ask do so on a thread of their own. One request at a time: `&mut self` is
/// the promise that no second one is under way.
pub trait Ask: Send {
    /// The whole reply to a request.
    ///
    /// Shape: 56 header bytes and all records, put together from however many MADs they came in.
    /// The transaction is this trait's user's, unique among its own requests; whoever implements
    /// it may replace it on the way. Errors: [`AskError`].
    fn ask(&mut self, request: &[u8; MAD_SIZE]) -> Result<Vec<u8>, AskError>;

    /// The same for somebody who cannot wait: after `patience` nobody has answered. Ways that are not
    /// overheard need not tell the two apart: all who hurry ask one that is.
    fn ask_within(
        &mut self,
        request: &[u8; MAD_SIZE],
        patience: Duration,
    ) -> Result<Vec<u8>, AskError> {
        let _ = patience;
        self.ask(request)
    }

    /// The LID that requests come from, where it is known. An SA judges by it what it may show, so a
    /// comparison asks the snapshot as this port.
    fn lid(&self) -> Option<Lid>;

    /// Who is asked, for people: "the SA at LID 1". Part of notes and errors, never parsed.
    fn whom(&self) -> String;

    /// What is overheard of the SM beside its answers, where that is possible now: a change then costs
    /// no question ([`Written`]).
    fn overheard(&self) -> Option<Arc<Mutex<Written>>> {
        None
    }
}

/// Why no reply came. Of text, not of causes: it goes into logs and into `/ready`, and three kinds
/// of transports have nothing else in common.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum AskError {
    /// The SA says nothing, or what came back was no answer; it may later. The way stays open.
    #[error("{0}")]
    Unanswered(String),
    /// No SM has configured the port so far, and no LID of an SA is given.
    #[error("the port knows no SM yet; wait until one has configured it, or give sa_lid")]
    NoSm,
    /// The way to it is gone: device, socket or daemon. Only a new one helps ([`Reopening`]).
    #[error("{0}")]
    Gone(String),
}

impl From<PortAskError> for AskError {
    fn from(error: PortAskError) -> Self {
        match error {
            // All else of a port (time-outs, undeliverable, odd replies) is weather: the descriptor
            // still works.
            PortAskError::Port(cause @ (PortError::Os { .. } | PortError::Closed)) => {
                Self::Gone(cause.to_string())
            }
            other => Self::Unanswered(other.to_string()),
        }
    }
}

impl From<sa_client::Error> for AskError {
    fn from(error: sa_client::Error) -> Self {
        match error {
            sa_client::Error::TimedOut | sa_client::Error::NoReply => {
                Self::Unanswered(error.to_string())
            }
            other => Self::Gone(other.to_string()),
        }
    }
}

/// An open way to one SA. It holds a descriptor of a port, or shared memory, until it is dropped.
pub struct Client {
    /// What its requests go through.
    way: Way,
    /// Of the own port, as it was when this was opened; none through a ring. A port that gets another
    /// LID is opened anew by [`Reopening`] when answers stop to come.
    lid: Option<Lid>,
    /// For each request, whatever it asks for.
    patience: Patience,
    /// Where the port puts what arrives; its buffer is given away with each answer.
    reply: Reply,
}

/// What lies between a client and the SA.
///
/// Public, because load generators drive the port themselves and keep hundreds of requests under
/// way.
pub enum Way {
    /// The fabric, be it real or simulated.
    Fabric {
        /// An open port.
        port: Box<dyn ClientPort + Send>,
        /// The SA, or whatever [`Client::turn_to`] named last.
        to: Destination,
    },
    /// Memory shared with the `sapphired` of this node.
    Ring(Box<sa_client::Client>),
}

impl Client {
    /// Opens a transport. `sa_lid` is asked instead of the SA that the SM named; a ring leads to
    /// its own daemon whatever it is.
    ///
    /// Errors: no such port or socket; [`AskError::NoSm`].
    pub fn open(
        transport: &SaTransport,
        sa_lid: Option<u16>,
        patience: Patience,
    ) -> Result<Self, AskError> {
        match transport {
            SaTransport::Umad { device, port } => umad(device.as_deref(), *port, sa_lid, patience),
            SaTransport::Ibsim { node, sockname } => {
                ibsim(node, sockname.as_deref(), sa_lid, patience)
            }
            SaTransport::Ring { path } => {
                let client = sa_client::Client::connect(path)?;
                Ok(Self::over(Way::Ring(Box::new(client)), None, patience))
            }
        }
    }

    /// Opens a transport to ask I/O units for device management: [`Client::turn_to`] says which.
    ///
    /// Errors: no such port; a ring, which leads to an SA only.
    pub fn open_for_devices(transport: &SaTransport, patience: Patience) -> Result<Self, AskError> {
        match transport {
            SaTransport::Umad { device, port } => {
                let client = UmadClient::open_for_devices(device.as_deref(), *port);
                let client = client.map_err(|error| gone(&error))?;
                let state = client.name().state();
                // LID 1 is a placeholder: nothing is asked before `turn_to` has named a unit.
                let to = destination(1, Sl::from_low_bits(state.sm_sl))?;
                Ok(Self::through(Box::new(client), to, state.lid, patience))
            }
            // The simulator's ports are for every class.
            SaTransport::Ibsim { .. } => Self::open(transport, Some(1), patience),
            SaTransport::Ring { .. } => Err(AskError::Gone(
                "a ring leads to the SA of this node; I/O units are asked through the fabric"
                    .to_owned(),
            )),
        }
    }

    /// Through an open port, whose LID is `lid`, as far as that is known. For tests, and for transports that this module
    /// does not open.
    pub fn through(
        port: Box<dyn ClientPort + Send>,
        to: Destination,
        lid: Option<Lid>,
        patience: Patience,
    ) -> Self {
        Self::over(Way::Fabric { port, to }, lid, patience)
    }

    fn over(way: Way, lid: Option<Lid>, patience: Patience) -> Self {
        Self {
            way,
            lid,
            patience,
            reply: Reply::default(),
        }
    }

    /// From now on the port with this LID is asked, at this SL or the one before. Through a ring it
    /// stays the daemon of this node.
    pub fn turn_to(&mut self, lid: Lid, sl: Option<Sl>) {
        if let Way::Fabric { to, .. } = &mut self.way {
            to.lid = lid;
            to.sl = sl.unwrap_or(to.sl);
        }
    }

    /// From now on requests wait so long.
    pub const fn be_patient(&mut self, patience: Patience) {
        self.patience = patience;
    }

    /// What lies between, for users that keep many requests under way.
    pub const fn way_mut(&mut self) -> &mut Way {
        &mut self.way
    }

    /// LID of the SA; none through a ring, which has no LIDs.
    pub const fn sa_lid(&self) -> Option<Lid> {
        match &self.way {
            Way::Fabric { to, .. } => Some(to.lid),
            Way::Ring(_) => None,
        }
    }
}

impl Ask for Client {
    fn ask(&mut self, request: &[u8; MAD_SIZE]) -> Result<Vec<u8>, AskError> {
        match &mut self.way {
            Way::Fabric { port, to } => {
                port.ask(to, request, self.patience, &mut self.reply)?;
                // The buffer of a table is not worth keeping: the next reply may be short.
                Ok(core::mem::take(&mut self.reply.mad))
            }
            Way::Ring(client) => ask_ring(client, request, self.patience),
        }
    }

    fn lid(&self) -> Option<Lid> {
        self.lid
    }

    fn whom(&self) -> String {
        match &self.way {
            Way::Fabric { to, .. } => format!("the SA at LID {}", to.lid),
            Way::Ring(_) => "the SA of this node".to_owned(),
        }
    }
}

/// Opens a port of the kernel. Without `sa_lid` the SA is where PortInfo.MasterSMLID points: that
/// is how every client of a subnet finds it.
fn umad(
    device: Option<&str>,
    port: Option<u8>,
    sa_lid: Option<u16>,
    patience: Patience,
) -> Result<Client, AskError> {
    let client = UmadClient::open(device, port).map_err(|error| gone(&error))?;
    let lid = client.name().state().lid;
    // A LID that was given needs no SM: it works on a port that was configured by hand.
    let to = match (sa_lid, client.sa()) {
        // The SL of the SM's own SA; for another it is the best guess.
        (Some(given), named) => destination(given, named.map_or_else(Sl::default, |sa| sa.sl))?,
        (None, Some(named)) => named,
        (None, None) => return Err(AskError::NoSm),
    };
    Ok(Client::through(Box::new(client), to, lid, patience))
}

/// Attaches to a node of the simulator. `sockname` none: the name that the environment has, else
/// ibsim's default.
fn ibsim(
    node: &str,
    sockname: Option<&str>,
    sa_lid: Option<u16>,
    patience: Patience,
) -> Result<Client, AskError> {
    let mut options = ibsim::Options::on(node);
    if let Some(sockname) = sockname {
        sockname.clone_into(&mut options.base);
    }
    let mut attachment = ibsim::Attachment::new(&options).map_err(|error| gone(&error))?;
    let facts = attachment.port().map_err(|error| gone(&error))?;
    // The simulator looks at no SL.
    let to = destination(
        sa_lid.unwrap_or_else(|| Lid::raw(facts.sm_lid)),
        Sl::default(),
    )?;
    let client = attachment.client().map_err(|error| gone(&error))?;
    Ok(Client::through(Box::new(client), to, facts.lid, patience))
}

/// Asks the daemon of this node, again where it was silent: a ring drops what is not ready, as a
/// port does.
///
/// Errors: it stays silent; the daemon has ended.
fn ask_ring(
    client: &mut sa_client::Client,
    request: &[u8; MAD_SIZE],
    patience: Patience,
) -> Result<Vec<u8>, AskError> {
    client.set_timeout(patience.timeout);
    let mut tries = patience.retries;
    loop {
        // LID 0: the daemon takes the port that its ring answers for.
        match client.ask(0, request) {
            Err(sa_client::Error::TimedOut) if tries > 0 => tries -= 1,
            answer => return Ok(answer?),
        }
    }
}

/// Where the SA at a LID listens: QP1, its Q_Key, and this SL. Errors: [`AskError::NoSm`]; no
/// unicast LID means that none was configured.
fn destination(lid: u16, sl: Sl) -> Result<Destination, AskError> {
    let lid = Lid::new(lid).map_err(|_| AskError::NoSm)?;
    Ok(Destination {
        sl,
        ..Destination::sa(lid)
    })
}

/// Opening failed, whatever the reason: the next try opens again.
fn gone(error: &dyn core::fmt::Display) -> AskError {
    AskError::Gone(error.to_string())
}
