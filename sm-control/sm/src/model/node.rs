//! A node and its ports.

use sa_fabric::PortRef;
use sa_wire::records::{NodeRecord, PortInfoRecord, SwitchInfoRecord};
use sa_wire::{Guid, NodeType};

use super::route::Route;
use super::tables::Tables;

/// A switch, CA or router.
#[derive(Debug, Clone)]
pub struct Node {
    /// NodeInfo and NodeDescription. Port GUID and port number are those of the port that answered first.
    pub record: NodeRecord,
    /// Of a switch that has told it.
    pub switch_info: Option<SwitchInfoRecord>,
    /// Tables as the node last acknowledged them.
    pub tables: Tables,
    /// It leaves requests unanswered, and its links are up as far as its neighbours tell: what it holds is what it last acknowledged.
    pub is_mute: bool,
    /// PortStateChange of it was cleared after its ports had been read: they are read once more.
    pub(crate) is_unsettled: bool,
    kind: NodeType,
    guid: Guid,
    /// Shape: index = port number. Port 0 of CAs and routers is not used.
    ports: Vec<Port>,
}

/// Why an answer to Get(NodeInfo) makes no node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeError {
    /// NodeType is none of switch, CA and router.
    Type,
    /// A node GUID of 0.
    NoGuid,
    /// No port, or 255: a port number of 255 means "none" in tables.
    PortCount,
}

impl NodeError {
    /// In words.
    pub const fn what(self) -> &'static str {
        match self {
            Self::Type => "its node type is none that there is",
            Self::NoGuid => "its node GUID is 0",
            Self::PortCount => "it has no port, or more than 254",
        }
    }
}

impl Node {
    /// A node without anything but its NodeInfo. Errors: what no node can tell of itself.
    pub fn new(record: NodeRecord) -> Result<Self, NodeError> {
        let kind = NodeType::try_from(record.node_type).map_err(|_| NodeError::Type)?;
        let guid = Guid::new(record.node_guid.get()).map_err(|_| NodeError::NoGuid)?;
        if !(1..255).contains(&record.num_ports) {
            return Err(NodeError::PortCount);
        }
        let ports = vec![Port::default(); usize::from(record.num_ports) + 1];
        Ok(Self {
            record,
            switch_info: None,
            tables: Tables::default(),
            is_mute: false,
            is_unsettled: false,
            kind,
            guid,
            ports,
        })
    }

    /// What it is.
    pub const fn kind(&self) -> NodeType {
        self.kind
    }

    /// True for a switch.
    pub fn is_switch(&self) -> bool {
        self.kind == NodeType::Switch
    }

    /// True for a switch through which data may pass now.
    /// One Active link is enough: its own port 0 sends and receives, too.
    pub fn passes_data(&self) -> bool {
        let mut links = self.ports().filter(|(number, _)| *number != 0);
        self.is_switch() && links.any(|(_, port)| port.state() == Some(PortState::Active))
    }

    /// True for a switch without a link that passes data: what it is written comes to life with its first link.
    pub fn is_fresh(&self) -> bool {
        self.is_switch() && !self.passes_data()
    }

    /// No port of it has got further than Init, so it may have been off since it was last looked at. Port 0 has no link and
    /// is always Active.
    pub(crate) fn may_have_forgotten(&self) -> bool {
        let links = self.ports().filter(|(number, _)| *number != 0);
        let states = links.filter_map(|(_, port)| port.state());
        states.max().is_none_or(|state| state <= PortState::Init)
    }

    /// Node GUID.
    pub const fn guid(&self) -> Guid {
        self.guid
    }

    /// NodeDescription up to the first NUL, with what is no UTF-8 replaced.
    pub fn description(&self) -> String {
        let text = &self.record.description;
        let text = text.split(|byte| *byte == 0).next().unwrap_or_default();
        String::from_utf8_lossy(text).into_owned()
    }

    /// Ports without port 0: 1 to 254.
    pub const fn port_count(&self) -> u8 {
        self.record.num_ports
    }

    /// True for a switch whose port 0 has MTU, VLs and tables as a CA's port has.
    pub fn has_enhanced_port0(&self) -> bool {
        let flags = self.switch_info.map_or(0, |info| info.flags);
        self.is_switch() && flags & ENHANCED_PORT0 != 0
    }

