//! What happens in a subnet that subscribers may want to hear.

use sa_compiler::state::FabricState;
use sa_wire::umad::{MAD_SIZE, UmadHeader};
use sa_wire::{Gid, Guid, Pkey};

use crate::records::View;

/// A generic trap that this SA issues itself.
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

/// A Report for one subscriber.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// Number of the port that the subscription came by.
    pub port: usize,
    /// Where it goes.
    pub to: UmadHeader,
    /// Shape: a whole MAD, but for the transaction.
    pub mad: Box<[u8; MAD_SIZE]>,
}

/// Ports that came and went between two states of the fabric.
pub(super) fn of_ports(before: Option<&FabricState>, after: &FabricState, events: &mut Vec<Event>) {
    let Some(before) = before else {
        return;
    };
    let (old, new) = (&before.subnet, &after.subnet);
    let gone = old.end_ports().iter();
    let gone = gone.filter(|end| new.by_guid(end.guid).is_none());
    events.extend(gone.map(|end| Event::PortOut {
        guid: end.guid,
        keys: View::new(before, end.lid.get()).map_or_else(Vec::new, |view| view.own_keys()),
    }));
    let come = new.end_ports().iter().map(|end| end.guid);
    let come = come.filter(|guid| old.by_guid(*guid).is_none());
    events.extend(come.map(Event::PortIn));
}
