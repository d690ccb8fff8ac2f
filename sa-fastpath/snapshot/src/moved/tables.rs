//! Sections of ports and of what leads from one to another.

use super::Moves;
use super::out::{Old, Out};
use super::runs::Runs;
use crate::format::layout::{LIDS, MATRIX_SETS, SectionId};
use crate::format::records::{
    AliasRecord, PathClassRecord, PkeySetRecord, PortRecord, PrefixRouteRecord,
};
use crate::guid_index;

/// A number in a port's record.
type Field = fn(&mut PortRecord) -> &mut u16;

/// The ports as they are now.
pub(super) struct Ports {
    pub(super) records: Vec<PortRecord>,
    pub(super) aliases: Vec<AliasRecord>,
    /// By old number.
    by_old: Vec<Option<u16>>,
}

impl Ports {
    pub(super) fn of(old: &Old<'_>, moves: &Moves) -> Self {
        let olds: Vec<PortRecord> = old.read(SectionId::Ports);
        let fields: [(&Runs, Field); 5] = [
            (&moves.switches, |port| &mut port.switch),
            (&moves.rows, |port| &mut port.row),
            (&moves.pkey_sets, |port| &mut port.pkey_set),
            (&moves.sources, |port| &mut port.source_class),
            (&moves.destinations, |port| &mut port.destination_class),
        ];
        let mut came = moves.came.iter();
        let record = |old: Option<usize>| match old {
            Some(old) => olds.get(old).copied(),
            None => came.next().copied(),
        };
        let mut records: Vec<PortRecord> = moves.ports.olds().filter_map(record).collect();
        for (runs, field) in fields {
            let by_old = runs.by_old();
            // Records of new ports have new numbers already.
            let stayed = records.iter_mut().zip(moves.ports.olds());
            for (port, _) in stayed.filter(|(_, old)| old.is_some()) {
                renumber(&by_old, field(port));
            }
        }
        let by_old = moves.ports.by_old();
        let aliases = aliases(old, &by_old, &records);
        Self {
            records,
            aliases,
            by_old,
        }
    }

    /// As the builder has it, which follows from the GUIDs alone.
    pub(super) fn index(&self) -> guid_index::GuidIndex {
        let guids = self
            .records
            .iter()
            .map(|port| u64::from_be_bytes(port.guid));
        guid_index::build(&guids.collect::<Vec<_>>())
    }

    pub(super) fn lids(&self) -> Vec<u16> {
        let mut table = vec![0; LIDS];
        for (port, entry) in self.records.iter().zip(1..) {
            let start = usize::from(port.lid);
            let lids = table.get_mut(start..start + usize::from(port.lid_count()));
            lids.unwrap_or_default().fill(entry);
        }
        table
    }

    pub(super) fn prefix_routes(&self, out: &mut Out, old: &Old<'_>) -> Option<()> {
        let mut routes: Vec<PrefixRouteRecord> = old.read(SectionId::PrefixRoutes);
        for route in &mut routes {
            if let Some(port) = route.router.checked_sub(1) {
                let port = self.by_old.get(usize::from(port)).copied().flatten();
                route.router = port.map_or(0, |port| port.saturating_add(1));
            }
        }
        out.put_all(&routes)
    }

    pub(super) fn aliases_by_port(&self) -> Vec<u32> {
        let ports = self.aliases.iter().map(|alias| alias.port);
        let mut places: Vec<(u16, u32)> = ports.zip(0..).collect();
        places.sort_unstable();
        places.into_iter().map(|(_, place)| place).collect()
    }
}

/// Those of ports that are still there.
fn aliases(old: &Old<'_>, by_old: &[Option<u16>], ports: &[PortRecord]) -> Vec<AliasRecord> {
    let order = |port: &PortRecord| u64::from_le_bytes(port.guid);
    let aliases = old.read(SectionId::Aliases).into_iter();
    let stayed = aliases.filter_map(|mut alias: AliasRecord| {
        alias.port = by_old.get(usize::from(alias.port)).copied().flatten()?;
        let before = ports.partition_point(|port| order(port) < alias.order());
        alias.before = u16::try_from(before).unwrap_or(u16::MAX);
        Some(alias)
    });
    stayed.collect()
}

