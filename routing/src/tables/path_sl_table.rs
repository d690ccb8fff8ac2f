//! The SL of each path, where an engine gives one to each pair.
//!
//! LASH gives SLs by switches, Nue by destination, DFSSSP by pairs of LIDs. Spelt out that would be
//! a byte for each pair of LIDs; but sources whose paths have the same SLs share a row, and LIDs to
//! which all have the same share a column:
//!
//! ```text
//! row_of:    end port -> row           column_of:  LID -> column
//!
//!               column 0   column 1    sls: row by row, a byte each
//!      row 0       SL 1       SL 0     SL 0 to 15, 0xfe the policy's, 0xff not known
//!      row 1       SL 0     unknown
//! ```
//!
//! The table says which SL a path has and not whether that is good: a proof takes it as it is. A
//! pair whose SL is not known is answered by nobody here, and no packet of it is in a proof.

use std::collections::HashMap;

use sa_snapshot::model::PathSl;
use sa_wire::{Lid, Sl};

use crate::topology::{EndPortIx, SwitchIx, Topology, count32};

/// The SL of each path, by end port of the source and LID of the destination.
/// Belongs to the topology it was made for: indices and LIDs are that one's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathSlTable {
    /// By end port: its row, or [`NOWHERE`].
    row_of: Vec<u32>,
    /// By LID, to the largest in use: its column, or [`NOWHERE`].
    column_of: Vec<u32>,
    /// How many there are, all of them different.
    columns: usize,
    /// Row by row. Shape: what [`PathSl::byte`] gives.
    sls: Vec<u8>,
}

/// Row or column of what no SL is known of.
const NOWHERE: u32 = u32::MAX;

impl PathSlTable {
    /// Where the switches of both ends decide. None: not known.
    /// Paths within one switch are asked for too. Of end ports on no switch nothing is known.
    /// Cost: one call for each pair of switches.
    pub fn by_switch(topology: &Topology, sl: impl Fn(SwitchIx, SwitchIx) -> Option<Sl>) -> Self {
        let switches = topology.switches.len();
        let switch = |ix: usize| SwitchIx(count32(ix));
        let shared = Shared::new(switches, switches, |from, to| {
            PathSl::from(sl(switch(from), switch(to))).byte()
        });
        let place = |of: &[u32], end: EndPortIx| {
            let attached = topology.end_port(end).attached;
            attached.map_or(NOWHERE, |(switch, _)| of[switch.index()])
        };
        let mut column_of = vec![NOWHERE; usize::from(topology.max_lid()) + 1];
        for end in topology.end_port_ixs() {
            for lid in topology.end_port(end).lids() {
                column_of[lid.index()] = place(&shared.column_of, end);
            }
        }
        Self {
            row_of: topology
                .end_port_ixs()
                .map(|end| place(&shared.row_of, end))
                .collect(),
            column_of,
            columns: shared.columns,
            sls: shared.cells,
        }
    }

    /// Where end ports and LIDs decide. Asked for LIDs that somebody owns, those of the source
    /// itself among them.
    /// Cost: one call for each end port and LID; memory for each different row of LIDs.
    pub fn by_pair<S: Into<PathSl>>(topology: &Topology, sl: impl Fn(EndPortIx, Lid) -> S) -> Self {
        let lids: Vec<Lid> = topology
            .end_ports
            .iter()
            .flat_map(|end| end.lids())
            .collect();
        let shared = Shared::new(topology.end_ports.len(), lids.len(), |from, to| {
            sl(EndPortIx(count32(from)), lids[to]).into().byte()
        });
        let mut column_of = vec![NOWHERE; usize::from(topology.max_lid()) + 1];
        for (lid, column) in lids.iter().zip(&shared.column_of) {
            column_of[lid.index()] = *column;
        }
        Self {
            row_of: shared.row_of,
            column_of,
            columns: shared.columns,
            sls: shared.cells,
        }
    }

    /// The SL of the path from an end port to a LID.
    pub fn sl(&self, source: EndPortIx, dlid: Lid) -> PathSl {
        self.at(self.row(source), self.column(dlid.get()))
    }

    /// The row of a source. Equal rows have the same SLs to all LIDs, different ones do not.
    pub(crate) fn row(&self, source: EndPortIx) -> u32 {
        self.row_of.get(source.index()).copied().unwrap_or(NOWHERE)
    }

    /// The column of a LID. Equal columns have the same SLs from everybody, different ones do not.
    pub(crate) fn column(&self, lid: u16) -> u32 {
        let column = self.column_of.get(usize::from(lid));
        column.copied().unwrap_or(NOWHERE)
    }

    /// The SL at a row and a column.
    pub(crate) fn at(&self, row: u32, column: u32) -> PathSl {
        if row == NOWHERE || column == NOWHERE {
            return PathSl::Unknown;
        }
        let place = row as usize * self.columns + column as usize;
        let byte = self.sls.get(place);
        byte.map_or(PathSl::Unknown, |byte| PathSl::from_byte(*byte))
    }

