//! Ways within a given number of VLs, however few: Nue.
//!
//! The destinations are divided over the VLs, neighbours together, and each VL gets a spanning tree from a
//! switch in the middle of its destinations. All turns that the tree needs for them are used from the start.
//! Then every destination is searched by turns that close no cycle with those used so far (`search`). Switches
//! that such a search does not reach take the way on the tree, and so does every switch on that way; the
//! others are searched again. If that does not end soon, the whole destination takes the tree, which is always
//! possible: so there is a way for every pair that is wired together, with one VL as well.
//! Source: Domke, Hoefler and Matsuoka, Routing on the Dependency Graph, 2016.

use super::balance::Loads;
use super::columns::Columns;
use super::escape::Tree;
use super::graph::{Graph, NO_SLOT, NOWHERE};
use super::layer::Layer;
use super::pairs::Pairs;
use super::search::Search;
use crate::watch::{Count, Stretch};

/// How often a destination is searched with more switches on the tree, before all are.
const TRIES: u32 = 6;

/// How often all destinations are searched in one try, at most.
const MOST_ROUNDS: usize = 4;

/// Fills all columns on `vls` VLs. Cost: O(LIDs x channels), and the searches for cycles: each turn is looked
/// at once a VL, and again where a search had to be undone.
pub(super) fn fill(graph: &Graph, columns: &mut Columns, vls: u8, share: Stretch<'_>) -> Pairs {
    let groups = divide(graph, columns, vls);
    let mut search = Search::new(graph);
    let mut best: Option<(u128, Vec<u8>)> = None;
    let tries = rounds(graph, columns, 32.min(graph.switches()));
    // A try looks at each destination once for its tree, and in each of its rounds.
    let done = share.count(tries * (1 + rounds(graph, columns, MOST_ROUNDS)) * graph.switches());
    for nth in 0..tries {
        // Each round with other roots: which of them is best is only seen by trying.
        columns.clear();
        let loads = attempt(graph, columns, &groups, nth, &mut search, &done);
        let squares = loads.squares();
        // Fewer squares: the fuller a channel the more it counts.
        if best.as_ref().is_none_or(|(least, _)| squares < *least) {
            best = Some((squares, columns.take()));
        }
    }
    if let Some((_, best)) = best {
        columns.put(best);
    }
    let mut pairs = Pairs::none(graph.switches());
    for (vl, destinations) in (0..).zip(groups) {
        for to in destinations {
            pairs.set_all(to, vl, |from| search.are_joined(from, to));
        }
    }
    pairs
}

/// How often something is done that goes over all channels for each LID: once, and up to `most` times where
/// that takes a second or two.
fn rounds(graph: &Graph, columns: &Columns, most: usize) -> usize {
    const WORTH_IT: usize = 1 << 25;
    (WORTH_IT / (graph.channels() * columns.count()).max(1)).clamp(1, most.max(1))
}

/// One VL: its tree, and the turns that are used.
struct Part<'a> {
    tree: Tree,
    layer: Layer,
    destinations: &'a [u32],
}

/// Fills all columns with trees from the nth-best switches. Columns are searched again where that costs little,
/// each without its own paths: turns that are used stay so, and the loads are known.
fn attempt(
    graph: &Graph,
    columns: &mut Columns,
    groups: &[Vec<u32>],
    nth: usize,
    search: &mut Search,
    done: &Count<'_>,
) -> Loads {
    let mut loads = Loads::new(graph);
    let part = |destinations: &'_ Vec<u32>| {
        let tree = Tree::from(graph, median(graph, columns, destinations, nth));
        // The order of the layer begins as the tree has it, so that its turns cost nothing.
        let mut layer = Layer::new(graph, &tree.channels(graph));
        reserve(graph, &tree, search, destinations, &mut layer);
        done.add(destinations.len());
        (tree, layer)
    };
    let parts = groups.iter().map(|destinations| {
        let (tree, layer) = part(destinations);
        Part {
            tree,
            layer,
            destinations,
        }
    });
    let mut parts: Vec<Part<'_>> = parts.collect();
    // Again with the loads known; turns that are used stay so, which never closes a cycle.
    for _ in 0..rounds(graph, columns, MOST_ROUNDS) {
        for part in &mut parts {
            let mut escape = Escape {
                graph,
                tree: &part.tree,
                layer: &mut part.layer,
                loads: &mut loads,
                search,
            };
            for to in part.destinations {
                escape.place_all(columns, *to);
                done.add(1);
            }
        }
    }
    loads
}

