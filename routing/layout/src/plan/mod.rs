//! A fabric as lists of what stands where: for who draws it without looking at topology or torus again.
//!
//! ```text
//!  parts()   one part where the fabric has up to MOST switches; else many
//!     │        torus: planes, and bands of planes that are too large        others: groups, and what is in none
//!     v
//!  Plan      switches with points, links with lines, frames, labels
//! ```
//!
//! Larger fabrics are cut because signs would overlap on a screen, and because a page must stay small. Cables from one part to another are
//! in neither plan; they are counted.

mod cut;
mod graph;
mod torus;

use routing::{SwitchIx, Topology, Torus};

pub use self::cut::{Part, outside, parts};
use crate::Point;
use crate::graph::Frame;
use crate::torus::Segment;

/// Most switches of a part. Source: as `sapphire draw`, found by looking.
pub const MOST: usize = 1000;

/// What stands where. Lengths in pixels.
#[derive(Debug, Default)]
pub struct Plan {
    /// Of the sheet, margins included.
    pub width: i32,
    /// Where the sheet may end.
    pub height: i32,
    /// Radius of a switch.
    pub dot: i32,
    /// Its switches, each once.
    pub switches: Vec<(SwitchIx, Spot)>,
    /// Places of a torus where no switch is.
    pub empty: Vec<Point>,
    /// Links among its switches.
    pub lines: Vec<Line>,
    /// Around groups.
    pub frames: Vec<Frame>,
    /// Names of axes and planes.
    pub labels: Vec<Label>,
    /// Cables that lead to switches of other parts.
    pub leaving: usize,
}

/// Where a switch stands, and where its name would.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spot {
    /// Its middle.
    pub at: Point,
    /// Where its name begins, ends or has its middle; none where there is no room for names.
    pub name: Option<(Point, Anchor)>,
}

/// Which part of a word stands at its point. SVG's `text-anchor`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Anchor {
    /// Its beginning.
    Start,
    /// Its middle.
    Middle,
    /// Its end.
    End,
}

/// A word beside the picture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label {
    /// Where.
    pub at: Point,
    /// Which part of it stands there.
    pub anchor: Anchor,
    /// What it says.
    pub words: String,
}

/// All cables between two switches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Of one end and the other.
    pub ends: [SwitchIx; 2],
    /// Ports of one end and the other, cable by cable; empty where the cables should be there and are not.
    pub cables: Vec<(u8, u8)>,
    /// What is seen of it: one piece, or a stub at each end.
    pub pieces: Vec<Segment>,
    /// Both ends are in one row: a straight line would run through what is between them.
    pub is_bowed: bool,
}

impl Part {
    /// What stands where. Cost: a walk over the cables of the part's switches, and the search for groups among them.
    pub fn plan(&self, topology: &Topology, torus: Option<&Torus>) -> Plan {
        let mut plan = match (self.corner(), torus) {
            (Some(corner), Some(torus)) => torus::plan(topology, torus, corner),
            _ => graph::plan(topology, &self.switches),
        };
        plan.leaving = self.leaving(topology);
        plan
    }

    /// Cables from its switches to switches of other parts.
    fn leaving(&self, topology: &Topology) -> usize {
        let mut is_here = vec![false; topology.switches.len()];
        for switch in &self.switches {
            is_here[switch.index()] = true;
        }
        let cables = self
            .switches
            .iter()
            .flat_map(|switch| topology.cables(*switch));
        cables.filter(|(_, far, _)| !is_here[far.index()]).count()
    }
}

#[cfg(test)]
mod tests;
