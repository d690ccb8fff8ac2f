//! What an answer to an SMP changes.
//!
//! Modifiers and layouts: IBA vol. 1, 14.2.5.
//!
//! Each says whether anything changed: words repeat what is known nearly always, and a compilation for nothing is what this saves.

use sa_wire::NodeType;
use sa_wire::records::{
    GuidInfoRecord, NodeRecord, PKeyTableRecord, PortInfoRecord, SwitchInfoRecord,
};
use zerocopy::{FromZeros, IntoBytes};

use super::heard::{Effect, Heard};
use super::lft::Lft;
use super::{DOWN, Node};
use crate::kept::{PORT_STATE_CHANGE, without_counters};
use crate::written::word::{NodeInfo, Told, attribute};

/// PortInfo and SwitchInfo begin behind this many bytes of their records.
const RECORD_HEAD: usize = 4;
/// P_Key and SL2VL tables, GUIDs and blocks begin behind eight.
const TABLE_HEAD: usize = 8;

impl Node {
    /// A NodeInfo of it.
    ///
    /// The first one makes an end port: a node is known from here on.
    pub(in crate::written) fn found(&mut self, info: &NodeInfo) -> Effect {
        let is_switch = info.bytes[2] == NodeType::Switch as u8;
        let end = if is_switch { 0 } else { info.local_port };
        let description = self.description.unwrap_or([0; 64]);
        let mut is_new = false;
        let record = self.ends.entry(end).or_insert_with(|| {
            is_new = true;
            let mut record = NodeRecord::new_zeroed();
            record.description = description;
            record
        });
        let before = *record;
        record.as_mut_bytes()[RECORD_HEAD..][..40].copy_from_slice(&info.bytes);
        // A switch answers with the port that it was asked by, which differs from route to route.
        if is_switch && !is_new {
            record.port_and_vendor = before.port_and_vendor;
        }
        Effect::of(is_new || *record != before)
    }

    /// What it holds, told through its port `by`.
    ///
    /// [`Effect::Unknown`] before a NodeInfo: it is not known whether it is a switch.
    pub(in crate::written) fn take(&mut self, by: u8, told: &Told) -> Effect {
        if self.ends.is_empty() {
            return Effect::Unknown;
        }
        match told.attribute {
            attribute::NODE_DESCRIPTION => self.described(&told.data),
            attribute::SWITCH_INFO => self.switch_info(told),
            attribute::PORT_INFO => self.port_info(by, told),
            attribute::LINEAR_TABLE => self.lft_block(told),
            attribute::SL_TO_VL => self.sl_to_vl(by, told),
            attribute::PKEY_TABLE => self.pkey_block(by, told),
            attribute::GUID_INFO => self.guid_block(by, told),
            _ => Effect::None,
        }
    }

    /// NodeDescription. All end ports of the node have it.
    fn described(&mut self, description: &[u8; 64]) -> Effect {
        let is_other = self.description != Some(*description);
        self.description = Some(*description);
        for end in self.ends.values_mut() {
            end.description = *description;
        }
        Effect::of(is_other)
    }

    /// SwitchInfo. PortStateChange is left out, as it says nothing of what is held.
    fn switch_info(&mut self, told: &Told) -> Effect {
        let mut record = SwitchInfoRecord::new_zeroed();
        record.as_mut_bytes()[RECORD_HEAD..].copy_from_slice(&told.data[..20]);
        record.life_time_and_change &= !PORT_STATE_CHANGE;
        // A switch that has started anew holds nothing; its SM writes all of it again.
        if record.linear_top.get() == 0 && self.switch.is_some_and(|it| it.value.linear_top != 0) {
            self.lft = Lft {
                since: Some(told.transaction),
                ..Lft::default()
            };
        }
        let heard = self.switch.get_or_insert_with(|| Heard {
            value: SwitchInfoRecord::new_zeroed(),
            by: None,
        });
        Effect::of(heard.take(record, told.transaction))
    }

