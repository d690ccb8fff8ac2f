//! What happens in a subnet that subscribers may want to hear.
//!
//! The four generic traps that an SM issues itself (IBA vol. 1, Notice): 64 and 65 for ports, 66
//! and 67 for groups. Traps that devices send are the SM's to hear, which may be this process. Events are collected while
//! something changes and become Reports afterwards, for each subscriber in turn.

use sa_compiler::state::FabricState;
use sa_wire::notice::Notice;
use sa_wire::umad::{MAD_SIZE, UmadHeader};
use sa_wire::{Gid, Guid, Pkey};

use crate::records::View;

/// A trap: a generic one that this SA issues itself, or one of a device. It carries what is needed to decide who may hear of
/// it, because the port or group may be gone by then.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A port came into service (trap 64).
    PortIn(Guid),
    /// A port went out of service (trap 65).
    PortOut {
        /// Its port GUID.
        guid: Guid,
        /// The P_Keys that it had, for who may hear of it.
        keys: Vec<Pkey>,
    },
    /// A trap that a device sent to the SM of this process. IssuerGID is not in it: the port is known by its LID.
    Trap(Notice),
    /// A multicast group was made (trap 66).
    GroupMade {
        /// Its MGID.
        mgid: Gid,
        /// Its P_Key, whatever the membership bit.
        base: u16,
    },
    /// A multicast group is gone (trap 67).
    GroupGone {
        /// Its MGID.
        mgid: Gid,
        /// Its P_Key, whatever the membership bit.
        base: u16,
    },
}

/// A Report for one subscriber, ready to be sent and repeated until a ReportResp comes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// Number of the port that the subscription came by.
    pub port: usize,
    /// Where it goes.
    pub to: UmadHeader,
    /// Shape: a whole MAD, but for the transaction.
    pub mad: Box<[u8; MAD_SIZE]>,
}

/// Ports that came and went between two states of the fabric: first those that went. A port is
/// known by its GUID, so one that only got another LID is no event.
pub(super) fn of_ports(before: Option<&FabricState>, after: &FabricState, events: &mut Vec<Event>) {
    let Some(before) = before else {
        return;
    };
    let (old, new) = (&before.subnet, &after.subnet);
    let gone = old.end_ports().iter();
    // By GUID: a LID may be another port's by now.
    let gone = gone.filter(|end| new.by_guid(end.guid).is_none());
    events.extend(gone.map(|end| Event::PortOut {
        guid: end.guid,
        // Asked of the state before: in the new one it has no table.
        keys: View::new(before, end.lid.get()).map_or_else(Vec::new, |view| view.own_keys()),
    }));
    let come = new.end_ports().iter().map(|end| end.guid);
    let come = come.filter(|guid| old.by_guid(*guid).is_none());
    events.extend(come.map(Event::PortIn));
}
