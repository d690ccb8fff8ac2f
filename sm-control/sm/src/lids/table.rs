//! The LIDs that an SM remembers of ports: OpenSM's file `guid2lid`.
//!
//! ```text
//! 0x0000000000100001 0x0005 0x0005      port GUID, first LID, last LID
//! ```
//!
//! Ports stay in it when they vanish, so that they find their LIDs again: whoever wants LIDs back says so
//! ([`Remembered::forget`]). The text is sorted by port GUID, where OpenSM writes it as its hash table lies, so that two files
//! of one subnet are equal byte by byte. Writing the file is not done here: `sa_fabric::outlet` does that as one step.
//! Source: OpenSM `osm_lid_mgr.c`, `osm_db_files.c`.
//!
//! Numbers are read as OpenSM reads them (C's `strtoul` with base 0), as the file may have been edited by hand.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use core::fmt::{self, Write};
use sa_wire::{Guid, Lid, Lmc};

/// LIDs of a port, both ends included.
///
/// May be wider than what the port uses now: it keeps what it had under a larger LMC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Range {
    /// The base LID.
    pub first: Lid,
    /// At least the first.
    pub last: Lid,
}

/// LIDs by port GUID.
///
/// Ranges of two ports may overlap in what neither uses; what both use is kept apart by whoever fills it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Remembered(BTreeMap<Guid, Range>);

/// A line of the file that is not followed.
///
/// To be told: a port whose line is dropped is renumbered, and its clients notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dropped {
    /// From 1 on.
    pub line: u32,
    /// Why.
    pub reason: Reason,
}

/// Why a line is not followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// Not a port GUID and two LIDs.
    Unreadable,
    /// A GUID of 0.
    NoGuid,
    /// A LID that is 0 or above the largest, or a first one behind the last one.
    ///
    /// Also one that ends above what the switches forward to: the port would not be reached.
    Range,
    /// More than one LID, and the first is no multiple of what the LMC asks for.
    ///
    /// As it was written under another LMC; the LIDs cannot be kept.
    Alignment,
    /// Some LID is already that of another port.
    Taken(Guid),
    /// The port has a line already.
    Twice,
}

impl Remembered {
    /// Reads a file. `lmc` is what ports get now, `last` the largest LID. Lines that cannot be followed are
    /// left out, the others hold: of two that want one LID, the first.
    ///
    /// Shape: never fails. A file that is no table at all gives an empty one and a dropped line for each of its own: the subnet is
    /// numbered as it stands.
    pub fn parse(bytes: &[u8], lmc: Lmc, last: Lid) -> (Self, Vec<Dropped>) {
        // Bytes that are no text make a line unreadable, not the file.
        let text = String::from_utf8_lossy(bytes);
        let mut table = Self::default();
        let mut owners = BTreeMap::new();
        let mut dropped = Vec::new();
        // Empty lines count, as a person finds the line by its number.
        for (line, text) in (1..).zip(text.lines()) {
            if text.trim().is_empty() {
                continue;
            }
            let read = entry(text, lmc, last);
            if let Err(reason) =
                read.and_then(|(guid, range)| table.take(guid, range, lmc, &mut owners))
            {
                dropped.push(Dropped { line, reason });
            }
        }
        (table, dropped)
    }

    /// One more entry, if nobody has its LIDs.
    ///
    /// Errors: the port has an entry, or one of its LIDs belongs to a port above it.
    fn take(
        &mut self,
        guid: Guid,
        range: Range,
        lmc: Lmc,
        owners: &mut BTreeMap<u16, Guid>,
    ) -> Result<(), Reason> {
        let Entry::Vacant(place) = self.0.entry(guid) else {
            return Err(Reason::Twice);
        };
        // As OpenSM has it: of a line with more LIDs than ports get now, the first ones count.
        let lids = range.used(lmc);
        if let Some(owner) = lids.clone().find_map(|lid| owners.get(&lid)) {
            // The first line wins; its owner is named, so that a person can see which of both is wrong.
            return Err(Reason::Taken(*owner));
        }
        owners.extend(lids.map(|lid| (lid, guid)));
        place.insert(range);
        Ok(())
    }

