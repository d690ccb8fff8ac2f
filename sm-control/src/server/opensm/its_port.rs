//! Which umad port OpenSM is on, and what LIDs it has.
//!
//! OpenSM's library says which `umadN` its OpenSM has open, which is the better source: a
//! configuration may name a device with two ports. LIDs are read from sysfs at every look, since
//! they are how another master and another LID are noticed within 10 ms.

use std::time::Duration;

use sa_port::umad::{self, PortLids, PortName};

/// From one search of all ports to the next while none fits. A search reads a thousand files, and
/// would take a core from OpenSM if every look did it.
const SEARCH: Duration = Duration::from_millis(500);

/// OpenSM's port, as it was found last.
#[derive(Debug)]
pub(super) struct ItsPort {
    /// As configured; it counts while OpenSM does not say where it is.
    device: Option<String>,
    /// As it was found last; none while the host has no such port.
    found: Option<PortName>,
    searched: Option<Duration>,
}

impl ItsPort {
    pub(super) const fn new(device: Option<String>) -> Self {
        Self {
            device,
            found: None,
            searched: None,
        }
    }

    /// Its LID and that of its SM, now. None where the host has no such port. `umad`: what OpenSM
    /// says, [`u32::MAX`] where it does not know.
    pub(super) fn lids(&mut self, umad: Option<u32>, now: Duration) -> Option<PortLids> {
        let umad = umad.filter(|umad| *umad != u32::MAX);
        // OpenSM was started again on another device.
        if umad.is_some_and(|umad| self.found.as_ref().is_none_or(|it| it.node != umad)) {
            self.found = None;
        }
        // Devices come and go, and may be another node when they come again.
        let lids = self.found.as_ref().and_then(PortName::lids);
        if lids.is_some() {
            return lids;
        }
        self.found = match umad {
            Some(node) => PortName::of_node(node),
            None => self.search(now),
        };
        self.found.as_ref().and_then(PortName::lids)
    }

    /// By the configured device, at most every [`SEARCH`]. The first port of the device counts.
    fn search(&mut self, now: Duration) -> Option<PortName> {
        let is_due = |at: Duration| now.saturating_sub(at) >= SEARCH;
        let device = self.device.as_ref()?;
        if !self.searched.is_none_or(is_due) {
            return None;
        }
        // Before the search, so that one that takes long does not begin the next at once.
        self.searched = Some(now);
        let ports = umad::list().ok()?;
        ports.into_iter().find(|port| port.device == *device)
    }
}
