//! Alias GUIDs from a file that OpenSM keeps: `opensm-sa.dump`.
//!
//! Lines that begin with `GUIDInfo Record:` are blocks of eight GUIDs of a port; all others are
//! passed over. The first place of block 0 is the port's own GUID, and 0 is none. Where OpenSM
//! stops reading with a message, this is an error. How many GUIDs a port has room for is not
//! asked: whoever wrote the file knew. Source: OpenSM `osm_sa.c` (`osm_sa_db_file_load`).
//!
//! ```text
//! GUIDInfo Record: base_guid=0x0000000000100001 lid=0x0003 block_num=0x0 guid0=0x.. .. guid7=0x..
//! ```
//!
//! Aliases belong to ports by GUID; the LID in the line is not looked at, as it may have changed
//! since. A port that is away leaves its aliases out, with a remark.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use sa_fabric::intake::Kind;
use sa_fabric::mistaken::FileKind;
use sa_fabric::text::Cursor;
use sa_fabric::{ParseError, Subnet};
use sa_text::{Position, Remark, lines};
use sa_wire::Guid;

use super::ReadProblem;
use super::reader::{Reader, or_mistaken};
use crate::pipeline::Inputs;

/// The alias GUIDs of ports, each with the GUID of its port: from the file, else as an SA told.
/// Errors: the file cannot be read or parsed; an alias that cannot be one.
///
/// The file goes before what the SA told: it is named by hand.
pub(super) fn read(
    reader: &mut Reader,
    inputs: &Inputs,
    subnet: &Subnet,
) -> Result<Vec<(Guid, Guid)>, ReadProblem> {
    let Some(path) = &inputs.aliases else {
        let from_sa = inputs.from_sa.as_ref();
        return Ok(from_sa.map_or_else(Vec::new, |from_sa| from_sa.aliases()));
    };
    let text = reader.text(Kind::Fabric, "aliases", path)?;
    let given = parse(&text).map_err(|error| {
        let problem = ReadProblem::parse(path, error);
        or_mistaken(path, &text, FileKind::Aliases, problem)
    })?;
    of_ports(path, &given, subnet, &mut reader.remarks)
}

/// An alias as it is written.
///
/// Kept with both places, since either of the two GUIDs may be what is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Given {
    /// Where the port's GUID stands.
    base_at: Position,
    /// Port GUID as written; it may be no port's, or 0.
    base: u64,
    /// Where the alias stands.
    at: Position,
    alias: Guid,
}

/// Reads the file. Errors: the first field that is not there, or not a number.
fn parse(text: &str) -> Result<Vec<Given>, ParseError> {
    let mut all = Vec::new();
    for line in lines(text) {
        let mut cursor = Cursor::new(line);
        cursor.skip_blanks();
        if cursor.accept("GUIDInfo Record:") {
            block(cursor, &mut all)?;
        }
    }
    Ok(all)
}

/// The eight GUIDs of a line. Errors: as [`parse`].
fn block(mut cursor: Cursor<'_>, all: &mut Vec<Given>) -> Result<(), ParseError> {
    let (base_at, base) = field(&mut cursor, " base_guid=0x", "base_guid=0x and a port GUID")?;
    field(&mut cursor, " lid=0x", "lid=0x and a number")?;
    let (at, block) = field(&mut cursor, " block_num=0x", "block_num=0x and a number")?;
    if block > u64::from(u8::MAX) {
        return Err(at.expected("a block below 0x100"));
    }
    for (place, (name, what)) in GUIDS.iter().enumerate() {
        let (at, guid) = field(&mut cursor, name, what)?;
        let is_own = block == 0 && place == 0;
        // 0 is a free place.
        if let (Ok(alias), false) = (Guid::new(guid), is_own) {
            all.push(Given {
                base_at: base_at.at(),
                base,
                at: at.at(),
                alias,
            });
        }
    }
    Ok(())
}

/// The number behind a name, and a cursor where it begins. What comes before the name is passed
/// over.
fn field<'a>(
    cursor: &mut Cursor<'a>,
    name: &str,
    what: &'static str,
) -> Result<(Cursor<'a>, u64), ParseError> {
    if cursor.take_until(name).is_none() {
        return Err(cursor.expected(what));
    }
    let start = *cursor;
    let value = cursor.hex(what)?;
    match cursor.rest().chars().next() {
        Some(next) if !next.is_whitespace() => Err(cursor.expected("a blank behind the number")),
        _ => Ok((start, value)),
    }
}

