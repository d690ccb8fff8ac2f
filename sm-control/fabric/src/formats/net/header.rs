//! The first line of a node: `Switch 36 "id" # "description" base port 0 lid 4 lmc 0`.
//!
//! `36` is the number of ports, port 0 not counted; the id in quotes is what port lines name; all
//! behind `#` is from ibnetdiscover, and ibsim takes description, "enhanced port 0", LID and LMC
//! from there. A CA has no LID in this line: it stands with its ports.

use sa_text::Position;
use sa_wire::{Lid, Lmc, NodeType};

use crate::error::{ParseError, Problem};
use crate::text::{Cursor, in_range};

/// A node's first line.
pub(super) struct Header {
    /// By its keyword: `Switch`, `Hca` or `Ca`, `Rt`.
    pub(super) kind: NodeType,
    /// 1 to 254.
    pub(super) ports: u8,
    /// For the error that the name is taken.
    pub(super) id_at: Position,
    pub(super) id: String,
    /// Not empty; cut to what a NodeDescription of ibsim holds.
    pub(super) description: Option<String>,
    /// Never on other nodes than switches.
    pub(super) enhanced_port0: bool,
    /// A switch's LID, where given and not 0.
    pub(super) lid: Option<(Position, Lid)>,
    /// A switch's, where given.
    pub(super) lmc: Option<Lmc>,
}

impl Header {
    /// Reads the line from behind its keyword. Errors: no number of ports, or none that a node can
    /// have; no name.
    pub(super) fn parse(kind: NodeType, mut cursor: Cursor<'_>) -> Result<Self, ParseError> {
        cursor.skip_blanks();
        let at = cursor.at();
        let count = cursor.c_number("the number of ports")?;
        let ports = match u8::try_from(count) {
            Ok(ports @ 1..=254) => ports,
            _ => return Err(ParseError::new(at, Problem::PortCount(count))),
        };
        cursor.skip_blanks();
        let (id_at, id) = node_id(&mut cursor)?;
        let (description, tail) = description(cursor)?;
        let is_switch = kind == NodeType::Switch;
        Ok(Self {
            kind,
            ports,
            id_at,
            id,
            description: description.filter(|text| !text.is_empty()).map(cut),
            enhanced_port0: is_switch && tail.rest().contains("enhanced port 0"),
            lid: if is_switch { known_lid(tail)? } else { None },
            lmc: if is_switch { known_lmc(tail)? } else { None },
        })
    }
}

/// The name in quotes, with its place. `#` parts a module from a name and `@` begins an alias, so
/// neither can be inside.
fn node_id(cursor: &mut Cursor<'_>) -> Result<(Position, String), ParseError> {
    cursor.expect("\"")?;
    let start = *cursor;
    let id = cursor
        .take_until("\"")
        .ok_or_else(|| start.expected("a name closed by \""))?;
    // 64 bytes are what ibsim keeps.
    let usable = !id.is_empty() && id.len() <= 64 && !id.contains(['#', '@']);
    if !usable {
        return Err(start.expected("a node name of 1 to 64 bytes without # and @"));
    }
    Ok((start.at(), id.to_owned()))
}

/// The description after `#`, and what follows it. Without quotes it ends at the first of the
/// words that ibnetdiscover writes behind it, tried in ibsim's order.
///
/// The order of the words matters: a description that contains " lid " is cut there only if none of
/// the words tried before is found, as in ibsim.
fn description(cursor: Cursor<'_>) -> Result<(Option<&str>, Cursor<'_>), ParseError> {
    let mut tail = cursor;
    if tail.take_until("#").is_none() {
        return Ok((None, cursor));
    }
    tail.skip_blanks();
    if tail.accept("\"") {
        let start = tail;
        let text = tail
            .take_until("\"")
            .ok_or_else(|| start.expected("a description closed by \""))?;
        return Ok((Some(text), tail));
    }
    let rest = tail.rest();
    let end = [" enhanced port ", " base port ", " lid ", " lmc "]
        .into_iter()
        .find_map(|word| rest.find(word))
        .unwrap_or(rest.len());
    tail.advance(end);
    Ok((rest.get(..end).map(str::trim_end), tail))
}

/// The LID behind the first `lid`, unless it is 0.
///
/// ibnetdiscover writes `lid 0` for ports that no SM has set up.
pub(super) fn known_lid(cursor: Cursor<'_>) -> Result<Option<(Position, Lid)>, ParseError> {
    let Some((at, value)) = labelled(cursor, "lid ") else {
        return Ok(None);
    };
    let lid: u16 = in_range(at, "a LID", value, 0..=Lid::MAX.get().into())?;
    Ok(Lid::new(lid).ok().map(|lid| (at, lid)))
}

/// The LMC behind the first `lmc`.
pub(super) fn known_lmc(cursor: Cursor<'_>) -> Result<Option<Lmc>, ParseError> {
    let Some((at, value)) = labelled(cursor, "lmc ") else {
        return Ok(None);
    };
    let lmc: u8 = in_range(at, "LMC", value, 0..=7)?;
    Ok(Lmc::new(lmc).ok())
}

/// The number behind a label that is a word of its own.
///
/// A word of its own: "valid 3" must not be taken for a LID.
fn labelled(mut cursor: Cursor<'_>, label: &str) -> Option<(Position, u64)> {
    loop {
        let before = cursor.take_until(label)?;
        if !before.ends_with(char::is_alphanumeric) {
            cursor.skip_blanks();
            let at = cursor.at();
            return Some((at, cursor.c_number("a number").ok()?));
        }
    }
}

/// As much of a text as ibsim's NodeDescription holds: 63 bytes, and no half of a character at the
/// end.
pub(super) fn cut(text: &str) -> String {
    let mut end = text.len().min(63);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or(text).to_owned()
}
