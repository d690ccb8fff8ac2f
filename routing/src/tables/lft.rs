//! Forwarding tables of all switches.
//!
//! One block of bytes, switch after switch, and beside it those tables that a later change
//! replaced:
//!
//! ```text
//! bytes  (shared)   | switch 0 | switch 1 | switch 2 | ...    each `stride` bytes, index = LID
//! others            |   -      |   *──────┼────> its own table |
//! ```
//!
//! A failed cable of a 16x16x16 torus changes the tables of 16 of 4,096 switches. With one block
//! for all, each version would be 34 MB; so, three versions that live at once (served, compiled,
//! kept with the proof) share all but those 16. Sharing tells the proof at a glance which tables
//! need no comparison ([`Lft::shares`]). ADR 18 has the figures.
//!
//! Only whole tables are replaced. Once more than a quarter of them lie beside the block,
//! torus-2QoS makes a new block.

use std::sync::Arc;

use crate::parallel;
use crate::topology::{SwitchIx, Topology};

/// Forwarding entry of a LID that leads nowhere.
/// What OpenSM, too, fills tables with before it routes (`OSM_NO_PATH`).
pub const NO_PATH: u8 = 0xff;

/// Forwarding tables of all switches. A copy has the memory of what it was copied from, and so have
/// tables that were made from others after a change, but for those that are not the same.
///
/// Engines fill it through `&mut`, which copies where memory is shared; once in [`super::Routes`]
/// it does not change.
#[derive(Debug, Clone)]
pub struct Lft {
    /// Bytes per switch: the largest LID plus 1.
    /// Never 0: LID 0 has a byte although nobody owns it, so that LIDs are indices as they are.
    stride: usize,
    /// Switch after switch, so that a switch's table is one slice.
    bytes: Arc<Vec<u8>>,
    /// By switch: its table where it is not the one in `bytes`. Empty where all are.
    others: Vec<Option<Arc<[u8]>>>,
}

impl Lft {
    /// Tables without any path.
    /// All entries [`NO_PATH`], so that LIDs and switches which nobody routes lead nowhere.
    pub(crate) fn empty(topology: &Topology, max_lid: u16) -> Self {
        let fill = |_, tables: &mut [u8]| tables.fill(NO_PATH);
        Self::filled(topology, max_lid, fill).0
    }

    /// Tables that `work` fills, some switches at a time, and what it gives, in the order of the
    /// switches. It gets the index of the first switch and memory full of zeros, which is port 0
    /// everywhere. Memory is first touched by the thread that fills it.
    /// `work` must write all of it, since port 0 is no way but the switch itself.
    pub(crate) fn filled<R: Send>(
        topology: &Topology,
        max_lid: u16,
        work: impl Fn(usize, &mut [u8]) -> R + Sync,
    ) -> (Self, Vec<R>) {
        let stride = usize::from(max_lid) + 1;
        // Zeroed memory comes from the kernel untouched, so that pages are made where they are
        // filled.
        let mut bytes = vec![0; stride * topology.switches.len()];
        let results = parallel::over_rows(&mut bytes, stride, work);
        let lft = Self {
            stride,
            bytes: Arc::new(bytes),
            others: Vec::new(),
        };
        (lft, results)
    }

    /// The same tables but for some switches. Shape: each of [`Self::stride`] bytes.
    /// A table that equals the shared one is not kept beside it: after a repair all lie in the
    /// block again.
    pub(crate) fn with(&self, tables: impl IntoIterator<Item = (SwitchIx, Vec<u8>)>) -> Self {
        let mut lft = self.clone();
        lft.others.resize(self.switches(), None);
        for (switch, table) in tables {
            let first = &self.bytes[switch.index() * self.stride..][..self.stride];
            // Compared with the first block and not with what stands there now: that is how a cable
            // that comes back gives up its exception.
            lft.others[switch.index()] = (table != first).then(|| table.into());
        }
        lft
    }

