//! From which port an SMP of another Subnet Manager has come.
//!
//! ```text
//!  by LID              source LID ──> the SM's port with that LID
//!  by directed route   return path, walked back over the links that were found ──> the port at its end
//! ```
//!
//! Neither is the sender's word: the source LID is its port's, and the return path is written by the switches on the way, one
//! entry each. So a program on a host can say that it is the master, and cannot say it from the master's port.
//!
//! A value of its own and not the model, because it is looked at by another thread than that which sweeps. It is as old as the last
//! sweep: who has come or moved since then is unknown until the next.
//!
//! Source: IBA vol. 1, 14.2.2 (directed routes).

use std::collections::BTreeMap;

use sa_fabric::PortRef;
use sa_wire::Guid;
use sa_wire::smp::{PERMISSIVE_LID, Smp};

use crate::model::Subnet;

/// Who has sent something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sender {
    /// The SM of that GUID, by its own word when it was asked at that port.
    Known(Guid),
    /// Nobody that was found to be an SM.
    Unknown,
}

/// The other SMs of a subnet, and the links by which they are found again.
#[derive(Debug, Clone, Default)]
pub struct Senders {
    own: Option<PortRef>,
    managers: BTreeMap<PortRef, Guid>,
    /// Of the SMs' ports: the LIDs of each, first and last.
    lids: Vec<(u16, u16, Guid)>,
    /// Both directions of each link.
    links: BTreeMap<PortRef, PortRef>,
}

impl Senders {
    /// Of a subnet that was found. Links are kept only where there is another SM: they take memory.
    pub fn of(subnet: &Subnet) -> Self {
        let all = || {
            subnet
                .managers()
                .filter_map(|(at, info)| Some((at, info.guid?)))
        };
        let managers: BTreeMap<_, _> = all().collect();
        if managers.is_empty() {
            return Self::default();
        }
        let lids = all().filter_map(|(at, guid)| {
            let info = subnet.port(at)?.info.as_ref()?;
            let first = info.base_lid.get();
            let last = first.checked_add((1 << (info.m_key_protect_and_lmc & LMC)) - 1)?;
            (first != 0).then_some((first, last, guid))
        });
        let ports = subnet.places().flat_map(|(node, it)| {
            let ports = it.ports();
            ports.filter_map(move |(port, it)| Some((PortRef { node, port }, it.peer?)))
        });
        Self {
            own: subnet.sm(),
            lids: lids.collect(),
            links: ports.collect(),
            managers,
        }
    }

    /// Who has sent a request that came from this LID, or by the directed route that it carries.
    pub fn of_request(&self, lid: u16, request: &Smp) -> Sender {
        let guid = match request.is_directed() {
            true => self.back(request),
            false => self.at_lid(lid),
        };
        guid.map_or(Sender::Unknown, Sender::Known)
    }

    fn at_lid(&self, lid: u16) -> Option<Guid> {
        let mut all = self.lids.iter();
        let (_, _, guid) = all.find(|(first, last, _)| (*first..=*last).contains(&lid))?;
        Some(*guid)
    }

    /// Along the return path: out by the port at which the request came in, at each node of its way.
    fn back(&self, request: &Smp) -> Option<Guid> {
        let lids = [request.directed_slid.get(), request.directed_dlid.get()];
        // A way that is a directed route in part only has a part that nobody wrote down.
        if lids != [PERMISSIVE_LID; 2] {
            return None;
        }
        let hops = request.path()?.len();
        let entered = request.return_path.get(1..=hops)?;
        let mut at = self.own?;
        for port in entered.iter().rev() {
            let leaves = PortRef { port: *port, ..at };
            at = *self.links.get(&leaves)?;
        }
        // An SM on a switch is at port 0, whichever link leads there.
        let place = PortRef { port: 0, ..at };
        let found = self.managers.get(&at).or_else(|| self.managers.get(&place));
        found.copied()
    }
}

/// Of M_KeyProtectBits and LMC.
const LMC: u8 = 7;

