//! What moved: for who has both snapshots.

use zerocopy::{FromBytes, IntoBytes};

use super::runs::Runs;
use super::{Moves, read};
use crate::format::layout::{LIDS, Range, SectionId, parse};
use crate::format::policy_records::PolicyRecord;
use crate::format::records::{PathClassRecord, PkeySetRecord, PortRecord, SubnetRecord};

/// What is looked at of a snapshot.
struct Look<'a> {
    subnet: SubnetRecord,
    policy: Option<PolicyRecord>,
    ports: Vec<PortRecord>,
    columns: Vec<u16>,
    pkey_sets: Vec<PkeySetRecord>,
    path_classes: Vec<PathClassRecord>,
    /// The pair table, and bytes of a cell.
    pairs: (&'a [u8], usize),
}

/// What moved from one snapshot to the other.
///
/// None: nothing did, or too much for it to be of use, or these are no snapshots of this format.
/// Cost: as sorting the ports some times.
pub fn moves(old: &[u8], new: &[u8]) -> Option<Moves> {
    let size = new.len();
    let (old, new) = (Look::at(old)?, Look::at(new)?);
    let ports = Runs::of(ports(&old.ports, &new.ports));
    let with_old = || ports.olds().zip(&new.ports);
    let came: Vec<PortRecord> = with_old()
        .filter(|(old, _)| old.is_none())
        .map(|(_, port)| *port)
        .collect();
    // Another fabric altogether: patches that way are no smaller than others.
    if came.len() * 2 > new.ports.len() {
        return None;
    }
    let stayed: Vec<(&PortRecord, &PortRecord)> = with_old()
        .filter_map(|(at, port)| Some((old.ports.get(at?)?, port)))
        .collect();
    let by = |field: fn(&PortRecord) -> u16, total: usize, further: Option<(u16, u16)>| {
        let pairs = stayed.iter().map(|(old, new)| (field(old), field(new)));
        Runs::of(majority(pairs.chain(further), total))
    };
    let unnamed = old.policy.zip(new.policy);
    let columns = stayed.iter().filter(|(old, new)| old.lid == new.lid);
    let columns = columns.flat_map(|(port, _)| {
        let lids = usize::from(port.lid)..usize::from(port.lid) + usize::from(port.lid_count());
        lids.filter_map(|lid| Some((*old.columns.get(lid)?, *new.columns.get(lid)?)))
    });
    let columns = Runs::of(majority(columns.chain([(0, 0)]), new.columns()));
    let found = Moves {
        size,
        cells: new.cells(&columns),
        came,
        switches: by(|port| port.switch, new.switches(), None),
        rows: by(|port| port.row, new.rows(), Some((0, 0))),
        columns,
        pkey_sets: by(|port| port.pkey_set, new.pkey_sets.len(), None),
        sources: by(
            |port| port.source_class,
            new.sources(),
            unnamed.map(|(old, new)| (old.unnamed_source, new.unnamed_source)),
        ),
        destinations: by(
            |port| port.destination_class,
            new.destinations(),
            unnamed.map(|(old, new)| (old.unnamed_destination, new.unnamed_destination)),
        ),
        path_classes: Runs::of(equal(&old.path_classes, &new.path_classes)),
        ports,
    };
    let is_same = found.ports.is_same(old.ports.len())
        && found.switches.is_same(old.switches())
        && found.rows.is_same(old.rows())
        && found.columns.is_same(old.columns())
        && found.pkey_sets.is_same(old.pkey_sets.len())
        && found.sources.is_same(old.sources())
        && found.destinations.is_same(old.destinations())
        && found.path_classes.is_still();
    (!is_same).then_some(found)
}

impl<'a> Look<'a> {
    fn at(bytes: &'a [u8]) -> Option<Self> {
        let ranges = parse(bytes).ok()?;
        let section = |id: SectionId| {
            let range: Option<&Range> = ranges.get(id as usize);
            let bytes = range.and_then(|range| bytes.get(range.start..range.end));
            bytes.unwrap_or_default()
        };
        let pairs = [SectionId::NarrowPairs, SectionId::Pairs].map(|id| (section(id), id));
        let pairs = pairs.into_iter().find(|(cells, _)| !cells.is_empty());
        Some(Self {
            subnet: SubnetRecord::read_from_bytes(section(SectionId::Subnet)).ok()?,
            policy: PolicyRecord::read_from_bytes(section(SectionId::Policy)).ok(),
            ports: read(section(SectionId::Ports)),
            columns: read(section(SectionId::LidColumns)),
            pkey_sets: read(section(SectionId::PkeySets)),
            path_classes: read(section(SectionId::PathClasses)),
            pairs: pairs.map_or((&[], 1), |(cells, id)| (cells, id.element_size())),
        })
    }

