//! `[[port]]` of `sapphired`'s configuration: what each transport is called and needs.
//!
//! Whoever only wants to know something of a port asks it here instead of telling transports
//! apart; a transport is told apart where it is attached and where `--check` tries it.
//!
//! ```toml
//! [[port]]                       # port 0
//! transport = "umad"
//! device = "mlx5_0"              # the first
//! port = 1                       # 1
//! io_uring = false               # false, true, "sqpoll"
//! announce_sm = false            # true on the port of a Subnet Manager
//!
//! [[port]]                       # port 1
//! transport = "ring"
//! path = "/run/sapphire/sa.ring"
//! mode = "0660"                  # "0600"
//! slots = 1024
//! clients = 64
//! late_mib = 32
//!
//! [[port]]                       # port 2
//! transport = "ibsim"
//! node = "H1"
//! ```
//!
//! Behind each `#` what it is without the key.

use std::path::PathBuf;

use sa_source::SaTransport;
use serde::Deserialize;

use super::{IoUring, Mode};

/// `[[port]]`: where requests come from. Its place in the file is the port's number in logs,
/// metrics and `cores`.
///
/// A new transport is a variant here, and what it is called and needs is asked of this type by all
/// who need to know.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "transport", rename_all = "lowercase", deny_unknown_fields)]
pub enum PortSection {
    /// A client of the fabric simulator.
    Ibsim {
        /// Node to attach to.
        node: String,
        /// Base name of the simulator's sockets; by default `IBSIM_SOCKNAME`, else `sim`.
        sockname: Option<String>,
        /// Claim to be an SM, which is what brings QP1 requests here.
        #[serde(default = "yes")]
        issm: bool,
    },
    /// The kernel's user MAD device.
    Umad {
        /// Device name, as in `mlx5_0`; by default the first that is active, else the first with a
        /// link.
        device: Option<String>,
        /// Port number of the device.
        #[serde(default = "one")]
        port: u8,
        /// Drive the file by io_uring.
        #[serde(default)]
        io_uring: IoUring,
        /// Set IsSM on the port while this runs; absent, where this process is the SM of the port.
        /// Off beside an SM on the same port, which sets it itself and fails where somebody else
        /// has; on under the simulator's preload library, where it is what brings QP1 requests
        /// here.
        announce_sm: Option<bool>,
    },
    /// Memory shared with processes of this node.
    Ring(RingSection),
}

/// A `[[port]]` of `transport = "ring"`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RingSection {
    /// The Unix socket where clients connect.
    pub path: PathBuf,
    /// Who may: the mode of the socket.
    #[serde(default)]
    pub mode: Mode,
    /// Group of the socket; absent: the daemon's.
    pub group: Option<String>,
    /// Requests that a client may have in flight; rounded up to a power of two. Each takes a slot
    /// of shared memory.
    #[serde(default = "ring_slots")]
    pub slots: u32,
    /// Clients at a time; one more is refused, and told why.
    #[serde(default = "ring_clients")]
    pub clients: u16,
    /// The most of one user, but for root and the daemon's own; absent: as many as are left for
    /// others.
    pub clients_per_user: Option<u16>,
    /// Late replies that all users together may leave unread, and as much again for root and the
    /// daemon's user. Units: MiB.
    #[serde(default = "ring_late")]
    pub late_mib: u16,
    /// LID that requests come from that do not say it, or may not; absent: the SM's.
    pub lid: Option<u16>,
}

impl PortSection {
    /// The `transport` of the section, as it is written.
    pub const fn transport(&self) -> &'static str {
        match self {
            Self::Ibsim { .. } => "ibsim",
            Self::Umad { .. } => "umad",
            Self::Ring(_) => "ring",
        }
    }

    /// Where requests come in, in an operator's words: a node, a device and its port, or a path.
    ///
    /// For the log: two ports of one machine have different places.
    pub fn place(&self) -> String {
        match self {
            Self::Ibsim { node, .. } => node.clone(),
            Self::Umad { device, port, .. } => {
                let device = device.as_deref().unwrap_or("first device");
                format!("{device} port {port}")
            }
            Self::Ring(ring) => ring.path.display().to_string(),
        }
    }

    /// What asks another SA through the same port; none where only clients of this node are.
    ///
    /// The SA may be asked by the port that it is served on: another client of the same device.
    pub fn way_to_fabric(&self) -> Option<SaTransport> {
        match self {
            Self::Umad { device, port, .. } => Some(SaTransport::Umad {
                device: device.clone(),
                port: Some(*port),
            }),
            Self::Ibsim { node, sockname, .. } => Some(SaTransport::Ibsim {
                node: node.clone(),
                sockname: sockname.clone(),
            }),
            Self::Ring(_) => None,
        }
    }

    /// The ring, where clients share memory with the daemon. Those are counted and limited one by
    /// one; at other ports a LID stands for a client.
    pub const fn ring(&self) -> Option<&RingSection> {
        match self {
            Self::Ring(ring) => Some(ring),
            _ => None,
        }
    }

    /// The channel adapter that is named, as in `mlx5_0`; none for the first, and for ports
    /// without one.
    pub fn device(&self) -> Option<&str> {
        match self {
            Self::Umad { device, .. } => device.as_deref(),
            _ => None,
        }
    }

    /// The Unix socket that the daemon makes for the port's clients, to be made relative to the
    /// configuration file.
    pub(super) const fn socket_mut(&mut self) -> Option<&mut PathBuf> {
        match self {
            Self::Ring(ring) => Some(&mut ring.path),
            _ => None,
        }
    }
}

/// The first port: most adapters that are used for management have one.
const fn one() -> u8 {
    1
}

/// Without it the simulator gives its requests to somebody else.
const fn yes() -> bool {
    true
}

/// 1,024: a job's worth of questions at once.
const fn ring_slots() -> u32 {
    1024
}

/// 64: each core of a host may have one.
const fn ring_clients() -> u16 {
    64
}

/// Units: MiB.
const fn ring_late() -> u16 {
    32
}
