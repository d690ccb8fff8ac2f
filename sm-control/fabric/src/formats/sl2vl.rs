//! `opensm-sl2vl.dump`: the SL to VL tables of all ports.
//!
//! ```text
//! Switch 0x0000000000200000, base LID 2, "S0_0_0"
//! #in out : 0  1  2  ..
//! #----
//! 0   1   : 0  0  1  ..
//! #----
//! ```
//! A switch has a row for every input port of every cabled output port; a CA or router has one
//! row, `0 0`.
//!
//! A row of dashes opens and closes the rows of each port, so that a file that was cut is known by
//! a missing one. Written only where QoS is on, or where the engine makes SL2VL tables. Source:
//! OpenSM `osm_dump.c`.

use std::io::{self, Write};

use sa_text::{Position, lines};
use sa_wire::{Guid, Lid, NodeType, SlToVl};

use super::{accept_type, cut_off, end_of_line, guid, printed, type_name};
use crate::error::{ParseError, Problem};
use crate::text::{Cursor, decode, in_range};

/// The heading of columns, as OpenSM writes it.
const COLUMNS: &str = "#in out : 0  1  2  3  4  5  6  7  8  9  10 11 12 13 14 15";
/// As many dashes as OpenSM has; readers take any number.
const RULE: &str = "#--------------------------------------------------------";

/// A port GUID with its tables: all those of a switch, or the one of a CA or router port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section<'a> {
    /// What the node is.
    pub node_type: NodeType,
    /// Port GUID.
    pub guid: Guid,
    /// Base LID.
    pub lid: Lid,
    /// NodeDescription.
    pub description: &'a str,
    /// How many ports the switch has, port 0 not counted; ignored on other nodes.
    pub ports: u8,
    /// Output ports of a switch that have a cable, ascending; ignored on other nodes.
    pub cabled: Vec<u8>,
}

/// Writes the file. Shape: `table` gets the place of a section in `sections`, the input port and
/// the output port (0, 0 on CAs and routers). Errors: those of `out`.
pub fn write<'a>(
    out: &mut impl Write,
    sections: impl IntoIterator<Item = Section<'a>>,
    table: impl Fn(usize, u8, u8) -> SlToVl,
) -> io::Result<()> {
    for (index, section) in sections.into_iter().enumerate() {
        let Section {
            guid,
            lid,
            description,
            ..
        } = section;
        let (name, description) = (type_name(section.node_type), printed(description));
        writeln!(
            out,
            "{name} {guid}, base LID {lid}, \"{description}\"\n{COLUMNS}\n{RULE}"
        )?;
        if section.node_type == NodeType::Switch {
            for output in section.cabled {
                for input in 0..=section.ports {
                    row(out, input, output, table(index, input, output))?;
                }
            }
        } else {
            row(out, 0, 0, table(index, 0, 0))?;
        }
        writeln!(out, "{RULE}\n")?;
    }
    Ok(())
}

fn row(out: &mut impl Write, input: u8, output: u8, table: SlToVl) -> io::Result<()> {
    write!(out, "{input:<3} {output:<3} :")?;
    for vl in table.0 {
        write!(out, " {vl:<2}")?;
    }
    writeln!(out)
}

/// The tables of a port GUID as read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PortTables {
    /// Where its heading stands.
    pub at: Position,
    /// What the node is.
    pub node_type: NodeType,
    /// Port GUID.
    pub guid: Guid,
    /// Base LID.
    pub lid: Lid,
    /// NodeDescription.
    pub description: String,
    /// Rows in the order of the file: by output port, then by input port.
    pub rows: Vec<Row>,
}

/// One table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// Input port.
    pub input: u8,
    /// Output port.
    pub output: u8,
    /// VL by SL.
    pub table: SlToVl,
}

/// Reads the file. Errors: the first line that is not as above; a file that ends within a section.
///
/// Columns may be apart by any blanks: OpenSM pads VLs to two places.
pub fn read(bytes: &[u8]) -> Result<Vec<PortTables>, ParseError> {
    let text = decode(bytes, &mut Vec::new());
    let mut ports: Vec<PortTables> = Vec::new();
    let mut end = Position { line: 1, column: 1 };
    // Rules seen in the current section: one before the rows, one after them.
    let mut rules = 2;
    for line in lines(&text) {
        let mut cursor = Cursor::new(line);
        end = line.at(line.text.len());
        // Before comments in general: rows of dashes begin with `#` as well.
        if line.text.starts_with("#-") {
            rules += 1;
        } else if line.text.starts_with('#') || line.text.trim().is_empty() {
            continue;
        } else if let Some(node_type) = accept_type(&mut cursor) {
            if rules != 2 {
                return Err(Cursor::new(line).expected("a line of dashes before the next heading"));
            }
            ports.push(heading(line.at(0), node_type, cursor)?);
            rules = 0;
        } else {
            match ports.last_mut() {
                Some(port) if rules == 1 => port.rows.push(read_row(cursor)?),
                _ => return Err(cursor.expected("Switch, Channel Adapter or Router")),
            }
        }
    }
    if ports.is_empty() {
        return Err(ParseError::new(end, Problem::Empty));
    }
    if rules != 2 {
        return Err(cut_off(end, "a line of dashes after the rows"));
    }
    Ok(ports)
}

/// `Switch 0x.., base LID 2, "S0_0_0"`, from behind the node type. The description ends at the last
/// quote of the line, as it may have quotes inside.
fn heading(
    at: Position,
    node_type: NodeType,
    mut cursor: Cursor<'_>,
) -> Result<PortTables, ParseError> {
    cursor.expect(" ")?;
    let guid = guid(&mut cursor)?;
    cursor.expect(", base LID ")?;
    let lid_at = cursor.at();
    let lid = cursor.decimal("a LID")?;
    let lid: u16 = in_range(lid_at, "a LID", lid, 1..=Lid::MAX.get().into())?;
    let lid = Lid::new(lid).map_err(|_| cursor.expected("a LID"))?;
    cursor.expect(", \"")?;
    let description = cursor
        .rest()
        .strip_suffix('"')
        .ok_or_else(|| cursor.expected("a description closed by \""))?
        .to_owned();
    Ok(PortTables {
        at,
        node_type,
        guid,
        lid,
        description,
        rows: Vec::new(),
    })
}

/// `0   1   : 0  0  1 ..`: input port, output port, and all 16 VLs.
fn read_row(mut cursor: Cursor<'_>) -> Result<Row, ParseError> {
    let input = number(&mut cursor, "an input port", 254)?;
    let output = number(&mut cursor, "an output port", 254)?;
    cursor.skip_blanks();
    cursor.expect(":")?;
    let mut table = SlToVl([0; 16]);
    for vl in &mut table.0 {
        *vl = number(&mut cursor, "16 VLs", 15)?;
    }
    end_of_line(&mut cursor)?;
    Ok(Row {
        input,
        output,
        table,
    })
}

fn number(cursor: &mut Cursor<'_>, what: &'static str, most: u64) -> Result<u8, ParseError> {
    cursor.skip_blanks();
    let at = cursor.at();
    let number = cursor.decimal(what)?;
    in_range(at, what, number, 0..=most)
}
