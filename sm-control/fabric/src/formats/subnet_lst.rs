//! OpenSM's `opensm-subnet.lst`: one line for each end of each cable.
//!
//! `{ CA-SM Ports:01 SystemGUID:.. NodeGUID:.. PortGUID:.. VenID:.. DevID:.. Rev:.. {description}
//! LID:0001 PN:01 } { SW .. } PHY=4x LOG=ACT SPD=10`. The LID of a switch is that of its port 0.
//! Descriptions may contain braces. Source: OpenSM `osm_dump.c`, `dump_topology_node`.
//!
//! A line in full, here broken up:
//!
//! ```text
//! { CA-SM Ports:01 SystemGUID:0000000000100000 NodeGUID:0000000000100000
//!   PortGUID:0000000000100001 VenID:000000 DevID:0000 Rev:000000A1 {H0_0_0_0} LID:0001 PN:01 }
//! { SW Ports:24 SystemGUID:.. NodeGUID:.. PortGUID:.. VenID:00000000 DevID:0000 Rev:000000A1
//!   {S0_0_0} LID:0002 PN:07 } PHY=4x LOG=ACT SPD=10
//! ```
//!
//! Each line says all about both ends, so every node is described as often as it has cables, twice.
//! The first line about it defines it; every later one must agree, or the error names both lines. A
//! cable that one line only tells means that the file was cut off.
//!
//! What it does not say: MTU, VLs, LMC (inferred from the gaps between LIDs), enhanced ports 0, and
//! ports without a cable. `side` reads what stands between braces.

mod side;
mod write;

use sa_text::{Line, Position, end_of, lines};

use self::side::{Half, Side};
use crate::build::{Builder, end_port};
use crate::error::{Note, Oddity, ParseError, Problem};
use crate::link::{Link, LinkSpeed, LinkWidth};
use crate::model::{Fabric, LinkState, NodeIx, PortRef, Source};
use crate::overlay::LidOverlay;
use crate::text::{Cursor, decode};

pub use write::write;

/// The LIDs of an `opensm-subnet.lst`, for a fabric that another file describes.
/// Errors: as [`parse`].
///
/// Parsed as a whole fabric: a list with contradictions is no source of LIDs either.
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

/// Nodes and cables so far, and what was odd.
struct Reader {
    builder: Builder,
    notes: Vec<Note>,
}

impl Reader {
    /// The state and the link are those of the first port of the line; the far end has a line of
    /// its own.
    fn line(&mut self, line: Line<'_>) -> Result<(), ParseError> {
        let mut cursor = Cursor::new(line);
        // Both halves and the link are read before anything is taken in: a bad line leaves no half
        // of a cable.
        let local = Side::parse(&mut cursor)?;
        let remote = Side::parse(&mut cursor)?;
        let (state, link) = self.link(&mut cursor)?;
        // The near end first, so that nodes come in the order in which they are described.
        let from = self.side(&local, Half::Local)?;
        let to = self.side(&remote, Half::Remote)?;
        self.builder.connect(local.port_at, from, to)?;
        let port = self.builder.port_mut(from);
        port.state = state;
        port.link = Some(link);
        Ok(())
    }

    /// `PHY=4x LOG=ACT SPD=10`
    ///
    /// OpenSM prints `??` for what it cannot name: taken, with a note, as its own answers count it
    /// as the slowest.
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

    /// A LID of 0 is none. The LID of a switch stands in each of its lines, so it must be the same
    /// in all.
    fn lid(&mut self, side: &Side<'_>, owner: PortRef) -> Result<(), ParseError> {
        match (self.builder.port_mut(owner).lid, side.lid) {
            // Known from now on; its LMC is not in the file.
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

    /// Names the line that defined the node: that of the value itself is not kept.
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

/// A word behind a label, which `from_name` must know.
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
