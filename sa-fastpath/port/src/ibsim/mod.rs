//! A native client of the fabric simulator ibsim, for end-to-end tests with a real SM and real
//! clients. Whole MADs, RMPP by our own code, up to ten clients per simulator.
//!
//! What is measured over it is ibsim first: one thread, 95,000 to 110,000 requests and answers per
//! second whoever answers.
//!
//! The simulator says nothing when it ends. Ports look for it now and then while nothing comes, and
//! end with [`PortError::Gone`](crate::PortError::Gone); a simulator that is started again knows
//! none of its clients, so they attach anew.
//!
//! Attached first to the SM's node with `issm`, it gets every SA request sent to the SM's LID,
//! while an SM attached second to the same node brings the subnet up.
//!
//! Source: ibsim 0.10 and 0.12, `include/ibsim.h`, `ibsim/ibsim.c`, `umad2sim/sim_client.c`.
//!
//! How a client gets its messages:
//!
//! ```text
//!  sapphired ── {base}:ctl ────── one exchange: node, role ──────> ibsim (one thread)
//!            ── {base}:out{n} ── packets of 288 bytes ───────────> its table of clients
//!            <── {base}:in{id} ── packets for its node's LID ─────
//! ```
//!
//! Several handles share one data socket: each packet reaches one of them, so an attachment either
//! serves or asks. SMPs that come to one that serves can be handed on ([`smp_relay`]). Not for production, where a port is a umad file; the simulator is as trusted as
//! the tests that start it.

#![forbid(unsafe_code)]

mod client;
mod control;
mod data;
mod serve;
mod smps;

use std::sync::Arc;

use sa_wire::Lid;

pub use self::client::IbsimClient;
pub use self::control::AttachError;
use self::control::{Control, kind};
use self::data::Data;
pub use self::serve::{IbsimPort, IbsimReply};
pub use self::smps::{SmpInbox, SmpRelay, smp_relay};

/// Where to attach, and as what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// First part of the simulator's socket names: its `IBSIM_SOCKNAME`, by default `sim`.
    pub base: String,
    /// Node id or description; empty for the simulator's default port.
    pub node: String,
    /// Whether requests to QP0 and QP1 of the node come here.
    pub role: Role,
    /// A private queue pair, 0 for none: requests to it come here.
    pub qp: u32,
}

/// What a client of the simulator is for its node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Role {
    /// Gets the answers to its own requests, and requests to its private queue pair.
    #[default]
    Plain,
    /// Gets the node's management requests too ("issm"). One at a time may say so when it
    /// attaches; the one with the lowest client number is served.
    Manager,
}

impl Options {
    /// A plain client on `node`, with the simulator's name from `IBSIM_SOCKNAME`.
    pub fn on(node: &str) -> Self {
        let base = std::env::var("IBSIM_SOCKNAME").unwrap_or_else(|_| "sim".to_owned());
        Self {
            base,
            node: node.to_owned(),
            role: Role::Plain,
            qp: 0,
        }
    }

    /// The same, as the node's manager.
    #[must_use]
    pub fn manager(self) -> Self {
        Self {
            role: Role::Manager,
            ..self
        }
    }
}

/// What the simulator says about the attached port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PortFacts {
    /// Base LID; none before an SM set it.
    pub lid: Option<Lid>,
    /// The SM's LID; none before an SM set it.
    pub sm_lid: Option<Lid>,
    /// The port's logical state; 4 is active.
    pub state: u8,
}

/// One client slot of a simulator; given back when this and all handles from it are gone.
///
/// Dropping the last handle tells the simulator, which has ten places only.
#[derive(Debug)]
pub struct Attachment {
    control: Arc<Control>,
    data: Data,
    /// Where those who serve put SMPs that come to them.
    smps: Option<SmpRelay>,
}

impl Attachment {
    /// Connects. Errors: [`AttachError`], each with a next step.
    pub fn new(options: &Options) -> Result<Self, AttachError> {
        let (control, socket) = Control::connect(options)?;
        let control = Arc::new(control);
        let data = Data::new(socket, Arc::clone(&control), options.qp);
        Ok(Self {
            control,
            data,
            smps: None,
        })
    }

    /// SMPs that others send to the node go there from now on, of ports that are made after this.
    #[must_use]
    pub fn relaying(self, smps: Option<SmpRelay>) -> Self {
        Self { smps, ..self }
    }

    /// The node's id as the simulator spells it.
    pub fn node(&self) -> &str {
        self.control.node()
    }

    /// The client's number, 0 to 9.
    pub fn number(&self) -> u32 {
        self.control.number()
    }

    /// LID, SM LID and state of the port, as of now; also tells whether the simulator lives.
    ///
    /// Takes `&mut` because the control socket carries one exchange at a time.
    pub fn port(&mut self) -> Result<PortFacts, AttachError> {
        let info = self
            .control
            .exchange(kind::GET_PORT_INFO, &[0; control::DATA])?;
        let lid = |at: usize| {
            let bytes = info.get(at..at + 2).and_then(<[u8]>::first_chunk);
            Lid::new(u16::from_be_bytes(*bytes?)).ok()
        };
        Ok(PortFacts {
            lid: lid(PORT_INFO_LID),
            sm_lid: lid(PORT_INFO_SM_LID),
            state: info.get(PORT_INFO_STATE).map_or(0, |byte| byte & 0x0f),
        })
    }

    /// Starts or stops being the node's manager. The simulator also changes the port's IsSM bit,
    /// and tells the SM by a trap. It does not check for another manager.
    pub fn set_role(&mut self, role: Role) -> Result<(), AttachError> {
        self.control.announce(role == Role::Manager)
    }

    /// A worker's port. Several share the socket: each request reaches one of them.
    /// Errors: [`AttachError::Io`] when descriptors ran out.
    pub fn serve(&self) -> Result<IbsimPort, AttachError> {
        Ok(IbsimPort::new(self.data.share()?, self.smps.clone()))
    }

    /// The slow lane's handle. Errors: as [`Attachment::serve`].
    pub fn reply_port(&self) -> Result<IbsimReply, AttachError> {
        Ok(IbsimReply::new(self.data.share()?))
    }

    /// A client. It shares the socket as well, so an attachment either asks or serves.
    /// Errors: as [`Attachment::serve`].
    pub fn client(&self) -> Result<IbsimClient, AttachError> {
        Ok(IbsimClient::new(self.data.share()?))
    }
}

// PortInfo. Source: IBA vol. 1, 14.2.5.6.
const PORT_INFO_LID: usize = 16;
const PORT_INFO_SM_LID: usize = 18;
const PORT_INFO_STATE: usize = 32;
