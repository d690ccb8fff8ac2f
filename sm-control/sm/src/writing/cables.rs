//! Where the ports of switches lead, for following forwarding tables.
//!
//! Tables name ports, and to follow a LID through a thousand switches means a thousand questions what a port leads to. So the answers are laid
//! out once, by numbers of switches that follow each other: CAs, which are most nodes of a subnet, have none.
//!
//! ```text
//!  entry of a switch ──> port ──> Switch(number): on to its entry
//!                            ├──> End: a host, or the switch itself
//!                            └──> Nothing: no cable, or a link that passes no data
//! ```

use sa_fabric::{NodeIx, PortRef};

use crate::model::attributes::Data;
use crate::model::{Node, PortState, Subnet};
use crate::wanted::linear::NO_PATH;

/// What a port of a switch leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hop {
    /// A switch, by its number in [`Cables`].
    Switch(u32),
    /// A CA or router, or the switch itself: the packet is delivered.
    End,
    /// No cable, or a link between switches that passes no data.
    Nothing,
}

/// Switches by numbers of their own, and what each of their ports leads to. Of links as they were when it was made.
#[derive(Debug, Default)]
pub(super) struct Cables {
    /// By number.
    nodes: Vec<NodeIx>,
    /// Shape: as the nodes of the subnet; [`NO_SWITCH`] for what is none.
    numbers: Vec<u32>,
    /// By switch, then by port. Shape: as many as the switch has ports, and port 0.
    hops: Vec<Vec<Hop>>,
}

const NO_SWITCH: u32 = u32::MAX;

impl Cables {
    /// Of switches that are in no subnet. Shape: by switch, then by port.
    #[cfg(test)]
    pub(super) fn of(hops: Vec<Vec<Hop>>) -> Self {
        let count = u32::try_from(hops.len()).unwrap_or(NO_SWITCH);
        Self {
            nodes: (0..hops.len()).map(NodeIx::nth).collect(),
            numbers: (0..count).collect(),
            hops,
        }
    }

    /// Cost: a look at every port of every switch.
    pub(super) fn new(subnet: &Subnet) -> Self {
        let mut cables = Self::default();
        for (at, node) in subnet.places() {
            let number = u32::try_from(cables.nodes.len()).unwrap_or(NO_SWITCH);
            let is_switch = node.is_switch();
            cables
                .numbers
                .push(if is_switch { number } else { NO_SWITCH });
            cables.nodes.extend(is_switch.then_some(at));
        }
        let nodes = cables.nodes.iter();
        let hops = nodes.map(|at| cables.hops_of(subnet, *at));
        cables.hops = hops.collect();
        cables
    }

    /// Where each port of a switch leads. Shape: by port; a port whose link is not Active leads nowhere.
    fn hops_of(&self, subnet: &Subnet, node: NodeIx) -> Vec<Hop> {
        let ports = subnet.node(node).into_iter().flat_map(Node::ports);
        let hop = |(port, _)| self.hop_of(subnet, PortRef { node, port });
        ports.map(hop).collect()
    }

    /// Links to CAs come up only after tables are written, so their state does not count.
    fn hop_of(&self, subnet: &Subnet, at: PortRef) -> Hop {
        if at.port == 0 {
            return Hop::End;
        }
        let Some(far) = subnet.peer(at) else {
            return Hop::Nothing;
        };
        let is_up =
            |at| subnet.port(at).and_then(crate::model::Port::state) == Some(PortState::Active);
        match self.number(far.node) {
            None => Hop::End,
            Some(switch) if is_up(at) && is_up(far) => Hop::Switch(switch),
            Some(_) => Hop::Nothing,
        }
    }

    /// The number of a switch; `None` for other nodes.
    pub(super) fn number(&self, node: NodeIx) -> Option<u32> {
        let number = self.numbers.get(node.get()).copied();
        number.filter(|number| *number != NO_SWITCH)
    }

    /// The node of a number.
    pub(super) fn node(&self, switch: u32) -> Option<NodeIx> {
        self.nodes.get(switch as usize).copied()
    }

    /// All switches, by number.
    pub(super) fn nodes(&self) -> &[NodeIx] {
        &self.nodes
    }

    /// Where a switch sends the LID of this place in a block that it holds.
    pub(super) fn next(&self, switch: u32, block: &Data, place: usize) -> Hop {
        // A port that the switch has not is as good as none.
        let port = block.get(place).copied().unwrap_or(NO_PATH);
        let hops = self.hops.get(switch as usize);
        let hop = hops.and_then(|hops| hops.get(usize::from(port)));
        hop.copied().unwrap_or(Hop::Nothing)
    }
}