    /// `None` for a number that the node has not.
    pub fn port(&self, number: u8) -> Option<&Port> {
        self.ports.get(usize::from(number))
    }

    /// Like [`Self::port`].
    pub fn port_mut(&mut self, number: u8) -> Option<&mut Port> {
        self.ports.get_mut(usize::from(number))
    }

    /// Of which ports links came up is found anew.
    pub(crate) fn forget_came_up(&mut self) {
        // Nearly none did, and what is not written need not be fetched to be changed.
        let ports = self.ports.iter_mut().filter(|port| port.came_up);
        ports.for_each(|port| port.came_up = false);
    }

    /// All ports with their numbers; of CAs and routers from 1 on.
    pub fn ports(&self) -> impl Iterator<Item = (u8, &Port)> {
        let first = usize::from(!self.is_switch());
        (0..=u8::MAX).zip(&self.ports).skip(first)
    }

    /// Ports that have LIDs: of a switch port 0, else every port to which there is a way.
    pub fn end_ports(&self) -> impl Iterator<Item = (u8, &Port)> {
        let is_switch = self.is_switch();
        self.ports()
            .filter(move |(number, _)| !is_switch || *number == 0)
            .filter(|(_, port)| port.route.is_some())
    }

    /// Which port holds LID and M_Key for this one: of a switch port 0.
    pub fn end_port(&self, number: u8) -> u8 {
        if self.is_switch() { 0 } else { number }
    }
}

/// A port.
#[derive(Debug, Clone, Default)]
pub struct Port {
    /// As last read, or as answered to the last Set. `None` where neither was answered.
    pub info: Option<PortInfoRecord>,
    /// Port GUID, of end ports.
    pub guid: Option<Guid>,
    /// The far end of its link.
    pub peer: Option<PortRef>,
    /// The way to it, of end ports. An SMP for another port of a switch goes to its port 0.
    pub route: Option<Route>,
    /// The M_Key that requests carry, of end ports; `None` where none was answered to yet.
    pub m_key: Option<u64>,
    /// The last sweep found it in Init: its link has come up since the sweep before.
    pub came_up: bool,
    /// Whether that is the key which the port holds is not known: it hides its key, or was given one and did not answer.
    pub hides_m_key: bool,
}

impl Port {
    /// PortState; `None` where PortInfo is not known, or says none that there is.
    pub const fn state(&self) -> Option<PortState> {
        match &self.info {
            Some(info) => PortState::of(info),
            None => None,
        }
    }

    /// The M_Key that requests to an end port carry.
    pub fn m_key(&self) -> u64 {
        let shown = || self.info.map(|info| info.m_key.get());
        self.m_key.or_else(shown).unwrap_or(0)
    }

    /// The M_Key that an end port is known to hold; 0 for none. `None` where it is not known.
    pub fn known_m_key(&self) -> Option<u64> {
        let shown = self.info.map(|info| info.m_key.get());
        shown.filter(|_| !self.hides_m_key)
    }

    /// What PortInfo of an end port says of its key. A port at level 1 shows none to who has another key, so there 0 may be
    /// either.
    pub(super) fn told_m_key(&mut self, info: &PortInfoRecord) {
        let shown = info.m_key.get();
        self.hides_m_key = shown == 0 && info.m_key_protect_and_lmc >> 6 == 1;
        if !self.hides_m_key {
            self.m_key = Some(shown);
        }
    }
}

/// PortState, by its code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum PortState {
    /// No link.
    Down = 1,
    /// Trained: passes SMPs alone.
    Init = 2,
    /// Takes data, sends none.
    Armed = 3,
    /// Passes data.
    Active = 4,
}

impl PortState {
    /// `None` for a code that is no state (0 is "no change" in a Set).
    pub const fn of(info: &PortInfoRecord) -> Option<Self> {
        match info.speed_supported_and_state & 0xf {
            1 => Some(Self::Down),
            2 => Some(Self::Init),
            3 => Some(Self::Armed),
            4 => Some(Self::Active),
            _ => None,
        }
    }
}

/// EnhancedPort0 in the flags of SwitchInfo.
const ENHANCED_PORT0: u8 = 1 << 3;
