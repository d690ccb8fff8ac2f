//! The SL to VL tables as ibdmchk reads them (option `-d`).
//!
//! `0x0000000000200000 0 1 0x01 0x23 ..`: switch GUID, input port, output port, then eight bytes,
//! each with the VL of an even SL in its high half and that of the next SL in its low half.
//!
//! ```text
//! 0x0000000000200000 1 2 0x01 0x23 0x45 0x67 0x01 0x23 0x45 0x67
//!                    in out  SL 0,1 ..                    SL 14,15
//! ```
//!
//! These are the eight bytes of the SLtoVLMappingTable attribute, so the text is what the switch
//! holds. `opensm-sl2vl.dump` has the same in columns and CA ports as well.

use std::io::{self, Write};

use sa_text::lines;
use sa_wire::{Guid, SlToVl};

use super::{end_of_line, guid};
use crate::error::ParseError;
use crate::text::{Cursor, decode, in_range};

/// One table of a switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// Node GUID of the switch.
    pub guid: Guid,
    /// Input port.
    pub input: u8,
    /// Output port.
    pub output: u8,
    /// VL by SL; 15 drops.
    pub table: SlToVl,
}

/// Writes the file. Errors: those of `out`.
pub fn write(out: &mut impl Write, entries: impl IntoIterator<Item = Entry>) -> io::Result<()> {
    for Entry {
        guid,
        input,
        output,
        table,
    } in entries
    {
        write!(out, "{guid} {input} {output}")?;
        for pair in table.0.chunks_exact(2) {
            if let [even, odd] = pair {
                write!(out, " 0x{even:x}{odd:x}")?;
            }
        }
        writeln!(out)?;
    }
    Ok(())
}

/// Reads the file. Errors: the first line that is not as above.
pub fn read(bytes: &[u8]) -> Result<Vec<Entry>, ParseError> {
    let text = decode(bytes, &mut Vec::new());
    let meaningful =
        lines(&text).filter(|line| !line.text.trim().is_empty() && !line.text.starts_with('#'));
    meaningful.map(|line| entry(Cursor::new(line))).collect()
}

/// A line of ibdmchk's, of which every number counts: there is no heading to tell a cut file by.
fn entry(mut cursor: Cursor<'_>) -> Result<Entry, ParseError> {
    cursor.skip_blanks();
    let guid = guid(&mut cursor)?;
    let input = port(&mut cursor)?;
    let output = port(&mut cursor)?;
    let mut table = SlToVl([0; 16]);
    for pair in table.0.chunks_exact_mut(2) {
        cursor.skip_blanks();
        cursor.expect("0x")?;
        let at = cursor.at();
        let byte = cursor.hex("eight bytes of VLs")?;
        let byte: u8 = in_range(at, "a byte of two VLs", byte, 0..=255)?;
        pair.copy_from_slice(&[byte >> 4, byte & 15]);
    }
    end_of_line(&mut cursor)?;
    Ok(Entry {
        guid,
        input,
        output,
        table,
    })
}

fn port(cursor: &mut Cursor<'_>) -> Result<u8, ParseError> {
    cursor.skip_blanks();
    let at = cursor.at();
    let number = cursor.decimal("a port number")?;
    in_range(at, "a port number", number, 0..=254)
}
