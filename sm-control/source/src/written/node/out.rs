//! The records of a node, as an SA would tell them, and what they lack.
//!
//! LIDs are put in last, as they are now: a node that gets another LID has the same tables.

use std::sync::Arc;

use sa_fabric::sa_records::Records;
use sa_wire::records::{
    GuidInfoRecord, LinearForwardingTableRecord, PKeyTableRecord, SlToVlRecord, SwitchInfoRecord,
};

use super::Node;
use crate::kept::holds_alias;
use crate::written::kinds::{Missing, Read};

impl Node {
    /// What of it is to be read.
    ///
    /// One question for each table, not for each block.
    pub(in crate::written) fn missing(&self, read: Read) -> Vec<Missing> {
        let mut missing = Vec::new();
        for port in self.ends.keys() {
            let Some(lid) = self.lid(*port) else {
                continue;
            };
            if self.is_switch() && self.lft().is_none() {
                missing.push(Missing::Lft(lid));
            }
            let own = |(at, _): &(u8, u8)| self.is_switch() || at == port;
            if read.sl2vl && !self.sl2vl.keys().any(own) {
                missing.push(Missing::SlToVl(lid));
            }
            if read.pkeys && !self.pkeys.keys().any(|(at, _)| at == port) {
                missing.push(Missing::PKeys(lid));
            }
        }
        missing
    }

    /// Gives its forwarding table the LID that it has now, so that records can share it.
    pub(in crate::written) fn settle_lft(&mut self) {
        let Some(lid) = self.lid(0).filter(|_| self.is_switch()) else {
            return;
        };
        let first = self.lft.blocks.first();
        if first.is_some_and(|block| block.lid.get() != lid) {
            let blocks = Arc::make_mut(&mut self.lft.blocks);
            blocks.iter_mut().for_each(|block| block.lid = lid.into());
        }
    }

    /// Adds its records but the forwarding table, with the LIDs that it has now. Shape: not in order.
    pub(in crate::written) fn put_together(&self, read: Read, out: &mut Records) {
        for (port, record) in &self.ends {
            let lid = self.lid(*port).unwrap_or(0);
            let mut record = *record;
            record.lid = lid.into();
            out.nodes.push(record);
            self.end_tables(*port, lid, out);
        }
        let of_switch = self.is_switch().then(|| self.lid(0).unwrap_or(0));
        for (port, heard) in &self.ports {
            let mut record = heard.value;
            let lid = of_switch.or_else(|| self.lid(*port)).unwrap_or(0);
            (record.lid, record.port_num) = (lid.into(), *port);
            out.ports.push(record);
        }
        if let Some(lid) = of_switch {
            self.switch_tables(lid, out);
        }
        if read.sl2vl {
            self.sl2vl_tables(of_switch, out);
        }
    }

    /// P_Keys and aliases of one end port.
    fn end_tables(&self, port: u8, lid: u16, out: &mut Records) {
        if let Some(pkeys) = &mut out.pkeys {
            let own = self.pkeys.iter().filter(|((at, _), _)| *at == port);
            pkeys.extend(own.map(|(_, heard)| PKeyTableRecord {
                lid: lid.into(),
                ..heard.value
            }));
        }
        let own = self.guids.iter().filter(|((at, _), _)| *at == port);
        let own = own.filter(|(_, heard)| holds_alias(&heard.value));
        out.guids.extend(own.map(|(_, heard)| GuidInfoRecord {
            lid: lid.into(),
            ..heard.value
        }));
    }

    /// SwitchInfo; none where nobody has told it.
    fn switch_tables(&self, lid: u16, out: &mut Records) {
        if let Some(heard) = &self.switch {
            out.switches.push(SwitchInfoRecord {
                lid: lid.into(),
                ..heard.value
            });
        }
    }

    /// Adds its forwarding table, where it is a switch and all of it is known.
    ///
    /// Shared where it can be: that is what makes records of thousands of switches cheap to put together.
    pub(in crate::written) fn put_lft(&self, out: &mut Records) {
        let lid = self.is_switch().then(|| self.lid(0).unwrap_or(0));
        let (Some(lid), Some(own)) = (lid, self.lft()) else {
            return;
        };
        let is_shared = own.len() == self.lft.blocks.len();
        // All of a table have one LID.
        let has_lid = own.iter().take(1).all(|block| block.lid.get() == lid);
        let blocks = if is_shared && has_lid {
            Arc::clone(&self.lft.blocks)
        } else {
            let with_lid = |block: &LinearForwardingTableRecord| LinearForwardingTableRecord {
                lid: lid.into(),
                ..*block
            };
            Arc::new(own.iter().map(with_lid).collect())
        };
        out.lfts.insert(lid, blocks);
    }

    /// A row for each pair that is known.
    fn sl2vl_tables(&self, of_switch: Option<u16>, out: &mut Records) {
        for ((one, other), heard) in &self.sl2vl {
            let (lid, input, output) = match of_switch {
                Some(lid) => (lid, *one, *other),
                // As OpenSM tells the one table of an end port.
                None => (self.lid(*one).unwrap_or(0), 0, 0),
            };
            out.sl2vl.push(SlToVlRecord {
                lid: lid.into(),
                input,
                output,
                reserved: 0.into(),
                vls: heard.value,
            });
        }
    }
}
