//! The text files that OpenSM dumps and ibdmchk reads: writing them in exactly those formats, and
//! reading them back.
//!
//! | file | module | what | read | written |
//! |---|---|---|---|---|
//! | `net`, ibnetdiscover's output | [`net`] | nodes and cables, rates | yes | `generate` |
//! | `opensm-subnet.lst` | [`subnet_lst`] | the same with LIDs and states | yes | yes |
//! | `opensm-lfts.dump` | [`lfts`] | forwarding tables | yes | yes |
//! | `opensm.fdbs` | [`fdbs`] | the same with hop counts | yes | yes |
//! | `opensm-sl2vl.dump` | [`sl2vl`] | SL2VL tables of all ports | yes | yes |
//! | `slvl` | [`slvl`] | the same for ibdmchk | yes | yes |
//! | `psl` | [`psl`] | the SL of every path, for ibdmchk | yes | yes |
//! | `opensm-torus.dump` | [`torus`] | switches by coordinates | yes | yes |
//! | `mcgroups.txt` | [`mcgroups`] | groups and members | yes | no |
//! | `opensm.mcfdbs` | [`mcfdbs`] | multicast tables | yes | yes |
//! | `root_guid_file` | [`roots`] | top switches | yes | no |
//!
//! Writers take plain values and closures, and write switches and ports in the order given, which
//! for OpenSM is the order of [`Guid::map_order`](sa_wire::Guid::map_order). Tables are asked for
//! entry by entry, as a dump of 4,096 switches is larger than all that it is made from. Readers
//! refuse what they do not understand with its place; where OpenSM itself reads a file
//! (`lfts_file`), what OpenSM passes over is passed over.
//!
//! Reader and writer of a format stand in one file, and what one writes the other reads: tests go
//! round, and compare with recorded dumps byte for byte. Source: OpenSM `osm_dump.c`,
//! `osm_torus.c`, `osm_ucast_file.c`; ibutils `ibdmchk`.

pub mod fdbs;
pub mod lfts;
pub mod mcfdbs;
pub mod mcgroups;
pub mod net;
pub mod psl;
pub mod roots;
pub mod sl2vl;
pub mod slvl;
pub mod subnet_lst;
pub mod torus;

use sa_wire::{Guid, NodeType};

use crate::error::{Found, ParseError, Problem};
use crate::text::Cursor;

/// A NodeDescription as OpenSM prints it: at most 63 bytes, with a blank for each byte that is not
/// printable ASCII.
pub use policy::facts::printed_name as printed;

/// The words for a node type in the dumps of tables; `opensm-subnet.lst` has shorter ones.
const fn type_name(node_type: NodeType) -> &'static str {
    match node_type {
        NodeType::Ca => "Channel Adapter",
        NodeType::Switch => "Switch",
        NodeType::Router => "Router",
    }
}

/// Takes a node type if its words are next.
fn accept_type(cursor: &mut Cursor<'_>) -> Option<NodeType> {
    let all = [NodeType::Ca, NodeType::Switch, NodeType::Router];
    all.into_iter()
        .find(|node_type| cursor.accept(type_name(*node_type)))
}

/// `0x` and hexadecimal digits that are a GUID, of any length: not all writers pad them to 16.
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
/// `at` is the end of the file; there is nothing to show there.
const fn cut_off(at: sa_text::Position, expected: &'static str) -> ParseError {
    ParseError::new(
        at,
        Problem::Expected {
            expected,
            found: Found::EndOfFile,
        },
    )
}