/// The aliases of the fabric's ports, each with the port's GUID, and what an operator should know
/// of the others. Errors: an alias given twice, or the GUID of a port.
///
/// The order of the file, which is that of answers with aliases only as far as GUIDs allow.
fn of_ports(
    path: &Path,
    given: &[Given],
    subnet: &Subnet,
    remarks: &mut Vec<Remark>,
) -> Result<Vec<(Guid, Guid)>, ReadProblem> {
    let mut seen: BTreeMap<Guid, Position> = BTreeMap::new();
    let mut unknown = BTreeSet::new();
    let mut aliases = Vec::new();
    for Given {
        base_at,
        base,
        at,
        alias,
    } in given
    {
        let known = Guid::new(*base).ok();
        let Some(base) = known.filter(|base| subnet.by_guid(*base).is_some()) else {
            // Once for a port, however many aliases it has.
            if unknown.insert(*base) {
                let text = format!(
                    "0x{base:016x} is not a port of the fabric; its alias GUIDs are left out"
                );
                remarks.push(Remark::warning("alias-of-unknown", text).at(path, *base_at));
            }
            continue;
        };
        // Two ports of one GUID: requests by it could mean either.
        if subnet.by_guid(*alias).is_some() {
            return Err(ReadProblem::AliasIsPort {
                path: path.to_owned(),
                at: *at,
                alias: *alias,
                port: base,
            });
        }
        if let Some(first) = seen.insert(*alias, *at) {
            return Err(ReadProblem::AliasTwice {
                path: path.to_owned(),
                at: *at,
                alias: *alias,
                first,
            });
        }
        aliases.push((*alias, base));
    }
    Ok(aliases)
}

/// Names of the places, and what is expected there.
const GUIDS: [(&str, &str); 8] = [
    (" guid0=0x", "guid0=0x and a GUID"),
    (" guid1=0x", "guid1=0x and a GUID"),
    (" guid2=0x", "guid2=0x and a GUID"),
    (" guid3=0x", "guid3=0x and a GUID"),
    (" guid4=0x", "guid4=0x and a GUID"),
    (" guid5=0x", "guid5=0x and a GUID"),
    (" guid6=0x", "guid6=0x and a GUID"),
    (" guid7=0x", "guid7=0x and a GUID"),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn line(base: u64, block: u8, guids: [u64; 8]) -> String {
        let guids: String = (0..)
            .zip(guids)
            .map(|(place, guid)| format!(" guid{place}=0x{guid:016x}"))
            .collect();
        format!(
            "GUIDInfo Record: base_guid=0x{base:016x} lid=0x0003 block_num=0x{block:x}{guids}\n\n"
        )
    }

    #[test]
    fn blocks_hold_aliases_and_the_port_itself() {
        let text = format!(
            "MC Group 0xc000 {{ 0 }}\n{}Service Record: id=0x1\n{}",
            line(0x10, 0, [0x10, 0x11, 0, 0x12, 0, 0, 0, 0]),
            line(0x10, 1, [0x13, 0, 0, 0, 0, 0, 0, 0x14]),
        );
        let given = parse(&text).unwrap();
        let shown: Vec<_> = given
            .iter()
            .map(|given| (given.at.line, given.base, given.alias.get()))
            .collect();
        assert_eq!(
            shown,
            [
                (2, 0x10, 0x11),
                (2, 0x10, 0x12),
                (5, 0x10, 0x13),
                (5, 0x10, 0x14)
            ]
        );
        assert_eq!(given[0].base_at.column, 30);
    }

    #[test]
    fn wrong_fields_are_named_with_their_place() {
        let good = line(0x10, 0, [0x10, 0x11, 0, 0, 0, 0, 0, 0]);
        for (from, to, starts) in [
            (" base_guid", " base", "line 1, column 17: expected base_gu"),
            (
                "num=0x0",
                "num=0x100",
                "line 1, column 70: expected a block",
            ),
            (
                "guid1=0x0",
                "guid1=0xg",
                "line 1, column 105: expected guid1",
            ),
            ("0011 ", "0011, ", "line 1, column 121: expected a blank"),
            (" guid7=", " guid8=", "line 1, column 246: expected guid7"),
        ] {
            let bad = good.replacen(from, to, 1);
            let said = parse(&bad).unwrap_err().to_string();
            assert!(said.starts_with(starts), "{from}: {said}\n{bad}");
        }
    }
}
