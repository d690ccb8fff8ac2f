//! What there is to see of a torus, without saying how it looks.
//!
//! Every place and link that the shape has is in it, there or missing, so that whoever draws need
//! not know the torus: it goes through both lists once. Text, SVG and captions are made from it
//! alone.
//!
//! Which links there are, and what they are called, is the layout's.

use routing::placement::{Coordinate, Direction, Shape};
use routing::tables::MulticastTree;
use routing::{SwitchIx, Topology, Torus};
use sa_layout::torus::{Link, LinkId, LinkState, Step, links};

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
        Self {
            shape,
            places: places.collect(),
            links: links(topology, torus),
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
