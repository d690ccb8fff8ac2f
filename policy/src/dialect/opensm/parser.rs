//! The file and its sections.
//!
//! A parser by descent: a function for each section and block, which leaves the cursor behind the
//! word that closes it. The first error ends it, as OpenSM's grammar knows no way to go on.

use super::cursor::Cursor;
use super::token::{Block, Kind};
use super::{levels, port_groups, rules, setup, ulps};
use crate::error::Error;
use crate::link::draft::Draft;
use crate::model::options::ParseOptions;

/// Reads all sections, which may come in any order and repeatedly.
/// Errors: the first token that fits nowhere. An empty file is one without sections.
pub(super) fn parse(text: &str, options: &ParseOptions) -> Result<Draft, Error> {
    let mut cursor = Cursor::new(text, options);
    let mut draft = Draft::default();
    loop {
        match cursor.kind() {
            Kind::Start(Block::Ulps) => ulps::section(&mut cursor, &mut draft)?,
            Kind::Start(Block::PortGroups) => port_groups::section(&mut cursor, &mut draft)?,
            Kind::Start(Block::Setup) => setup::section(&mut cursor, &mut draft.setup)?,
            Kind::Start(Block::Levels) => levels::section(&mut cursor, &mut draft, options)?,
            Kind::Start(Block::Rules) => rules::section(&mut cursor, &mut draft)?,
            Kind::EndOfFile => {
                draft.extensions = cursor.extensions;
                return Ok(draft);
            }
            _ => return Err(cursor.unexpected(SECTIONS)),
        }
    }
}

/// What may stand outside sections, as messages list it.
const SECTIONS: &str = "a section: qos-ulps, port-groups, qos-setup, qos-levels or qos-match-rules";
