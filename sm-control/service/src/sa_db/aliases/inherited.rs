//! Alias GUIDs that another SA had.
//!
//! GUIDInfoRecords tell blocks by LID, the port GUID in the first place of block 0. A port with its own GUID alone has nothing that a
//! client set.

use std::collections::{BTreeMap, HashMap};

use sa_wire::Guid;
use sa_wire::records::GuidInfoRecord;

use super::table::{BLOCK, Table, TableKind};
use super::{Aliases, counted};
use crate::sa_db::Journal;

impl Aliases {
    /// Puts GUIDs that another SA has told into an empty journal, of ports that have more than their own. Gives the ports by their aliases.
    pub(in crate::sa_db) fn inherit(
        journal: &mut Journal,
        told: &[GuidInfoRecord],
    ) -> HashMap<u64, Guid> {
        let mut tables: BTreeMap<u16, Table> = BTreeMap::new();
        for record in told {
            let first = usize::from(record.block) * BLOCK;
            let table = tables.entry(record.lid.get());
            let table = table.or_insert_with(|| Table::empty(0));
            let size = table.guids.len().max(first + BLOCK);
            table.guids.resize(size, 0);
            for (place, guid) in (first..).zip(&record.guids) {
                table.put(place, guid.get());
            }
        }
        let mut owners = HashMap::new();
        for table in tables.values() {
            let Ok(port) = Guid::new(table.at(0)) else {
                continue;
            };
            let aliases: Vec<u64> = table.aliases(port).collect();
            if aliases.is_empty() {
                continue;
            }
            owners.extend(aliases.iter().map(|alias| (*alias, port)));
            table.write(TableKind::Set, port, journal);
            // Who gets its port back is given the same again.
            let mut given = table.clone();
            given.guids.retain_mut(|guid| {
                *guid = counted(*guid).map_or(0, |_| *guid);
                true
            });
            if given.guids.iter().any(|guid| *guid != 0) {
                given.write(TableKind::Given, port, journal);
            }
        }
        owners
    }
}
