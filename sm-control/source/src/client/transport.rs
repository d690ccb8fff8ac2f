//! Which SA is asked and through what, as a configuration or a command line says it.
//!
//! One text names a transport everywhere (`--via`, and the keys of `[fabric.sa]` in parts):
//!
//! ```text
//! umad                 the first active port of the kernel's devices
//! umad:mlx5_0          a device, its first active port
//! umad:mlx5_0:2        a port of it
//! ibsim:H0_0_0_0       a node of the fabric simulator
//! ring:/run/sa.sock    shared memory of the sapphired on this node
//! ```

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use sa_port::Patience;
use thiserror::Error;

use super::{AskError, Client};

/// What to ask an SA through.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SaTransport {
    /// The kernel's user MAD device.
    Umad {
        /// Device name, as in `/sys/class/infiniband`; by default the first that has an active
        /// port.
        device: Option<String>,
        /// Port number of the device, from 1; by default its first active one.
        port: Option<u8>,
    },
    /// A client of the fabric simulator.
    Ibsim {
        /// Node to attach to, by its id in the net file.
        node: String,
        /// Base name of the simulator's sockets; by default `IBSIM_SOCKNAME`, else `sim`.
        sockname: Option<String>,
    },
    /// Memory shared with a `sapphired` of this node.
    Ring {
        /// The socket of a `[[port]]` with `transport = "ring"`.
        path: PathBuf,
    },
}

/// Why a text names no transport. Each says what would be right, as it is shown behind the option.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum TransportError {
    /// `ring` needs the path of a socket.
    #[error("expected ring:PATH with the socket of a [[port]] of sapphired")]
    NoSocket,
    /// What follows the device is no number of a port.
    #[error("expected a port number at the end")]
    NoPortNumber,
    /// No transport is called so.
    #[error("expected ibsim:NODE, umad, umad:DEVICE, umad:DEVICE:PORT, or ring:PATH")]
    Unknown,
}

impl FromStr for SaTransport {
    type Err = TransportError;

    /// `ibsim:NODE`, `umad`, `umad:DEVICE`, `umad:DEVICE:PORT` or `ring:PATH`; a path may have
    /// colons, the others cannot.
    fn from_str(text: &str) -> Result<Self, TransportError> {
        // Before splitting: a path may have colons.
        if let Some(path) = text.strip_prefix("ring:") {
            return Ok(Self::Ring { path: path.into() });
        }
        let umad = |device: Option<&str>, port| Self::Umad {
            device: device.map(str::to_owned),
            port,
        };
        match text.split(':').collect::<Vec<_>>().as_slice() {
            ["ibsim", node] => Ok(Self::Ibsim {
                node: (*node).to_owned(),
                sockname: None,
            }),
            ["umad"] => Ok(umad(None, None)),
            ["umad", device] => Ok(umad(Some(device), None)),
            ["umad", device, port] => {
                let port = port.parse().map_err(|_| TransportError::NoPortNumber)?;
                Ok(umad(Some(device), Some(port)))
            }
            ["ring"] => Err(TransportError::NoSocket),
            _ => Err(TransportError::Unknown),
        }
    }
}

/// An SA to ask, and how patiently.
///
/// `[fabric.sa]` of the daemon's configuration, or the options of a verb.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SaSource {
    /// What to ask through.
    pub transport: SaTransport,
    /// LID of the SA, as it was written: judged as the way is opened; none: what the SM wrote into the
    /// port.
    pub sa_lid: Option<u16>,
    /// How long to wait for each try, of a whole table too. Units: ms.
    pub timeout_ms: u32,
    /// Tries after the first. The kernel does them on umad, we do elsewhere.
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

    /// Opens it. Errors: as [`Client::open`].
    pub fn open(&self) -> Result<Client, AskError> {
        Client::open(&self.transport, self.sa_lid, self.patience())
    }

    /// As ports want it.
    fn patience(&self) -> Patience {
        Patience {
            timeout: Duration::from_millis(self.timeout_ms.into()),
            retries: self.retries,
        }
    }
}

/// How long an answer is waited for by default: a table of 48,000 nodes takes an SA a second or two.
/// Units: ms.
pub const TIMEOUT_MS: u32 = 3000;
/// Tries after the first, by default.
pub const RETRIES: u32 = 2;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transports_are_named_as_operators_write_them() {
        let umad = |device: Option<&str>, port| SaTransport::Umad {
            device: device.map(str::to_owned),
            port,
        };
        let ibsim = SaTransport::Ibsim {
            node: "H1".to_owned(),
            sockname: None,
        };
        let ring = |path: &str| SaTransport::Ring { path: path.into() };
        for (text, transport) in [
            ("umad", Ok(umad(None, None))),
            ("umad:mlx5_0", Ok(umad(Some("mlx5_0"), None))),
            ("umad:mlx5_0:2", Ok(umad(Some("mlx5_0"), Some(2)))),
            ("ibsim:H1", Ok(ibsim)),
            ("ring:/run/a:b", Ok(ring("/run/a:b"))),
            ("ring", Err(TransportError::NoSocket)),
            ("umad:mlx5_0:x", Err(TransportError::NoPortNumber)),
            ("umad:mlx5_0:256", Err(TransportError::NoPortNumber)),
            ("umad:mlx5_0:1:2", Err(TransportError::Unknown)),
            ("ibsim", Err(TransportError::Unknown)),
            ("", Err(TransportError::Unknown)),
        ] {
            assert_eq!(text.parse(), transport, "{text}");
        }
    }
}
