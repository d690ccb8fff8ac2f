//! What there is to see of a torus, without saying how it looks.
//!
//! Every place and link that the shape has is in it, there or missing, so that whoever draws need
//! not know the torus: it goes through both lists once. Text, SVG and captions are made from it
//! alone.
//!
//! Links have one name each, from their end in the minus direction. In a ring of four along x:
//!
//! ```text
//! 0 ---- 1 ---- 2 ---- 3 ---- (0)
//! low 0  low 1  low 2  low 3: closes the ring, the dateline lies on it
//! ```
//!
//! A step is a link with a direction: from 0 in the minus direction is the link of low 3.

use routing::placement::{Axis, Coordinate, Direction, Shape, Sign};
use routing::tables::MulticastTree;
use routing::{SwitchIx, Topology, Torus};

use super::load::Load;
use super::path::Path;
use crate::draw::paper::{counted, printable};

/// A torus with its damage, and what is shown on it.
#[derive(Debug)]
pub(crate) struct Scene {
    /// Radix of each axis, and which are open.
    pub(crate) shape: Shape,
    /// Shape: [`Shape::places`], in the order of [`Shape::place`].
    pub(crate) places: Vec<Place>,
    /// Every link that the shape has, in the order of their lower ends.
    pub(crate) links: Vec<Link>,
    /// Switches without a place, and cables that lead in no direction, in words.
    pub(crate) outside: Vec<String>,
    /// The engine does not route it.
    /// Then there are places and links only.
    pub(crate) is_refused: bool,
    /// Those that were asked for, also those that there are not.
    pub(crate) paths: Vec<Path>,
    /// None where it was not asked for, or the engine makes none.
    pub(crate) tree: Option<Tree>,
    /// None where it was not asked for.
    pub(crate) load: Option<Load>,
}

/// A place of a torus.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) at: Coordinate,
    /// None when the place is empty.
    pub(crate) switch: Option<Placed>,
}

/// What a picture says about a switch.
/// In words, ready to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Placed {
    /// Printable.
    /// The node description; see [`printable`].
    pub(crate) name: String,
    /// In hexadecimal, as tables have it.
    pub(crate) guid: String,
    /// CA and router ports plugged into it.
    pub(crate) hosts: usize,
}

/// Which link: from a place in the plus direction of an axis.
/// A link that closes a ring begins at the last position and ends at 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct LinkId {
    /// Its end in the minus direction.
    pub(crate) low: Coordinate,
    pub(crate) axis: Axis,
}

/// The cables between two neighbouring places.
/// One for all parallel cables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Link {
    pub(crate) id: LinkId,
    pub(crate) state: LinkState,
}

/// What is left of a link.
/// `Missing` is damage; `NoSwitch` follows from damage that is drawn anyway.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LinkState {
    /// Wired. Ports of the lower switch and of the upper one, cable by cable.
    Wired(Vec<(u8, u8)>),
    /// Two switches that should be wired.
    Missing,
    /// One end has no switch.
    NoSwitch,
}

/// One hop, from a place in a direction.
/// The same link, seen from the end that sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) from: Coordinate,
    pub(crate) direction: Direction,
}

/// The spanning tree of multicast.
/// Groups use parts of it: whoever is a member hangs on the tree where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Tree {
    pub(crate) root: Coordinate,
    /// Away from the root.
    pub(crate) branches: Vec<Step>,
}

impl Scene {
    /// A torus and its damage, with nothing on it.
    /// Cost: once over all ports.
    pub(crate) fn of(topology: &Topology, torus: &Torus) -> Self {
        let shape = torus.shape();
        let places = shape.coordinates().map(|at| Place {
            at,
            switch: torus.at(at).map(|placed| describe(topology, placed.switch)),
        });
        let links = link_ids(shape).map(|id| Link {
            id,
            state: state(topology, torus, id),
        });
        Self {
            shape,
            places: places.collect(),
            links: links.collect(),
            outside: outside(topology, torus),
            is_refused: false,
            paths: Vec::new(),
            tree: None,
            load: None,
        }
    }

    /// A place of the torus.
    pub(crate) fn place(&self, at: Coordinate) -> Option<&Place> {
        self.places.get(self.shape.place(at))
    }

    /// Places without a switch.
    pub(crate) fn empty_places(&self) -> impl Iterator<Item = Coordinate> + '_ {
        let empty = self.places.iter().filter(|place| place.switch.is_none());
        empty.map(|place| place.at)
    }

    /// Links that should be there between switches that are.
    pub(crate) fn missing_links(&self) -> impl Iterator<Item = LinkId> + '_ {
        let missing = self.links.iter();
        missing
            .filter(|link| link.state == LinkState::Missing)
            .map(|link| link.id)
    }

    /// Places where some path turns against the dimension order.
    /// A place as often as paths turn there.
    pub(crate) fn turns(&self) -> impl Iterator<Item = Coordinate> + '_ {
        let hops = self.paths.iter().flat_map(|path| &path.hops);
        hops.filter(|hop| hop.is_against_order)
            .map(|hop| hop.step.from)
    }
}

