//! Tables of a node, as it last acknowledged them.

use std::collections::BTreeMap;

use super::attributes::Data;

/// Which block of which table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Block {
    /// [`sa_wire::smp::attribute`].
    pub attribute: u16,
    /// The end port that holds it: 0 for everything of a switch, else the port of the CA or router.
    pub end_port: u8,
    /// Attribute modifier of the Get and Set.
    pub modifier: u32,
}

/// Blocks by attribute, end port and modifier: P_Key, SL to VL, VL arbitration, linear and multicast tables. PortInfo
/// and SwitchInfo stand with their port and node. A block that is not here was neither read nor written: what the
/// node holds there is not known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tables(BTreeMap<Block, Data>);

impl Tables {
    /// `None`: not known.
    pub fn get(&self, block: Block) -> Option<&Data> {
        self.0.get(&block)
    }

    /// The node says that it holds this.
    pub fn set(&mut self, block: Block, data: Data) {
        self.0.insert(block, data);
    }

    /// What the node holds there is not known any more: a Set is under way, or was not answered.
    pub fn forget(&mut self, block: Block) {
        self.0.remove(&block);
    }

    /// All blocks, by attribute, end port and modifier.
    pub fn blocks(&self) -> impl Iterator<Item = (&Block, &Data)> {
        self.0.iter()
    }
}