/// Gives an old number's new one. What is gone stays: whoever had it has something else now, and
/// the patch says what.
pub(super) fn renumber(by_old: &[Option<u16>], number: &mut u16) {
    if let Some(Some(new)) = by_old.get(usize::from(*number)) {
        *number = *new;
    }
}

pub(super) fn lid_columns(
    out: &mut Out,
    old: &Old<'_>,
    moves: &Moves,
    ports: &Ports,
) -> Option<()> {
    let olds: Vec<u16> = old.read(SectionId::LidColumns);
    if olds.is_empty() {
        return Some(());
    }
    let by_old = moves.columns.by_old();
    let mut table = vec![0; LIDS];
    for port in &ports.records {
        let start = usize::from(port.lid);
        let lids = start..start + usize::from(port.lid_count());
        let places = table.get_mut(lids.clone()).unwrap_or_default();
        let olds = olds.get(lids).unwrap_or_default();
        for (place, old) in places.iter_mut().zip(olds) {
            *place = *old;
            renumber(&by_old, place);
        }
    }
    out.put_all(&table)
}

pub(super) fn path_classes(out: &mut Out, old: &Old<'_>, moves: &Moves) -> Option<()> {
    let olds = old.section(SectionId::PathClasses);
    gather(out, olds, &moves.path_classes, size_of::<PathClassRecord>())
}

/// Elements of so many bytes in their new order; zeros for new ones.
pub(super) fn gather(out: &mut Out, olds: &[u8], runs: &Runs, size: usize) -> Option<()> {
    for (from, len) in runs.spans() {
        let length = len.checked_mul(size)?;
        let start = from.map(|from| from.saturating_mul(size));
        let bytes = start.and_then(|start| olds.get(start..start.checked_add(length)?));
        match bytes {
            Some(bytes) => out.put(bytes)?,
            None => out.put_zeros(length)?,
        }
    }
    Some(())
}

/// Rows and columns of the table that is there, in their new order and with new numbers of classes.
/// Shape: `columns` as the old table has them.
pub(super) fn pairs(
    out: &mut Out,
    old: &Old<'_>,
    moves: &Moves,
    id: SectionId,
    columns: usize,
) -> Option<()> {
    let olds = old.section(id);
    if olds.is_empty() {
        return Some(());
    }
    let size = id.element_size();
    let by_old = moves.path_classes.by_old();
    let is_same = by_old
        .iter()
        .zip(0..)
        .all(|(new, old): (_, u16)| new.is_none_or(|new| new == old));
    // Number 0 of rows and columns stands for none and has no place in the table.
    let spans: Vec<(Option<usize>, usize)> = behind_none(&moves.columns);
    let width: usize = spans.iter().map(|(_, len)| len).sum();
    let columns_of_old = moves.columns.olds().skip(1);
    let numbered = columns_of_old.zip(0usize..);
    let came: Vec<usize> = numbered
        .filter(|(old, _)| old.is_none())
        .map(|(_, at)| at)
        .collect();
    let rows = moves.rows.total().saturating_sub(1);
    for (row, at) in moves.rows.olds().skip(1).zip(0usize..) {
        let start = out.len();
        match row.and_then(|row| row.checked_sub(1)?.checked_mul(columns)) {
            None => out.put_zeros(width.checked_mul(size)?)?,
            Some(row) => {
                for (from, len) in &spans {
                    let length = len.checked_mul(size)?;
                    let place = from.and_then(|from| row.checked_add(from)?.checked_mul(size));
                    let cells = place.and_then(|place| olds.get(place..place.checked_add(length)?));
                    match cells {
                        Some(cells) => out.put(cells)?,
                        None => out.put_zeros(length)?,
                    }
                }
            }
        }
        let cells = out.since(start);
        if !is_same {
            renumber_cells(cells, &by_old, size);
        }
        // These have new numbers of classes already.
        for (column, of_column) in came.iter().zip(moves.cells.chunks_exact(rows * size)) {
            let cell = cells.get_mut(column * size..(column + 1) * size);
            if let (Some(cell), Some(new)) = (cell, of_column.get(at * size..(at + 1) * size)) {
                cell.copy_from_slice(new);
            }
        }
    }
    Some(())
}

