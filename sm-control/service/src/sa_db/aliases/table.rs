//! GUIDs of one port, in memory and in the journal.
//!
//! Journal entry: the key is one byte of [`TableKind`] and the port GUID, the value all GUIDs of
//! the table, 8 bytes each, big-endian. A whole table is written for each change: at most 256
//! bytes.

use sa_wire::Guid;

use super::super::Journal;
use super::super::journal::Kind;

/// GUIDs of a block.
pub(super) const BLOCK: usize = 8;

/// What a table says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TableKind {
    /// What a port has.
    Set,
    /// What it was given by this SA once.
    Given,
}

/// The GUIDs of a port, by place. Shape: whole blocks; 0 is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Table {
    pub(super) guids: Vec<u64>,
}

impl Table {
    pub(super) fn empty(size: usize) -> Self {
        Self {
            guids: vec![0; size],
        }
    }

    /// One with the port GUID in the first place.
    pub(super) fn of_port(port: Guid, size: usize) -> Self {
        let mut table = Self::empty(size);
        table.put(0, port.get());
        table
    }

    /// 0 for an empty place, and for one past the end.
    pub(super) fn at(&self, place: usize) -> u64 {
        self.guids.get(place).copied().unwrap_or(0)
    }

    /// A place past the end is nobody's: nothing happens.
    pub(super) fn put(&mut self, place: usize, guid: u64) {
        if let Some(old) = self.guids.get_mut(place) {
            *old = guid;
        }
    }

    /// All but the port GUID, and without the empty places.
    pub(super) fn aliases(&self, port: Guid) -> impl Iterator<Item = u64> {
        let all = self.guids.iter().copied();
        all.filter(move |guid| *guid != 0 && *guid != port.get())
    }

    /// Puts the table into the journal, in place of what it had there.
    pub(super) fn write(&self, kind: TableKind, port: Guid, journal: &mut Journal) {
        let bytes: Vec<u8> = self
            .guids
            .iter()
            .flat_map(|guid| guid.to_be_bytes())
            .collect();
        journal.put(Kind::Alias, &key(kind, port), &bytes);
    }
}

/// Takes a table out of the journal.
pub(super) fn forget(kind: TableKind, port: Guid, journal: &mut Journal) {
    journal.delete(Kind::Alias, &key(kind, port));
}

/// All tables of a journal, and whose they are.
pub(super) fn read_all(journal: &Journal) -> impl Iterator<Item = (TableKind, Guid, Table)> {
    journal.entries(Kind::Alias).filter_map(|(key, value)| {
        let (kind, port) = key.split_first()?;
        let kind = if *kind == GIVEN {
            TableKind::Given
        } else {
            TableKind::Set
        };
        let port = Guid::new(u64::from_be_bytes(*port.first_chunk()?)).ok()?;
        let (guids, _) = value.as_chunks();
        let guids = guids.iter().map(|guid| u64::from_be_bytes(*guid)).collect();
        Some((kind, port, Table { guids }))
    })
}

/// Shape: kind, port GUID.
fn key(kind: TableKind, port: Guid) -> Vec<u8> {
    let kind = match kind {
        TableKind::Set => SET,
        TableKind::Given => GIVEN,
    };
    [&[kind][..], &port.get().to_be_bytes()].concat()
}

const SET: u8 = 0;
const GIVEN: u8 = 1;
