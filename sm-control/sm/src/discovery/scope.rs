//! How much of a subnet a sweep asks for.
//!
//! | scope | what is trusted | what is found |
//! |---|---|---|
//! | whole | nothing but LIDs and tables of nodes that have not been off | everything that answers |
//! | anew | the same, and NodeDescription and P_Key tables of ports that have stayed Active | nodes, links, PortInfo, SwitchInfo |
//! | light | PortInfo of switches without PortStateChange, and all of hosts behind them | what switches saw happen to their links |
//! | told | everything but of those that told | what these told |
//!
//! What a light sweep cannot see: PortInfo that somebody else has written without a link going down, NodeInfo of a device that was replaced
//! in less time than a link needs to be noted, P_Keys, and tables. The first three are a whole sweep's, tables the audit's.
//!
//! # Traps
//!
//! Traps are collected by LID, so a port that sends thousands is one entry, and the whole is as large as there are LIDs at most, however long
//! nobody takes it. What two traps of one device ask for is joined.
//!
//! ```text
//!  128 LID 4, 128 LID 9, 144 LID 4 (NodeDescription), 128 LID 4     ──>  4: ports, NodeDescription   9: ports
//! ```
//!
//! Nothing of a trap is believed but who has something to tell: what it tells is read from the device itself. So a trap that is forged costs
//! a reading of one device, and one that is lost is made up for by PortStateChange in the next light sweep.

use std::collections::BTreeMap;

use sa_wire::notice::{Notice, trap};

/// What may be other than it was.
///
/// In order of cost: what one misses the one above it finds.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Scope {
    /// All of it: nothing is known, or what is known may be wrong.
    #[default]
    Whole,
    /// All nodes and links, of a subnet that this Subnet Manager has managed without a break: see `believed`.
    Anew,
    /// SwitchInfo of each switch says by PortStateChange which ports are to be read; and what devices told.
    Light(Told),
    /// What devices told by traps.
    Told(Told),
}

/// Which devices told what, by their LIDs. Shape: as many as there are LIDs at most.
///
/// Joined and never replaced, so a trap that comes while a sweep is under way is not lost with it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Told(BTreeMap<u16, Heard>);

/// What is to be read of a device.
///
/// Fields add up: a device is read once for all that it told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Heard {
    /// SwitchInfo and PortInfo of all ports; of a CA or router PortInfo of that port.
    pub ports: bool,
    /// NodeDescription.
    pub description: bool,
    /// NodeInfo.
    pub node: bool,
}

impl Told {
    /// Takes a trap in. False where nothing of the subnet is to be read for it.
    ///
    /// | trap | read |
    /// |---|---|
    /// | 128 | ports |
    /// | 144 with the flag NodeDescription and no other | NodeDescription |
    /// | 144 else | ports; NodeDescription with that flag |
    /// | 145 | NodeInfo |
    /// | others | nothing |
    ///
    /// Source: IBA vol. 1, 14.2.5.1 and 13.4.8.2.
    pub fn hear(&mut self, notice: &Notice) -> bool {
        let number = notice.trap_number.get();
        let of = |at: usize| {
            let bytes = notice.details.get(at..at + 2).and_then(<[u8]>::first_chunk);
            bytes.map_or(0, |bytes| u16::from_be_bytes(*bytes))
        };
        let (lid, heard) = match number {
            _ if !notice.is_generic() => return false,
            trap::LINK_STATE => (of(0), Heard::PORTS),
            trap::LOCAL_CHANGE => {
                let is_other = notice.details.get(5).is_some_and(|bits| bits & 1 != 0);
                let flags = if is_other { of(10) } else { 0 };
                let heard = Heard {
                    // Without flags it is the CapabilityMask, which PortInfo has.
                    ports: flags != NODE_DESCRIPTION,
                    description: flags & NODE_DESCRIPTION != 0,
                    node: false,
                };
                (of(2), heard)
            }
            trap::SYSTEM_IMAGE_GUID => {
                let heard = Heard {
                    node: true,
                    ..Heard::default()
                };
                (of(2), heard)
            }
            _ => return false,
        };
        self.0.entry(lid).or_default().add(heard);
        true
    }

    /// The same of both.
    pub fn add(&mut self, other: &Self) {
        for (lid, heard) in &other.0 {
            self.0.entry(*lid).or_default().add(*heard);
        }
    }

    /// By LID.
    pub fn iter(&self) -> impl Iterator<Item = (u16, Heard)> + '_ {
        self.0.iter().map(|(lid, heard)| (*lid, *heard))
    }

    /// Nobody told anything.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Heard {
    const PORTS: Self = Self {
        ports: true,
        description: false,
        node: false,
    };

    /// What either asks for.
    const fn add(&mut self, other: Self) {
        self.ports |= other.ports;
        self.description |= other.description;
        self.node |= other.node;
    }
}

/// Of the flags of trap 144.
///
/// Source: IBA vol. 1, 14.2.5.1 (change flags).
const NODE_DESCRIPTION: u16 = 1;
