//! VL arbitration tables as a port gets them: block by block.
//!
//! Tables travel in blocks of 32 entries. OpenSM first cuts a block to what the port holds, lets
//! the engine change it, then brings the VLs into the range in operation.
//! Source: OpenSM `osm_qos.c`, `vlarb_update`, `vlarb_update_table_block`.
//!
//! Worked example: a port with 40 entries gets 32 in the first block and 40 mod 32 = 8 in the
//! second. With 64 the remainder is 0, so the second block is never sent; its 32 entries stay as
//! they are, which is 0:0 here.

use sa_fabric::options::{VlArbEntry, fit_vl_arb};
use sa_wire::DataVls;

/// What the engine does to a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    /// Nothing.
    None,
    /// torus-2QoS towards end ports, where its levels are on VLs 0 and 1.
    TorusLocal,
}

/// Entries of a block.
const BLOCK: usize = 32;
/// Entries of the largest table.
const MOST: usize = 2 * BLOCK;

/// The table that a port with this many entries gets. Shape: `entries`, at most 64; those that
/// OpenSM does not send are 0:0, which is the whole second block of a port with 64.
pub(super) fn programmed(
    table: &[VlArbEntry],
    entries: u8,
    operational: DataVls,
    change: Change,
) -> Vec<VlArbEntry> {
    let entries = usize::from(entries);
    // OpenSM takes the remainder as the length of the second block.
    let lengths = [
        entries.min(BLOCK),
        entries.saturating_sub(BLOCK).min(entries % BLOCK),
    ];
    let blocks = table.chunks(BLOCK).zip(lengths);
    let mut all: Vec<_> = blocks
        .flat_map(|(block, length)| {
            let block = block.get(..length).unwrap_or(block);
            // Each block by itself: an entry that moves to the front stays in its block.
            let block = match change {
                Change::None => block.to_vec(),
                Change::TorusLocal => local(block),
            };
            fit_vl_arb(&block, u8::MAX, operational)
        })
        .collect();
    all.resize(entries.min(MOST), VlArbEntry::default());
    all
}

/// A block of a table for ports between switches, made fit for a port to an end port: VL 0 stays,
/// VL 4 becomes VL 1, others go, and what is left moves to the front.
/// Source: OpenSM `osm_torus.c`, `torus_update_osm_vlarb`.
///
/// The two QoS levels are VLs 0 to 3 and 4 to 7 between switches, and VLs 0 and 1 towards end
/// ports; the weight of VL 0 stands for the first and that of VL 4 for the second.
fn local(block: &[VlArbEntry]) -> Vec<VlArbEntry> {
    let kept = block.iter().filter_map(|entry| match entry.vl {
        0 => Some(*entry),
        4 => Some(VlArbEntry { vl: 1, ..*entry }),
        _ => None,
    });
    let mut kept: Vec<_> = kept.collect();
    kept.resize(block.len(), VlArbEntry::default());
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(entries: &[(u8, u8)]) -> Vec<VlArbEntry> {
        let mut table: Vec<_> = entries
            .iter()
            .map(|(vl, weight)| VlArbEntry {
                vl: *vl,
                weight: *weight,
            })
            .collect();
        table.resize(MOST, VlArbEntry::default());
        table
    }

    fn pairs(table: &[VlArbEntry]) -> Vec<(u8, u8)> {
        table.iter().map(|entry| (entry.vl, entry.weight)).collect()
    }

    fn vls(code: u8) -> DataVls {
        DataVls::from_code(code).unwrap()
    }

    #[test]
    fn local_tables_are_rewritten_before_vls_are_cut() {
        let table = table(&[
            (7, 1),
            (6, 2),
            (4, 3),
            (0, 4),
            (4, 5),
            (0, 6),
            (1, 7),
            (2, 8),
            (0, 9),
        ]);
        let local = programmed(&table, 8, vls(3), Change::TorusLocal);
        let zeros = [(0, 0); 4];
        assert_eq!(
            pairs(&local),
            [&[(1, 3), (0, 4), (1, 5), (0, 6)][..], &zeros].concat()
        );
        let plain = programmed(&table, 8, vls(3), Change::None);
        let cut = [
            (3, 1),
            (2, 2),
            (0, 3),
            (0, 4),
            (0, 5),
            (0, 6),
            (1, 7),
            (2, 8),
        ];
        assert_eq!(pairs(&plain), cut);
        let one = programmed(&table, 8, vls(1), Change::TorusLocal);
        assert!(one.iter().all(|entry| entry.vl == 0));
    }

    #[test]
    fn blocks_are_on_their_own() {
        let entries: Vec<_> = (0..40)
            .map(|weight| (if weight == 1 || weight == 33 { 4 } else { 2 }, weight))
            .collect();
        let table = table(&entries);
        let local = programmed(&table, 40, vls(4), Change::TorusLocal);
        assert_eq!(local.len(), 40);
        assert_eq!(pairs(&local)[..2], [(1, 1), (0, 0)]);
        assert_eq!(pairs(&local)[32..34], [(1, 33), (0, 0)]);
    }

    #[test]
    fn a_port_with_64_entries_gets_32() {
        let table = table(&[(1, 5); 64]);
        let both = programmed(&table, 64, vls(4), Change::None);
        assert_eq!(pairs(&both), [[(1, 5); 32], [(0, 0); 32]].concat());
        let sizes = [0, 1, 32, 33, 63].map(|entries| {
            let all = programmed(&table, entries, vls(4), Change::None);
            (
                all.len(),
                all.iter().filter(|entry| entry.weight == 5).count(),
            )
        });
        assert_eq!(sizes, [(0, 0), (1, 1), (32, 32), (33, 33), (63, 63)]);
    }
}
