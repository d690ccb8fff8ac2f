//! SwitchInfo: how far forwarding tables reach, and how long packets live in a switch.

use sa_wire::records::{PortInfoRecord, SwitchInfoRecord};
use sa_wire::{Lid, Mlid};

use crate::model::Node;

/// The SwitchInfo that a switch should have. `top`: the largest LID in use; none where nobody has one, which leaves it
/// as it is. `life_time`: `packet_life_time`, of which five bits count.
///
/// PortStateChange is 0, which leaves it alone; [`cleared`] is how it is taken back.
/// LifeTimeValue is in the upper five bits of the byte; the two of OptimizedSLtoVLMapping belong to the switch and stay.
pub fn wanted(read: &SwitchInfoRecord, top: Option<Lid>, life_time: u8) -> SwitchInfoRecord {
    SwitchInfoRecord {
        linear_top: top.map_or(read.linear_top, |top| top.get().into()),
        life_time_and_change: (life_time.min(MOST_LIFE_TIME) << 3)
            | (read.life_time_and_change & OPTIMISED),
        ..*read
    }
}

/// The SwitchInfo of a switch that has MulticastFDBTop, which bounds the MLIDs that it looks at; none of any other. `top`: the
/// last MLID in use; none without any, which a switch that was never told is not told either.
///
/// Without it a switch looks at all of its multicast table, and there is nothing to tell it.
pub fn with_multicast_top(node: &Node, top: Option<Mlid>) -> Option<SwitchInfoRecord> {
    let info = node.switch_info?;
    let mask = node.port(0)?.info?.capability_mask.get();
    if mask & PortInfoRecord::MULTICAST_FDB_TOP == 0 {
        return None;
    }
    // What was never written needs no word that there is nothing.
    let none = match info.multicast_top.get() {
        0 => 0,
        _ => NO_MLID,
    };
    Some(SwitchInfoRecord {
        multicast_top: top.map_or(none, Mlid::get).into(),
        ..info
    })
}

/// The same switch with PortStateChange taken back: the bit is written as 1 for that. To be written after its ports were
/// read, so that a change after that is seen.
///
/// None where it is not set: a write would clear a change that comes meanwhile.
pub fn cleared(read: &SwitchInfoRecord) -> Option<SwitchInfoRecord> {
    (read.life_time_and_change & PORT_STATE_CHANGE != 0).then_some(*read)
}

/// True where something is to be written: all but PortStateChange.
///
/// The bit is the device's word, not a value that an SM gives.
pub fn differs(read: &SwitchInfoRecord, wanted: &SwitchInfoRecord) -> bool {
    let without = |info: &SwitchInfoRecord| SwitchInfoRecord {
        life_time_and_change: info.life_time_and_change & !PORT_STATE_CHANGE,
        ..*info
    };
    without(read) != without(wanted)
}

/// True for a switch that takes one SL2VL table for many ports.
///
/// What it takes then is [`super::qos::optimised_sl_to_vl`].
pub const fn takes_one_sl2vl_for_many(read: &SwitchInfoRecord) -> bool {
    read.life_time_and_change & OPTIMISED != 0
}

/// Set by the switch when a port of it changes state; written as 1 to clear (IBA vol. 1, 14.2.5.4).
const PORT_STATE_CHANGE: u8 = 1 << 2;
/// OptimizedSLtoVLMappingProgramming.
const OPTIMISED: u8 = 3;
/// MulticastFDBTop of a switch that is to forward none: below the first MLID.
const NO_MLID: u16 = 0xbfff;
/// Of LifeTimeValue: five bits.
const MOST_LIFE_TIME: u8 = 31;
