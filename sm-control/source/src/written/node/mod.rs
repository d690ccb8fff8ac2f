//! What one node holds, as its SM knows it.
//!
//! Values are kept in the records that an SA would tell of them; their LIDs are filled in when they are
//! put together, as a node's LID may change. A value carries the transaction that told it: answers
//! that overtake one another on their way leave the newer.
//!
//! | file | has |
//! |---|---|
//! | `told` | what an answer to an SMP changes |
//! | `read` | what the SA told |
//! | `out` | records of it, and what they lack |
//! | `lft`, `heard` | a forwarding table; values and their transactions |

mod heard;
mod lft;
mod out;
mod read;
mod told;

use std::collections::BTreeMap;

use sa_wire::NodeType;
use sa_wire::records::{
    GuidInfoRecord, LinearForwardingTableRecord, NodeRecord, PKeyTableRecord, PortInfoRecord,
    SwitchInfoRecord,
};

use self::heard::Heard;
use self::lft::{Known, Lft};
use super::kinds::NodeGuid;

pub(super) use self::heard::Effect;

/// LIDs of a block of a forwarding table.
const LIDS_PER_BLOCK: u16 = 64;
/// PortState of a port without a link.
const DOWN: u8 = 1;

/// A node of the fabric.
#[derive(Debug, Default)]
pub(super) struct Node {
    /// By port: of a switch port 0, of others each port that was found.
    ends: BTreeMap<u8, NodeRecord>,
    description: Option<[u8; 64]>,
    ports: BTreeMap<u8, Heard<PortInfoRecord>>,
    /// What each port is cabled to.
    pub(super) peers: BTreeMap<u8, (NodeGuid, u8)>,
    switch: Option<Heard<SwitchInfoRecord>>,
    lft: Lft,
    /// By input and output port.
    sl2vl: BTreeMap<(u8, u8), Heard<[u8; 8]>>,
    /// By end port and block.
    pkeys: BTreeMap<(u8, u16), Heard<PKeyTableRecord>>,
    /// By end port and block.
    guids: BTreeMap<(u8, u8), Heard<GuidInfoRecord>>,
}

impl Node {
    /// Whether it is a switch.
    pub(super) fn is_switch(&self) -> bool {
        let mut ends = self.ends.values();
        ends.next()
            .is_some_and(|end| end.node_type == NodeType::Switch as u8)
    }

    /// The LID of an end port, none before it has one.
    pub(super) fn lid(&self, port: u8) -> Option<u16> {
        let lid = self.ports.get(&port)?.value.base_lid.get();
        (lid != 0).then_some(lid)
    }

    /// Whether one of its end ports has this LID.
    pub(super) fn has_lid(&self, lid: u16) -> bool {
        self.ends.keys().any(|port| self.lid(*port) == Some(lid))
    }

    /// The end port with this LID; 0 where none has it.
    fn port_of(&self, lid: u16) -> u8 {
        let mut ports = self.ends.keys();
        ports
            .find(|port| self.lid(**port) == Some(lid))
            .copied()
            .unwrap_or(0)
    }

    /// Whether a port has a link.
    pub(super) fn is_up(&self, port: u8) -> bool {
        self.state(port).is_some_and(|state| state > DOWN)
    }

    /// Whether it was told to have none.
    pub(super) fn is_down(&self, port: u8) -> bool {
        self.state(port) == Some(DOWN)
    }

    fn state(&self, port: u8) -> Option<u8> {
        let port = &self.ports.get(&port)?.value;
        Some(port.speed_supported_and_state & 0xf)
    }

    /// Its forwarding table up to LinearFDBTop; none where not all of it is known.
    pub(super) fn lft(&self) -> Option<&[LinearForwardingTableRecord]> {
        let blocks = self.blocks()?;
        let known = self.lft.known.get(..blocks)?;
        let is_whole = known.iter().all(|known| *known != Known::Not);
        self.lft.blocks.get(..blocks).filter(|_| is_whole)
    }

    /// Blocks up to LinearFDBTop; none of what is no switch.
    fn blocks(&self) -> Option<usize> {
        let top = self.switch.as_ref()?.value.linear_top.get();
        Some(usize::from(top / LIDS_PER_BLOCK) + 1)
    }
}
