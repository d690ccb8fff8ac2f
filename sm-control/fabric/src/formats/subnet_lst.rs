//! OpenSM's `opensm-subnet.lst`: one line for each end of each cable.
//!
//! `{ CA-SM Ports:01 SystemGUID:.. NodeGUID:.. PortGUID:.. VenID:.. DevID:.. Rev:.. {description}
//! LID:0001 PN:01 } { SW .. } PHY=4x LOG=ACT SPD=10`. The LID of a switch is that of its port 0.
//! Descriptions may contain braces. Source: OpenSM `osm_dump.c`, `dump_topology_node`.

mod write;

use sa_text::{Line, Position, end_of, lines};
use sa_wire::{Guid, Lid, NodeType};

use crate::build::{Builder, bare_ports, end_port};
use crate::error::{Found, Note, Oddity, ParseError, Problem};
use crate::link::{Link, LinkSpeed, LinkWidth};
use crate::model::{Fabric, LinkState, Node, NodeIx, PortRef, Source};
use crate::overlay::LidOverlay;
use crate::text::{Cursor, decode, in_range};

pub use write::write;

/// The LIDs of an `opensm-subnet.lst`, for a fabric that another file describes.
/// Errors: as [`parse`].
pub fn lids(bytes: &[u8]) -> Result<LidOverlay, ParseError> {
    parse(bytes).map(|fabric| LidOverlay::from_fabric(&fabric))
}

/// Reads `opensm-subnet.lst`. LMC is not in the file; see [`crate::lids::infer_lmc`].
/// Errors: the first thing that is not understood or contradicts what was said before; a cable
/// listed from one end only, as in a file that is cut off.
pub fn parse(bytes: &[u8]) -> Result<Fabric, ParseError> {
    let mut reader = Reader {
        builder: Builder::new(),
        notes: Vec::new(),
    };
    let text = decode(bytes, &mut reader.notes);
    for line in lines(&text) {
        if !line.text.trim().is_empty() {
            reader.line(line)?;
        }
    }
    let end = end_of(&text);
    reader.builder.finish(end, Source::SubnetList, reader.notes)
}

/// True when a text looks like `opensm-subnet.lst`.
pub(crate) fn is_like(first_line: &str) -> bool {
    let mut words = first_line.split_whitespace();
    words.next() == Some("{")
        && words
            .next()
            .is_some_and(|word| matches!(word.get(..2), Some("CA" | "SW" | "Rt")))
}

struct Reader {
    builder: Builder,
    notes: Vec<Note>,
}

/// One half of a line.
struct Side<'a> {
    at: Position,
    kind: NodeType,
    is_sm: bool,
    ports: u8,
    system_guid: Guid,
    node_guid: Guid,
    port_guid: Guid,
    vendor_id: u32,
    device_id: u64,
    revision: u32,
    description: &'a str,
    lid_at: Position,
    lid: Option<Lid>,
    port_at: Position,
    port: u64,
}

impl Reader {
    fn line(&mut self, line: Line<'_>) -> Result<(), ParseError> {
        let mut cursor = Cursor::new(line);
        let local = Side::parse(&mut cursor)?;
        let remote = Side::parse(&mut cursor)?;
        let (state, link) = self.link(&mut cursor)?;
        let from = self.side(&local, Half::Local)?;
        let to = self.side(&remote, Half::Remote)?;
        self.builder.connect(local.port_at, from, to)?;
        let port = self.builder.port_mut(from);
        port.state = state;
        port.link = Some(link);
        Ok(())
    }

