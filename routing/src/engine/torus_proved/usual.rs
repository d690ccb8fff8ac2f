//! What the usual rules give to all destinations.
//!
//! Destinations with the same x and y are a *column* here and worked on together (see
//! [`super::phases`]); columns are split over the cores, each thread with a graph of its own that
//! is merged at the end. Bits are only ever added, so the order of merging does not show.

use super::graph::{Edge, Graph};
use super::phases::{Parts, Phases};
use super::plan::Context;
use super::sweep::Sweep;
use crate::parallel;
use crate::placement::Axis;
use crate::placement::{PoolIx, Torus};
use crate::watch::Stretch;

/// Destinations that share x and y.
/// At most as many as the radix of z.
pub(super) struct Columns {
    pub(super) x: u8,
    pub(super) y: u8,
    pub(super) destinations: Vec<PoolIx>,
}

/// All destinations.
/// Ascending by x, then y; inside by placement.
pub(super) fn all_columns(torus: &Torus) -> Vec<Columns> {
    let xy = |ix: &PoolIx| {
        let at = torus.get(*ix).at;
        (at.on(Axis::X), at.on(Axis::Y))
    };
    let mut all: Vec<PoolIx> = torus.pool_ixs().collect();
    all.sort_by_key(xy);
    let columns = all.chunk_by(|one, other| xy(one) == xy(other));
    let columns = columns.filter_map(|destinations| {
        let (x, y) = xy(destinations.first()?);
        Some(Columns {
            x,
            y,
            destinations: destinations.to_vec(),
        })
    });
    columns.collect()
}

/// The usual ways to all destinations.
pub(super) struct Usual<'a> {
    /// The dependencies of the ways; unsorted.
    pub(super) graph: Graph<'a>,
    /// By destination: some switches have no usual way to it.
    /// Such destinations are laid one by one later.
    pub(super) has_gaps: Vec<bool>,
}

impl<'a> Usual<'a> {
    /// All there are.
    pub(super) fn all(context: &'a Context<'a>, share: Stretch<'_>) -> Self {
        Self::new(context, None, share)
    }

    /// Those to destinations without gaps that use none of these dependencies (by node, bits as in
    /// [`Graph`]); all others count as destinations with gaps.
    /// A second run over everything, made only where the first found a cycle.
    pub(super) fn without(context: &'a Context<'a>, watched: &[u32], share: Stretch<'_>) -> Self {
        Self::new(context, Some(watched), share)
    }

    /// One pass over all destinations, in parts side by side.
    fn new(context: &'a Context<'a>, watched: Option<&[u32]>, share: Stretch<'_>) -> Self {
        let done = share.count(context.columns.len());
        let passes = over_columns(context, |columns| {
            let mut pass = Pass::new(context, watched);
            for columns in columns {
                pass.add(columns);
                done.add(1);
            }
            (pass.graph, pass.gaps)
        });
        let mut usual = Self {
            graph: Graph::unsorted(&context.neighbours),
            has_gaps: vec![false; context.neighbours.switches()],
        };
        for (graph, gaps) in passes {
            usual.graph.merge(&graph);
            gaps.iter()
                .for_each(|to| usual.has_gaps[*to as usize] = true);
        }
        usual
    }
}

/// Works on runs of columns at the same time.
pub(super) fn over_columns<R: Send>(
    context: &Context<'_>,
    work: impl Fn(&[Columns]) -> R + Sync,
) -> Vec<R> {
    let switches = context.neighbours.switches();
    let (count, effort) = (context.columns.len(), switches * switches);
    parallel::over_range(count, effort, |range| work(&context.columns[range]))
}

/// One worker's part.
struct Pass<'a, 'w> {
    phases: Phases<'a>,
    /// For what has no phases.
    sweep: Sweep,
    context: &'a Context<'a>,
    watched: Option<&'w [u32]>,
    graph: Graph<'a>,
    gaps: Vec<PoolIx>,
}

impl<'a, 'w> Pass<'a, 'w> {
    /// A worker's part, empty.
    fn new(context: &'a Context<'a>, watched: Option<&'w [u32]>) -> Self {
        Self {
            phases: Phases::new(context),
            sweep: Sweep::new(context.neighbours.switches()),
            context,
            watched,
            graph: Graph::unsorted(&context.neighbours),
            gaps: Vec::new(),
        }
    }

    /// Adds the ways to the destinations of one column.
    /// The shared part is put in with the first destination that uses it.
    fn add(&mut self, columns: &Columns) {
        let watched = self.watched;
        self.phases.enter(columns.x, columns.y);
        let is_good = !uses(self.phases.shared(), watched);
        let mut is_taken = false;
        for to in &columns.destinations {
            let Some(Parts { shared, own }) = self.phases.column(*to) else {
                // Damage near the column: its ways are no first part and a ring.
                self.add_whole(*to);
                continue;
            };
            if !is_good || uses(own, watched) {
                self.gaps.push(*to);
                continue;
            }
            self.graph.add_unordered(own);
            if !std::mem::replace(&mut is_taken, true) {
                self.graph.add_unordered(shared);
            }
        }
    }

    /// The same for one destination whose ways are not made of parts.
    fn add_whole(&mut self, to: PoolIx) {
        self.sweep.column(self.context, to);
        let is_good = self.sweep.left.is_empty() && !uses(&self.sweep.edges, self.watched);
        if !is_good {
            self.gaps.push(to);
        }
        // In the first run ways with gaps count as well: what there is of them may close a cycle.
        if is_good || self.watched.is_none() {
            self.graph.add_unordered(&self.sweep.edges);
        }
    }
}

/// True when some dependency is a watched one.
fn uses(edges: &[Edge], watched: Option<&[u32]>) -> bool {
    let is_watched = |watched: &[u32]| {
        let mut edges = edges.iter();
        edges.any(|(node, bits)| watched[*node as usize] & bits != 0)
    };
    watched.is_some_and(is_watched)
}
