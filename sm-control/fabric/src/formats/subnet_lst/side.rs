//! One end of a cable as a line of `opensm-subnet.lst` has it, from brace to brace.
//!
//! Parsing alone: whether two lines agree about a node is judged by who collects them.

use sa_text::Position;
use sa_wire::{Guid, Lid, NodeType};

use crate::build::bare_ports;
use crate::error::{Found, ParseError, Problem};
use crate::model::Node;
use crate::text::{Cursor, in_range};

/// One half of a line.
///
/// It borrows from the line and lives as long. Positions are kept for errors that show only when
/// the side is compared with earlier lines.
pub(super) struct Side<'a> {
    /// Of the word that says what the node is.
    pub(super) at: Position,
    /// CA, switch or router.
    pub(super) kind: NodeType,
    /// The SM runs on this port.
    pub(super) is_sm: bool,
    /// Ports without port 0.
    pub(super) ports: u8,
    /// As all ports of the node have it.
    pub(super) system_guid: Guid,
    /// As all lines of the node have it.
    pub(super) node_guid: Guid,
    /// Of a switch that of port 0, in each of its lines.
    pub(super) port_guid: Guid,
    /// Shape: 24 bits.
    pub(super) vendor_id: u32,
    /// As printed; see [`Side::device_id`].
    pub(super) device_id: u64,
    /// Of the device.
    pub(super) revision: u32,
    /// As it is written; it may hold braces.
    pub(super) description: &'a str,
    /// For an error about two ports with one LID.
    pub(super) lid_at: Position,
    /// None for 0.
    pub(super) lid: Option<Lid>,
    /// For an error about a port that the node has not.
    pub(super) port_at: Position,
    /// Not yet compared with the number of ports.
    pub(super) port: u64,
}

/// Which half of a line: OpenSM prints the device id of the far node shifted by 16 bits.
///
/// OpenSM converts a 16-bit field there as if it had 32 bits.
#[derive(Clone, Copy)]
pub(super) enum Half {
    /// The end that the line is about.
    Local,
    /// Its far end.
    Remote,
}

impl<'a> Side<'a> {
    /// Fields have a fixed order and a label each; numbers are hexadecimal without prefix.
    ///
    /// Errors: with the place and what was expected there.
    pub(super) fn parse(cursor: &mut Cursor<'a>) -> Result<Self, ParseError> {
        cursor.skip_blanks();
        cursor.expect("{")?;
        cursor.skip_blanks();
        let at = cursor.at();
        let (kind, is_sm) = kind(cursor)?;
        let ports_at = cursor.at();
        let ports = field(cursor, "Ports:")?;
        let system_guid = guid(cursor, "SystemGUID:")?;
        let node_guid = guid(cursor, "NodeGUID:")?;
        let port_guid = guid(cursor, "PortGUID:")?;
        // One place for the three: they come from NodeInfo together.
        let id_at = cursor.at();
        let vendor_id = field(cursor, "VenID:")?;
        let device_id = field(cursor, "DevID:")?;
        let revision = field(cursor, "Rev:")?;
        let description = description(cursor)?;
        let lid_at = cursor.at();
        let lid = field(cursor, "LID:")?;
        let port_at = cursor.at();
        let port = field(cursor, "PN:")?;
        cursor.skip_blanks();
        cursor.expect("}")?;
        Ok(Self {
            at,
            kind,
            is_sm,
            ports: in_range(ports_at, "the number of ports", ports, 1..=254)?,
            system_guid,
            node_guid,
            port_guid,
            vendor_id: in_range(id_at, "VenID", vendor_id, 0..=0xff_ffff)?,
            device_id: in_range(id_at, "DevID", device_id, 0..=0xffff_ffff)?,
            revision: in_range(id_at, "Rev", revision, 0..=0xffff_ffff)?,
            description,
            lid_at,
            lid: Lid::new(in_range(lid_at, "a LID", lid, 0..=Lid::MAX.get().into())?).ok(),
            port_at,
            port,
        })
    }

    /// As a node of a fabric, with ports of which nothing is known yet.
    pub(super) fn node(&self, half: Half) -> Node {
        Node {
            kind: self.kind,
            guid: self.node_guid,
            system_guid: self.system_guid,
            description: self.description.to_owned(),
            id: None,
            vendor_id: self.vendor_id,
            device_id: u16::try_from(self.device_id(half)).unwrap_or_default(),
            revision: self.revision,
            enhanced_port0: false,
            ports: bare_ports(self.ports),
        }
    }

    /// A number that fits 16 bits is taken as it is: newer OpenSMs print it right, and 0 is 0 in
    /// both.
    pub(super) const fn device_id(&self, half: Half) -> u64 {
        match half {
            Half::Remote if self.device_id > 0xffff => self.device_id >> 16,
            _ => self.device_id,
        }
    }
}

/// `CA`, `SW` or `Rt`, with `-SM` where the SM runs.
fn kind(cursor: &mut Cursor<'_>) -> Result<(NodeType, bool), ParseError> {
    let start = *cursor;
    let word = cursor.word();
    let (name, is_sm) = match word.strip_suffix("-SM") {
        Some(name) => (name, true),
        None => (word, false),
    };
    let kind = match name {
        "CA" => NodeType::Ca,
        "SW" => NodeType::Switch,
        "Rt" => NodeType::Router,
        _ => return Err(start.expected("CA, SW or Rt")),
    };
    Ok((kind, is_sm))
}

/// A labelled number in hexadecimal.
///
/// Shape: without prefix, as OpenSM prints it.
fn field(cursor: &mut Cursor<'_>, label: &'static str) -> Result<u64, ParseError> {
    cursor.skip_blanks();
    cursor.expect(label)?;
    cursor.hex("a hexadecimal number")
}

/// Errors: as of a number; 0, which no GUID is.
fn guid(cursor: &mut Cursor<'_>, label: &'static str) -> Result<Guid, ParseError> {
    cursor.skip_blanks();
    let at = cursor.at();
    let raw = field(cursor, label)?;
    Guid::new(raw).map_err(|_| {
        let found = Found::Text("zero".to_owned());
        ParseError::new(
            at,
            Problem::Expected {
                expected: "a GUID",
                found,
            },
        )
    })
}

/// `{description}`. Descriptions may hold braces: it ends where a brace, a LID, a port number and
/// another brace follow.
fn description<'a>(cursor: &mut Cursor<'a>) -> Result<&'a str, ParseError> {
    cursor.skip_blanks();
    cursor.expect("{")?;
    let rest = cursor.rest();
    // The first place where all that must follow a description follows.
    let end = rest
        .match_indices("} LID:")
        .map(|(end, _)| end)
        .find(|end| rest.get(end + 1..).is_some_and(ends_a_side))
        .ok_or_else(|| cursor.expected("a description, } LID:number PN:number }"))?;
    cursor.advance(end + 1);
    Ok(rest.get(..end).unwrap_or_default())
}

/// ` LID:0001 PN:01 }`
fn ends_a_side(text: &str) -> bool {
    let mut words = text.split_ascii_whitespace();
    let labelled = |word: Option<&str>, label| {
        word.and_then(|word| word.strip_prefix(label))
            .is_some_and(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()))
    };
    labelled(words.next(), "LID:") && labelled(words.next(), "PN:") && words.next() == Some("}")
}
