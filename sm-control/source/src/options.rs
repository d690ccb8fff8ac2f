//! How an SA is asked, as a configuration or a command line says it.

use serde::Deserialize;

/// What to ask an SA through.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SaTransport {
    /// The kernel's user MAD device.
    Umad {
        /// Device name; by default the first.
        device: Option<String>,
        /// Port number of the device.
        port: Option<u8>,
    },
    /// A client of the fabric simulator.
    Ibsim {
        /// Node to attach to.
        node: String,
        /// Base name of the simulator's sockets; by default `IBSIM_SOCKNAME`, else `sim`.
        sockname: Option<String>,
    },
}

/// What it means if the SA answers otherwise than a new snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnDifference {
    /// The snapshot is not published, the one in service stays.
    #[default]
    Refuse,
    /// It is published, with a warning.
    Warn,
}

/// An SA to read the fabric from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SaSource {
    /// What to ask through.
    pub transport: SaTransport,
    /// LID of the SA; none: what the SM wrote into the port.
    pub sa_lid: Option<u16>,
    /// How long to wait for each try.
    pub timeout_ms: u32,
    /// Tries after the first.
    pub retries: u32,
}

impl SaSource {
    /// Over a transport, as patient as by default.
    pub const fn over(transport: SaTransport) -> Self {
        Self {
            transport,
            sa_lid: None,
            timeout_ms: TIMEOUT_MS,
            retries: RETRIES,
        }
    }
}

/// How long an answer is waited for by default: a table of 48,000 nodes takes an SA a second or two.
/// Units: ms.
pub const TIMEOUT_MS: u32 = 3000;
/// Tries after the first, by default.
pub const RETRIES: u32 = 2;