/// Gives cells of so many bytes the new numbers of their classes.
fn renumber_cells(cells: &mut [u8], by_old: &[Option<u16>], size: usize) {
    if size == 1 {
        for cell in cells {
            if let Some(Some(new)) = by_old.get(usize::from(*cell)) {
                *cell = new.to_le_bytes()[0];
            }
        }
        return;
    }
    for cell in cells.as_chunks_mut().0 {
        let mut class = u16::from_le_bytes(*cell);
        renumber(by_old, &mut class);
        *cell = class.to_le_bytes();
    }
}

/// Places by number behind the first, which stands for none: first old place, and how many.
fn behind_none(runs: &Runs) -> Vec<(Option<usize>, usize)> {
    let mut at = 0;
    let spans = runs.spans().filter_map(|(from, len)| {
        let is_first = at == 0;
        at += len;
        let (from, len) = match is_first {
            true => (from.map(|from| from + 1), len - 1),
            false => (from, len),
        };
        let from = from.and_then(|from| from.checked_sub(1));
        (len > 0).then_some((from, len))
    });
    spans.collect()
}

/// Where the keys of each set lie, old numbers of sets in their new order.
fn sets(old: &Old<'_>, moves: &Moves) -> Vec<Option<PkeySetRecord>> {
    let olds: Vec<PkeySetRecord> = old.read(SectionId::PkeySets);
    let sets = moves.pkey_sets.olds();
    sets.map(|set| olds.get(set?).copied()).collect()
}

pub(super) fn pkey_sets(out: &mut Out, old: &Old<'_>, moves: &Moves) -> Option<()> {
    let mut start = 0;
    for set in sets(old, moves) {
        let len = set.map_or(0, |set| set.len);
        out.put_all(&[PkeySetRecord { start, len }])?;
        start = start.checked_add(len)?;
    }
    Some(())
}

pub(super) fn pkey_values(out: &mut Out, old: &Old<'_>, moves: &Moves) -> Option<()> {
    let olds = old.section(SectionId::PkeyValues);
    let size = size_of::<u16>();
    for set in sets(old, moves).into_iter().flatten() {
        let start = usize::try_from(set.start).ok()?.checked_mul(size)?;
        let length = usize::try_from(set.len).ok()?.checked_mul(size)?;
        out.put(olds.get(start..start.checked_add(length)?)?)?;
    }
    Some(())
}

pub(super) fn pkey_matrix(out: &mut Out, old: &Old<'_>, moves: &Moves) -> Option<()> {
    let olds = old.section(SectionId::PkeyMatrix);
    let size = size_of::<u16>();
    // A square: as many sets as there were.
    let width = (olds.len() / size).isqrt();
    if width == 0 || moves.pkey_sets.total() > MATRIX_SETS {
        return Some(());
    }
    square(out, olds, (&moves.pkey_sets, &moves.pkey_sets), width)
}

/// A table of u16 with rows and columns in their new order. Shape: `width` of the old table.
pub(super) fn square(
    out: &mut Out,
    olds: &[u8],
    (rows, columns): (&Runs, &Runs),
    width: usize,
) -> Option<()> {
    let stride = width.checked_mul(size_of::<u16>())?;
    for row in rows.olds() {
        let start = row.and_then(|row| row.checked_mul(stride));
        let row = start.and_then(|start| olds.get(start..start.checked_add(stride)?));
        gather(out, row.unwrap_or_default(), columns, size_of::<u16>())?;
    }
    Some(())
}
