//! Collects what a file says and refuses contradictions, so that a [`Fabric`] has none.
//!
//! A reader tells the [`Builder`] what each line says, in the order of the file, with the line's
//! place. What contradicts an earlier line is refused at once, and the error names both places.
//! What can only be judged at the end (does the far end confirm the cable, do LID ranges overlap)
//! waits for [`Builder::finish`].
//!
//! Why not check the finished fabric: by then nobody knows which line said what, and "these two
//! differ" without a line is of little use in a file of a million lines.
//!
//! An example. Line 9 says `[3] "S2"[5]` under S1, line 20 says `[5] "S1"[4]` under S2. Each line
//! is fine by itself; at the end half 9 finds that port 5 of S2 leads to port 4, and the error is
//! told at line 9: "S1 port 3 is cabled to S2 port 5, but S2 port 5 is cabled to S1 port 4".
//!
//! Its invariant: whatever it hands out (`NodeIx`, `PortRef`) leads into its own tables, so that it
//! may index by them. What it does not check: that LIDs are aligned to their LMC, and that the
//! fabric is connected; both are the subnet's matter.

use std::collections::HashMap;

use sa_text::Position;
use sa_wire::{Guid, Lid, Lmc, NodeType};

use super::error::{Note, ParseError, Problem};
use super::model::{Assumed, Fabric, Node, NodeIx, Port, PortRef, Source};

/// A fabric in the making, with the places that errors name.
pub(super) struct Builder {
    nodes: Vec<Node>,
    /// Shape: as `nodes`; where each was defined.
    defined: Vec<Position>,
    /// GUIDs of nodes so far.
    by_node_guid: HashMap<Guid, NodeIx>,
    /// GUIDs of ports so far, each with the line that gave it first.
    by_port_guid: HashMap<Guid, Position>,
    /// By the port that says it.
    halves: HashMap<PortRef, Half>,
    /// In the order of the file.
    cables: Vec<PortRef>,
    /// In the order of the file; judged at the end, when all are known.
    lids: Vec<LidRange>,
    /// The port that is marked so far, and the line.
    sm: Option<(Position, PortRef)>,
}

/// What one end of a cable says. A cable is whole when both its halves name each other.
#[derive(Clone, Copy)]
struct Half {
    at: Position,
    /// The far end that it names.
    to: PortRef,
}

/// LIDs of one port, and the line that gives them.
struct LidRange {
    at: Position,
    owner: PortRef,
    first: Lid,
    /// None where the file says none: then one LID is claimed.
    lmc: Option<Lmc>,
}

impl Builder {
    pub(super) fn new() -> Self {
        Self {
            nodes: Vec::new(),
            defined: Vec::new(),
            by_node_guid: HashMap::new(),
            by_port_guid: HashMap::new(),
            halves: HashMap::new(),
            cables: Vec::new(),
            lids: Vec::new(),
            sm: None,
        }
    }

    /// Adds a node. Errors: [`Problem::DuplicateGuid`].
    pub(super) fn add_node(&mut self, at: Position, node: Node) -> Result<NodeIx, ParseError> {
        let ix = NodeIx::nth(self.nodes.len());
        // The map then has the index of a node that is not taken in, which no one sees: the reading
        // ends.
        if let Some(other) = self.by_node_guid.insert(node.guid, ix) {
            let first = self.defined_at(other);
            let problem = Problem::DuplicateGuid {
                what: "node",
                guid: node.guid,
                first,
            };
            return Err(ParseError::new(at, problem));
        }
        self.nodes.push(node);
        self.defined.push(at);
        Ok(ix)
    }

    /// For formats that describe a node in several lines.
    pub(super) fn node_by_guid(&self, guid: Guid) -> Option<NodeIx> {
        self.by_node_guid.get(&guid).copied()
    }

    #[expect(clippy::indexing_slicing, reason = "indices are the builder's own")]
    pub(super) fn node(&self, ix: NodeIx) -> &Node {
        &self.nodes[ix.get()]
    }

    /// Where a node was described first, for errors that name both places.
    #[expect(clippy::indexing_slicing, reason = "indices are the builder's own")]
    pub(super) fn defined_at(&self, ix: NodeIx) -> Position {
        self.defined[ix.get()]
    }

    /// A port of a node. Errors: [`Problem::NoSuchPort`]; port 0 is no port for a cable.
    pub(super) fn port(
        &self,
        at: Position,
        node: NodeIx,
        port: u64,
    ) -> Result<PortRef, ParseError> {
        let facts = self.node(node);
        let ports = facts.port_count();
        // As the file has it, so that the error shows the number that was written.
        match u8::try_from(port) {
            Ok(number) if number >= 1 && number <= ports => Ok(PortRef { node, port: number }),
            _ => {
                let node = facts.name().to_owned();
                Err(ParseError::new(
                    at,
                    Problem::NoSuchPort { port, node, ports },
                ))
            }
        }
    }

    /// What is known of a port, to be completed.
    #[expect(clippy::indexing_slicing, reason = "references are the builder's own")]
    pub(super) fn port_mut(&mut self, at: PortRef) -> &mut Port {
        &mut self.nodes[at.node.get()].ports[usize::from(at.port)]
    }