    /// `PHY=4x LOG=ACT SPD=10`
    fn link(&mut self, cursor: &mut Cursor<'_>) -> Result<(LinkState, Link), ParseError> {
        let at = cursor.at();
        let width = named(
            cursor,
            "PHY=",
            "a link width (1x to 12x)",
            LinkWidth::from_name,
        )?;
        let state = named(cursor, "LOG=", "DWN, INI, ARM or ACT", LinkState::from_name)?;
        let speed = named(
            cursor,
            "SPD=",
            "a link speed (2.5 to 100, FDR10)",
            LinkSpeed::from_name,
        )?;
        cursor.skip_blanks();
        if !cursor.rest().is_empty() {
            return Err(cursor.expected("the end of the line"));
        }
        if width == LinkWidth::Unknown {
            self.notes.push(Note {
                at,
                what: Oddity::UnknownRate("width"),
            });
        }
        if speed == LinkSpeed::Unknown {
            self.notes.push(Note {
                at,
                what: Oddity::UnknownRate("speed"),
            });
        }
        Ok((state, Link { width, speed }))
    }

    /// Takes in the node of a side and returns the port.
    fn side(&mut self, side: &Side<'_>, half: Half) -> Result<PortRef, ParseError> {
        let node = match self.builder.node_by_guid(side.node_guid) {
            Some(node) => {
                self.same(side, node, half)?;
                node
            }
            None => self.builder.add_node(side.at, side.node(half))?,
        };
        let port = self.builder.port(side.port_at, node, side.port)?;
        let owner = end_port(self.builder.node(node), port);
        self.builder.set_port_guid(side.at, owner, side.port_guid)?;
        self.lid(side, owner)?;
        if side.is_sm {
            self.builder.set_sm(side.at, owner)?;
        }
        Ok(port)
    }

    fn lid(&mut self, side: &Side<'_>, owner: PortRef) -> Result<(), ParseError> {
        match (self.builder.port_mut(owner).lid, side.lid) {
            (None, Some(lid)) => self.builder.set_lids(side.lid_at, owner, lid, None),
            (known, stated) if known == stated => {}
            _ => return Err(self.differs(side, owner.node, "the LID", side.lid_at)),
        }
        Ok(())
    }

    /// Checks a node against what an earlier line said about it.
    fn same(&self, side: &Side<'_>, ix: NodeIx, half: Half) -> Result<(), ParseError> {
        let node = self.builder.node(ix);
        let differs = |what| Err(self.differs(side, ix, what, side.at));
        if node.kind != side.kind {
            return differs("the type");
        }
        if node.port_count() != side.ports {
            return differs("the number of ports");
        }
        if node.system_guid != side.system_guid {
            return differs("the system GUID");
        }
        if node.description != side.description {
            return differs("the description");
        }
        if node.vendor_id != side.vendor_id || node.revision != side.revision {
            return differs("the vendor or revision");
        }
        if u64::from(node.device_id) != side.device_id(half) {
            return differs("the device id");
        }
        Ok(())
    }

    fn differs(
        &self,
        side: &Side<'_>,
        node: NodeIx,
        what: &'static str,
        at: Position,
    ) -> ParseError {
        let first = self.builder.defined_at(node);
        ParseError::new(
            at,
            Problem::Contradiction {
                what,
                guid: side.node_guid,
                first,
            },
        )
    }
}

/// Which half of a line: OpenSM prints the device id of the far node shifted by 16 bits.
#[derive(Clone, Copy)]
enum Half {
    Local,
    Remote,
}

impl<'a> Side<'a> {
    fn parse(cursor: &mut Cursor<'a>) -> Result<Self, ParseError> {
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

    fn node(&self, half: Half) -> Node {
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

    const fn device_id(&self, half: Half) -> u64 {
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
fn field(cursor: &mut Cursor<'_>, label: &'static str) -> Result<u64, ParseError> {
    cursor.skip_blanks();
    cursor.expect(label)?;
    cursor.hex("a hexadecimal number")
}

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

fn named<T>(
    cursor: &mut Cursor<'_>,
    label: &'static str,
    what: &'static str,
    from_name: impl Fn(&str) -> Option<T>,
) -> Result<T, ParseError> {
    cursor.skip_blanks();
    cursor.expect(label)?;
    let start = *cursor;
    from_name(cursor.word()).ok_or_else(|| start.expected(what))
}

#[cfg(test)]
mod tests;
