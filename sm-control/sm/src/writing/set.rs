//! One Set, and what a device made of it before.

use std::collections::BTreeMap;

use sa_fabric::PortRef;
use sa_wire::Guid;
use sa_wire::smp::{ALL_INPUTS, ALL_OUTPUTS, attribute};

use crate::executor::Request;
use crate::model::attributes::{Data, port_info};
use crate::model::{Block, Node, PortState, Subnet};

/// A Set, or the Get that looks what a refused one has left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Set {
    /// The port that it is about; of SwitchInfo and tables of a switch port 0.
    pub at: PortRef,
    pub(super) kind: Kind,
    /// As it goes out.
    pub(super) data: Data,
}

/// Which attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Switch,
    Port,
    Table(Block),
    /// PortInfo with nothing new but the state of the link.
    State(PortState),
    /// Get(PortInfo) after this state was refused: devices refuse the state that they are in already, which a second
    /// try meets when the first one's answer was lost, or a link on which data came.
    Look(PortState),
}

impl Set {
    /// [`attribute`] and modifier.
    pub fn attribute(&self, subnet: &Subnet) -> (u16, u32) {
        match self.kind {
            Kind::Switch => (attribute::SWITCH_INFO, 0),
            Kind::Table(block) => (block.attribute, block.modifier),
            Kind::Port | Kind::State(_) | Kind::Look(_) => (
                attribute::PORT_INFO,
                speeds(subnet, self.at) | u32::from(self.at.port),
            ),
        }
    }

    /// SL2VL tables of many ports of a switch.
    const fn is_for_many(&self) -> bool {
        match self.kind {
            Kind::Table(block) => {
                block.attribute == attribute::SL_TO_VL
                    && block.modifier & (ALL_INPUTS | ALL_OUTPUTS) != 0
            }
            _ => false,
        }
    }

    /// The key that it gives an end port, where that is another one than the port has.
    pub(super) fn new_key(&self, subnet: &Subnet) -> Option<u64> {
        let node = subnet.node(self.at.node)?;
        let is_end = node.end_port(self.at.port) == self.at.port;
        let gives = is_end && matches!(self.kind, Kind::Port | Kind::State(_));
        let key = gives.then(|| port_info(&self.data).m_key.get());
        key.filter(|key| *key != subnet.m_key(self.at))
    }

    /// `None` where no way is known. The M_Key is the one that the device has now; of a try whose answer was lost it may have taken
    /// the new one already, so that one is tried too.
    pub(super) fn request(&self, subnet: &Subnet) -> Option<Request> {
        let (attribute, modifier) = self.attribute(subnet);
        let node = subnet.node(self.at.node)?;
        let end = node.port(node.end_port(self.at.port))?;
        Some(Request {
            device: crate::discovery::device(self.at.node),
            route: end.route.clone()?,
            set: (!matches!(self.kind, Kind::Look(_))).then_some(self.data),
            attribute,
            modifier,
            m_key: subnet.m_key(self.at),
            other_keys: self.new_key(subnet).into_iter().collect(),
            takes_long: self.is_for_many(),
        })
    }
}

/// The bit of the modifier by which an SM says that it knows extended speeds, for devices that have them: without it
/// they would take the enabled ones away. Port 0 of a switch has no link, and so none.
fn speeds(subnet: &Subnet, at: PortRef) -> u32 {
    let node = subnet.node(at.node);
    if at.port == 0 {
        return 0;
    }
    let end = node.and_then(|node| node.port(node.end_port(at.port)));
    let mask = end
        .and_then(|port| port.info)
        .map_or(0, |info| info.capability_mask.get());
    match mask & sa_wire::records::PortInfoRecord::EXTENDED_SPEEDS {
        0 => 0,
        _ => 1 << 31,
    }
}

/// What Sets of earlier sweeps left undone, so that they are not sent again in each: a device may refuse a value, or
/// not keep a field. What it does not keep is not tried again until something else is wanted or held; what it refused is
/// tried again after 1, 2, 4 and so on up to 64 sweeps, as it may have had a reason that is over.
#[derive(Debug, Clone, Default)]
pub struct Memory(BTreeMap<Key, Tried>);

/// Node GUID, port, attribute, modifier.
pub(super) type Key = (Guid, u8, u16, u32);

#[derive(Debug, Clone)]
struct Tried {
    sent: Data,
    /// What it held after that; `None`: it refused.
    held: Option<Data>,
    /// Of a refusal: for how many sweeps it is left alone after it, and for how many from now.
    wait: u32,
    left: u32,
}

/// Sweeps for which a refused value is left alone, at most: ten minutes, where one comes each 10 s.
const MOST_WAIT: u32 = 64;

impl Memory {
    /// True where exactly this was sent before, and is what the device made of it.
    pub(super) fn is_in_vain(&self, key: &Key, sent: &Data, holds: Option<&Data>) -> bool {
        let tried = self.0.get(key);
        tried.is_some_and(|tried| {
            let is_over = match &tried.held {
                Some(held) => holds != Some(held),
                None => tried.left == 0,
            };
            tried.sent == *sent && !is_over
        })
    }

    /// True where the node refused exactly this before.
    pub(crate) fn is_refused(&self, node: &Node, block: Block, sent: &Data) -> bool {
        let key = (node.guid(), block.end_port, block.attribute, block.modifier);
        self.is_in_vain(&key, sent, None)
    }

    /// Remembers that a value was sent and did not come to be. `held`: what the node said that it holds instead; none
    /// where it refused.
    pub(super) fn note(&mut self, key: Key, sent: Data, held: Option<Data>) {
        let before = self.0.get(&key);
        let again = before.filter(|it| it.sent == sent && it.held.is_none());
        let wait = again.map_or(1, |it| (it.wait * 2).min(MOST_WAIT));
        // The sweep of now is none of those that it waits for.
        let left = wait + 1;
        let tried = Tried {
            sent,
            held,
            wait,
            left,
        };
        self.0.insert(key, tried);
    }

    /// Another sweep begins, over these nodes. What others refused is forgotten: a node that is back is a new one, and
    /// this must not grow with every node that ever was there.
    pub(super) fn next_sweep(&mut self, subnet: &Subnet) {
        self.0
            .retain(|(node, ..), _| subnet.by_guid(*node).is_some());
        for tried in self.0.values_mut() {
            tried.left = tried.left.saturating_sub(1);
        }
    }

    /// True where a node refused something, which is to be tried again some time.
    pub fn has_refused(&self) -> bool {
        self.0.values().any(|tried| tried.held.is_none())
    }

    /// The node holds what it was sent: nothing of it is remembered.
    pub(super) fn forget(&mut self, key: &Key) {
        self.0.remove(key);
    }

    /// What was refused is sent in the next sweep: somebody says that it may be otherwise now.
    pub fn try_again(&mut self) {
        self.0.values_mut().for_each(|tried| tried.left = 0);
    }
}
