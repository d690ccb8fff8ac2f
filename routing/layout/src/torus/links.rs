//! The links of a torus, and what is left of each.
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
use routing::{Peer, Topology, Torus};

/// Which link: from a place in the plus direction of an axis.
/// A link that closes a ring begins at the last position and ends at 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LinkId {
    /// Its end in the minus direction.
    pub low: Coordinate,
    /// Along which it runs.
    pub axis: Axis,
}

/// The cables between two neighbouring places.
/// One for all parallel cables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// Which.
    pub id: LinkId,
    /// What is left of it.
    pub state: LinkState,
}

/// What is left of a link.
/// `Missing` is damage; `NoSwitch` follows from damage that is drawn anyway.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LinkState {
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
pub struct Step {
    /// The place that sends.
    pub from: Coordinate,
    /// Where to.
    pub direction: Direction,
}

impl LinkId {
    /// Every link of a shape.
    /// An axis of radix 1 has none, one of radix 2 has one: a second would be a parallel cable.
    pub fn all(shape: Shape) -> impl Iterator<Item = Self> {
        let ids = shape.coordinates().flat_map(|low| {
            let along = move |axis| Self { low, axis };
            Axis::ALL.into_iter().map(along)
        });
        ids.filter(move |id| {
            let is_open = shape.is_mesh(id.axis) || shape.radix_of(id.axis) == 2;
            shape.radix_of(id.axis) > 1 && !(is_open && id.closes_ring(shape))
        })
    }

    /// The other end.
    pub fn high(self, shape: Shape) -> Coordinate {
        shape.neighbour(self.low, self.axis.plus())
    }

    /// True for the link that closes a ring. The dateline lies on it.
    /// Also true at the end of a mesh, which has no such link: ask for links of the shape only.
    pub fn closes_ring(self, shape: Shape) -> bool {
        self.low.on(self.axis) + 1 == shape.radix_of(self.axis)
    }
}

impl Link {
    /// A link of a torus, as it is now.
    pub fn of(topology: &Topology, torus: &Torus, id: LinkId) -> Self {
        let state = state(topology, torus, id);
        Self { id, state }
    }
}

impl Step {
    /// The link that it uses.
    /// Both directions of a cable give the same link.
    pub fn link(self, shape: Shape) -> LinkId {
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
    pub fn to(self, shape: Shape) -> Coordinate {
        shape.neighbour(self.from, self.direction)
    }
}

/// All links that the shape of a torus has, in the order of their lower ends.
///
/// Cost: once over all ports.
pub fn links(topology: &Topology, torus: &Torus) -> Vec<Link> {
    let all = LinkId::all(torus.shape());
    all.map(|id| Link::of(topology, torus, id)).collect()
}

/// A port that is known as one of the link and leads to no switch has lost its cable.
fn state(topology: &Topology, torus: &Torus, id: LinkId) -> LinkState {
    let (Some(low), Some(_)) = (torus.at(id.low), torus.at(id.high(torus.shape()))) else {
        return LinkState::NoSwitch;
    };
    let ports = low.ports(id.axis.plus()).iter();
    let cables: Vec<_> = ports
        .filter_map(|port| match topology.peer(low.switch, *port) {
            Peer::Switch { port: far, .. } => Some((*port, far)),
            _ => None,
        })
        .collect();
    if cables.is_empty() {
        LinkState::Missing
    } else {
        LinkState::Wired(cables)
    }
}
