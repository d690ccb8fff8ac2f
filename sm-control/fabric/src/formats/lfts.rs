//! `opensm-lfts.dump`, which is also what the option `lfts_file` of OpenSM takes: the linear
//! forwarding table of every switch.
//!
//! ```text
//! Unicast lids [0-90] of switch Lid 2 guid 0x0000000000200000 ('S0_0_0'):
//! 0x0001 007 # Channel Adapter portguid 0x0000000000100001: 'H0_0_0_0'
//! 90 lids dumped
//! ```
//! LIDs without a port are left out.
//!
//! A switch whose heading is there and whose table is empty has no routes; a switch without a
//! heading is not in the file. When OpenSM reads the file for its engine `file` it moves LIDs: the
//! port GUID in the comment says who had the LID when it was written, and where that port's LIDs
//! are now the entry goes ([`SwitchLft::table_for`]). Source: OpenSM `osm_ucast_file.c`,
//! `osm_dump.c`.

use std::io::{self, Write};

use sa_text::{Line, Position, lines};
use sa_wire::{Guid, Lid, Lmc, NodeType};

use super::{blank, cut_off, guid, printed, type_name};
use crate::error::{ParseError, Problem};
use crate::text::{Cursor, decode, in_range};

/// A switch, as its heading tells it.
///
/// What a writer needs; a reader gets a [`SwitchLft`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Heading<'a> {
    /// LID of port 0.
    pub lid: Lid,
    /// Node GUID.
    pub guid: Guid,
    /// NodeDescription.
    pub description: &'a str,
    /// How many ports it has; larger entries are no route.
    pub ports: u8,
}

/// Who has a LID.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Owner<'a> {
    /// What the node is.
    pub node_type: NodeType,
    /// Port GUID.
    pub guid: Guid,
    /// NodeDescription.
    pub description: &'a str,
}

/// Writes the file. Shape: `entry` gets the place of a switch in `switches` and a LID of 0 to
/// `max_lid`, and gives a port number or 255. Errors: those of `out`.
pub fn write<'a>(
    out: &mut impl Write,
    switches: impl IntoIterator<Item = Heading<'a>>,
    max_lid: u16,
    owner: impl Fn(u16) -> Option<Owner<'a>>,
    entry: impl Fn(usize, u16) -> u8,
) -> io::Result<()> {
    // The same text for every switch.
    let comments: Vec<String> = (0..=max_lid).map(|lid| comment(owner(lid))).collect();
    for (index, switch) in switches.into_iter().enumerate() {
        let (lid, guid, description) = (switch.lid, switch.guid, printed(switch.description));
        writeln!(
            out,
            "Unicast lids [0-{max_lid}] of switch Lid {lid} guid {guid} ('{description}'):"
        )?;
        for (lid, comment) in (0..=max_lid).zip(&comments) {
            let port = entry(index, lid);
            // As OpenSM: an entry of 255, or of a port that is not there, has no line.
            if port <= switch.ports {
                writeln!(out, "0x{lid:04x} {port:03} # {comment}")?;
            }
        }
        writeln!(out, "{max_lid} lids dumped")?;
    }
    Ok(())
}

/// Behind `#`: node type, port GUID, description; "unknown node and type" for a LID of nobody.
fn comment(owner: Option<Owner<'_>>) -> String {
    match owner {
        None => "unknown node and type".to_owned(),
        Some(Owner {
            node_type,
            guid,
            description,
        }) => {
            format!(
                "{} portguid {guid}: '{}'",
                type_name(node_type),
                printed(description)
            )
        }
    }
}

/// The forwarding table of a switch as read.
///
/// Routes as written, by LIDs of that time; [`Self::table`] makes an array of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SwitchLft {
    /// Where its heading stands.
    pub at: Position,
    /// Node GUID.
    pub guid: Guid,
    /// LID of port 0, where the heading tells it.
    pub lid: Option<Lid>,
    /// The largest LID in the table, where the heading tells it. It may be less than the fabric's
    /// by now.
    pub max_lid: Option<u16>,
    /// Routes in the order of the file.
    pub routes: Vec<Route>,
}

