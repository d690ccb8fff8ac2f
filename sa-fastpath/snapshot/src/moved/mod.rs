//! What moved between two snapshots, and a copy of the old one that is moved likewise.
//!
//! Ports, rows, columns and classes are numbered without gaps, so that the same fabric gives the
//! same bytes whatever was before. When a switch fails, all numbers behind its ports are others,
//! and with them four of five lines of the file, though hardly anything has changed. Who has both
//! snapshots says by [`moves`] which old number each new one had; who has the old one alone makes
//! of that, by [`moved`], bytes that are nearly the new ones. A patch against those is small.
//!
//! Nothing hangs on these bytes being right: a patch says what is still different, and a digest
//! whether the result is the new snapshot. They need to be the same on both sides only. So a wrong
//! guess costs bytes, and no check here has to be as strict as `verify`.
//!
//! | what | says how numbers moved |
//! |---|---|
//! | ports | their GUIDs |
//! | switches, rows, P_Key sets, classes of ends | what most of the ports that stayed have now |
//! | columns | the same of their LIDs |
//! | path classes | equal records |
//!
//! New ports, and the cells of new columns of a pair table, come with the moves: each would stand
//! in many places of a patch.
//!
//! Rules, service ids and the like are not looked at: they move when a person changes the policy,
//! and not when something fails.
//!
//! Tested where patches are made: `fleet-transfer`, `tests/patches`.

mod find;
mod out;
mod policy;
mod runs;
mod tables;

use zerocopy::{FromBytes, IntoBytes};

use crate::format::records::PortRecord;

use self::runs::Runs;

pub use self::find::moves;
pub use self::out::moved;

/// Which old number each new one had, for all that numbers are given to.
#[derive(Debug, Clone)]
pub struct Moves {
    /// Length of the new snapshot. Units: bytes.
    size: usize,
    ports: Runs,
    /// Records of the ports that have no old number, in their order.
    came: Vec<PortRecord>,
    switches: Runs,
    /// Place 0 for "none", as in all of these.
    rows: Runs,
    columns: Runs,
    pkey_sets: Runs,
    sources: Runs,
    destinations: Runs,
    path_classes: Runs,
    /// Of the pair table: the columns that are new, one after the other, each with a cell for every
    /// row. Strewn over all rows, each cell would cost a patch ten bytes.
    cells: Vec<u8>,
}

impl Moves {
    /// As bytes: some dozens for a switch that failed.
    pub fn pack(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.ports.put(&mut bytes);
        bytes.extend_from_slice(self.came.as_bytes());
        let others = [
            &self.switches,
            &self.rows,
            &self.columns,
            &self.pkey_sets,
            &self.sources,
            &self.destinations,
            &self.path_classes,
        ];
        for runs in others {
            runs.put(&mut bytes);
        }
        bytes.extend_from_slice(&self.cells);
        bytes
    }

    /// Reads what [`Self::pack`] made. `old` and `new`: lengths of both snapshots in bytes, which
    /// bound what is taken. None: it is something else, or says more than snapshots of these
    /// lengths can have.
    pub fn unpack(packed: Vec<u8>, old: usize, new: usize) -> Option<Self> {
        let bytes = &mut packed.as_slice();
        let record = size_of::<PortRecord>();
        let ports = Runs::take(bytes, new / record, old / record)?;
        let mut came = Vec::new();
        for _ in ports.olds().filter(Option::is_none) {
            let (port, rest) = PortRecord::read_from_prefix(bytes).ok()?;
            came.push(port);
            *bytes = rest;
        }
        // Whatever else has a number takes eight bytes and more, or there is a port for each.
        let mut others = || Runs::take(bytes, new / 8, old / 8);
        let mut moves = Self {
            size: new,
            ports,
            came,
            switches: others()?,
            rows: others()?,
            columns: others()?,
            pkey_sets: others()?,
            sources: others()?,
            destinations: others()?,
            path_classes: others()?,
            cells: Vec::new(),
        };
        // Whether they are as many as rows and new columns want is seen when they are used.
        let cells = packed.len() - bytes.len();
        moves.cells = packed;
        moves.cells.drain(..cells);
        Some(moves)
    }
}

/// All elements of a section. Shape: bytes of any alignment; what is left over at the end is none.
fn read<T: FromBytes>(bytes: &[u8]) -> Vec<T> {
    let elements = bytes.chunks_exact(size_of::<T>());
    elements
        .filter_map(|one| T::read_from_bytes(one).ok())
        .collect()
}