    /// How many numbers there are: the greatest of all ports and one.
    fn numbers(&self, field: fn(&PortRecord) -> u16, further: u16) -> usize {
        let greatest = self.ports.iter().map(field).max();
        usize::from(greatest.unwrap_or_default().max(further)) + 1
    }

    fn switches(&self) -> usize {
        self.numbers(|port| port.switch, 0)
    }

    fn rows(&self) -> usize {
        let rows = u16::try_from(self.subnet.rows).unwrap_or(u16::MAX);
        self.numbers(|port| port.row, rows)
    }

    fn columns(&self) -> usize {
        let columns = usize::try_from(self.subnet.columns).unwrap_or(usize::MAX);
        columns.min(LIDS) + 1
    }

    /// Cells of the columns that have no old number.
    fn cells(&self, columns: &Runs) -> Vec<u8> {
        let (table, size) = self.pairs;
        let width = self.columns() - 1;
        let new = columns.olds().skip(1).zip(0..);
        let new = new.filter(|(old, _)| old.is_none()).map(|(_, at)| at);
        let column = |at: usize| {
            let rows = table.chunks_exact((width * size).max(1));
            rows.filter_map(move |row| row.get(at * size..(at + 1) * size))
        };
        new.flat_map(column).flatten().copied().collect()
    }

    fn sources(&self) -> usize {
        let unnamed = self.policy.map_or(0, |policy| policy.unnamed_source);
        self.numbers(|port| port.source_class, unnamed)
    }

    fn destinations(&self) -> usize {
        let unnamed = self.policy.map_or(0, |policy| policy.unnamed_destination);
        self.numbers(|port| port.destination_class, unnamed)
    }
}

/// By new port: which old one has its GUID. Both are in the order of GUIDs.
fn ports(old: &[PortRecord], new: &[PortRecord]) -> Vec<Option<u32>> {
    let order = |port: &PortRecord| u64::from_le_bytes(port.guid);
    let mut olds = old.iter().zip(0..).peekable();
    let find = |port: &PortRecord| {
        while olds.next_if(|(old, _)| order(old) < order(port)).is_some() {}
        let same = olds.next_if(|(old, _)| order(old) == order(port));
        same.map(|(_, at)| at)
    };
    new.iter().map(find).collect()
}

/// By new number: the old one that most of those had who have it. Shape: pairs of old and new.
fn majority(pairs: impl Iterator<Item = (u16, u16)>, total: usize) -> Vec<Option<u32>> {
    let mut sorted: Vec<(u16, u16)> = pairs.map(|(old, new)| (new, old)).collect();
    sorted.sort_unstable();
    let mut olds = vec![None; total];
    let mut most = vec![0; total];
    for equal in sorted.chunk_by(|a, b| a == b) {
        let Some((new, old)) = equal.first() else {
            continue;
        };
        let new = usize::from(*new);
        if let (Some(place), Some(most)) = (olds.get_mut(new), most.get_mut(new))
            && equal.len() > *most
        {
            (*place, *most) = (Some(u32::from(*old)), equal.len());
        }
    }
    olds
}

/// By new record: which old one is the same.
fn equal(old: &[PathClassRecord], new: &[PathClassRecord]) -> Vec<Option<u32>> {
    let mut sorted: Vec<(&[u8], u32)> = old.iter().map(IntoBytes::as_bytes).zip(0..).collect();
    sorted.sort_unstable();
    let find = |record: &PathClassRecord| {
        let at = sorted.partition_point(|(old, _)| *old < record.as_bytes());
        let (found, old) = sorted.get(at)?;
        (*found == record.as_bytes()).then_some(*old)
    };
    new.iter().map(find).collect()
}