/// One line of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Route {
    /// Destination.
    pub lid: u16,
    /// Port it leaves through.
    pub port: u8,
    /// Port GUID of the destination, where the line tells it: in a comment, which hand-written
    /// files lack.
    pub owner: Option<Guid>,
}

impl SwitchLft {
    /// The table with every LID as it was when the file was written.
    /// Shape: index = LID, 0 to `max_lid`; 255 for no route.
    pub fn table(&self, max_lid: u16) -> Vec<u8> {
        self.table_for(max_lid, |_| None)
    }

    /// The table with LIDs moved to where their owners are now, as OpenSM does with `lfts_file`.
    /// Shape: `lids_of` gives a port's base LID and LMC; the rest as [`Self::table`].
    /// Source: OpenSM `osm_ucast_file.c`, `remap_lid`.
    ///
    /// A later line for the same LID wins, as in OpenSM.
    pub fn table_for(&self, max_lid: u16, lids_of: impl Fn(Guid) -> Option<(Lid, Lmc)>) -> Vec<u8> {
        let mut table = vec![255; usize::from(max_lid) + 1];
        for route in &self.routes {
            let moved = route
                .owner
                .and_then(&lids_of)
                .map(|range| remap(route.lid, range));
            // A LID beyond the fabric's last is nobody's now.
            if let Some(slot) = table.get_mut(usize::from(moved.unwrap_or(route.lid))) {
                *slot = route.port;
            }
        }
        table
    }
}

/// The LID of the same port at the same place of its range. A LID that lies in the range already
/// stays; else its low bits, which say which of the 2^LMC LIDs it was, are kept.
const fn remap(lid: u16, (base, lmc): (Lid, Lmc)) -> u16 {
    let (base, count) = (base.get(), lmc.lids());
    if lid >= base && lid - base < count {
        lid
    } else {
        base + (lid & (count - 1))
    }
}

/// Reads the file; lines that OpenSM passes over are passed over, but a file whose last table
/// lacks the closing line that others have is cut off. Errors: the first line not understood.
///
/// OpenSM stops at no line that it does not know, so comments and headings of other dumps may stand
/// between. A dump of multicast tables is named as such, because its files look alike and an empty
/// result would not.
pub fn read(bytes: &[u8]) -> Result<Vec<SwitchLft>, ParseError> {
    let text = decode(bytes, &mut Vec::new());
    let mut switches: Vec<SwitchLft> = Vec::new();
    let mut closed = 0;
    let mut end = Position { line: 1, column: 1 };
    for line in lines(&text) {
        let mut cursor = Cursor::new(line);
        cursor.skip_blanks();
        end = line.at(line.text.len());
        if cursor.rest().starts_with("Unicast lids") {
            switches.push(heading(line)?);
        } else if cursor.rest().starts_with("0x") {
            let known = switches.last_mut();
            let switch = known.ok_or_else(|| cursor.expected("a heading \"Unicast lids\""))?;
            switch.routes.push(route(cursor)?);
        } else if cursor.rest().ends_with("lids dumped") {
            closed += 1;
        } else if cursor.rest().starts_with("Multicast mlids") {
            let what = "a dump of multicast tables";
            let remedy = "give the one of unicast tables";
            return Err(ParseError::new(
                cursor.at(),
                Problem::Unsupported { what, remedy },
            ));
        }
    }
    if switches.is_empty() {
        return Err(ParseError::new(end, Problem::Empty));
    }
    // Hand-written tables have no closing lines at all; a dump has one for each.
    if closed > 0 && closed != switches.len() {
        return Err(cut_off(end, "a line \"lids dumped\" after each table"));
    }
    Ok(switches)
}