/// The destinations of each VL: by hops from one end of the fabric, cut where each has about as many columns as
/// the others.
fn divide(graph: &Graph, columns: &Columns, vls: u8) -> Vec<Vec<u32>> {
    let mut hops = vec![NOWHERE; graph.switches()];
    let mut reached = Vec::new();
    let mut all = Vec::new();
    for part in graph.all_switches() {
        // Each part by itself: hops across parts are none.
        if hops[part as usize] == NOWHERE {
            let mut own = vec![NOWHERE; graph.switches()];
            graph.spread_from(part, &mut own, &mut reached);
            let end = reached.last().copied().unwrap_or(part);
            graph.spread_from(end, &mut own, &mut reached);
            for switch in &reached {
                hops[*switch as usize] = own[*switch as usize];
            }
            all.append(&mut reached);
        }
    }
    let total: usize = all.iter().map(|to| columns.of(*to).len()).sum();
    let mut groups = vec![Vec::new(); usize::from(vls)];
    let mut before = 0;
    for to in all {
        // By the middle of its columns, so that the last group is not empty.
        let own = columns.of(to).len();
        let group = (before + own / 2) * groups.len() / total.max(1);
        before += own;
        let last = groups.len() - 1;
        groups[group.min(last)].push(to);
    }
    // Hosts first: what carries only management may take what they leave.
    for group in &mut groups {
        group.sort_by_key(|to| !graph.has_hosts(*to));
    }
    groups
}

/// The switch with the nth-fewest hops to some destinations, each as often as it has columns; 0 in an empty
/// fabric.
fn median(graph: &Graph, columns: &Columns, destinations: &[u32], nth: usize) -> u32 {
    let mut sums = vec![0_u64; graph.switches()];
    let mut hops = vec![NOWHERE; graph.switches()];
    let mut reached = Vec::new();
    for to in destinations {
        graph.spread_from(*to, &mut hops, &mut reached);
        let weight = columns.of(*to).len() as u64;
        for (sum, hops) in sums.iter_mut().zip(&hops) {
            *sum += weight * u64::from(*hops);
        }
    }
    // A stable sort: of equal ones the lower number.
    let mut all: Vec<u32> = graph.all_switches().collect();
    all.sort_by_key(|switch| sums[*switch as usize]);
    let nth = nth.checked_rem(all.len());
    nth.map_or(0, |nth| all[nth])
}

/// Uses the turns of the tree that lead to the destinations.
fn reserve(graph: &Graph, tree: &Tree, search: &Search, destinations: &[u32], layer: &mut Layer) {
    // By switch: destinations at it and below.
    let mut below = vec![0_usize; graph.switches()];
    for to in destinations {
        below[*to as usize] = 1;
    }
    for switch in tree.order.iter().rev() {
        let up = tree.up[*switch as usize];
        if up != NOWHERE {
            below[graph.to(up) as usize] += below[*switch as usize];
        }
    }
    let in_part = |switch: u32| {
        let joined = |to: &&u32| search.are_joined(**to, switch);
        destinations.iter().filter(joined).count()
    };
    let mut above = vec![NOWHERE as usize; graph.switches()];
    for switch in &tree.order {
        let up = tree.up[*switch as usize];
        let total = match up {
            NOWHERE => in_part(*switch),
            up => above[graph.to(up) as usize],
        };
        above[*switch as usize] = total;
        // Up where some destination is not below, down where one is: all that the tree will be asked for.
        for out in graph.leaving(*switch) {
            let is_needed = match out {
                out if out == up => total > below[*switch as usize],
                out if graph.back(out) == tree.up[graph.to(out) as usize] => {
                    below[graph.to(out) as usize] > 0
                }
                _ => false,
            };
            if is_needed {
                admit_into(graph, tree, *switch, out, layer);
            }
        }
    }
    layer.keep();
}