    /// The same SLs in another topology: `ends` has the index before of each of its end ports,
    /// none for new ones, `keeps` says of which LIDs the owner is the same. Of the rest nothing is
    /// known.
    pub(crate) fn moved(
        &self,
        ends: impl Iterator<Item = Option<EndPortIx>>,
        max_lid: u16,
        keeps: impl Fn(u16) -> bool,
    ) -> Self {
        let column = |lid| {
            if keeps(lid) {
                self.column(lid)
            } else {
                NOWHERE
            }
        };
        Self {
            row_of: ends
                .map(|before| before.map_or(NOWHERE, |before| self.row(before)))
                .collect(),
            column_of: (0..=max_lid).map(column).collect(),
            columns: self.columns,
            sls: self.sls.clone(),
        }
    }
}

/// A table in which equal rows and equal columns are there once.
struct Shared {
    row_of: Vec<u32>,
    column_of: Vec<u32>,
    columns: usize,
    cells: Vec<u8>,
}

impl Shared {
    /// Of so many rows and columns.
    fn new(rows: usize, columns: usize, cell: impl Fn(usize, usize) -> u8) -> Self {
        let by_row = |row| (0..columns).map(|column| cell(row, column)).collect();
        let (row_of, rows) = each_once((0..rows).map(by_row));
        let by_column = |column: usize| rows.iter().map(|row| row[column]).collect();
        let (column_of, columns) = each_once((0..columns).map(by_column));
        let across = |row: usize| columns.iter().map(move |column| column[row]);
        Self {
            row_of,
            column_of,
            columns: columns.len(),
            cells: (0..rows.len()).flat_map(across).collect(),
        }
    }
}

/// The different lists in the order in which they come, and which of them each is.
fn each_once(lists: impl Iterator<Item = Vec<u8>>) -> (Vec<u32>, Vec<Vec<u8>>) {
    let mut numbers: HashMap<Vec<u8>, u32> = HashMap::new();
    let mut different = Vec::new();
    let number_of = lists.map(|list| {
        let next = count32(different.len());
        *numbers.entry(list).or_insert_with_key(|list| {
            different.push(list.clone());
            next
        })
    });
    (number_of.collect(), different)
}

#[cfg(test)]
mod tests {
    use sa_snapshot::model::Capacity;
    use sa_wire::{DataVls, Guid, Lmc, NodeType, SlToVl};

    use super::*;
    use crate::topology::EndPort;

    /// End ports with so many LIDs each, a free LID between them; the last is on no switch.
    fn topology(lmcs: &[u8]) -> Topology {
        let mut next = 1;
        let ends = (0u32..).zip(lmcs).map(|(nth, lmc)| {
            let lmc = Lmc::new(*lmc).unwrap();
            let lid = Lid::new(next).unwrap();
            next += lmc.lids() + 1;
            EndPort {
                guid: Guid::new(u64::from(nth) + 1).unwrap(),
                node_guid: Guid::new(u64::from(nth) + 1).unwrap(),
                node_type: NodeType::Ca,
                description: String::new(),
                port_number: 1,
                lid,
                lmc,
                attached: None,
                peer: None,
                capacity: Capacity::UNLIMITED,
                data_vls: DataVls::from_code(4).unwrap(),
                operational_vls: DataVls::from_code(4).unwrap(),
                configured_sl2vl: SlToVl([0; 16]),
            }
        });
        Topology {
            switches: Vec::new(),
            end_ports: ends.collect(),
        }
    }

    fn given(sl: u16) -> PathSl {
        PathSl::Given(Sl::new(u8::try_from(sl).unwrap()).unwrap())
    }

    #[test]
    fn every_pair_has_its_own_sl_however_rows_and_columns_are_shared() {
        let topology = topology(&[0, 1, 2, 0]);
        let sl = |source: EndPortIx, lid: Lid| match (source.0, lid.get()) {
            (3, _) => PathSl::Unknown,
            (2, 1) => PathSl::Policy,
            (source, lid) => given((lid + u16::from(source == 1)) % 2),
        };
        let table = PathSlTable::by_pair(&topology, sl);
        for source in topology.end_port_ixs() {
            for end in &topology.end_ports {
                for lid in end.lids() {
                    assert_eq!(table.sl(source, lid), sl(source, lid));
                }
            }
            let free = Lid::new(2).unwrap();
            assert_eq!(table.sl(source, free), PathSl::Unknown);
        }
        assert_eq!((table.columns, table.sls.len()), (3, 12));
    }

    #[test]
    fn what_is_new_in_another_topology_is_not_known() {
        let topology = topology(&[0, 0, 0]);
        let table = PathSlTable::by_pair(&topology, |source, lid| {
            given((u16::try_from(source.0).unwrap() * 4 + lid.get()) % 16)
        });
        let ends = [None, Some(EndPortIx(2)), Some(EndPortIx(0))];
        let moved = table.moved(ends.into_iter(), 9, |lid| lid != 3);
        let lid = |lid| Lid::new(lid).unwrap();
        assert_eq!(moved.sl(EndPortIx(0), lid(1)), PathSl::Unknown);
        assert_eq!(moved.sl(EndPortIx(1), lid(1)), given(9));
        assert_eq!(moved.sl(EndPortIx(1), lid(3)), PathSl::Unknown);
        assert_eq!(moved.sl(EndPortIx(2), lid(5)), given(5));
        assert_eq!(moved.sl(EndPortIx(2), lid(9)), PathSl::Unknown);
    }
}