    /// PortInfo. Modifier 0 of a CA is the port that was asked by.
    fn port_info(&mut self, by: u8, told: &Told) -> Effect {
        let [.., number] = told.modifier.to_be_bytes();
        let port = if self.is_switch() || number != 0 {
            number
        } else {
            by
        };
        let mut record = PortInfoRecord::new_zeroed();
        record.as_mut_bytes()[RECORD_HEAD..][..64].copy_from_slice(&told.data);
        let known = self.ports.entry(port).or_insert_with(|| Heard {
            value: PortInfoRecord::new_zeroed(),
            by: None,
        });
        let state = record.speed_supported_and_state & 0xf;
        // Of a port that is down only its states mean anything, and an SM takes no more.
        if state == DOWN {
            let states = (
                record.speed_supported_and_state,
                record.physical_state_and_down_default,
            );
            record = known.value;
            record.speed_supported_and_state = record.speed_supported_and_state & 0xf0 | DOWN;
            record.physical_state_and_down_default =
                record.physical_state_and_down_default & 0x0f | states.1 & 0xf0;
        }
        Effect::of(known.take(without_counters(record), told.transaction))
    }

    /// A table for one pair of ports, or with optimised programming for many.
    fn sl_to_vl(&mut self, by: u8, told: &Told) -> Effect {
        let mut vls = [0; 8];
        vls.copy_from_slice(&told.data[..8]);
        let [_, every, input, output] = told.modifier.to_be_bytes();
        let (every_output, every_input) = (every & 1 != 0, every & 2 != 0);
        if !self.is_switch() {
            return self.sl_to_vl_of((0, 0), by, vls, told.transaction);
        }
        if !every_output && !every_input {
            return self.sl_to_vl_of((input, output), by, vls, told.transaction);
        }
        let mut effect = Effect::None;
        for ((own_input, own_output), heard) in &mut self.sl2vl {
            let is_meant =
                (every_input || *own_input == input) && (every_output || *own_output == output);
            if is_meant && heard.take(vls, told.transaction) {
                effect = Effect::Changed;
            }
        }
        effect
    }

    /// One table of one pair. `by`: the port of a CA, whose modifier names none.
    fn sl_to_vl_of(&mut self, at: (u8, u8), by: u8, vls: [u8; 8], transaction: u32) -> Effect {
        // The one table of an end port goes by that port.
        let at = if self.is_switch() { at } else { (by, 0) };
        let mut is_new = false;
        let heard = self.sl2vl.entry(at).or_insert_with(|| {
            is_new = true;
            Heard {
                value: vls,
                by: None,
            }
        });
        Effect::of(heard.take(vls, transaction) || is_new)
    }

    /// A block of an end port's P_Key table.
    fn pkey_block(&mut self, by: u8, told: &Told) -> Effect {
        let [port_high, port, block_high, block_low] = told.modifier.to_be_bytes();
        let block = u16::from_be_bytes([block_high, block_low]);
        // Of external ports of switches an SA is not asked.
        if self.is_switch() && (port != 0 || port_high != 0) {
            return Effect::None;
        }
        let port = if self.is_switch() { 0 } else { by };
        let mut record = PKeyTableRecord::new_zeroed();
        (record.block, record.port) = (block.into(), port);
        record.as_mut_bytes()[TABLE_HEAD..].copy_from_slice(&told.data);
        let mut is_new = false;
        let heard = self.pkeys.entry((port, block)).or_insert_with(|| {
            is_new = true;
            Heard {
                value: record,
                by: None,
            }
        });
        Effect::of(heard.take(record, told.transaction) || is_new)
    }

    /// A block of GUIDs of an end port.
    fn guid_block(&mut self, by: u8, told: &Told) -> Effect {
        let [.., block] = told.modifier.to_be_bytes();
        let port = if self.is_switch() { 0 } else { by };
        let mut record = GuidInfoRecord::new_zeroed();
        record.block = block;
        record.as_mut_bytes()[TABLE_HEAD..].copy_from_slice(&told.data);
        let mut is_new = false;
        let heard = self.guids.entry((port, block)).or_insert_with(|| {
            is_new = true;
            Heard {
                value: record,
                by: None,
            }
        });
        Effect::of(heard.take(record, told.transaction) || is_new)
    }

    /// A block of a forwarding table; a number that no table has is nobody's.
    fn lft_block(&mut self, told: &Told) -> Effect {
        let Ok(number) = u16::try_from(told.modifier) else {
            return Effect::None;
        };
        Effect::of(self.lft.take(number, told.data, told.transaction))
    }
}
