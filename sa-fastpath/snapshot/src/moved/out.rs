//! The moved copy: section after section, as the builder would lay them out.

use zerocopy::{FromBytes, Immutable, IntoBytes};

use super::policy::Policy;
use super::tables::{self, Ports};
use super::{Moves, read};
use crate::format::layout::{
    BYTE_ORDER_MARK, FORMAT_VERSION, Header, MAGIC, Range, SectionEntry, SectionId, align_up,
    parse, sections_start,
};
use crate::format::records::SubnetRecord;

/// The old snapshot's sections.
pub(super) struct Old<'a> {
    bytes: &'a [u8],
    ranges: Vec<Range>,
}

impl<'a> Old<'a> {
    pub(super) fn section(&self, id: SectionId) -> &'a [u8] {
        let range = self.ranges.get(id as usize);
        let bytes = range.and_then(|range| self.bytes.get(range.start..range.end));
        bytes.unwrap_or_default()
    }

    pub(super) fn read<T: FromBytes>(&self, id: SectionId) -> Vec<T> {
        read(self.section(id))
    }
}

/// Bytes that are written, of which there is a greatest number.
pub(super) struct Out {
    bytes: Vec<u8>,
    most: usize,
}

impl Out {
    /// Room for so many bytes more. None: more than both snapshots have together, so somebody lies.
    pub(super) fn room(&mut self, bytes: usize) -> Option<()> {
        let need = self.bytes.len().checked_add(bytes)?;
        if need > self.most {
            return None;
        }
        if need > self.bytes.capacity() {
            // Not twice as much as there is, as a vector would take by itself.
            self.bytes.reserve_exact(bytes);
        }
        Some(())
    }

    pub(super) fn put(&mut self, bytes: &[u8]) -> Option<()> {
        self.room(bytes.len())?;
        self.bytes.extend_from_slice(bytes);
        Some(())
    }

    pub(super) fn put_all<T: IntoBytes + Immutable>(&mut self, elements: &[T]) -> Option<()> {
        self.put(elements.as_bytes())
    }

    pub(super) fn put_zeros(&mut self, bytes: usize) -> Option<()> {
        self.room(bytes)?;
        self.bytes.resize(self.bytes.len() + bytes, 0);
        Some(())
    }

    /// Where the next byte comes.
    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// What was written from there on.
    pub(super) fn since(&mut self, from: usize) -> &mut [u8] {
        self.bytes.get_mut(from..).unwrap_or_default()
    }
}

/// The old snapshot with everything where these moves say that it is now. Always the same bytes for
/// the same arguments.
///
/// None: `old` is no snapshot of this format, or the moves would take more than both snapshots
/// together. Memory: once the result, which is no longer than both, and what ports and the policy's
/// classes take once more.
pub fn moved(old: &[u8], moves: &Moves) -> Option<Vec<u8>> {
    let most = old.len().checked_add(moves.size)?;
    let ranges = parse(old).ok()?;
    let old = Old { bytes: old, ranges };
    let mut subnet = SubnetRecord::read_from_bytes(old.section(SectionId::Subnet)).ok()?;
    let ports = Ports::of(&old, moves);
    let index = ports.index();
    (subnet.guid_multiplier, subnet.guid_shift) = (index.multiplier, index.shift);
    let columns = usize::try_from(subnet.columns).ok()?;
    if subnet.rows > 0 {
        subnet.rows = u32::try_from(moves.rows.total().saturating_sub(1)).ok()?;
        subnet.columns = u32::try_from(moves.columns.total().saturating_sub(1)).ok()?;
    }
    let policy = Policy::of(&old, moves, most)?;
    let mut out = Out {
        bytes: Vec::with_capacity(moves.size.min(most)),
        most,
    };
    out.put_zeros(sections_start())?;
    let mut entries = Vec::with_capacity(SectionId::ALL.len());
    for id in SectionId::ALL {
        let start = out.len();
        match id {
            SectionId::Subnet => out.put_all(&[subnet])?,
            SectionId::Ports => out.put_all(&ports.records)?,
            SectionId::GuidIndex => out.put_all(&index.places)?,
            SectionId::LidPorts => out.put_all(&ports.lids())?,
            SectionId::LidColumns => tables::lid_columns(&mut out, &old, moves, &ports)?,
            SectionId::PathClasses => tables::path_classes(&mut out, &old, moves)?,
            SectionId::Pairs | SectionId::NarrowPairs => {
                tables::pairs(&mut out, &old, moves, *id, columns)?;
            }
            SectionId::PkeySets => tables::pkey_sets(&mut out, &old, moves)?,
            SectionId::PkeyValues => tables::pkey_values(&mut out, &old, moves)?,
            SectionId::PkeyMatrix => tables::pkey_matrix(&mut out, &old, moves)?,
            SectionId::PrefixRoutes => ports.prefix_routes(&mut out, &old)?,
            SectionId::Aliases => out.put_all(&ports.aliases)?,
            SectionId::AliasesByPort => out.put_all(&ports.aliases_by_port())?,
            _ => match &policy {
                Some(policy) => policy.put(&mut out, &old, moves, *id)?,
                None => out.put(old.section(*id))?,
            },
        }
        let size = id.element_size();
        entries.push(SectionEntry {
            id: *id as u32,
            element_size: u32::try_from(size).ok()?,
            offset: start as u64,
            elements: ((out.len() - start) / size) as u64,
        });
        out.put_zeros(align_up(out.len()) - out.len())?;
    }
    let header = Header {
        magic: MAGIC,
        // It is another one in any case: the new snapshot has another epoch.
        digest: 0,
        version: FORMAT_VERSION,
        byte_order: BYTE_ORDER_MARK,
        file_len: out.len() as u64,
        sections: u32::try_from(entries.len()).ok()?,
        reserved: [0; 7],
    };
    let head = [header.as_bytes(), entries.as_bytes()].concat();
    out.bytes.get_mut(..head.len())?.copy_from_slice(&head);
    Some(out.bytes)
}
