//! `opensm.mcfdbs`: the multicast forwarding tables. Switches without an entry are left out; the
//! file is empty when there is no member anywhere.
//!
//! ```text
//!
//! Switch 0x0000000000200000
//! LID    : Out Port(s)
//! 0xC000 : 0x001  0x00C
//! ```
//!
//! An empty line goes before each switch. Ports are the bits of the table: those towards other
//! switches of the tree and those of members; 0 is the switch itself as a member. Groups that share
//! an MLID share a line. Source: OpenSM `osm_dump.c`.

use std::io::{self, Write};

use sa_text::{Position, lines};
use sa_wire::{Guid, Mlid};

use super::{end_of_line, guid};
use crate::error::ParseError;
use crate::text::{Cursor, decode, in_range};

/// The table of a switch.
///
/// Plain: whether the ports exist, and whether the switch does, is judged where it is laid on a
/// fabric (`crate::multicast`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SwitchMft {
    /// Where it was read; of no meaning to the writer.
    pub at: Position,
    /// Node GUID.
    pub guid: Guid,
    /// Groups, ascending.
    pub groups: Vec<GroupPorts>,
}

/// The ports by which a group leaves a switch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupPorts {
    /// Where it was read; of no meaning to the writer.
    pub at: Position,
    /// The group, or all groups that share the MLID.
    pub mlid: Mlid,
    /// Ascending.
    pub ports: Vec<u8>,
}

/// Writes the file. Errors: those of `out`.
///
/// Groups without ports get no line, as in OpenSM's file.
pub fn write<'a>(
    out: &mut impl Write,
    switches: impl IntoIterator<Item = &'a SwitchMft>,
) -> io::Result<()> {
    for switch in switches {
        let mut groups = switch
            .groups
            .iter()
            .filter(|group| !group.ports.is_empty())
            .peekable();
        // The heading waits for the first group, or switches without any would have one.
        if groups.peek().is_some() {
            writeln!(out, "\nSwitch {}\nLID    : Out Port(s)", switch.guid)?;
        }
        for group in groups {
            write!(out, "0x{:04X} :", group.mlid.get())?;
            for port in &group.ports {
                write!(out, " 0x{port:03X} ")?;
            }
            writeln!(out)?;
        }
    }
    Ok(())
}

/// Reads the file; an empty one has no switches. Errors: the first line that is not understood.
pub fn read(bytes: &[u8]) -> Result<Vec<SwitchMft>, ParseError> {
    let text = decode(bytes, &mut Vec::new());
    let mut switches: Vec<SwitchMft> = Vec::new();
    for line in lines(&text) {
        let mut cursor = Cursor::new(line);
        let at = cursor.at();
        if cursor.accept("Switch ") {
            let guid = guid(&mut cursor)?;
            end_of_line(&mut cursor)?;
            switches.push(SwitchMft {
                at,
                guid,
                groups: Vec::new(),
            });
        } else if cursor.accept("LID ") || line.text.trim().is_empty() {
            continue;
        } else if let Some(switch) = switches.last_mut() {
            switch.groups.push(group(cursor)?);
        } else {
            return Err(cursor.expected("a heading \"Switch 0x..\""));
        }
    }
    Ok(switches)
}

/// `0xC000 : 0x001  0x00C`. The largest MLID is 0xfffe: 0xffff is the permissive LID.
fn group(mut cursor: Cursor<'_>) -> Result<GroupPorts, ParseError> {
    let (at, raw) = hex(&mut cursor, "a multicast LID")?;
    let (least, most) = (Mlid::MIN.get().into(), 0xfffe);
    let raw: u16 = in_range(at, "a multicast LID", raw, least..=most)?;
    let mlid = Mlid::new(raw).map_err(|_| cursor.expected("a multicast LID"))?;
    cursor.skip_blanks();
    cursor.expect(":")?;
    cursor.skip_blanks();
    let mut ports = Vec::new();
    while !cursor.rest().is_empty() {
        let (at_port, port) = hex(&mut cursor, "a port number")?;
        ports.push(in_range(at_port, "a port number", port, 0..=254)?);
        cursor.skip_blanks();
    }
    Ok(GroupPorts { at, mlid, ports })
}

fn hex(cursor: &mut Cursor<'_>, what: &'static str) -> Result<(Position, u64), ParseError> {
    let at = cursor.at();
    cursor.expect("0x")?;
    Ok((at, cursor.hex(what)?))
}
