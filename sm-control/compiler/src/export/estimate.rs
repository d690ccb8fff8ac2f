//! How large a table will be, by writing some of its pieces to nowhere.
//!
//! A table is rows of pieces, a switch or a source each, of about the same length. 24 pieces of
//! each kind are written to a counter and their bytes scaled up by how many there are. For text
//! that is within some percent; packed it is too much, as long files pack better than short ones.
//!
//! Which pieces are taken follows from multiples of the golden ratio: a torus repeats itself along
//! its axes, and every 170th of 4,096 switches would be the same place of a row again and again.

use std::io::{self, Write};

use super::files::packed;
use super::tables::Contents;
use super::{Packing, Table};

/// Pieces of each kind that are looked at: some milliseconds for any fabric.
const LOOKED_AT: usize = 24;

/// What a table will take. Units: bytes. A table without pieces is written whole: it is small.
pub(super) fn size(contents: &Contents<'_>, table: Table, packing: Packing) -> u64 {
    // The multicast dump too: groups are few, whatever the fabric.
    let Some(kinds) = contents.pieces(table) else {
        return written(contents, table, &[], packing);
    };
    let sizes = kinds.iter().map(|pieces| {
        let some = spread(pieces);
        let bytes = written(contents, table, &some, packing);
        scaled(bytes, some.len(), pieces.len())
    });
    sizes.fold(0, u64::saturating_add)
}

/// By 128 bits, as bytes times pieces may pass 64.
fn scaled(bytes: u64, of: usize, all: usize) -> u64 {
    let whole = u128::from(bytes) * all as u128 / (of.max(1) as u128);
    u64::try_from(whole).unwrap_or(u64::MAX)
}

/// Some of many, in their order: not at equal distances, because fabrics repeat themselves so.
fn spread(pieces: &[usize]) -> Vec<usize> {
    if pieces.len() <= LOOKED_AT {
        return pieces.to_vec();
    }
    // Multiples of the golden ratio, as a 64-bit fraction, fill an interval evenly.
    const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
    let nth = |nth: u64| {
        let part = (u128::from(nth.wrapping_mul(GOLDEN)) * pieces.len() as u128) >> 64;
        usize::try_from(part).unwrap_or(0)
    };
    let places: std::collections::BTreeSet<usize> = (1..=LOOKED_AT as u64).map(nth).collect();
    let some = places.iter().filter_map(|place| pieces.get(*place));
    some.copied().collect()
}

/// Bytes of a table with these pieces only.
fn written(contents: &Contents<'_>, table: Table, pieces: &[usize], packing: Packing) -> u64 {
    let mut count = Count(0);
    // Counting does not fail.
    let _ = packed(&mut count, packing, |out| {
        contents.write(table, pieces, out)
    });
    count.0
}

/// Takes everything, keeps nothing. Units: bytes.
struct Count(u64);

impl Write for Count {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
