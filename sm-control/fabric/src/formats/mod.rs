//! The text files that OpenSM dumps and ibdmchk reads: writing them in exactly those formats, and
//! reading them back.
//!
//! Writers take plain values and closures, and write switches and ports in the order given, which
//! for OpenSM is the order of [`Guid::map_order`](sa_wire::Guid::map_order). Readers refuse what
//! they do not understand with its place. Source: OpenSM `osm_dump.c`, `osm_torus.c`,
//! `osm_ucast_file.c`; ibutils `ibdmchk`.

pub mod fdbs;
pub mod lfts;
pub mod mcfdbs;
pub mod mcgroups;
pub mod net;
pub mod psl;
pub mod sl2vl;
pub mod slvl;
pub mod subnet_lst;
pub mod torus;

use sa_wire::{Guid, NodeType};

use crate::error::{Found, ParseError, Problem};
use crate::text::Cursor;

/// A NodeDescription as OpenSM prints it.
pub use policy::facts::printed_name as printed;

/// The words for a node type in the dumps.
const fn type_name(node_type: NodeType) -> &'static str {
    match node_type {
        NodeType::Ca => "Channel Adapter",
        NodeType::Switch => "Switch",
        NodeType::Router => "Router",
    }
}

fn accept_type(cursor: &mut Cursor<'_>) -> Option<NodeType> {
    let all = [NodeType::Ca, NodeType::Switch, NodeType::Router];
    all.into_iter()
        .find(|node_type| cursor.accept(type_name(*node_type)))
}

/// `0x` and hexadecimal digits that are a GUID.
fn guid(cursor: &mut Cursor<'_>) -> Result<Guid, ParseError> {
    let start = *cursor;
    cursor.expect("0x")?;
    let raw = cursor.hex("a GUID")?;
    Guid::new(raw).map_err(|_| start.expected("a GUID that is not zero"))
}

/// At least one blank.
fn blank(cursor: &mut Cursor<'_>) -> Result<(), ParseError> {
    if cursor.rest().starts_with(char::is_whitespace) {
        cursor.skip_blanks();
        Ok(())
    } else {
        Err(cursor.expected("a blank"))
    }
}

/// Nothing but blanks is left.
fn end_of_line(cursor: &mut Cursor<'_>) -> Result<(), ParseError> {
    cursor.skip_blanks();
    if cursor.rest().is_empty() {
        Ok(())
    } else {
        Err(cursor.expected("the end of the line"))
    }
}

/// The file ended too early.
const fn cut_off(at: sa_text::Position, expected: &'static str) -> ParseError {
    ParseError::new(
        at,
        Problem::Expected {
            expected,
            found: Found::EndOfFile,
        },
    )
}
