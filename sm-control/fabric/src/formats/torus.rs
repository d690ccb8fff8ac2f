//! `opensm-torus.dump`: which switch lies where in the torus.
//!
//! `switch 0,1,2 GUID 0x20000f (description)`, x varying fastest, then y, then z.
//!
//! It shows people where torus-2QoS sees each switch, and tests compare placements with OpenSM's by
//! it. GUIDs are printed with at least four digits and not padded to 16, unlike in all other dumps.
//! Source: OpenSM `osm_torus.c`.

use std::io::{self, Write};

use sa_text::lines;
use sa_wire::Guid;

use super::{guid, printed};
use crate::error::ParseError;
use crate::text::{Cursor, decode, in_range};

/// A switch with a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placed {
    /// x, y, z, from 0. Sixteen bits, because OpenSM prints an int; the largest axis of torus-2QoS
    /// is below 256.
    pub coordinate: [u16; 3],
    /// Node GUID.
    pub guid: Guid,
    /// NodeDescription.
    pub description: String,
}

/// Writes the file. Shape: `switches` with x fastest, z slowest. Errors: those of `out`.
///
/// The order is the caller's to keep: the file has no other.
pub fn write<'a>(
    out: &mut impl Write,
    switches: impl IntoIterator<Item = ([u16; 3], Guid, &'a str)>,
) -> io::Result<()> {
    for ([x, y, z], guid, description) in switches {
        let description = printed(description);
        writeln!(
            out,
            "switch {x},{y},{z} GUID 0x{:04x} ({description})",
            guid.get()
        )?;
    }
    Ok(())
}

/// Reads the file. Errors: the first line that is not as above.
pub fn read(bytes: &[u8]) -> Result<Vec<Placed>, ParseError> {
    let text = decode(bytes, &mut Vec::new());
    let meaningful = lines(&text).filter(|line| !line.text.trim().is_empty());
    meaningful.map(|line| placed(Cursor::new(line))).collect()
}

fn placed(mut cursor: Cursor<'_>) -> Result<Placed, ParseError> {
    cursor.expect("switch ")?;
    let x = number(&mut cursor)?;
    cursor.expect(",")?;
    let y = number(&mut cursor)?;
    cursor.expect(",")?;
    let z = number(&mut cursor)?;
    cursor.expect(" GUID ")?;
    let guid = guid(&mut cursor)?;
    cursor.expect(" (")?;
    let description = cursor
        .rest()
        .strip_suffix(')')
        .ok_or_else(|| cursor.expected("a description closed by )"))?;
    Ok(Placed {
        coordinate: [x, y, z],
        guid,
        description: description.to_owned(),
    })
}

fn number(cursor: &mut Cursor<'_>) -> Result<u16, ParseError> {
    let at = cursor.at();
    let number = cursor.decimal("a coordinate")?;
    in_range(at, "a coordinate", number, 0..=u16::MAX.into())
}