    /// Says which GUID a port has; saying it again for the same port is fine.
    /// Errors: [`Problem::DuplicateGuid`], [`Problem::Contradiction`].
    pub(super) fn set_port_guid(
        &mut self,
        at: Position,
        port: PortRef,
        guid: Guid,
    ) -> Result<(), ParseError> {
        match self.port_mut(port).guid {
            // `opensm-subnet.lst` says it with every cable of the node.
            Some(known) if known == guid => return Ok(()),
            Some(known) => {
                let first = self.by_port_guid.get(&known).copied().unwrap_or(at);
                let guid = self.node(port.node).guid;
                let problem = Problem::Contradiction {
                    what: "the port GUID",
                    guid,
                    first,
                };
                return Err(ParseError::new(at, problem));
            }
            None => {}
        }
        if let Some(first) = self.by_port_guid.insert(guid, at) {
            return Err(ParseError::new(
                at,
                Problem::DuplicateGuid {
                    what: "port",
                    guid,
                    first,
                },
            ));
        }
        self.port_mut(port).guid = Some(guid);
        Ok(())
    }

    /// Says where the cable of a port leads. Errors: [`Problem::PortTwice`].
    pub(super) fn connect(
        &mut self,
        at: Position,
        from: PortRef,
        to: PortRef,
    ) -> Result<(), ParseError> {
        // The far end may come later in the file, so only this end is judged here.
        if let Some(half) = self.halves.insert(from, Half { at, to }) {
            let node = self.node(from.node).name().to_owned();
            let problem = Problem::PortTwice {
                port: from.port,
                node,
                first: half.at,
            };
            return Err(ParseError::new(at, problem));
        }
        self.cables.push(from);
        Ok(())
    }

    /// Says which LIDs an end port has.
    ///
    /// Said once for each port; whether ranges overlap shows in [`Self::finish`].
    pub(super) fn set_lids(&mut self, at: Position, owner: PortRef, first: Lid, lmc: Option<Lmc>) {
        self.lids.push(LidRange {
            at,
            owner,
            first,
            lmc,
        });
        let port = self.port_mut(owner);
        port.lid = Some(first);
        port.lmc = lmc;
    }

    /// Says which port the SM runs on. Errors: [`Problem::TwoSms`].
    ///
    /// The same port may be marked in several lines.
    pub(super) fn set_sm(&mut self, at: Position, port: PortRef) -> Result<(), ParseError> {
        match self.sm {
            Some((first, known)) if known != port => {
                Err(ParseError::new(at, Problem::TwoSms(first)))
            }
            _ => {
                self.sm = Some((at, port));
                Ok(())
            }
        }
    }

    /// Checks that the parts agree. `end` is the end of the file.
    /// Errors: [`Problem::Empty`], [`Problem::Asymmetric`], [`Problem::DuplicateLid`].
    pub(super) fn finish(
        mut self,
        end: Position,
        source: Source,
        notes: Vec<Note>,
    ) -> Result<Fabric, ParseError> {
        if self.nodes.is_empty() {
            // The end of the file is where a node was missed.
            return Err(ParseError::new(end, Problem::Empty));
        }
        // Before cables, as LIDs stand in the first lines of nodes.
        self.check_lids()?;
        // Cables come in after all nodes and in the order of the file, so that the first line that
        // is
        // wrong is the one that is told.
        for from in core::mem::take(&mut self.cables) {
            let to = self.confirmed(from)?;
            self.port_mut(from).peer = to;
        }
        Ok(Fabric {
            nodes: self.nodes,
            sm: self.sm.map(|(_, port)| port),
            source,
            assumed: Assumed::IBSIM,
            notes,
        })
    }

    /// The far end of a cable, if it confirms the cable.
    ///
    /// Errors: [`Problem::Asymmetric`], with what the far end says instead.
    fn confirmed(&self, from: PortRef) -> Result<Option<PortRef>, ParseError> {
        let Some(half) = self.halves.get(&from) else {
            return Ok(None);
        };
        let instead = match self.halves.get(&half.to) {
            // The usual case: both name each other.
            Some(back) if back.to == from => return Ok(Some(half.to)),
            Some(back) => format!("is cabled to {}", self.port_name(back.to)),
            None => "has no cable".to_owned(),
        };
        let (from, to) = (self.port_name(from), self.port_name(half.to));
        Err(ParseError::new(
            half.at,
            Problem::Asymmetric { from, to, instead },
        ))
    }

    /// No LID in two ranges. Cost: one look for each LID of each port. Errors:
    /// [`Problem::DuplicateLid`], at the later line.
    fn check_lids(&self) -> Result<(), ParseError> {
        let mut owners: HashMap<u16, &LidRange> = HashMap::new();
        for range in &self.lids {
            // A file without LMCs claims one LID per port; ranges are judged once the LMC is
            // inferred.
            let lids = range.lmc.unwrap_or_default().lids();
            for lid in (range.first.get()..=u16::MAX).take(lids.into()) {
                if let Some(other) = owners.insert(lid, range) {
                    let owner = self.port_name(other.owner);
                    let problem = Problem::DuplicateLid {
                        lid,
                        owner,
                        first: other.at,
                    };
                    return Err(ParseError::new(range.at, problem));
                }
            }
        }
        Ok(())
    }

    /// As [`Fabric::port_name`], before there is a fabric.
    fn port_name(&self, at: PortRef) -> String {
        format!("{} port {}", self.node(at.node).name(), at.port)
    }
}

/// The ports of a new node: port 0 and this many more.
pub(super) fn bare_ports(count: u8) -> Vec<Port> {
    vec![Port::default(); usize::from(count) + 1]
}

/// The port that carries the LID of a node's port: port 0 on switches.
pub(super) fn end_port(node: &Node, at: PortRef) -> PortRef {
    let port = if node.kind == NodeType::Switch {
        0
    } else {
        at.port
    };
    PortRef { port, ..at }
}
