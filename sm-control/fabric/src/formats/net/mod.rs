//! ibsim net files and the output of `ibnetdiscover`, which are one family of formats.
//!
//! ```text
//! vendid=0x2c9                                  # name=value, for the nodes that follow
//! devid=0xcb20
//! switchguid=0x200000(200000)
//! Switch 36 "S1"  # "leaf 1" enhanced port 0 lid 4 lmc 0
//! [1] "H1"[1](100001)   # "host 1" lid 1 4xQDR
//! [7] "S2"[8] w=3 s=7
//!
//! caguid=0x100000
//! Hca 1 "H1"
//! [1](100001) "S1"[1]   # lid 1 lmc 0 "leaf 1" lid 4 4xQDR
//! ```
//!
//! Source: ibsim `sim_net.c`. What ibsim reads, we read to the same effect: names, GUID counters,
//! module prefixes, default link widths and speeds, the rate in the comment after a port. Where a
//! file states more than ibsim uses (port GUIDs in parentheses, a router's LID, `v=` for VLCap), we
//! take it. Lines that ibsim passes over without a word are refused, because they are usually
//! spelling mistakes. `include`, `do` and port aliases are refused.
//!
//! The first word of a line decides who reads it: `globals` the lines with `=`, `header` the first
//! line of a node, `port_line` what begins with `[`. Far ends may be defined later in the file, so
//! cables are looked up at its end; then `links` works out what they run at, which depends on both
//! ends and on the order in which OpenSM programs them (`train`).
//!
//! Why in such detail: tests compare our answers with those of an OpenSM on ibsim, for the same
//! file. GUIDs decide the order of everything, and rates are in every answer.

mod globals;
mod header;
mod links;
mod port_line;

use std::collections::HashMap;

use sa_text::{Line, Position, end_of, lines};
use sa_wire::{Guid, NodeType};

use self::globals::Globals;
use self::header::Header;
use self::links::train;
use self::port_line::PortLine;
use crate::build::{Builder, bare_ports};
use crate::error::{Note, Oddity, ParseError, Problem};
use crate::model::{Fabric, Node, NodeIx, PortRef, Source};
use crate::text::{Cursor, decode};
use crate::train::Enabled;

/// Reads a net file.
/// Errors: the first thing that is not understood or contradicts what was said before.
///
/// Memory: a cable keeps its names until the end; the text is not copied.
pub fn parse(bytes: &[u8]) -> Result<Fabric, ParseError> {
    let mut notes = Vec::new();
    let text = decode(bytes, &mut notes);
    let mut reader = Reader::new(notes);
    for line in lines(&text) {
        reader.line(line)?;
    }
    reader.finish(end_of(&text))
}

/// True for a line that only a net file has. A net file with a spelling mistake in its first line
/// must still be known as one, so that the mistake is what is reported.
pub(crate) fn is_like(line: &str) -> bool {
    const WORDS: [&str; 17] = [
        "Switch",
        "Hca",
        "Ca",
        "Rt",
        "switchguid",
        "caguid",
        "hcaguids",
        "rtguid",
        "vendid",
        "devid",
        "sysimgguid",
        "module",
        "width",
        "speed",
        "extspeed",
        "include",
        "do",
    ];
    // A word alone is no sign: prose may begin with "do" or "width".
    let end = line
        .find(|c: char| !c.is_ascii_alphabetic())
        .unwrap_or(line.len());
    let (word, rest) = line.split_at(end);
    WORDS.contains(&word) && rest.starts_with([' ', '\t', '=', '+']) || is_chassis_heading(line)
}

/// What has been read so far.
struct Reader<'a> {
    builder: Builder,
    notes: Vec<Note>,
    /// What `name=value` lines have set so far.
    globals: Globals,
    /// By full id, module prefix included.
    by_id: HashMap<String, NodeIx>,
    /// None between nodes.
    open: Option<OpenNode>,
    /// In the order of the file; connected at its end.
    cables: Vec<Cable<'a>>,
    /// What each cabled port may run at, and its line.
    ends: HashMap<PortRef, (Position, Enabled)>,
}

