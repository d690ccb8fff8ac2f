//! Hosts that were elsewhere before a change, or are gone.
//!
//! ```text
//!  before: H at switch A        now: H at switch B        packets that H sent at A are under way, and others to A;
//!                                                         clients keep the SL of a path to A until they ask again
//! ```
//!
//! Tables and topology say where hosts are now. What is under way by the old ones enters and ends where hosts were, with SLs that were
//! right there.

use std::collections::{BTreeMap, HashMap};

use super::Change;
use crate::topology::{EndPortIx, Peer, SwitchIx};

/// Where hosts were, as far as they are not there any more. Of switches that are there still.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Moved {
    /// By switch: ports with another host than before, or none any more.
    pub ports: BTreeMap<SwitchIx, Vec<u8>>,
    /// By LID: the switch at which it was.
    pub lids: BTreeMap<u16, SwitchIx>,
    /// By end port that is at another switch now: where it was.
    pub ends: HashMap<EndPortIx, SwitchIx>,
}

impl Change<'_> {
    /// Ports of a switch that had another host.
    pub(super) fn old_inputs(&self, switch: SwitchIx) -> &[u8] {
        self.moved.ports.get(&switch).map_or(&[], Vec::as_slice)
    }

    /// Switches at which the source behind a port is, and was.
    pub(super) fn sources(&self, switch: SwitchIx, input: u8) -> [Option<SwitchIx>; 2] {
        let was = match self.judge.topology.peer(switch, input) {
            Peer::EndPort(end) => self.moved.ends.get(&end).copied(),
            _ => None,
        };
        [Some(switch), was]
    }

    /// Switches at which a LID is, and was. The first one also where it is nobody's any more.
    pub(super) fn places(&self, lid: u16) -> [Option<SwitchIx>; 2] {
        let judge = &self.judge;
        let end = judge.routes.lids().at(lid);
        let now = end.and_then(|end| judge.topology.end_port(end).attached);
        let was = self.moved.lids.get(&lid).copied();
        match now {
            Some((now, _)) => [Some(now), was],
            None => [was, None],
        }
    }
}
