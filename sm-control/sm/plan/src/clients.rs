//! Which ports are asked to register again: to join their groups and set their services and subscriptions anew.
//!
//! | the port | asked |
//! |---|---|
//! | has another MasterSMLID than it will have | yes, unless it is that of the SM from which all was taken over that clients had set there, and nothing of this port was hidden by partitions |
//! | is there for the first time, or again | yes |
//! | any, in the first sweep of a process or as the next master | yes, unless what clients had set was restored, or taken over |
//! | has not answered the Set that asked it | yes, again |
//! | is in a group by what switches hold, of which nothing was known when this SM took over | yes |
//! | has no CapabilityMask.IsClientReregistrationSupported | never |
//!
//! With `no_clients_rereg` nobody is. The order goes with the port's other PortInfo, once: the bit is no field that a port keeps.
//!
//! # Why
//!
//! What clients set is the SA's, and an SA that does not have it answers as if nobody had joined. Hosts notice nothing of that by themselves:
//! their ports stay up. Asked, they do all of it again within a moment (IPoIB joins its groups, SRP looks for its targets), which is
//! a storm on a large subnet. So nobody is asked whose state is still there:
//!
//! ```text
//!  a host is plugged in          Init, no SM known          asked
//!  a leaf was off and on         its hosts are there again  not asked, unless a sweep saw them away
//!  sapphired starts again        sa.journal has members     not asked
//!  sapphired takes over          the LID of the SM is other asked, unless what clients had set came along
//! ```
//!
//! Source: IBA vol. 1, 14.4.11; OpenSM `osm_lid_mgr.c`.

use std::collections::BTreeSet;

use sa_sm::model::{Finding, Node, Port, Subnet};
use sa_wire::records::PortInfoRecord;
use sa_wire::smp::attribute;
use sa_wire::{Guid, Lid};

/// Ports that know this Subnet Manager.
///
/// Kept from sweep to sweep, for as long as the process lives.
#[derive(Debug, Clone, Default)]
pub(crate) struct Clients {
    /// By port GUID; none before the first sweep.
    known: Option<BTreeSet<Guid>>,
    /// What they had set in an earlier process is still there.
    /// Both count in the first sweep alone: from then on `known` says more.
    are_restored: bool,
    /// All that they had set at the SM of this LID has been taken over.
    inherited: Option<Lid>,
}

impl Clients {
    /// What clients had set was kept: no need to ask all of them.
    pub(crate) fn restored(self, are_restored: bool) -> Self {
        Self {
            are_restored,
            ..self
        }
    }

    /// What clients had set at the SM of that LID is here: nobody is asked who knows that one.
    pub(crate) fn inherited(self, from: Option<Lid>) -> Self {
        Self {
            are_restored: self.are_restored || from.is_some(),
            inherited: from,
            ..self
        }
    }

    /// True where a port is to register again, with the SM at this LID.
    ///
    /// `is_seen`: that other SM has told all of it, as far as partitions go.
    pub(crate) fn asks(&self, port: &Port, sm: Lid, is_seen: impl Fn() -> bool) -> bool {
        // Without PortInfo there is nothing that the order could go with.
        let Some((guid, info)) = port.guid.zip(port.info.as_ref()) else {
            return false;
        };
        // Devices that do not know the bit may take it for something else.
        let can = info.capability_mask.get() & PortInfoRecord::CLIENT_REREGISTRATION != 0;
        let is_unknown = match &self.known {
            // A GUID and not a place: a host that moved keeps what it set.
            Some(known) => !known.contains(&guid),
            None => !self.are_restored,
        };
        // Another LID of the SM also means another SM, or a port that was set up while this one was away.
        let its = info.sm_lid.get();
        let is_inherited = || self.inherited.is_some_and(|from| from.get() == its) && is_seen();
        can && (is_unknown || !(its == sm.get() || is_inherited()))
    }

    /// What these have set is not known.
    pub(crate) fn forget(&mut self, ports: &BTreeSet<Guid>) {
        if let Some(known) = &mut self.known {
            known.retain(|port| !ports.contains(port));
        }
    }

    /// Takes in what a sweep left. A port that is gone is forgotten, so it is new when it is back. What was asked counts only where it arrived: a port that was asked and did not answer is asked again.
    ///
    /// Where nothing was asked of a port it counts as known all the same: it has been seen with its state in place.
    pub(crate) fn learn(&mut self, after: &Subnet) {
        // What is set from now on is set here.
        self.inherited = None;
        // By node and number: a finding names a place, as a node that is mute may have told no port GUID.
        let mute: BTreeSet<(Guid, u8)> = after.findings().filter_map(mute).collect();
        let of = |node: &Node| {
            let guid = node.guid();
            let ends = node
                .end_ports()
                .filter(|(number, _)| !mute.contains(&(guid, *number)));
            ends.filter_map(|(_, port)| port.guid).collect::<Vec<_>>()
        };
        // Also those that cannot be asked: which can may change with their firmware.
        // Replaced and not added to: a port that this sweep did not see has to be asked when it is back.
        self.known = Some(after.nodes().iter().flat_map(of).collect());
    }
}

/// The place of a PortInfo without an answer.
///
/// Other attributes without an answer say nothing about whether the order arrived.
fn mute(finding: &Finding) -> Option<(Guid, u8)> {
    match finding {
        Finding::Mute {
            place,
            attribute: attribute::PORT_INFO,
            ..
        } => place.node.zip(place.port),
        _ => None,
    }
}