/// The node that port lines belong to.
#[derive(Clone, Copy)]
struct OpenNode {
    node: NodeIx,
    /// Ports without a line so far. When it is not 0 and another statement comes, a blank line is
    /// missing: ibsim would take the statement for a port and skip it.
    silent: u8,
}

/// A port line whose peer may be defined later.
struct Cable<'a> {
    /// Of the own port's number.
    from_at: Position,
    from: PortRef,
    /// Of the far end's name.
    peer_at: Position,
    /// With the module's prefix; borrowed where there is none.
    peer: std::borrow::Cow<'a, str>,
    /// Not checked before the node is known.
    peer_port: u64,
}

impl<'a> Reader<'a> {
    fn new(notes: Vec<Note>) -> Self {
        Self {
            builder: Builder::new(),
            notes,
            globals: Globals::new(),
            by_id: HashMap::new(),
            open: None,
            cables: Vec::new(),
            ends: HashMap::new(),
        }
    }

    /// Sends a line to whoever reads it, by its first character. A blank line ends a node.
    fn line(&mut self, line: Line<'a>) -> Result<(), ParseError> {
        if line.text.starts_with('#') {
            return Ok(());
        }
        if line.text.trim().is_empty() {
            self.open = None;
            return Ok(());
        }
        if line.text.starts_with('[') {
            return self.port_line(line);
        }
        if line.text.starts_with('@') {
            let remedy = "name the port by its node and number";
            return Err(unsupported(line, "a port alias", remedy));
        }
        // The node ends here for us; the note says that it would not for ibsim.
        if self.open.take().is_some_and(|open| open.silent > 0) {
            self.notes.push(Note {
                at: line.at(0),
                what: Oddity::NoBlankLine,
            });
        }
        self.statement(line)
    }

    /// A line that begins with a letter.
    fn statement(&mut self, line: Line<'a>) -> Result<(), ParseError> {
        let mut cursor = Cursor::new(line);
        let word = cursor.take_while(|c| c.is_ascii_alphabetic());
        match word {
            "Switch" => self.node(Header::parse(NodeType::Switch, cursor)?, line.at(0)),
            "Hca" | "Ca" => self.node(Header::parse(NodeType::Ca, cursor)?, line.at(0)),
            "Rt" => self.node(Header::parse(NodeType::Router, cursor)?, line.at(0)),
            "include" => Err(unsupported(line, "include", "put the lines here")),
            "do" => Err(unsupported(
                line,
                "a console command of ibsim",
                "remove the line and write the fabric as it is afterwards",
            )),
            // Switches ibsim's own debugging on.
            "pdebug" => Ok(()),
            _ if is_chassis_heading(line.text) => Ok(()),
            _ => self.globals.assign(word, cursor),
        }
    }

    /// A node with all its ports, uncabled. Its GUIDs come from the counters, whose order is that
    /// of the file: a node that is moved in the file has other GUIDs.
    fn node(&mut self, header: Header, at: Position) -> Result<(), ParseError> {
        let id = self.globals.full_id(&header.id);
        if let Some(known) = self.by_id.get(&id) {
            let first = self.builder.defined_at(*known);
            return Err(ParseError::new(
                header.id_at,
                Problem::DuplicateId { id, first },
            ));
        }
        let identity = self.globals.next_node(at, header.kind, header.ports)?;
        let node = Node {
            kind: header.kind,
            guid: identity.guid,
            system_guid: identity.system_guid,
            // ibsim names a node without description by its id.
            description: header.description.unwrap_or_else(|| header::cut(&id)),
            id: Some(id.clone()),
            vendor_id: identity.vendor_id,
            device_id: identity.device_id,
            revision: globals::REVISION,
            enhanced_port0: header.enhanced_port0,
            ports: bare_ports(header.ports),
        };
        let ix = self.builder.add_node(at, node)?;
        self.by_id.insert(id, ix);
        if header.kind == NodeType::Switch {
            let port0 = PortRef { node: ix, port: 0 };
            self.builder.set_port_guid(at, port0, identity.port0_guid)?;
            if let Some((at, lid)) = header.lid {
                self.builder.set_lids(at, port0, lid, header.lmc);
            }
        }
        self.open = Some(OpenNode {
            node: ix,
            silent: header.ports,
        });
        Ok(())
    }