#[cfg(test)]
mod tests {
    use sa_wire::mad::method;
    use sa_wire::smp::{MGMT_CLASS_LID, attribute};
    use zerocopy::FromZeros;

    use super::*;
    use crate::model::{Node, attributes};
    use crate::sm_info::{SmInfo, SmState};

    fn node(kind: u8, guid: u64, ports: u8) -> Node {
        let mut data = [0; 64];
        (data[2], data[3]) = (kind, ports);
        data[12..20].copy_from_slice(&guid.to_be_bytes());
        Node::new(attributes::node_record(&data)).unwrap()
    }

    /// This SM on host 1, two switches in a row, and on the second one an SM on host 4 beside host 5.
    fn senders() -> Senders {
        let mut subnet = Subnet::default();
        let hosts = [1, 4, 5].map(|guid| subnet.add(node(1, guid, 1)));
        let switches = [2, 3].map(|guid| subnet.add(node(2, guid, 4)));
        let port = |node, port| PortRef { node, port };
        subnet.join(port(hosts[0], 1), port(switches[0], 1));
        subnet.join(port(switches[0], 2), port(switches[1], 1));
        subnet.join(port(switches[1], 2), port(hosts[1], 1));
        subnet.join(port(switches[1], 3), port(hosts[2], 1));
        subnet.set_sm(port(hosts[0], 1));
        let at = port(hosts[1], 1);
        let mut info = sa_wire::records::PortInfoRecord::new_zeroed();
        info.base_lid = 8.into();
        info.m_key_protect_and_lmc = 1;
        subnet.port_mut(at).unwrap().info = Some(info);
        let manager = SmInfo {
            guid: Guid::new(0x41).ok(),
            sm_key: 1,
            act_count: 0,
            priority: 0,
            state: SmState::Master,
        };
        subnet.note_manager(at, manager);
        Senders::of(&subnet)
    }

    /// A request as it comes in after so many hops, with the ports by which nodes were entered.
    fn came(entered: &[u8]) -> Smp {
        let path = vec![1; entered.len()];
        let mut smp = Smp::directed(method::SET, attribute::SM_INFO, 1, &path).unwrap();
        smp.return_path[1..=entered.len()].copy_from_slice(entered);
        smp
    }

    #[test]
    fn the_way_back_leads_to_the_sender() {
        let senders = senders();
        let of = |smp: &Smp| senders.of_request(PERMISSIVE_LID, smp);
        let known = Sender::Known(Guid::new(0x41).unwrap());
        // Out of host 4: the second switch was entered at 2, the first at 2, and host 1 at its own.
        assert_eq!(of(&came(&[2, 2, 1])), known);
        assert_eq!(of(&came(&[3, 2, 1])), Sender::Unknown, "the host beside it");
        for odd in [
            &[][..],
            &[1],
            &[9, 2, 1],
            &[2, 2, 2],
            &[2, 2, 1, 1],
            &[7; 63],
        ] {
            assert_eq!(of(&came(odd)), Sender::Unknown, "{odd:?}");
        }
        let mut partly = came(&[2, 2, 1]);
        partly.directed_slid = 8.into();
        assert_eq!(of(&partly), Sender::Unknown);
        let mut endless = came(&[2, 2, 1]);
        endless.header.class_specific = 0x00ff.into();
        assert_eq!(of(&endless), Sender::Unknown);
    }

    #[test]
    fn by_lid_all_lids_of_the_port_are_its_own() {
        let senders = senders();
        let mut smp = came(&[]);
        smp.header.mgmt_class = MGMT_CLASS_LID;
        let known = Sender::Known(Guid::new(0x41).unwrap());
        let of = [7, 8, 9, 10].map(|lid| senders.of_request(lid, &smp));
        assert_eq!(of, [Sender::Unknown, known, known, Sender::Unknown]);
        let nobody = Senders::of(&Subnet::default());
        assert_eq!(nobody.of_request(8, &smp), Sender::Unknown);
    }
}
