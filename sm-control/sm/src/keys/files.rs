//! `guid2mkey` and `neighbors`: OpenSM's files, read and written.
//!
//! ```text
//! 0x0000000000100001 0x000000001234abcd          guid2mkey: GUID of an end port, its M_Key
//! 0x0000000000200100:3 0x0000000000100001:1      neighbors: two ends of a cable, each line one way
//! ```
//!
//! Each line has an empty one behind it. The text is sorted, where OpenSM writes it as its hash table lies. A line that cannot be
//! followed is left out, and the others hold. Source: recordings of OpenSM 3.3.23 with an M_Key; `osm_db_pack.c`.
//!
//! This file knows text alone: where the files lie, and that they are replaced in one step, is the caller's.

use core::fmt::{self, Write};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use sa_wire::Guid;

use super::PortName;

/// A line that is not followed.
///
/// One is worth a line of the log and no more: the key is looked for as if nothing had been known ([`super::Keys::candidates`]).
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
    /// Not the two words that the file has.
    Unreadable,
    /// What the line begins with has a line already.
    Twice,
}

/// Keys by the GUID of an end port.
///
/// Shape of a line: `GUID KEY`, both in base 16. A key of 0 is read as it stands; who takes the table leaves it out.
pub fn keys(bytes: &[u8]) -> (BTreeMap<Guid, u64>, Vec<Dropped>) {
    table(bytes, guid, number)
}

/// Far ends of ports.
///
/// Shape of a line: `GUID:PORT GUID:PORT`. A cable has two lines, and nothing checks that the second agrees with the first.
pub fn neighbors(bytes: &[u8]) -> (BTreeMap<PortName, PortName>, Vec<Dropped>) {
    table(bytes, port, port)
}

/// `guid2mkey`.
///
/// By GUID, with the key in sixteen digits: what [`keys`] reads back as it was.
pub fn render_keys(keys: &BTreeMap<Guid, u64>) -> String {
    let mut text = String::new();
    for (guid, key) in keys {
        let _ = writeln!(text, "{guid} 0x{key:016x}\n");
    }
    text
}

/// `neighbors`.
///
/// Both directions as they are in the table: what [`neighbors`] reads back as it was.
pub fn render_neighbors(neighbors: &BTreeMap<PortName, PortName>) -> String {
    let mut text = String::new();
    for ((near, port), (far, far_port)) in neighbors {
        let _ = writeln!(text, "{near}:{port} {far}:{far_port}\n");
    }
    text
}

/// What both files have in common: two words a line, the first of which is there once.
fn table<K: Ord, V>(
    bytes: &[u8],
    key: impl Fn(&str) -> Option<K>,
    value: impl Fn(&str) -> Option<V>,
) -> (BTreeMap<K, V>, Vec<Dropped>) {
    // Bytes that are no UTF-8 make their own line unreadable, not the file.
    let text = String::from_utf8_lossy(bytes);
    let (mut all, mut dropped) = (BTreeMap::new(), Vec::new());
    // Counted with the empty ones, as an editor counts them.
    for (line, text) in (1..).zip(text.lines()) {
        let mut words = text.split_whitespace();
        let (first, second, third) = (words.next(), words.next(), words.next());
        let Some(first) = first else { continue };
        let read = key(first)
            .zip(second.and_then(&value))
            // A third word means that the line is something else than it looks like: better no key than a wrong one.
            .filter(|_| third.is_none());
        let reason = match read.map(|(key, value)| (all.entry(key), value)) {
            Some((Entry::Vacant(place), value)) => {
                place.insert(value);
                continue;
            }
            Some((Entry::Occupied(_), _)) => Reason::Twice,
            None => Reason::Unreadable,
        };
        dropped.push(Dropped { line, reason });
    }
    (all, dropped)
}

/// With 0x, as OpenSM writes them, or without, in base 16 all the same.
fn number(word: &str) -> Option<u64> {
    // `from_str_radix` takes a sign, which is no part of a key.
    let digits = word.strip_prefix("0x").unwrap_or(word);
    let is_number = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    u64::from_str_radix(digits, 16).ok().filter(|_| is_number)
}

fn guid(word: &str) -> Option<Guid> {
    number(word).and_then(|raw| Guid::new(raw).ok())
}

/// The number of a port is decimal.
fn port(word: &str) -> Option<PortName> {
    let (name, number) = word.split_once(':')?;
    Some((guid(name)?, number.parse().ok()?))
}

impl fmt::Display for Dropped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: ", self.line)?;
        f.write_str(match self.reason {
            Reason::Unreadable => "not the two words that this file has in a line",
            Reason::Twice => "what it begins with has a line already",
        })?;
        f.write_str("; the line is left out")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_opensm_writes_is_read_and_written_alike() {
        let text =
            "0x0000000000100101 0x000000001234abcd\n\n0x0000000000200100 0xffffffffffffffff\n\n";
        let (read, dropped) = keys(text.as_bytes());
        assert_eq!((read.len(), dropped), (2, vec![]));
        assert_eq!(render_keys(&read), text);
        let text = "0x0000000000100211:1 0x0000000000200102:4\n\n0x0000000000200102:4 0x0000000000100211:1\n\n";
        let (read, dropped) = neighbors(text.as_bytes());
        assert_eq!((read.len(), dropped), (2, vec![]));
        assert_eq!(render_neighbors(&read), text);
    }

    #[test]
    fn bad_lines_cost_no_others() {
        let (read, dropped) = keys(b"0x1 0x2\n0x1 0x3\n0x0 0x1\n0x2\n0x2 0x3 4\n-1 0x2\n0x5 0x6");
        let lines: Vec<u32> = dropped.iter().map(|it| it.line).collect();
        assert_eq!((read.len(), lines), (2, vec![2, 3, 4, 5, 6]));
        let (read, dropped) = neighbors(b"0x1:1 0x2:256\n0x1 0x2:1\n0x1:3 0x2:9\n\xff:1 0x1:1\n");
        assert_eq!((read.len(), dropped.len()), (1, 3));
    }
}