    /// A port of the open node. Several statements about one port end in an error when cables are
    /// connected.
    fn port_line(&mut self, line: Line<'a>) -> Result<(), ParseError> {
        let Some(open) = &mut self.open else {
            return Err(Cursor::new(line).expected("a node before its ports"));
        };
        open.silent = open.silent.saturating_sub(1);
        let node = open.node;
        let kind = self.builder.node(node).kind;
        let read = PortLine::parse(line, kind, self.globals.enabled(), &mut self.notes)?;
        let from = self.builder.port(read.at, node, read.number)?;
        // A switch's ports share the GUID of port 0, whatever stands in parentheses.
        if let Some((at, guid)) = read.guid.filter(|_| kind != NodeType::Switch) {
            self.builder.set_port_guid(at, from, guid)?;
        }
        if let Some((at, lid)) = read.lid {
            self.builder.set_lids(at, from, lid, read.lmc);
        }
        self.builder.port_mut(from).vl_cap = read.vl_cap;
        // The first line about a port; a second one is refused at the end with both places.
        self.ends.entry(from).or_insert((read.at, read.enabled));
        self.cables.push(Cable {
            from_at: read.at,
            from,
            peer_at: read.peer_at,
            peer: self.globals.expand(read.peer),
            peer_port: read.peer_port,
        });
        Ok(())
    }

    /// Cables, then port GUIDs, then what cables run at: each needs the one before.
    fn finish(mut self, end: Position) -> Result<Fabric, ParseError> {
        for cable in core::mem::take(&mut self.cables) {
            // The first cable of the file with a far end that is not there.
            let Some(peer) = self.by_id.get(cable.peer.as_ref()) else {
                let name = cable.peer.into_owned();
                return Err(ParseError::new(cable.peer_at, Problem::UnknownPeer(name)));
            };
            let to = self.builder.port(cable.peer_at, *peer, cable.peer_port)?;
            self.builder.connect(cable.from_at, cable.from, to)?;
        }
        self.number_ports()?;
        let mut fabric = self.builder.finish(end, Source::Net, self.notes)?;
        train(&mut fabric, &self.ends)?;
        Ok(fabric)
    }

    /// Gives CA and router ports without a GUID the one that ibsim gives: node GUID plus number.
    fn number_ports(&mut self) -> Result<(), ParseError> {
        // Nodes have indices without gaps, one for each id.
        for index in 0..self.by_id.len() {
            let node = NodeIx::nth(index);
            let facts = self.builder.node(node);
            if facts.kind == NodeType::Switch {
                continue;
            }
            let (base, ports) = (facts.guid.get(), facts.port_count());
            for port in 1..=ports {
                let at = PortRef { node, port };
                let cabled = self.ends.get(&at);
                if self.builder.port_mut(at).guid.is_some() {
                    continue;
                }
                let place =
                    cabled.map_or_else(|| self.builder.defined_at(node), |(place, _)| *place);
                // Unsigned C arithmetic; 0 is refused with the place of the port.
                let guid = Guid::new(base.wrapping_add(port.into()))
                    .map_err(|_| ParseError::new(place, Problem::ZeroGuid("port")))?;
                // A port without cable is in nobody's way.
                match self.builder.set_port_guid(place, at, guid) {
                    Err(error) if cabled.is_some() => return Err(error),
                    _ => {}
                }
            }
        }
        Ok(())
    }
}

/// Headings of `ibnetdiscover -g` and the paths of `ibnetdiscover -s`.
fn is_chassis_heading(text: &str) -> bool {
    [
        "Chassis",
        "Non-Chassis",
        "Spine Nodes",
        "Line Nodes",
        "DR path",
    ]
    .into_iter()
    .any(|heading| text.starts_with(heading))
}

/// A construct that is known and not read; `remedy` says how the file can do without.
fn unsupported(line: Line<'_>, what: &'static str, remedy: &'static str) -> ParseError {
    ParseError::new(line.at(0), Problem::Unsupported { what, remedy })
}

#[cfg(test)]
mod tests;
