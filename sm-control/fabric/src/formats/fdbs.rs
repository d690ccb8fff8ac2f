//! `opensm.fdbs`: the forwarding tables with hop counts, as ibdmchk reads them.
//!
//! ```text
//! dump_ucast_routes: Switch 0x0000000000200000
//! LID    : Port : Hops : Optimal
//! 0x0001 : 018  : 02   : yes
//! 0x0002 : UNREACHABLE
//! ```
//!
//! ```text
//! 0x0003 : 007  : 03   : No 2 hop path possible via port 4!
//! 0x0004 : 011  : HOPS UNKNOWN
//! ```
//!
//! Every LID from 1 to the largest in use has a line, so the number of the line is the LID and a
//! reader can tell that one is missing. OpenSM writes it in `osm_dump.c`, `dump_ucast_routes`; hop
//! counts are those of its min-hop tables, which torus-2QoS does not make.

use std::io::{self, Write};

use sa_text::{Position, lines};
use sa_wire::Guid;

use super::{end_of_line, guid};
use crate::error::{ParseError, Problem};
use crate::text::{Cursor, decode, in_range};

/// An entry of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entry {
    /// Nobody has the LID, or no port leads there.
    Unreachable,
    /// A port leads there.
    Port {
        /// Its number, 0 for the switch itself.
        port: u8,
        /// What OpenSM says about the way.
        hops: Hops,
    },
}

/// What OpenSM says about the length of a way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hops {
    /// The routing engine kept no hop counts: torus-2QoS.
    Unknown,
    /// So many, and none is shorter.
    Optimal(u8),
    /// So many, although there is a shorter way.
    Detour {
        /// This way.
        hops: u8,
        /// The shortest.
        best: u8,
        /// The port it leaves through.
        via: u8,
    },
}

impl Entry {
    /// The entry of a routing engine that keeps no hop counts (torus-2QoS). `is_local`: the
    /// destination is a CA or router plugged into this very switch; for those OpenSM prints a
    /// bogus shorter way.
    ///
    /// The bogus way is "No 0 hop path possible via port p": no hop counts were filled in, so that
    /// 0 looks shorter than the one link. ibdmchk reads LID and port only.
    pub const fn without_hops(port: u8, is_local: bool) -> Self {
        let hops = if is_local {
            Hops::Detour {
                hops: 1,
                best: 0,
                via: port,
            }
        } else {
            Hops::Unknown
        };
        Self::Port { port, hops }
    }

    /// The port, 255 for none, as in forwarding tables.
    pub const fn port(self) -> u8 {
        match self {
            Self::Unreachable => 255,
            Self::Port { port, .. } => port,
        }
    }
}

/// Writes the file. Shape: `entry` gets the place of a switch in `switches` and a LID of 1 to
/// `max_lid`. Errors: those of `out`.
///
/// Cost: switches times LIDs lines of some 30 bytes; 4,096 switches and 8,192 LIDs are 1 GB.
pub fn write(
    out: &mut impl Write,
    switches: impl IntoIterator<Item = Guid>,
    max_lid: u16,
    entry: impl Fn(usize, u16) -> Entry,
) -> io::Result<()> {
    for (index, guid) in switches.into_iter().enumerate() {
        writeln!(
            out,
            "dump_ucast_routes: Switch {guid}\nLID    : Port : Hops : Optimal"
        )?;
        for lid in 1..=max_lid {
            write!(out, "0x{lid:04X} : ")?;
            match entry(index, lid) {
                Entry::Unreachable => writeln!(out, "UNREACHABLE")?,
                Entry::Port { port, hops } => {
                    write!(out, "{port:03}  : ")?;
                    write_hops(out, hops)?;
                }
            }
        }
    }
    Ok(())
}

fn write_hops(out: &mut impl Write, hops: Hops) -> io::Result<()> {
    match hops {
        Hops::Unknown => writeln!(out, "HOPS UNKNOWN"),
        Hops::Optimal(hops) => writeln!(out, "{hops:02}   : yes"),
        Hops::Detour { hops, best, via } => {
            writeln!(
                out,
                "{hops:02}   : No {best} hop path possible via port {via}!"
            )
        }
    }
}

/// The table of a switch as read.
///
/// Memory: 4 bytes an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SwitchFdb {
    /// Where its heading stands.
    pub at: Position,
    /// Node GUID.
    pub guid: Guid,
    /// Shape: index = LID - 1.
    pub entries: Vec<Entry>,
}

/// Reads the file. Errors: the first line that is not as above, LIDs out of order included.
pub fn read(bytes: &[u8]) -> Result<Vec<SwitchFdb>, ParseError> {
    let text = decode(bytes, &mut Vec::new());
    let mut switches: Vec<SwitchFdb> = Vec::new();
    let mut end = Position { line: 1, column: 1 };
    for line in lines(&text) {
        let mut cursor = Cursor::new(line);
        end = line.at(line.text.len());
        if cursor.accept("dump_ucast_routes: Switch ") {
            let guid = guid(&mut cursor)?;
            end_of_line(&mut cursor)?;
            switches.push(SwitchFdb {
                at: line.at(0),
                guid,
                entries: Vec::new(),
            });
        } else if cursor.accept("LID    : Port") || line.text.trim().is_empty() {
            continue;
        } else if let Some(switch) = switches.last_mut() {
            let entry = entry(cursor, switch.entries.len() + 1)?;
            switch.entries.push(entry);
        } else {
            return Err(cursor.expected("a heading \"dump_ucast_routes: Switch 0x..\""));
        }
    }
    if switches.is_empty() {
        return Err(ParseError::new(end, Problem::Empty));
    }
    Ok(switches)
}

/// `due` is the LID that must come: a line that is missing would shift all others.
fn entry(mut cursor: Cursor<'_>, due: usize) -> Result<Entry, ParseError> {
    let start = cursor;
    cursor.expect("0x")?;
    let lid = cursor.hex("a LID in hexadecimal")?;
    // LIDs count up without a gap, so a cut in the middle of a table shows here.
    if usize::try_from(lid) != Ok(due) {
        return Err(start.expected("the next LID"));
    }
    cursor.expect(" : ")?;
    if cursor.accept("UNREACHABLE") {
        end_of_line(&mut cursor)?;
        return Ok(Entry::Unreachable);
    }
    // 255 would be no port.
    let port = number(&mut cursor, "a port number", 254)?;
    cursor.expect("  : ")?;
    let hops = hops(&mut cursor)?;
    end_of_line(&mut cursor)?;
    Ok(Entry::Port { port, hops })
}

/// Behind the port. Spaces are part of the format: OpenSM pads numbers to two digits and not to
/// columns.
fn hops(cursor: &mut Cursor<'_>) -> Result<Hops, ParseError> {
    if cursor.accept("HOPS UNKNOWN") {
        return Ok(Hops::Unknown);
    }
    let hops = number(cursor, "a hop count", 255)?;
    cursor.expect("   : ")?;
    if cursor.accept("yes") {
        return Ok(Hops::Optimal(hops));
    }
    cursor.expect("No ")?;
    let best = number(cursor, "a hop count", 255)?;
    cursor.expect(" hop path possible via port ")?;
    let via = number(cursor, "a port number", 255)?;
    cursor.expect("!")?;
    Ok(Hops::Detour { hops, best, via })
}

fn number(cursor: &mut Cursor<'_>, what: &'static str, most: u64) -> Result<u8, ParseError> {
    let at = cursor.at();
    let number = cursor.decimal(what)?;
    in_range(at, what, number, 0..=most)
}
