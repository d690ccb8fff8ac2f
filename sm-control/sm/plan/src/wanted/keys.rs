//! P_Key tables: of end ports, and of the switch ports that check for them.
//!
//! A table that was not read stays as it is: it may hold keys in use. Which key gets which index [`pkeys`] decides.

use std::collections::BTreeMap;

use routing::EndPortIx;
use sa_compiler::state::FabricState;
use sa_fabric::PortRef;
use sa_fabric::options::Enforcement;
use sa_sm::wanted::pkeys::{self, Places, Wish};
use sa_wire::Guid;

use super::Plan;
use crate::PlanFinding;
use crate::places::Index;

impl Plan<'_> {
    /// P_Key tables of end ports, and of the switch ports before them.
    pub(crate) fn keys(&mut self, parts: &FabricState, places: &mut BTreeMap<Guid, Places>) {
        let index = Index::new(self.found, parts);
        let found = self.found;
        for (at, end) in found.end_ports() {
            // A port without GUID has no row in the compiler's tables.
            let Some((guid, ix)) = end.guid.and_then(|guid| Some((guid, index.end(guid)?))) else {
                continue;
            };
            // One that was not read has no table wanted, so the switch port before it has none either: they have to agree.
            let Some(keys) = self.end_port_keys(parts, at, ix, places.entry(guid).or_default())
            else {
                continue;
            };
            if let Some(far) = end.peer {
                self.switch_port_keys(&keys, far, guid);
            }
        }
    }

    /// `None` where its table was not read.
    fn end_port_keys(
        &mut self,
        parts: &FabricState,
        at: PortRef,
        ix: EndPortIx,
        places: &mut Places,
    ) -> Option<Vec<u16>> {
        let node = self.found.node(at.node)?;
        // PartitionCap counts entries, not blocks.
        let room = node.record.partition_cap.get();
        // Of a switch it is port 0. A table that was not read may hold keys in use, so it stays.
        let held = pkeys::known(&node.tables, room, at.port, 0)?;
        let wish = Wish {
            keys: parts.partitions.pkey_table(ix.index()),
            first: parts.partitions.first_pkey(ix.index()),
        };
        let both = self.common.options.allow_both_pkeys;
        // Without the option keys take the places that are next, as on a port that has none.
        let kept: &[u16] = match self.common.manager.keep_pkey_indexes {
            true => &held,
            false => {
                // Places that were learnt before would keep an order that the operator has just given up.
                *places = Places::default();
                &[]
            }
        };
        let table = pkeys::end_port(kept, room, &wish, both, places);
        // As many blocks as it is known to hold: keys behind the new end have to go.
        let blocks = pkeys::blocks(&table.keys, held.len(), at.port, 0);
        self.set(at.node, blocks);
        if !table.left_out.is_empty() {
            // Told by the port's own GUID, as a partition file names ports.
            self.findings.push(PlanFinding::KeysLeftOut {
                port: parts.topology.end_port(ix).guid,
                keys: table.left_out,
            });
        }
        Some(table.keys)
    }

    /// Of the switch port that checks for an end port with these keys.
    fn switch_port_keys(&mut self, keys: &[u16], at: PortRef, end: Guid) {
        // Between two CAs on a cable nobody checks.
        let node = self.found.node(at.node).filter(|node| node.is_switch());
        let Some((node, info)) = node.and_then(|node| Some((node, node.switch_info?))) else {
            return;
        };
        let room = info.enforcement_cap.get();
        // Where nothing is checked tables stay as they are, as with OpenSM.
        let checks = !self.common.options.no_partition_enforcement
            && self.common.manager.part_enforce != Enforcement::Off;
        if room == 0 || !checks {
            return;
        }
        // Not read: it may enforce keys in use, so it stays.
        let Some(held) = pkeys::known(&node.tables, room, 0, at.port) else {
            return;
        };
        match pkeys::switch_port(keys, room) {
            Some(keys) => self.set(at.node, pkeys::blocks(&keys, held.len(), 0, at.port)),
            None => {
                // The rest of PortInfo stays as wanted: only the checking is turned off.
                self.do_not_check(at);
                self.findings.push(PlanFinding::NotEnforced { port: end });
            }
        }
    }

    /// With a table that lacks keys the port would drop packets that may pass.
    /// PortInfo of the port was wanted before, by [`Self::new`] or [`Self::route`]; without it there is nothing to change.
    fn do_not_check(&mut self, at: PortRef) {
        if let Some(info) = self.wanted.ports.get_mut(&at) {
            info.operational_vls_and_enforcement &= !ENFORCEMENT;
        }
    }
}

/// PartitionEnforcementInbound and Outbound.
const ENFORCEMENT: u8 = 3 << 2;
