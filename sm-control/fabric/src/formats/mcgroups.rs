//! Multicast groups and who is in them.
//!
//! `0xc001 ff15c0deffff00000000000000000101 sl=8 0x0000000000100221 ..`: MLID, MGID, SL, and the
//! *port* GUIDs of members (of a switch its node GUID, which stands for its port 0). Blank lines
//! and lines that begin with `#` are skipped.
//!
//! The file of `sapphire route --groups`: written by hand or by a script, to see which multicast
//! tables the engine would make. A group that nobody joined has no members behind
//! its SL and still counts, for its SL.

use std::collections::HashMap;

use sa_text::{Position, lines};
use sa_wire::{Gid, Guid, Mlid, Sl};

use super::{blank, guid};
use crate::error::{Found, ParseError, Problem};
use crate::text::{Cursor, decode, in_range};

/// A group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// Its line.
    pub at: Position,
    /// Where its packets go. Several groups may share one, when MLIDs run out or by configuration.
    pub mlid: Mlid,
    /// No two groups have the same.
    pub mgid: Gid,
    /// Its SL. Packets carry it as it is: no engine changes it, unlike that of unicast.
    pub sl: Sl,
    /// Port GUIDs, as they stand there; whether the fabric has them is not asked here.
    pub members: Vec<Guid>,
}

impl Group {
    /// The MGID as the file has it: 32 hexadecimal digits.
    pub fn mgid_digits(&self) -> String {
        format!("{:032x}", u128::from_be_bytes(self.mgid.0))
    }
}

/// Reads the file. Errors: the first line that is not as above.
///
/// MGIDs are the names of groups, so one that comes twice is an error; MLIDs may.
pub fn read(bytes: &[u8]) -> Result<Vec<Group>, ParseError> {
    let text = decode(bytes, &mut Vec::new());
    let meaningful =
        lines(&text).filter(|line| !line.text.trim().is_empty() && !line.text.starts_with('#'));
    let mut known: HashMap<Gid, Position> = HashMap::new();
    let mut groups = Vec::new();
    for line in meaningful {
        let (group, at) = group(Cursor::new(line))?;
        if known.insert(group.mgid, at).is_some() {
            let expected = "an MGID that no earlier line has";
            let found = Found::Text(group.mgid_digits());
            return Err(ParseError::new(at, Problem::Expected { expected, found }));
        }
        groups.push(group);
    }
    Ok(groups)
}

/// A group and the place of its MGID.
fn group(mut cursor: Cursor<'_>) -> Result<(Group, Position), ParseError> {
    cursor.skip_blanks();
    let at = cursor.at();
    let mlid = mlid(&mut cursor)?;
    blank_or_end(&mut cursor)?;
    let at_mgid = cursor.at();
    let mgid = mgid(&mut cursor)?;
    blank_or_end(&mut cursor)?;
    cursor.expect("sl=")?;
    let at_sl = cursor.at();
    let sl = cursor.decimal("an SL")?;
    let sl = Sl::from_low_bits(in_range(at_sl, "an SL", sl, 0..=15)?);
    let mut members = Vec::new();
    loop {
        blank_or_end(&mut cursor)?;
        if cursor.rest().is_empty() {
            break;
        }
        members.push(guid(&mut cursor)?);
    }
    let group = Group {
        at,
        mlid,
        mgid,
        sl,
        members,
    };
    Ok((group, at_mgid))
}

/// 0xc000 to 0xfffe, always with `0x`: without it a decimal number might be meant.
fn mlid(cursor: &mut Cursor<'_>) -> Result<Mlid, ParseError> {
    const WHAT: &str = "a multicast LID, 0xc000 to 0xfffe";
    let start = *cursor;
    if !cursor.accept("0x") {
        return Err(start.expected(WHAT));
    }
    let raw = cursor.hex("a multicast LID in hexadecimal digits")?;
    let raw = u16::try_from(raw).map_err(|_| start.expected(WHAT))?;
    Mlid::new(raw).map_err(|_| start.expected(WHAT))
}

