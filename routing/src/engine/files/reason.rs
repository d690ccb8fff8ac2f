//! What is wrong with given tables.
//!
//! All of it comes of files that were taken at different times, so every text ends in the same
//! advice. OpenSM has no such case and no codes for it: it holds the tables that it made.

use crate::error::{Reason, SwitchName, Warning};

/// Why given tables are refused.
/// Codes of these stand in reports; the texts may change.
#[derive(Debug, thiserror::Error)]
pub(super) enum FilesReason {
    /// The tables do not match the fabric's switches.
    /// Mostly a switch that was added or lost between the two dumps.
    #[error(
        "{given} forwarding tables for {switches} switches. Take tables and topology from \
        the same sweep"
    )]
    TableCount { given: usize, switches: usize },
    /// A forwarding entry names a port that the switch lacks.
    /// The first such entry of each switch.
    #[error(
        "the forwarding table of {switch} sends LID {lid} to port {port}, but it has only \
        {ports} ports. Take tables and topology from the same sweep"
    )]
    PortOutOfRange {
        switch: SwitchName,
        lid: u16,
        port: u8,
        /// How many ports it has.
        ports: usize,
    },
    /// An SL2VL table names a port that the switch lacks.
    /// Every such table, since there are few.
    #[error(
        "an SL2VL table of {switch} is for input port {input} and output port {output}, but \
        it has only {ports} ports. Take tables and topology from the same sweep"
    )]
    Sl2VlOutOfRange {
        switch: SwitchName,
        input: u8,
        output: u8,
        /// How many ports it has.
        ports: usize,
    },
}

impl From<&FilesReason> for Reason {
    fn from(reason: &FilesReason) -> Self {
        let code = match reason {
            FilesReason::TableCount { .. } => "table-count",
            FilesReason::PortOutOfRange { .. } => "port-out-of-range",
            FilesReason::Sl2VlOutOfRange { .. } => "sl2vl-out-of-range",
        };
        Self::new(code, reason.to_string())
    }
}

/// Table entries for LIDs above the largest in use.
/// No reason to refuse: nobody owns such a LID, so nobody is sent there.
pub(super) fn above_max_lid(switch: &SwitchName, count: usize, max_lid: u16) -> Warning {
    Warning {
        code: "entries-above-max-lid",
        text: format!(
            "the forwarding table of {switch} has {count} entries for LIDs above {max_lid}, the \
            largest in use; they are ignored"
        ),
    }
}