    /// What a port has.
    pub fn get(&self, guid: Guid) -> Option<Range> {
        self.0.get(&guid).copied()
    }

    /// A port has these LIDs from now on.
    ///
    /// Nobody else may use one of them: this does not look.
    pub fn insert(&mut self, guid: Guid, range: Range) {
        self.0.insert(guid, range);
    }

    /// A port has no LIDs any more: they are free for others. False where it had none.
    ///
    /// What it costs: the port, if it comes back, is renumbered.
    pub fn forget(&mut self, guid: Guid) -> bool {
        self.0.remove(&guid).is_some()
    }

    /// All ports, by GUID.
    pub fn entries(&self) -> impl Iterator<Item = (Guid, Range)> {
        self.0.iter().map(|(guid, range)| (*guid, *range))
    }

    /// The file: a line for each port, by GUID, each with an empty line behind it, as OpenSM reads and writes it.
    ///
    /// [`Self::parse`] reads back the same entries, under the LMC that they were given for.
    pub fn render(&self) -> String {
        let mut text = String::new();
        for (guid, range) in self.entries() {
            let (first, last) = (range.first.get(), range.last.get());
            let _ = writeln!(text, "{guid} 0x{first:04x} 0x{last:04x}\n");
        }
        text
    }
}

impl Range {
    /// How many LIDs it has.
    pub const fn width(self) -> u16 {
        // The first is never behind the last.
        self.last.get().saturating_sub(self.first.get()) + 1
    }

    /// The LIDs of it that a port of this LMC uses.
    ///
    /// Shape: the first `2^lmc`, or fewer where the range is narrower, and never beyond its end.
    pub fn used(self, lmc: Lmc) -> core::ops::RangeInclusive<u16> {
        let most = self.first.get().saturating_add(lmc.lids() - 1);
        self.first.get()..=most.min(self.last.get())
    }
}

/// A line's port and LIDs.
///
/// Errors: [`Reason`], but for [`Reason::Taken`] and [`Reason::Twice`], which need the lines above.
fn entry(text: &str, lmc: Lmc, last: Lid) -> Result<(Guid, Range), Reason> {
    let mut words = text.split_whitespace().map(number);
    let (Some(Some(guid)), Some(Some(low)), Some(Some(high)), None) =
        (words.next(), words.next(), words.next(), words.next())
    else {
        return Err(Reason::Unreadable);
    };
    let guid = Guid::new(guid).map_err(|_| Reason::NoGuid)?;
    // Three checks in one: it fits sixteen bits, is not 0, and is below the multicast LIDs.
    let lid = |raw: u64| u16::try_from(raw).ok().and_then(|raw| Lid::new(raw).ok());
    let (Some(first), Some(end)) = (lid(low), lid(high)) else {
        return Err(Reason::Range);
    };
    if first > end || end > last {
        return Err(Reason::Range);
    }
    // One LID may be any: an LMC that is larger now gets the port another range (see `claim`).
    if first != end && !first.get().is_multiple_of(lmc.lids()) {
        return Err(Reason::Alignment);
    }
    Ok((guid, Range { first, last: end }))
}

/// As C has it, because OpenSM reads the file so: with 0x, as it writes them, in base 16; with another 0 before it in base 8;
/// else in base 10.
fn number(word: &str) -> Option<u64> {
    // `strip_prefix('0')` of a lone 0 leaves nothing: that is the number 0 of base 10.
    let (digits, base) = match (word.strip_prefix("0x"), word.strip_prefix('0')) {
        (Some(digits), _) => (digits, 16),
        (None, Some(digits)) if !digits.is_empty() => (digits, 8),
        (None, _) => (word, 10),
    };
    let is_number = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    // Letters in base 8 or 10 are refused by the radix, a sign by the check.
    u64::from_str_radix(digits, base).ok().filter(|_| is_number)
}

