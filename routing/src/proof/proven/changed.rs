//! Entries that lead elsewhere than they did.
//!
//! Rows that are shared with the table that was proved are not compared, and those that are not mostly say
//! the same: a change comes down to a few entries, listed by LID because paths are judged LID by LID.

use super::{Gone, Proven};
use crate::parallel;
use crate::proof::channels::Channels;
use crate::tables::{Lft, NO_PATH};
use crate::topology::{SwitchIx, count32};

/// Switches whose entries changed, by LID.
/// A list for each LID in one array, by where it begins.
pub(super) struct Changed {
    /// By LID, and one more: where its switches begin.
    first: Vec<u32>,
    switches: Vec<SwitchIx>,
}

/// With more changed entries than one of so many a full run is as quick.
/// Before that many, the comparison itself ends.
const ONE_OF: usize = 32;

impl Changed {
    /// Compares tables. None where a LID is where it was not before, or is not delivered as it was,
    /// and where too much has changed.
    pub(super) fn since(
        proven: &Proven,
        lft: &Lft,
        places: &[Option<(SwitchIx, u8)>],
        gone: &Gone,
    ) -> Option<Self> {
        let was = |lid: usize| proven.places.get(lid).copied().flatten();
        let mut lids = (0..).zip(places);
        if lids.any(|(lid, place)| place.is_some() && *place != was(lid)) {
            return None;
        }
        let most = lft.size() / ONE_OF;
        let parts = parallel::over_range(lft.switches(), lft.size(), |range| {
            let mut entries = Vec::new();
            for switch in range.map(|index| SwitchIx(count32(index))) {
                compare(proven, lft, places, gone, switch, &mut entries)?;
                if entries.len() > most {
                    return None;
                }
            }
            Some(entries)
        });
        let parts: Option<Vec<_>> = parts.into_iter().collect();
        let entries = parts?.concat();
        (entries.len() <= most).then(|| Self::by_lid(&entries, lft.stride()))
    }

    /// Sorts entries by LID, by counting.
    fn by_lid(entries: &[(u16, SwitchIx)], lids: usize) -> Self {
        let mut first = vec![0; lids + 1];
        for (lid, _) in entries {
            first[usize::from(*lid) + 1] += 1;
        }
        for lid in 0..lids {
            first[lid + 1] += first[lid];
        }
        let mut next = first.clone();
        let mut switches = vec![SwitchIx(0); entries.len()];
        for (lid, switch) in entries {
            let place = &mut next[usize::from(*lid)];
            switches[*place as usize] = *switch;
            *place += 1;
        }
        Self { first, switches }
    }

    /// The switches whose entries for a LID changed, but for its own switch.
    pub(super) fn switches(&self, lid: u16) -> &[SwitchIx] {
        let [first, end] = [0, 1].map(|next| self.first[usize::from(lid) + next] as usize);
        &self.switches[first..end]
    }

    /// How many entries changed.
    pub(super) fn count(&self) -> usize {
        self.switches.len()
    }
}

/// Adds the changed entries of a switch, LIDs ascending. None where it does not deliver as it did.
/// Entries into a cable that is gone count as changed, although the byte is the same.
fn compare(
    proven: &Proven,
    lft: &Lft,
    places: &[Option<(SwitchIx, u8)>],
    gone: &Gone,
    switch: SwitchIx,
    entries: &mut Vec<(u16, SwitchIx)>,
) -> Option<()> {
    let lost = lost_ports(&proven.graph.channels, gone, switch);
    if lost.is_none() && lft.shares(&proven.lft, switch) {
        return Some(());
    }
    let (was, is) = (proven.lft.table(switch), lft.table(switch));
    let pieces = is.chunks(PIECE).zip(places.chunks(PIECE));
    for (first, (piece, places)) in (0..).step_by(PIECE).zip(pieces) {
        let was = was.get(first..).unwrap_or_default();
        // Nearly all are equal, and told so by many entries at a time.
        if lost.is_none() && was.get(..piece.len()) == Some(piece) {
            continue;
        }
        let mut lids = (first..).zip(piece).zip(places).zip(padded(was));
        lids.try_for_each(|(((lid, is), place), was)| {
            let is_lost = || lost.as_ref().is_some_and(|lost| lost[usize::from(*is)]);
            match place {
                // At a LID's own switch only delivery counts, and that has to stay.
                Some((to, _)) if *to == switch => (was == *is).then_some(())?,
                Some(_) if was != *is || is_lost() => entries.push((lid16(lid), switch)),
                _ => {}
            }
            Some(())
        })?;
    }
    Some(())
}

/// Entries that are compared at once before each is looked at.
const PIECE: usize = 64;

/// A table that goes on without a path.
fn padded(table: &[u8]) -> impl Iterator<Item = u8> + '_ {
    table.iter().copied().chain(std::iter::repeat(NO_PATH))
}

/// A place in a table: there are fewer LIDs than 16 bits have numbers.
fn lid16(lid: usize) -> u16 {
    u16::try_from(lid).unwrap_or(u16::MAX)
}

/// By port: its cable is gone. None where no cable of the switch is.
fn lost_ports(channels: &Channels, gone: &Gone, switch: SwitchIx) -> Option<[bool; 256]> {
    if !gone.any_from(channels, switch) {
        return None;
    }
    let mut ports = [false; 256];
    for link in channels.links_from(switch).filter(|link| gone.has(*link)) {
        ports[usize::from(channels.links[link as usize].port)] = true;
    }
    Some(ports)
}