/// All 32 digits: there is one way to write it, so equal groups are equal texts.
fn mgid(cursor: &mut Cursor<'_>) -> Result<Gid, ParseError> {
    const DIGITS: usize = 32;
    let start = *cursor;
    let digits = cursor.take_while(|c| c.is_ascii_hexdigit());
    let raw = u128::from_str_radix(digits, 16).ok();
    let mgid = raw.map(|raw| Gid(raw.to_be_bytes()));
    mgid.filter(|gid| digits.len() == DIGITS && gid.is_multicast())
        .ok_or_else(|| start.expected("an MGID: 32 hexadecimal digits that begin with ff"))
}

/// Blanks, or the end of the line.
fn blank_or_end(cursor: &mut Cursor<'_>) -> Result<(), ParseError> {
    if cursor.rest().is_empty() {
        Ok(())
    } else {
        blank(cursor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MGID: &str = "ff12401bffff000000000000ffffffff";

    fn error(text: &str) -> String {
        read(text.as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn groups_are_read_with_their_members() {
        let text = format!("# of today\n\n0xc000 {MGID} sl=8 0x10 0x0000000000100001 \n");
        let groups = read(text.as_bytes()).unwrap();
        assert_eq!(groups.len(), 1);
        let group = &groups[0];
        assert_eq!(
            (group.mlid, group.sl.get(), group.at.line),
            (Mlid::MIN, 8, 3)
        );
        assert_eq!(group.mgid_digits(), MGID);
        let members: Vec<u64> = group.members.iter().map(|guid| guid.get()).collect();
        assert_eq!(members, [0x10, 0x10_0001]);
        let nobody = read(format!("0xfffe {MGID} sl=0\n").as_bytes()).unwrap();
        assert_eq!(nobody[0].members, []);
    }

    #[test]
    fn wrong_lines_are_named_with_their_place() {
        let with = |mlid: &str, rest: &str| error(&format!("{mlid} {MGID} {rest}"));
        for (said, starts) in [
            (
                with("c000", "sl=0"),
                "line 1, column 1: expected a multicast LID, 0xc000",
            ),
            (
                with("0xbfff", "sl=0"),
                "line 1, column 1: expected a multicast LID, 0xc000",
            ),
            (
                with("0xffff", "sl=0"),
                "line 1, column 1: expected a multicast LID, 0xc000",
            ),
            (
                with("0xc000x", "sl=0"),
                "line 1, column 7: expected a blank",
            ),
            (with("0xc000", ""), "line 1, column 41: expected sl="),
            (
                with("0xc000", "sl=16"),
                "line 1, column 44: an SL is 0 to 15, not 16",
            ),
            (with("0xc000", "sl=x"), "line 1, column 44: expected an SL"),
            (with("0xc000", "sl=0 100"), "line 1, column 46: expected 0x"),
            (
                with("0xc000", "sl=0 0x0"),
                "line 1, column 46: expected a GUID that is not zero",
            ),
            (
                with("0xc000", "sl=0 0x1,0x2"),
                "line 1, column 49: expected a blank",
            ),
            (
                error("0xc000 ff12 sl=0"),
                "line 1, column 8: expected an MGID: 32",
            ),
            (
                error(&format!("0xc000 {} sl=0", "f".repeat(33))),
                "line 1, column 8: expected an MGID",
            ),
            (
                error(&format!("0xc000 {} sl=0", "e".repeat(32))),
                "line 1, column 8: expected an MGID",
            ),
            (
                error(&format!("0xc000 {MGID} sl=0\n0xc001 {MGID} sl=0\n")),
                "line 2, column 8: expected an MGID that no earlier line has, found \"ff12",
            ),
        ] {
            assert!(said.starts_with(starts), "{said}");
        }
    }
}
