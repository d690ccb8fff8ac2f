//! `opensm.mcfdbs`: the multicast forwarding tables. Switches without an entry are left out; the
//! file is empty when there is no member anywhere.

use std::io::{self, Write};

use sa_wire::{Guid, Mlid};

use super::{end_of_line, guid};
use crate::fabric::error::{ParseError, Position};
use crate::fabric::text::{Cursor, decode, in_range, lines};

/// The table of a switch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SwitchMft {
    /// Node GUID.
    pub guid: Guid,
    /// Groups, ascending, and the ports that each leaves through, ascending.
    pub groups: Vec<(Mlid, Vec<u8>)>,
}

/// Writes the file. Errors: those of `out`.
pub fn write<'a>(
    out: &mut impl Write,
    switches: impl IntoIterator<Item = &'a SwitchMft>,
) -> io::Result<()> {
    for switch in switches {
        let mut groups = switch
            .groups
            .iter()
            .filter(|(_, ports)| !ports.is_empty())
            .peekable();
        if groups.peek().is_some() {
            writeln!(out, "\nSwitch {}\nLID    : Out Port(s)", switch.guid)?;
        }
        for (mlid, ports) in groups {
            write!(out, "0x{:04X} :", mlid.get())?;
            for port in ports {
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
        let mut cursor = line.cursor();
        if cursor.accept("Switch ") {
            let guid = guid(&mut cursor)?;
            end_of_line(&mut cursor)?;
            switches.push(SwitchMft {
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

fn group(mut cursor: Cursor<'_>) -> Result<(Mlid, Vec<u8>), ParseError> {
    let (at, raw) = hex(&mut cursor, "a multicast LID")?;
    let (least, most) = (Mlid::MIN.get().into(), 0xfffe);
    let raw: u16 = in_range(at, "a multicast LID", raw, least..=most)?;
    let mlid = Mlid::new(raw).map_err(|_| cursor.expected("a multicast LID"))?;
    cursor.skip_blanks();
    cursor.expect(":")?;
    cursor.skip_blanks();
    let mut ports = Vec::new();
    while !cursor.rest().is_empty() {
        let (at, port) = hex(&mut cursor, "a port number")?;
        ports.push(in_range(at, "a port number", port, 0..=254)?);
        cursor.skip_blanks();
    }
    Ok((mlid, ports))
}

fn hex(cursor: &mut Cursor<'_>, what: &'static str) -> Result<(Position, u64), ParseError> {
    let at = cursor.at();
    cursor.expect("0x")?;
    Ok((at, cursor.hex(what)?))
}
