//! ibsim net files and the output of `ibnetdiscover`, which are one family of formats.
//!
//! Source: ibsim `sim_net.c`. What ibsim reads, we read to the same effect: names, GUID counters,
//! module prefixes, default link widths and speeds, the rate in the comment after a port. Where a
//! file states more than ibsim uses (port GUIDs in parentheses, a router's LID, `v=` for VLCap),
//! we take it. Lines that ibsim passes over without a word are refused, because they are usually
//! spelling mistakes. `include`, `do` and port aliases are refused.

mod globals;
mod header;
mod port_line;

use std::collections::HashMap;

use sa_text::{Line, Position, end_of, lines};
use sa_wire::{Guid, NodeType};

use self::globals::Globals;
use self::header::Header;
use self::port_line::PortLine;
use crate::build::{Builder, bare_ports};
use crate::error::{Note, Oddity, ParseError, Problem};
use crate::link::{Link, LinkSpeed};
use crate::model::{Fabric, LinkState, Node, NodeIx, PortRef, Source};
use crate::text::{Cursor, decode};
use crate::train::{Disagreement, Enabled, End, agree, tells_fdr10};

/// Reads a net file.
/// Errors: the first thing that is not understood or contradicts what was said before.
pub fn parse(bytes: &[u8]) -> Result<Fabric, ParseError> {
    let mut notes = Vec::new();
    let text = decode(bytes, &mut notes);
    let mut reader = Reader::new(notes);
    for line in lines(&text) {
        reader.line(line)?;
    }
    reader.finish(end_of(&text))
}

/// True for a line that only a net file has.
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
    globals: Globals,
    by_id: HashMap<String, NodeIx>,
    open: Option<OpenNode>,
    cables: Vec<Cable<'a>>,
    ends: HashMap<PortRef, (Position, Enabled)>,
}

/// The node that port lines belong to.
#[derive(Clone, Copy)]
struct OpenNode {
    node: NodeIx,
    /// Ports without a line so far.
    silent: u8,
}

/// A port line whose peer may be defined later.
struct Cable<'a> {
    from_at: Position,
    from: PortRef,
    peer_at: Position,
    peer: std::borrow::Cow<'a, str>,
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
        if self.open.take().is_some_and(|open| open.silent > 0) {
            self.notes.push(Note {
                at: line.at(0),
                what: Oddity::NoBlankLine,
            });
        }
        self.statement(line)
    }

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

    fn port_line(&mut self, line: Line<'a>) -> Result<(), ParseError> {
        let Some(open) = &mut self.open else {
            return Err(Cursor::new(line).expected("a node before its ports"));
        };
        open.silent = open.silent.saturating_sub(1);
        let node = open.node;
        let kind = self.builder.node(node).kind;
        let read = PortLine::parse(line, kind, self.globals.enabled(), &mut self.notes)?;
        let from = self.builder.port(read.at, node, read.number)?;
        if let Some((at, guid)) = read.guid.filter(|_| kind != NodeType::Switch) {
            self.builder.set_port_guid(at, from, guid)?;
        }
        if let Some((at, lid)) = read.lid {
            self.builder.set_lids(at, from, lid, read.lmc);
        }
        self.builder.port_mut(from).vl_cap = read.vl_cap;
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

    fn finish(mut self, end: Position) -> Result<Fabric, ParseError> {
        for cable in core::mem::take(&mut self.cables) {
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

/// Sets what every cable runs at. Errors: [`Problem::NothingInCommon`], as ibsim stops there too.
fn train(
    fabric: &mut Fabric,
    ends: &HashMap<PortRef, (Position, Enabled)>,
) -> Result<(), ParseError> {
    let cables: Vec<_> = fabric.cabled().collect();
    for (here, there) in cables {
        let (at, one) = end(fabric, ends, here);
        let (_, other) = end(fabric, ends, there);
        let link = agree(&one, &other).map_err(|disagreement| {
            let what = match disagreement {
                Disagreement::Width => "link width",
                Disagreement::Speed => "link speed",
            };
            let (from, to) = (fabric.port_name(here), fabric.port_name(there));
            ParseError::new(at, Problem::NothingInCommon { what, from, to })
        })?;
        if let Some(node) = fabric.nodes.get_mut(here.node.get()) {
            let is_hidden =
                link.speed == LinkSpeed::Fdr10 && !tells_fdr10(node.vendor_id, node.device_id);
            let speed = if is_hidden {
                LinkSpeed::Qdr
            } else {
                link.speed
            };
            if let Some(port) = node.ports.get_mut(usize::from(here.port)) {
                port.link = Some(Link { speed, ..link });
                port.state = LinkState::Active;
            }
        }
    }
    Ok(())
}

fn end(
    fabric: &Fabric,
    ends: &HashMap<PortRef, (Position, Enabled)>,
    port: PortRef,
) -> (Position, End) {
    let nowhere = (Position { line: 1, column: 1 }, Enabled::DEFAULT);
    let (at, enabled) = ends.get(&port).copied().unwrap_or(nowhere);
    let node = fabric.node(port.node);
    let guid = fabric.port(port).guid.unwrap_or(node.guid);
    let is_switch = node.kind == NodeType::Switch;
    (
        at,
        End {
            enabled,
            is_switch,
            order: (guid.map_order(), port.port),
        },
    )
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

fn unsupported(line: Line<'_>, what: &'static str, remedy: &'static str) -> ParseError {
    ParseError::new(line.at(0), Problem::Unsupported { what, remedy })
}

#[cfg(test)]
mod tests;
