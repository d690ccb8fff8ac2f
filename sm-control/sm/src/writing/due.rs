//! A Set that is to be sent, before it is made.
//!
//! A first sweep of a large subnet has millions of them, of which a few hundred are under way at a time. So what waits is a name, and the
//! data stay where they are: in what is wanted.

use sa_fabric::{NodeIx, PortRef};
use sa_wire::records::SwitchInfoRecord;
use sa_wire::smp::attribute;

use super::fresh;
use super::set::{Kind, Set};
use super::wanted::{Wanted, settable, without_change};
use crate::model::attributes::{Data, port_info_data, switch_info_data};
use crate::model::{Block, Subnet};

/// What of a node is to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Due {
    /// A block, as it is wanted.
    Table(Block),
    /// A block in which these LIDs, a bit each, lead nowhere yet.
    Part(Block, u64),
    /// A block that nobody wants: nothing in its place.
    Stale(Block),
    /// SwitchInfo with the lower LinearFDBTop of what is held and what is wanted.
    Lower,
    /// SwitchInfo as it is wanted.
    Switch,
    /// PortInfo as it is wanted.
    Port(u8),
}

impl Due {
    /// It is an SL2VL table.
    pub(super) const fn is_sl2vl(self) -> bool {
        matches!(self, Self::Table(block) if block.attribute == attribute::SL_TO_VL)
    }

    /// The Set itself. `None` where the node is gone, or nothing like it is wanted: neither happens while the same is wanted.
    pub(super) fn set(self, node: NodeIx, subnet: &Subnet, wanted: &Wanted) -> Option<Set> {
        let (port, kind, data) = match self {
            Self::Table(block) => {
                let data = wanted.tables.get(&node)?.get(&block)?;
                (block.end_port, Kind::Table(block), *data)
            }
            Self::Part(block, lids) => {
                let data = wanted.tables.get(&node)?.get(&block)?;
                (
                    block.end_port,
                    Kind::Table(block),
                    fresh::without(data, lids),
                )
            }
            Self::Stale(block) => (block.end_port, Kind::Table(block), EMPTY),
            Self::Lower => {
                let found = subnet.node(node)?.switch_info?;
                let info = lower(&found, wanted.switches.get(&node));
                (0, Kind::Switch, switch_info_data(&info))
            }
            Self::Switch => {
                let info = wanted.switches.get(&node)?;
                (0, Kind::Switch, switch_info_data(&without_change(info)))
            }
            Self::Port(port) => {
                let info = wanted.ports.get(&PortRef { node, port })?;
                (port, Kind::Port, port_info_data(&settable(info)))
            }
        };
        let at = PortRef { node, port };
        Some(Set { at, kind, data })
    }
}

/// SwitchInfo as it was found, with a LinearFDBTop that shows no entry which is not wanted. PortStateChange in it is a Set's way to
/// clear it.
pub(super) fn lower(
    found: &SwitchInfoRecord,
    wanted: Option<&SwitchInfoRecord>,
) -> SwitchInfoRecord {
    let top = found.linear_top.get();
    let wanted = wanted.map_or(top, |wanted| wanted.linear_top.get());
    SwitchInfoRecord {
        linear_top: top.min(wanted).into(),
        ..*found
    }
}

/// A block of which nothing is used.
pub(super) const EMPTY: Data = [0; 64];