/// `Unicast lids [0-90] of switch Lid 2 guid 0x.. ('name'):`. OpenSM looks for the GUID only, and
/// hand-written files have nothing else.
fn heading(line: Line<'_>) -> Result<SwitchLft, ParseError> {
    let at = line.at(0);
    let mut cursor = Cursor::new(line);
    let lid = labelled(cursor, " Lid ", Lid::MAX.get())?;
    let max_lid = labelled(cursor, "[0-", u16::MAX)?;
    if cursor.take_until(" guid ").is_none() {
        return Err(cursor.expected("the switch's \" guid 0x..\""));
    }
    let guid = guid(&mut cursor)?;
    let lid = lid.and_then(|lid| Lid::new(lid).ok());
    Ok(SwitchLft {
        at,
        guid,
        lid,
        max_lid,
        routes: Vec::new(),
    })
}

/// The number behind a label, if the label is there.
fn labelled(mut cursor: Cursor<'_>, label: &str, most: u16) -> Result<Option<u16>, ParseError> {
    if cursor.take_until(label).is_none() {
        return Ok(None);
    }
    let at = cursor.at();
    let number = cursor.decimal("a LID")?;
    in_range(at, "a LID", number, 0..=most.into()).map(Some)
}

/// `0x0004 003 # ..`: LID in hexadecimal, port in decimal.
fn route(mut cursor: Cursor<'_>) -> Result<Route, ParseError> {
    cursor.expect("0x")?;
    let at = cursor.at();
    let lid = cursor.hex("a LID in hexadecimal")?;
    let lid = in_range(at, "a LID", lid, 0..=Lid::MAX.get().into())?;
    blank(&mut cursor)?;
    let at = cursor.at();
    let port = cursor.decimal("a port number")?;
    let port = in_range(at, "a port number", port, 0..=254)?;
    // OpenSM wants a blank here too; the end of the line is one to it.
    if !cursor.rest().is_empty() {
        blank(&mut cursor)?;
    }
    let owner = match cursor.take_until("portguid ") {
        Some(_) => guid(&mut cursor).ok(),
        None => None,
    };
    Ok(Route { lid, port, owner })
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "\
# by hand
Unicast lids of switch guid 0x200010 (x)
  0x0004 003
0x5 1 # Switch portguid 0x77: 'y'
";

    #[test]
    fn hand_written_tables_are_read() {
        let [switch] = read(FILE.as_bytes()).unwrap().try_into().unwrap();
        assert_eq!(
            (switch.guid.get(), switch.lid, switch.max_lid),
            (0x200010, None, None)
        );
        assert_eq!(switch.table(6), [255, 255, 255, 255, 3, 1, 255]);
        let moved = switch.table_for(9, |guid| {
            (guid.get() == 0x77).then(|| (Lid::new(8).unwrap(), Lmc::new(1).unwrap()))
        });
        assert_eq!(moved, [255, 255, 255, 255, 3, 255, 255, 255, 255, 1]);
    }

    #[test]
    fn damage_has_a_place() {
        let place = |text: &str| read(text.as_bytes()).unwrap_err().at;
        assert_eq!(place(""), Position { line: 1, column: 1 });
        assert_eq!(place("0x0001 1"), Position { line: 1, column: 1 });
        assert_eq!(
            place(&FILE.replace(" 003", "003")),
            Position {
                line: 3,
                column: 12
            }
        );
        assert_eq!(
            place(&FILE.replace("003", "300")),
            Position {
                line: 3,
                column: 10
            }
        );
        assert_eq!(
            place(&FILE.replace(" guid", " gid")),
            Position { line: 2, column: 1 }
        );
        let closed = format!("{FILE}6 lids dumped\n");
        assert!(read(closed.as_bytes()).is_ok());
        let cut = format!("{closed}{FILE}");
        assert!(read(cut.as_bytes()).is_err());
    }
}
