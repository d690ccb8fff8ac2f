//! A port of a node: `[1](guid) "peer"[2] # lid 4 lmc 0 "description" lid 1 4xQDR`.
//!
//! ```text
//! [1](100001) "S1"[7] w=3 s=7 e=1 v=4   # lid 4 lmc 0 "leaf 1" lid 1 4xFDR
//!  |    |       |   |  |               |        |              |      |
//!  |    guid    peer|  options         own LID and LMC         peer's LID and rate
//!  port             port, 1 without brackets
//! ```
//!
//! Options and comment say the same thing twice; the comment is read last and wins, as in ibsim.
//!
//! One line at a time: whether the peer says the same is judged when all lines are there.

use sa_text::{Line, Position};
use sa_wire::{DataVls, Guid, Lid, Lmc, NodeType};

use super::header::{known_lid, known_lmc};
use crate::error::{Note, Oddity, ParseError, Problem};
use crate::text::{Cursor, in_range};
use crate::train::Enabled;

/// A port line.
///
/// Borrows from the text; places are for errors that show later.
pub(super) struct PortLine<'a> {
    /// Of the number.
    pub(super) at: Position,
    /// The own port, not yet compared with the node's.
    pub(super) number: u64,
    /// In parentheses, where ibnetdiscover puts it; ibsim passes it over.
    pub(super) guid: Option<(Position, Guid)>,
    /// Of the peer's name.
    pub(super) peer_at: Position,
    /// As written, without the module's prefix.
    pub(super) peer: &'a str,
    /// Not yet compared with the peer's.
    pub(super) peer_port: u64,
    /// What the port may run at.
    pub(super) enabled: Enabled,
    /// VLCap, where an option says it.
    pub(super) vl_cap: Option<DataVls>,
    /// The port's own LID, where given and not 0; never on a switch.
    pub(super) lid: Option<(Position, Lid)>,
    /// Beside the own LID.
    pub(super) lmc: Option<Lmc>,
}

impl<'a> PortLine<'a> {
    /// Reads a line that starts with `[`. `enabled` is what the port may run at unless the line
    /// says more.
    pub(super) fn parse(
        line: Line<'a>,
        kind: NodeType,
        enabled: Enabled,
        notes: &mut Vec<Note>,
    ) -> Result<Self, ParseError> {
        let mut cursor = Cursor::new(line);
        cursor.expect("[")?;
        let at = cursor.at();
        let number = cursor.decimal("a port number")?;
        cursor.expect("]")?;
        let guid = guid_and_extras(&mut cursor)?;
        let (peer_at, peer) = peer(&mut cursor)?;
        let peer_port = peer_port(&mut cursor)?;
        // From here on nothing is required: a line may end behind the far end's name.
        let mut read = Self {
            at,
            number,
            guid,
            peer_at,
            peer,
            peer_port,
            enabled,
            vl_cap: None,
            lid: None,
            lmc: None,
        };
        read.options(cursor)?;
        read.comment(cursor, kind, notes)?;
        Ok(read)
    }

    /// `w=`, `s=`, `e=` as in ibsim: the letter nearest before the sign counts. `v=` is VLCap.
    ///
    /// Errors: a number outside of what ibsim takes.
    fn options(&mut self, cursor: Cursor<'_>) -> Result<(), ParseError> {
        let mut scan = cursor;
        while let Some(before) = scan.take_until("=") {
            let quoted = before.matches('"').count() % 2 == 1;
            // An equals sign in a description is no option.
            if quoted {
                scan.take_until("\"");
                continue;
            }
            // ibsim looks backwards from the sign, so that `w =3` and `width=3` both end with their
            // last letter.
            let letter = before.chars().rev().find(char::is_ascii_alphabetic);
            let mut value = scan;
            let at = value.at();
            let mut number = |what, range| {
                let number = value.c_number("a number")?;
                in_range::<u8>(at, what, number, range)
            };
            match letter {
                Some('w') => self.enabled.width = number("w", 1..=31)?,
                Some('s') => {
                    let speed = number("s", 0..=7)?;
                    // 0 means QDR alone to ibsim.
                    self.enabled.speed = if speed == 0 { 4 } else { speed };
                }
                Some('e') => self.enabled.extended = number("e", 0..=15)?,
                Some('v') => self.vl_cap = DataVls::from_code(number("v", 1..=5)?).ok(),
                _ => {}
            }
        }
        Ok(())
    }

    /// The comment of ibnetdiscover: own LID and LMC, and what the link runs at. ibsim takes the
    /// rate only from CA and switch lines, so that router ports stay at the default.
    fn comment(
        &mut self,
        cursor: Cursor<'_>,
        kind: NodeType,
        notes: &mut Vec<Note>,
    ) -> Result<(), ParseError> {
        let mut tail = cursor;
        // Behind the far end's description, which may itself contain "lid".
        tail.advance(cursor.rest().rfind('"').map_or(0, |quote| quote + 1));
        let Some(label) = tail.rest().find("lid") else {
            return Ok(());
        };
        tail.advance(label);
        if kind != NodeType::Switch {
            self.lid = known_lid(cursor)?;
            self.lmc = known_lmc(cursor)?;
        }
        if kind != NodeType::Router {
            self.rate(tail, notes);
        }
        Ok(())
    }

