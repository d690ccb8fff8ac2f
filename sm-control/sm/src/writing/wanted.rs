//! What a subnet should hold.

use std::collections::BTreeMap;
use std::time::Duration;

use sa_fabric::{NodeIx, PortRef};
use sa_wire::records::{PortInfoRecord, SwitchInfoRecord};

use crate::model::Block;
use crate::model::attributes::{Data, STATE_CHANGE};

/// The value of every attribute that this SM has a say in. What is not in it stays as it is.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// PortInfo as read, with the fields changed that should be others. PortState and PortPhysicalState are not
    /// looked at: links are brought up by [`super::Writing`] itself.
    pub ports: BTreeMap<PortRef, PortInfoRecord>,
    /// SwitchInfo as read, with the fields changed that should be others. PortStateChange is not looked at.
    pub switches: BTreeMap<NodeIx, SwitchInfoRecord>,
    /// Blocks of tables.
    pub tables: BTreeMap<NodeIx, BTreeMap<Block, Data>>,
    /// Multicast blocks that are held and not in `tables` stay: nobody knows yet who is in which group. Else they are cleared.
    pub leaves_multicast: bool,
}

/// How changed forwarding tables are written, where data passes already. Nothing in it: all LIDs at once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Transition {
    /// LIDs that change together: the next stage begins when all of the one before is acknowledged, and no other one where
    /// that fails. LIDs that are in none come last.
    pub stages: Vec<Stage>,
    /// The first stage comes before other tables, SL2VL among them.
    pub is_before_tables: bool,
    /// Switches without a link that passes data get no paths but those that they hold, before their links come up, and the others with the
    /// stages; else all at once.
    pub holds_back_fresh: bool,
}

/// LIDs that change together.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stage {
    /// By block of 64 of the forwarding table: a bit for each, the lowest for the first LID of the block.
    pub lids: BTreeMap<u32, u64>,
    /// They get no path, at the switches that change theirs; else what is wanted.
    pub leads_nowhere: bool,
    /// For how long nothing else goes on when all of it is held, so that packets of before are gone.
    pub rest: Duration,
}

/// PortInfo without what a Set does not write: states, the port it was asked by, counters.
pub(super) fn settable(info: &PortInfoRecord) -> PortInfoRecord {
    let mut kept = *info;
    kept.local_port_num = 0;
    kept.speed_supported_and_state &= 0xf0;
    kept.physical_state_and_down_default &= 0x0f;
    kept.m_key_violations = 0.into();
    kept.p_key_violations = 0.into();
    kept.q_key_violations = 0.into();
    kept
}

/// PortInfo without ClientReregister, which is an order and no field that is kept.
pub(super) fn without_order(info: &PortInfoRecord) -> PortInfoRecord {
    PortInfoRecord {
        subnet_timeout: info.subnet_timeout & 0x7f,
        ..*info
    }
}

/// SwitchInfo without PortStateChange.
pub(super) fn without_change(info: &SwitchInfoRecord) -> SwitchInfoRecord {
    SwitchInfoRecord {
        life_time_and_change: info.life_time_and_change & !STATE_CHANGE,
        ..*info
    }
}
