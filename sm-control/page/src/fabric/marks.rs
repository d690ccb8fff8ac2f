//! What stands out of a fabric: which switch or port is how, and why.
//!
//! ```text
//!  missing   two switches of a torus that no cable joins          by the shape of the torus
//!  down      a cable is there and its link is not Active          by the state of the fabric
//!  fault     somebody has to mend it                              by the health of links
//!  drained   routes leave it                                      by an operator's order
//!  hint      worth a look                                         by the health of links
//! ```
//!
//! The worst comes first and decides the colour. A fabric that is no torus has no shape that says
//! what is missing: a switch that went away whole is not shown there.

use std::collections::BTreeMap;

use routing::{Peer, SwitchIx, Topology, Torus};
use sa_compiler::state::FabricState;
use sa_fabric::PortRef;
use sa_layout::torus::{LinkState, links};
use sa_wire::Guid;

/// How a link or a switch is, the worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mark {
    /// It should be there.
    Missing,
    /// It is there, and carries nothing.
    Down,
    /// Somebody has to mend it.
    Fault,
    /// Routes leave it, as an operator wants it.
    Drained,
    /// A healthy subnet may have it.
    Hint,
}

impl Mark {
    /// All, the worst first.
    pub const ALL: [Self; 5] = [
        Self::Missing,
        Self::Down,
        Self::Fault,
        Self::Drained,
        Self::Hint,
    ];

    /// As it is shown.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::Down => "down",
            Self::Fault => "fault",
            Self::Drained => "drained",
            Self::Hint => "hint",
        }
    }

    /// Of the style sheet.
    pub(crate) const fn class(self) -> &'static str {
        self.word()
    }
}

/// Why it is so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// How.
    pub mark: Mark,
    /// What is seen; may have names of devices.
    pub words: String,
    /// Why that is likely.
    pub cause: Option<&'static str>,
    /// What to do.
    pub remedy: Option<&'static str>,
}

/// All notes of a fabric, by node GUID and port.
#[derive(Debug, Clone, Default)]
pub struct Marks(BTreeMap<(Guid, Option<u8>), Vec<Note>>);

impl Marks {
    /// A port is so; none: the switch as a whole.
    pub fn add(&mut self, guid: Guid, port: Option<u8>, note: Note) {
        let notes = self.0.entry((guid, port)).or_default();
        notes.push(note);
        notes.sort_by_key(|note| note.mark);
    }

    /// What the fabric itself tells: links that a torus lacks, cables whose link is not Active.
    ///
    /// Cost: a look at each port of the switches.
    pub fn of(parts: &FabricState, whole: &Topology) -> Self {
        let mut marks = Self::default();
        if let Some(torus) = parts.routes.torus() {
            marks.add_missing(whole, torus);
        }
        marks.add_down(parts, whole);
        marks
    }

    /// By switch: which port the cable should be in nobody knows.
    fn add_missing(&mut self, whole: &Topology, torus: &Torus) {
        let links = links(whole, torus);
        let missing = links.iter().filter(|link| link.state == LinkState::Missing);
        for link in missing {
            let ends = [link.id.low, link.id.high(torus.shape())].map(|at| torus.at(at));
            let [Some(low), Some(high)] = ends else {
                continue;
            };
            for (near, far) in [(low, high), (high, low)] {
                let far = &whole.switch(far.switch).description;
                let note = Note {
                    mark: Mark::Missing,
                    words: format!("no link to {far}, its neighbour in the torus"),
                    cause: Some(
                        "a cable that was pulled or has failed, or a port that is switched off",
                    ),
                    remedy: Some("look at both ends; then another cable"),
                };
                self.add(whole.switch(near.switch).guid, None, note);
            }
        }
    }

    /// By both ends of the cable.
    fn add_down(&mut self, parts: &FabricState, whole: &Topology) {
        for [(one, port), (far, far_port)] in down(parts, whole) {
            for (near, port, other) in [(one, port, far), (far, far_port, one)] {
                let other = &whole.switch(other).description;
                let note = Note {
                    mark: Mark::Down,
                    words: format!("the link to {other} is not Active"),
                    cause: Some(
                        "the cable, a port that is switched off, or a link that the Subnet Manager has not brought up",
                    ),
                    remedy: Some("look at both ends; then reseat the cable"),
                };
                self.add(whole.switch(near).guid, Some(port), note);
            }
        }
    }

    /// Those of a port.
    pub fn of_port(&self, guid: Guid, port: u8) -> &[Note] {
        self.0.get(&(guid, Some(port))).map_or(&[], Vec::as_slice)
    }

    /// Those of a switch, then those of its ports.
    pub fn all_of(&self, guid: Guid) -> impl Iterator<Item = (Option<u8>, &Note)> {
        let of = self.0.range((guid, None)..=(guid, Some(u8::MAX)));
        of.flat_map(|((_, port), notes)| notes.iter().map(|note| (*port, note)))
    }

    /// The worst of a switch itself.
    pub(crate) fn of_switch(&self, guid: Guid) -> Option<Mark> {
        let notes = self.0.get(&(guid, None))?;
        notes.first().map(|note| note.mark)
    }

    /// The worst of a switch and its ports.
    pub(crate) fn worst(&self, guid: Guid) -> Option<Mark> {
        self.all_of(guid).map(|(_, note)| note.mark).min()
    }
}

/// Cables between two switches that routing does not have, by their ends.
pub(super) fn down<'a>(
    parts: &'a FabricState,
    whole: &'a Topology,
) -> impl Iterator<Item = [(SwitchIx, u8); 2]> + 'a {
    let fabric = parts.subnet.fabric();
    let nodes = parts.subnet.switches();
    let ixs: BTreeMap<_, _> = nodes
        .iter()
        .map(|node| node.get())
        .zip(whole.switch_ixs())
        .collect();
    let ends = whole.switch_ixs().flat_map(move |ix| {
        let ports = whole.switch(ix).ports.iter().enumerate().skip(1);
        let dark = ports.filter(|(_, port)| port.peer == Peer::Nothing);
        dark.filter_map(move |(port, _)| Some((ix, u8::try_from(port).ok()?)))
    });
    ends.filter_map(move |(ix, port)| {
        let node = *nodes.get(ix.index())?;
        let peer = fabric.port(PortRef { node, port }).peer?;
        let far = *ixs.get(&peer.node.get())?;
        // Each cable from its lower end.
        ((ix, port) < (far, peer.port)).then_some([(ix, port), (far, peer.port)])
    })
}
