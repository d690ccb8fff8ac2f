//! The SL of every path, as ibdmchk reads it (option `-c`).
//!
//! `0x0000000000100000 31 0`: *node* GUID of the source, destination LID, SL; `E300` for the SL
//! where the SA answers with a status instead.
//!
//! ```text
//! 0x0000000000100000 31 0
//! 0x0000000000100000 32 E300
//! ```
//!
//! Pairs of CA ports only, each in both directions, so its size goes with the square of the hosts:
//! 1,000 hosts have 27 MB. Its use is a second opinion on credit loops: ibdmchk walks each path on
//! its SL, and gives no verdict where a pair of CA ports is missing.

use std::io::{self, Write};

use sa_text::lines;
use sa_wire::{Guid, Lid, Sl};

use super::{end_of_line, guid};
use crate::error::ParseError;
use crate::text::{Cursor, decode, in_range};

/// One path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// Node GUID of the source: ibdmchk knows sources by node and destinations by LID.
    pub source: Guid,
    /// Destination, its base LID.
    pub dlid: Lid,
    /// The SL, or the status of the SA's answer.
    pub sl: Result<Sl, u16>,
}

/// Writes the file. Errors: those of `out`.
///
/// One line as it comes, nothing is kept: entries may be made on the way.
pub fn write(out: &mut impl Write, entries: impl IntoIterator<Item = Entry>) -> io::Result<()> {
    for Entry { source, dlid, sl } in entries {
        match sl {
            Ok(sl) => writeln!(out, "{source} {dlid} {sl}")?,
            Err(status) => writeln!(out, "{source} {dlid} E{status:x}")?,
        }
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

/// `GUID LID SL`, or `GUID LID Estatus`. LIDs in decimal, as OpenSM prints them; statuses in
/// hexadecimal.
fn entry(mut cursor: Cursor<'_>) -> Result<Entry, ParseError> {
    cursor.skip_blanks();
    let source = guid(&mut cursor)?;
    cursor.skip_blanks();
    let at = cursor.at();
    let dlid = cursor.decimal("a destination LID")?;
    let dlid: u16 = in_range(at, "a destination LID", dlid, 1..=Lid::MAX.get().into())?;
    let dlid = Lid::new(dlid).map_err(|_| cursor.expected("a destination LID"))?;
    cursor.skip_blanks();
    let at = cursor.at();
    let sl = if cursor.accept("E") {
        let status = cursor.hex("a status in hexadecimal")?;
        Err(in_range(at, "a status", status, 0..=0xffff)?)
    } else {
        let sl = cursor.decimal("an SL, or E and a status")?;
        Ok(Sl::from_low_bits(in_range(at, "an SL", sl, 0..=15)?))
    };
    end_of_line(&mut cursor)?;
    Ok(Entry { source, dlid, sl })
}
