//! A file of recorded messages.
//!
//! The format is that of `tests/golden/netlink/vectors.json`; members that are not named here are
//! not read. For example:
//!
//! ```text
//! {"vectors": [{"id": "...", "name": "...", "direction": "kernel-to-agent",
//!               "hex": "4c000000...", "expect": "resolve", "parsed": {"port": 1, ..}}]}
//! ```

use std::path::Path;

use sa_fabric::intake::{self, Kind};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::failure::{Failure, Outcome};

/// The whole file is in memory: recordings are some hundred messages.
#[derive(Debug, Deserialize)]
pub(super) struct Corpus {
    /// In the order of the file, which is that of the output.
    pub(super) vectors: Vec<Vector>,
}

/// One message, or several in a datagram.
#[derive(Debug, Deserialize)]
pub(super) struct Vector {
    /// What the output calls it.
    pub(super) id: String,
    /// For people; one of them the player knows.
    #[serde(default)]
    pub(super) name: String,
    /// Who sent it when it was recorded.
    pub(super) direction: Direction,
    /// The datagram, netlink headers included.
    hex: String,
    /// The outcome; none where it is only to be shown.
    pub(super) expect: Option<String>,
    /// Fields that are to be read from it; none where only the outcome counts.
    pub(super) parsed: Option<Map<String, Value>>,
    /// Which query waits in the kernel.
    pub(super) pending_query: Option<u8>,
}

/// Which side is played is the receiver's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Direction {
    /// Played to the agent.
    KernelToAgent,
    /// Played to the emulated kernel.
    AgentToKernel,
}

impl Corpus {
    /// Errors: it cannot be read, or is not JSON of this shape; the latter with line and column.
    pub(super) fn read(path: &Path) -> Outcome<Self> {
        let text = intake::read_text(Kind::Recording, path).map_err(Failure::failed)?;
        serde_json::from_str(&text).map_err(|error| Failure::failed_in(path, error))
    }
}

impl Vector {
    /// The datagram. Errors: `hex` is not pairs of hexadecimal digits.
    pub(super) fn bytes(&self) -> Outcome<Vec<u8>> {
        let problem = || {
            let Self { id, hex, .. } = self;
            Failure::failed(format!(
                "{id}: \"hex\" is no even number of hexadecimal digits: {hex}"
            ))
        };
        let digits = self.hex.as_bytes();
        if !digits.len().is_multiple_of(2) {
            return Err(problem());
        }
        let byte = |pair: &[u8]| {
            // `from_str_radix` would take "+f" for a number.
            let text = std::str::from_utf8(pair)
                .ok()
                .filter(|text| !text.starts_with('+'))?;
            u8::from_str_radix(text, 16).ok()
        };
        digits
            .chunks(2)
            .map(byte)
            .collect::<Option<_>>()
            .ok_or_else(problem)
    }
}
