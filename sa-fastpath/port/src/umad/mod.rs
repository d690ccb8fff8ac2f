//! The kernel's umad files: the transport on real hardware.
//!
//! One receive agent per port owns the SA's read methods and is shared by the workers; each worker
//! sends through an agent of its own, because the kernel holds a per-file lock through a send.
//! Replies under RMPP are the exception: their acknowledgements come back to the owner of the
//! request's method, so they must leave by the receive agent.
//!
//! Source: Linux `drivers/infiniband/core/user_mad.c`, `include/uapi/rdma/ib_user_mad.h`.
//!
//! ```text
//!  requests ──kernel, by class and method──> receive agent ──read──> worker 0, worker 1, ...
//!                                              ^    │
//!  acknowledgements of RMPP ───────────────────┘    └── replies under RMPP (slow lane, tables)
//!  replies of one MAD <── send agent of each worker
//! ```
//!
//! Registering a method takes it: a second program gets EINVAL (see [`Trouble::Taken`]). Beside an
//! OpenSM the file with its methods is lent instead ([`Umad::lent`], ADR 11).

mod agent;
mod client;
mod error;
mod find;
mod raw;
mod serve;
mod smp;
pub(crate) mod sys;

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use sa_wire::mad::method;

pub(crate) use self::agent::Agent;
pub use self::client::UmadClient;
pub use self::error::{Trouble, UmadError};
pub use self::find::{PortLids, PortName, PortState, find, leading_number, list};
pub use self::raw::RawPort;
#[cfg(feature = "uring")]
pub(crate) use self::serve::{By, address};
pub use self::serve::{UmadPort, UmadReply};
pub use self::smp::{SMP_METHODS, UmadSmp};
use crate::PortError;

/// Which port to serve, and what of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Device name, such as `mlx5_0`; none takes the first active InfiniBand port, else the first with a link.
    pub device: Option<String>,
    /// Port number from 1.
    pub port: Option<u8>,
    /// Methods of class Subnet Administration to own; see [`READ_METHODS`].
    pub methods: Vec<u8>,
}

/// The methods that read: OpenSM may keep the ones that write.
pub const READ_METHODS: [u8; 3] = [method::GET, method::GET_TABLE, method::GET_MULTI];

impl Default for Options {
    fn default() -> Self {
        Self {
            device: None,
            port: None,
            methods: READ_METHODS.to_vec(),
        }
    }
}

/// An opened port that owns its methods. Workers, slow lane and io_uring take their handles here.
///
/// The methods are free again once this and all handles from it are gone, or after
/// [`Umad::release`]. A device that goes away ends every handle with [`PortError::Gone`]; when it
/// is back it is opened anew.
#[derive(Debug)]
pub struct Umad {
    /// Which port of which device.
    name: PortName,
    /// The agent that owns the methods, shared by all handles.
    receive: Arc<Agent>,
    kind: Kind,
}

/// What a port was opened over; it decides which handles there can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A umad file; workers get agents of their own to send with.
    Kernel,
    /// A preload library; it delivers by class to the agent that registered last.
    Simulator,
    /// A packet socket in place of a umad file.
    StandIn,
}

impl Umad {
    /// Finds the port and registers. Errors: [`UmadError`], each with a next step.
    pub fn open(options: &Options) -> Result<Self, UmadError> {
        let name = find(options.device.as_deref(), options.port)?;
        let receive = Arc::new(Agent::open(&name, &options.methods)?);
        let kind = if receive.is_simulated() {
            Kind::Simulator
        } else {
            Kind::Kernel
        };
        Ok(Self {
            name,
            receive,
            kind,
        })
    }

    /// A port whose methods another program has registered on this file, as the agent of this
    /// number, and lends: they stay registered when this and all handles from it are gone.
    /// Errors: [`UmadError`], the device is gone.
    pub fn lent(options: &Options, file: OwnedFd, agent: u32) -> Result<Self, UmadError> {
        Ok(Self {
            name: find(options.device.as_deref(), options.port)?,
            receive: Arc::new(Agent::lent(file, agent)),
            kind: Kind::Kernel,
        })
    }

    /// A port on a packet socket in place of a umad file, for tests and demonstrations: each
    /// packet is a umad header and a MAD (see [`packet_pair`]). Errors: the operating system's.
    pub fn over_packets(packets: OwnedFd) -> io::Result<Self> {
        let agent = Agent::over_packets(packets).map_err(io::Error::from_raw_os_error)?;
        let name = PortName {
            device: "packets".to_owned(),
            port: 0,
            node: 0,
        };
        Ok(Self {
            name,
            receive: Arc::new(agent),
            kind: Kind::StandIn,
        })
    }

    /// A worker's port: shared receive agent, own send agent where possible. Errors: [`UmadError`].
    pub fn worker(&self) -> Result<UmadPort, UmadError> {
        Ok(UmadPort::new(Arc::clone(&self.receive), self.send_agent()?))
    }

    /// Only the kernel allows another one: under the simulator a second agent of the class would
    /// take the requests away, and a packet socket has one end.
    fn send_agent(&self) -> Result<Arc<Agent>, UmadError> {
        match self.kind {
            Kind::Kernel => Ok(Arc::new(Agent::open(&self.name, &[])?)),
            Kind::Simulator | Kind::StandIn => Ok(Arc::clone(&self.receive)),
        }
    }

    /// Gives the methods back at once, whatever handles there still are: another program can
    /// register for them when this returns. What already came is still lent; then workers end with
    /// [`PortError::Gone`].
    pub fn release(&self) {
        self.receive.release();
    }

    /// The slow lane's handle; it segments.
    pub fn reply_port(&self) -> UmadReply {
        UmadReply::new(Arc::clone(&self.receive))
    }

    /// Sets IsSM in the port's capability mask until the guard is dropped. Under the simulator
    /// this is what makes requests to the port's LID come here.
    /// Errors: [`UmadError::Open`]; `EAGAIN` when another program holds it.
    pub fn announce_sm(&self) -> Result<SmFlag, UmadError> {
        find::open_issm(&self.name).map(SmFlag)
    }

    /// Device, port number and node.
    pub fn name(&self) -> &PortName {
        &self.name
    }

    /// True when a preload library simulates umad: no RMPP, no io_uring, one agent.
    pub fn is_simulated(&self) -> bool {
        self.kind == Kind::Simulator
    }

    /// Waits for a request, at most `timeout`; for idle loops, not for the busy path.
    pub fn wait_readable(&self, timeout: Duration) -> Result<bool, PortError> {
        self.receive.wait_readable(timeout)
    }

    /// The agents of a worker that uses io_uring. Errors: [`UmadError`].
    #[cfg(feature = "uring")]
    pub(crate) fn agents(&self) -> Result<[Arc<Agent>; 2], UmadError> {
        if self.kind == Kind::Simulator {
            return Err(UmadError::Simulated);
        }
        Ok([Arc::clone(&self.receive), self.send_agent()?])
    }
}

/// Keeps IsSM set on a port.
#[derive(Debug)]
pub struct SmFlag(#[expect(dead_code, reason = "held open")] sys::RawFile);

/// A connected pair of packet sockets, one for a port and one for its far end.
/// Errors: the operating system's.
pub fn packet_pair() -> io::Result<(OwnedFd, OwnedFd)> {
    sys::packet_pair().map_err(io::Error::from_raw_os_error)
}