    /// How many tables lie beside those of the others.
    /// What decides when sharing ends: see `engine::torus`.
    pub(crate) fn others(&self) -> usize {
        self.others.iter().flatten().count()
    }

    /// Whether the table of a switch lies in the same memory as there, and so is the same.
    /// False does not mean that they differ, only that nobody knows without looking.
    pub(crate) fn shares(&self, other: &Self, switch: SwitchIx) -> bool {
        self.stride == other.stride && std::ptr::eq(self.table(switch), other.table(switch))
    }

    /// The table of a switch. Shape: index = LID, from 0 (not used) to the largest in use.
    /// Cost: two lookups. A slice of one switch's own memory, so that following one LID through all
    /// switches reads a cache line each; columns are for that.
    #[inline]
    pub fn table(&self, switch: SwitchIx) -> &[u8] {
        match self.others.get(switch.index()) {
            Some(Some(table)) => table,
            _ => &self.bytes[switch.index() * self.stride..][..self.stride],
        }
    }

    /// Changes a table. Where its memory is shared, that is copied first.
    /// Changing one entry of a shared block copies the block. Callers that change a few switches go
    /// through [`Self::with`].
    pub(crate) fn table_mut(&mut self, switch: SwitchIx) -> &mut [u8] {
        match self.others.get_mut(switch.index()) {
            Some(Some(table)) => Arc::make_mut(table),
            _ => {
                let bytes = Arc::make_mut(&mut self.bytes);
                &mut bytes[switch.index() * self.stride..][..self.stride]
            }
        }
    }

    /// Bytes per switch.
    pub(crate) const fn stride(&self) -> usize {
        self.stride
    }

    /// Bytes of all tables.
    /// Tables beside the block are not counted twice: this is how much there is to read.
    pub(crate) fn size(&self) -> usize {
        self.bytes.len()
    }

    /// How many tables there are.
    pub(crate) fn switches(&self) -> usize {
        self.bytes.len().checked_div(self.stride).unwrap_or(0)
    }

    /// All tables, by switch.
    pub(crate) fn tables(&self) -> impl Iterator<Item = &[u8]> {
        let switches = (0..).map(SwitchIx).take(self.switches());
        switches.map(|switch| self.table(switch))
    }
}

#[cfg(test)]
mod tests {
    use sa_wire::Guid;

    use super::*;
    use crate::topology::{EndPortIx, Switch};

    fn tables(switches: usize) -> Lft {
        let switch = Switch {
            guid: Guid::new(1).unwrap(),
            description: String::new(),
            port0: EndPortIx(0),
            ports: Vec::new(),
        };
        let topology = Topology {
            switches: vec![switch; switches],
            end_ports: Vec::new(),
        };
        Lft::filled(&topology, 3, |first, rows| {
            for (place, byte) in rows.iter_mut().enumerate() {
                *byte = u8::try_from(first + place / 4).unwrap();
            }
        })
        .0
    }

    #[test]
    fn tables_that_are_others_leave_those_they_came_from_alone() {
        let old = tables(3);
        let mut new = old.with([(SwitchIx(1), vec![7; 4])]);
        assert!(new.tables().eq([[0; 4], [7; 4], [2; 4]]));
        let shared = |lft: &Lft| [0, 1, 2].map(|ix| lft.shares(&old, SwitchIx(ix)));
        assert_eq!(shared(&new), [true, false, true]);
        let copy = new.clone();
        new.table_mut(SwitchIx(1))[2] = 8;
        new.table_mut(SwitchIx(2))[3] = 9;
        assert!(new.tables().eq([[0, 0, 0, 0], [7, 7, 8, 7], [2, 2, 2, 9]]));
        assert!(copy.tables().eq([[0; 4], [7; 4], [2; 4]]));
        assert!(old.tables().eq([[0; 4], [1; 4], [2; 4]]));
        assert_eq!(shared(&copy), [true, false, true]);
    }
}