impl LinkId {
    /// The other end.
    pub(crate) fn high(self, shape: Shape) -> Coordinate {
        shape.neighbour(self.low, self.axis.plus())
    }

    /// True for the link that closes a ring. The dateline lies on it.
    /// Also true at the end of a mesh, which has no such link: ask for links of the shape only.
    pub(crate) fn closes_ring(self, shape: Shape) -> bool {
        self.low.on(self.axis) + 1 == shape.radix_of(self.axis)
    }
}

impl Step {
    /// The link that it uses.
    /// Both directions of a cable give the same link.
    pub(crate) fn link(self, shape: Shape) -> LinkId {
        let axis = self.direction.axis;
        match self.direction.sign {
            Sign::Plus => LinkId {
                low: self.from,
                axis,
            },
            Sign::Minus => LinkId {
                low: shape.neighbour(self.from, self.direction),
                axis,
            },
        }
    }

    /// Where it leads.
    pub(crate) fn to(self, shape: Shape) -> Coordinate {
        shape.neighbour(self.from, self.direction)
    }
}

impl Tree {
    /// The tree of a torus.
    /// A branch whose ports lead in no direction is left out.
    pub(crate) fn of(tree: &MulticastTree, torus: &Torus) -> Self {
        let branches = tree.branches().iter().filter_map(|branch| {
            let placed = torus.placed(branch.from)?;
            let mut all = Direction::ALL.into_iter();
            Some(Step {
                from: placed.at,
                direction: all.find(|it| placed.ports(*it) == branch.ports)?,
            })
        });
        let root = torus.coordinate(tree.root());
        Self {
            // A tree of an engine that knows coordinates has its root in the torus.
            root: root.unwrap_or(Coordinate([0; 3])),
            branches: branches.collect(),
        }
    }
}

/// Every link of a shape.
/// An axis of radix 1 has none, one of radix 2 has one: a second would be a parallel cable.
fn link_ids(shape: Shape) -> impl Iterator<Item = LinkId> {
    let ids = shape.coordinates().flat_map(|low| {
        let along = move |axis| LinkId { low, axis };
        Axis::ALL.into_iter().map(along)
    });
    ids.filter(move |id| {
        let is_open = shape.is_mesh(id.axis) || shape.radix_of(id.axis) == 2;
        shape.radix_of(id.axis) > 1 && !(is_open && id.closes_ring(shape))
    })
}

/// A port that is known as one of the link and leads to no switch has lost its cable.
fn state(topology: &Topology, torus: &Torus, id: LinkId) -> LinkState {
    let (Some(low), Some(_)) = (torus.at(id.low), torus.at(id.high(torus.shape()))) else {
        return LinkState::NoSwitch;
    };
    let ports = low.ports(id.axis.plus()).iter();
    let cables: Vec<_> = ports
        .filter_map(|port| match topology.peer(low.switch, *port) {
            routing::Peer::Switch { port: far, .. } => Some((*port, far)),
            _ => None,
        })
        .collect();
    if cables.is_empty() {
        LinkState::Missing
    } else {
        LinkState::Wired(cables)
    }
}

/// Names come from devices, so they are made harmless at once.
fn describe(topology: &Topology, switch: SwitchIx) -> Placed {
    let of = topology.switch(switch);
    Placed {
        name: printable(&of.description),
        guid: of.guid.to_string(),
        hosts: topology.hosts(switch).count(),
    }
}

/// What has no place in the torus.
/// Switches first, then cables.
fn outside(topology: &Topology, torus: &Torus) -> Vec<String> {
    let switches = topology
        .switch_ixs()
        .filter(|ix| torus.placed(*ix).is_none());
    let switches = switches.map(|ix| {
        let Placed { name, guid, hosts } = describe(topology, ix);
        format!("switch {name} ({guid}) with {}", counted(hosts, "host"))
    });
    switches.chain(stray_cables(topology, torus)).collect()
}

/// Cables between switches of the torus that lead in no direction, each once.
fn stray_cables<'a>(
    topology: &'a Topology,
    torus: &'a Torus,
) -> impl Iterator<Item = String> + use<'a> {
    torus.by_place().flat_map(move |placed| {
        let known = &placed.groups[..routing::placement::LOCAL_GROUP];
        let stray = topology
            .cables(placed.switch)
            .filter(|(port, far, far_port)| {
                let is_known = known.iter().any(|ports| ports.contains(port));
                // Each cable is seen from both ends; the lower end tells it.
                let is_first = (placed.switch, *port) < (*far, *far_port);
                !is_known && is_first && torus.placed(*far).is_some()
            });
        stray.map(|(port, far, far_port)| {
            let name = |switch| printable(&topology.switch(switch).description);
            let (here, there) = (name(placed.switch), name(far));
            format!("cable {here} port {port} to {there} port {far_port}")
        })
    })
}