/// Uses the turns from all other cables of the tree at a switch into one of them.
fn admit_into(graph: &Graph, tree: &Tree, switch: u32, out: u32, layer: &mut Layer) {
    for other in graph.leaving(switch).filter(|other| *other != out) {
        let far = graph.to(other) as usize;
        let is_tree = other == tree.up[switch as usize] || graph.back(other) == tree.up[far];
        if is_tree {
            // A spanning tree has no cycle, so none of these can be refused.
            let is_good = layer.admit(graph, graph.back(other), out);
            debug_assert!(is_good, "a tree has no cycle");
        }
    }
}

/// A search that falls back on the tree.
struct Escape<'a> {
    graph: &'a Graph,
    tree: &'a Tree,
    layer: &'a mut Layer,
    loads: &'a mut Loads,
    search: &'a mut Search,
}

impl Escape<'_> {
    /// Fills the columns to a switch. What they have is forgotten.
    fn place_all(&mut self, columns: &mut Columns, to: u32) {
        for column in columns.of(to) {
            if columns.is_copy(column) {
                columns.copy_first(column);
                continue;
            }
            let is_counted = columns.is_host(column);
            let slots = columns.slots_mut(column);
            // Its own paths are no reason to avoid its own channels.
            if is_counted {
                self.search.trace(self.graph, self.loads, to, slots);
                self.loads
                    .count(self.graph, self.search.order(), slots, false);
            }
            slots.fill(NO_SLOT);
            self.place(to, slots, is_counted);
        }
    }

    /// Fills a column, which has no ways yet.
    fn place(&mut self, to: u32, slots: &mut [u8], is_counted: bool) {
        let mut fixed = slots.to_vec();
        for nth in 0..=TRIES {
            slots.copy_from_slice(&fixed);
            let is_whole = self
                .search
                .run(self.graph, self.layer, self.loads, to, slots);
            if is_whole {
                break;
            }
            // What was tried beside ways that failed must not stay blocked.
            self.layer.undo();
            let is_last = nth + 1 == TRIES;
            let missing: Vec<u32> = match is_last {
                true => self.graph.all_switches().collect(),
                false => self.search.unreached(to).collect(),
            };
            self.fix(to, &missing, &mut fixed);
        }
        self.layer.keep();
        if is_counted {
            self.loads
                .count(self.graph, self.search.order(), slots, true);
        }
    }

    /// Gives some switches, and all on their ways, the way on the tree.
    fn fix(&self, to: u32, missing: &[u32], slots: &mut [u8]) {
        let (graph, up) = (self.graph, &self.tree.up);
        // On the way from the root to the destination the tree is gone down.
        // The root's way to the destination, read backwards from it.
        let mut down = vec![NOWHERE; graph.switches()];
        let mut here = to;
        while up[here as usize] != NOWHERE {
            let channel = up[here as usize];
            here = graph.to(channel);
            down[here as usize] = graph.back(channel);
        }
        for start in missing {
            let mut here = *start;
            while here != to && slots[here as usize] == NO_SLOT {
                let channel = match down[here as usize] {
                    NOWHERE => up[here as usize],
                    channel => channel,
                };
                // A root of another part.
                if channel == NOWHERE {
                    break;
                }
                slots[here as usize] = graph.slot(channel);
                here = graph.to(channel);
            }
        }
    }
}
