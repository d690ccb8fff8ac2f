//! `[opensm]`: the OpenSM beside which the daemon reads.
//!
//! An empty section is a whole one: the library's socket has a default, and so have the times. It
//! means that reads of the umad port are lent by OpenSM and never taken (ADR 11).
//!
//! ```toml
//! [opensm]                       # all with their defaults
//! socket = "/run/sapphire/opensm.sock"
//! grace_ms = 30000
//! poll_ms = 10000
//! settle_ms = 50
//! ```

use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;

/// `[opensm]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct OpenSmSection {
    /// The socket of the preload library in OpenSM.
    pub socket: PathBuf,
    /// How long to go on answering when OpenSM has gone, or does not answer. Units: ms. Long enough
    /// for a restart; the fabric changes little while no SM programs it.
    pub grace_ms: u32,
    /// How often everything is read again without being told that it changed; 0: never. Units: ms.
    pub poll_ms: u32,
    /// How long the fabric must lie still after a change before it is read. Units: ms. 0 reads in
    /// the middle of a sweep.
    pub settle_ms: u32,
}

impl Default for OpenSmSection {
    fn default() -> Self {
        Self {
            socket: split_protocol::DEFAULT_SOCKET.into(),
            grace_ms: 30_000,
            poll_ms: 10_000,
            settle_ms: 50,
        }
    }
}

impl OpenSmSection {
    /// How long to go on without OpenSM.
    pub fn grace(&self) -> Duration {
        Duration::from_millis(self.grace_ms.into())
    }

    /// How long the fabric must lie still.
    pub fn settle(&self) -> Duration {
        Duration::from_millis(self.settle_ms.into())
    }
}