    /// `lid 1 4xQDR`; anything else leaves the defaults. A width or speed that ibsim does not know
    /// leaves them too, with a note: the file comes from newer tools than ibsim.
    fn rate(&mut self, mut cursor: Cursor<'_>, notes: &mut Vec<Note>) {
        cursor.accept("lid");
        cursor.skip_blanks();
        if cursor.decimal("a LID").is_err() {
            return;
        }
        cursor.skip_blanks();
        let at = cursor.at();
        let width = cursor.take_while(|c| c.is_ascii_digit());
        if width.is_empty() || !cursor.accept("x") {
            return;
        }
        match width_mask(width) {
            Some(mask) => self.enabled.width = mask,
            None => notes.push(Note {
                at,
                what: Oddity::Width(format!("{width}x")),
            }),
        }
        cursor.skip_blanks();
        let at = cursor.at();
        // As much of it as ibsim reads.
        let speed: String = cursor.word().chars().take(9).collect();
        match speed_masks(&speed) {
            Some((legacy, extended, fdr10)) => {
                self.enabled.speed = legacy;
                self.enabled.extended = extended.unwrap_or(self.enabled.extended);
                self.enabled.fdr10 |= fdr10;
            }
            None => notes.push(Note {
                at,
                what: Oddity::Speed(speed),
            }),
        }
    }
}

/// What stands between the port number and the peer: a GUID in parentheses, a chassis port.
///
/// Shape: any number of them, in any order; the last GUID counts.
fn guid_and_extras(cursor: &mut Cursor<'_>) -> Result<Option<(Position, Guid)>, ParseError> {
    let mut guid = None;
    loop {
        cursor.skip_blanks();
        if cursor.accept("(") {
            let at = cursor.at();
            let raw = cursor.hex("a port GUID in hexadecimal")?;
            cursor.expect(")")?;
            let known =
                Guid::new(raw).map_err(|_| ParseError::new(at, Problem::ZeroGuid("port")))?;
            guid = Some((at, known));
        } else if cursor.accept("[ext ") {
            cursor.take_until("]");
        } else {
            return Ok(guid);
        }
    }
}

/// The far end's name, with its place.
///
/// Errors: no quotes; an alias of ibsim's, which names a port that other lines define.
fn peer<'a>(cursor: &mut Cursor<'a>) -> Result<(Position, &'a str), ParseError> {
    if !cursor.accept("\"") {
        return Err(cursor.expected("the name of the far end in quotes"));
    }
    let start = *cursor;
    let name = cursor
        .take_until("\"")
        .ok_or_else(|| start.expected("a name closed by \""))?;
    if name.contains('@') {
        let remedy = "name the port by its node and number";
        let problem = Problem::Unsupported {
            what: "a port alias",
            remedy,
        };
        return Err(ParseError::new(start.at(), problem));
    }
    Ok((start.at(), name))
}

/// `[2]`; without brackets it is port 1.
/// A bracket that is not right behind the name would be read as something else by ibsim.
///
/// Errors: a number that is none, or no closing bracket.
fn peer_port(cursor: &mut Cursor<'_>) -> Result<u64, ParseError> {
    if cursor.rest().trim_start().starts_with('[') && !cursor.rest().starts_with('[') {
        return Err(cursor.expected("the far end's [port] right behind its name"));
    }
    if !cursor.accept("[") {
        return Ok(1);
    }
    let port = cursor.decimal("a port number")?;
    cursor.expect("]")?;
    Ok(port)
}

/// Widths that a name enables; 4x and 12x links can also run at less, so their masks have the
/// smaller widths (1 1x, 2 4x, 8 12x), 2x and 8x stand alone.
fn width_mask(width: &str) -> Option<u8> {
    match width {
        "1" => Some(1),
        "2" => Some(16),
        "4" => Some(3),
        "8" => Some(4),
        "12" => Some(11),
        _ => None,
    }
}

/// Legacy speeds, extended speeds and FDR10 that a name enables; ibsim accepts any beginning of a
/// name.
///
/// Each generation enables those before it. FDR10 comes last so that "FDR" means FDR.
fn speed_masks(speed: &str) -> Option<(u8, Option<u8>, bool)> {
    let names = [
        ("SDR", (1, None, false)),
        ("DDR", (3, None, false)),
        ("QDR", (7, None, false)),
        ("FDR", (7, Some(1), true)),
        ("EDR", (7, Some(3), true)),
        ("HDR", (7, Some(7), true)),
        ("NDR", (7, Some(15), true)),
        ("FDR10", (7, None, true)),
    ];
    let found = names
        .into_iter()
        .find(|(name, _)| !speed.is_empty() && name.starts_with(speed));
    found.map(|(_, masks)| masks)
}