impl fmt::Display for Dropped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: ", self.line)?;
        match self.reason {
            Reason::Unreadable => f.write_str(
                "not a port GUID, a first and a last LID, such as 0x0000000000100001 0x0005 0x0005",
            ),
            Reason::NoGuid => f.write_str("no port has the GUID 0"),
            Reason::Range => f.write_str("no range of LIDs that the switches forward to"),
            Reason::Alignment => f.write_str("the first LID is no multiple of 2^LMC"),
            Reason::Taken(owner) => write!(f, "a LID of it is already that of port {owner}"),
            Reason::Twice => f.write_str("this port has a line already"),
        }?;
        f.write_str("; the line is left out, and the port gets other LIDs")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Entries = Vec<(u64, u16, u16)>;

    fn read(text: &str, lmc: u8) -> (Entries, Vec<(u32, Reason)>) {
        let (table, dropped) = Remembered::parse(
            text.as_bytes(),
            Lmc::new(lmc).unwrap(),
            Lid::new(100).unwrap(),
        );
        let entries = table
            .entries()
            .map(|(guid, range)| (guid.get(), range.first.get(), range.last.get()));
        let dropped = dropped.iter().map(|it| (it.line, it.reason));
        (entries.collect(), dropped.collect())
    }

    #[test]
    fn each_bad_line_is_left_out_alone() {
        let owner = Guid::new(1).unwrap();
        let text = "0x1 0x5 0x5\n\n0x2 0x5 0x5\n0 7 7\n0x3 0x0 0x0\n0x4 0x9 0x8\n0x5 0x60 0x65\n0x1 0x7 0x7\nx 1 2\n0x6 0x8\n0x7 +8 8\n0x8 0x64 0x64\n0x9 0x1 0x2 0x3\n";
        let (entries, dropped) = read(text, 0);
        assert_eq!(entries, [(1, 5, 5), (8, 100, 100)]);
        let reasons = [
            (3, Reason::Taken(owner)),
            (4, Reason::NoGuid),
            (5, Reason::Range),
            (6, Reason::Range),
            (7, Reason::Range),
            (8, Reason::Twice),
            (9, Reason::Unreadable),
            (10, Reason::Unreadable),
            (11, Reason::Unreadable),
            (13, Reason::Unreadable),
        ];
        assert_eq!(dropped, reasons);
    }

    #[test]
    fn numbers_are_those_of_c() {
        let (entries, dropped) = read("0x1 51 51\n2 010 010\n0x3 0x10 16\n0x4 09 9\n0x5 a a\n", 0);
        assert_eq!(entries, [(1, 51, 51), (2, 8, 8), (3, 16, 16)]);
        assert_eq!(dropped, [(4, Reason::Unreadable), (5, Reason::Unreadable)]);
    }

    #[test]
    fn ranges_are_judged_by_the_lmc_of_now() {
        let (entries, dropped) = read("0x1 0x4 0x7\n0x2 0x6 0x9\n0x3 0x5 0x5\n", 2);
        assert_eq!(entries, [(1, 4, 7)]);
        let owner = Guid::new(1).unwrap();
        assert_eq!(dropped, [(2, Reason::Alignment), (3, Reason::Taken(owner))]);
        let (entries, dropped) = read("0x1 0x4 0x7\n0x3 0x5 0x5\n", 0);
        assert_eq!(
            entries,
            [(1, 4, 7), (3, 5, 5)],
            "three LIDs of the first are not used"
        );
        assert!(dropped.is_empty());
    }

    #[test]
    fn what_is_written_is_read() {
        let mut table = Remembered::default();
        for guid in [9, 3] {
            let lid = Lid::new(guid).unwrap();
            table.insert(
                Guid::new(guid.into()).unwrap(),
                Range {
                    first: lid,
                    last: lid,
                },
            );
        }
        let text = table.render();
        assert_eq!(
            text,
            "0x0000000000000003 0x0003 0x0003\n\n0x0000000000000009 0x0009 0x0009\n\n"
        );
        assert_eq!(
            Remembered::parse(text.as_bytes(), Lmc::default(), Lid::MAX),
            (table.clone(), vec![])
        );
        assert!(table.forget(Guid::new(3).unwrap()) && !table.forget(Guid::new(3).unwrap()));
    }
}
