//! Multicast forwarding tables of the groups that are joined.
//!
//! ```text
//!  members of each MLID ──> trees (`trees`) ──> what switches should hold
//!                                                        │ what they hold
//!      first round: an MLID that loses a port             │
//!      loses it everywhere <──────────────────────────────┤
//!      second round: it gets its new ports <──────────────┘
//! ```
//!
//! Old and new ports of one MLID together may close a circle, in which packets run round and multiply. So while any switch
//! has to take a port of an MLID away, no switch adds one of that MLID: what is held is then part of the old tree, and afterwards
//! part of the new one. Where a switch keeps an old port the MLID waits only if that would close a circle ([`stale`]).
//!
//! ```text
//!  an MLID before: S0 ports 1 2 4      wanted: S0 ports 1 2, S1 port 3
//!  first round     S0 ports 1 2        S1 none                           every switch holds less than before
//!  second round    S0 ports 1 2        S1 port 3                         every switch holds less than it will
//! ```
//!
//! Packets that the old tree has brought to a switch go on by its new ports, which is a turn that neither tree has. Where such turns could close a
//! credit loop the second round waits until these packets are gone ([`Multicast::rest`], and in a sweep [`crate::Planned::trees_rest`]).
//!
//! An MLID that only gains ports, as with most joins, needs the second round alone; one that only loses them the first.
//!
//! # Who calls it when
//!
//! | when | what |
//! |---|---|
//! | a sweep plans | the first round is part of the plan: links come up after it, so no new cable meets an old tree |
//! | a sweep is over | the second round |
//! | members change between two sweeps | both |
//! | nobody knows the members yet | neither: what switches hold stays |
//!
//! # Cost
//!
//! All of it but the proof of the trees is made anew each time, from members to blocks: trees of 1,000 groups with a handful of members each on 500 switches are
//! milliseconds, and only what differs is sent.
//!
//! What a switch holds beyond that is cleared: groups that ended, and those of an earlier Subnet Manager. A block of which nothing is
//! known and nothing is wanted stays unwritten. The same blocks as OpenSM's, except that it writes a whole row of blocks
//! where one differs.
//!
//! # What it may touch
//!
//! Values alone: it neither sends nor waits, and whoever calls it says when a round is over.

mod stale;

use std::collections::{BTreeMap, BTreeSet};

use routing::SwitchIx;
use routing::proof::mixture::ChangedTree;
use routing::tables::{MulticastRoute, PortSet};
use sa_compiler::state::FabricState;
use sa_fabric::NodeIx;
use sa_sm::model::attributes::Data;
use sa_sm::model::{Block, Node, Subnet};
use sa_sm::wanted::{multicast, switch_info};
use sa_sm::writing::Wanted;
use sa_wire::{Guid, Mlid, Sl};

use crate::PlanFinding;
use crate::places::Index;
use crate::trees::{Memberships, Trees, WantedTrees};

/// Blocks of each switch.
/// Of the multicast table alone.
type Tables = BTreeMap<NodeIx, BTreeMap<Block, Data>>;

/// What switches should hold for the groups that are joined.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Multicast {
    /// Shape: every block that is wanted, or held and not wanted.
    tables: Tables,
    /// Some port of them has to go before others come. Shape: raw, counted from the first MLID.
    losing: BTreeSet<u16>,
    /// The trees are not proved.
    finding: Option<PlanFinding>,
    trees: WantedTrees,
}

/// Trees of groups that packets may take while tables change: those that switches hold, and those that are wanted. Of an MLID that is not
/// wanted any more nobody knows the SL: all that groups have now count, and SL 0.
pub(crate) fn trees_of_change(
    found: &Subnet,
    parts: &FabricState,
    wanted: &[(Mlid, MulticastRoute)],
) -> Vec<MulticastRoute> {
    let held = held_trees(found, parts);
    let all: BTreeSet<Sl> = wanted.iter().map(|(_, route)| route.sl).collect();
    let all: BTreeSet<Sl> = all.into_iter().chain([Sl::default()]).collect();
    let mut trees: Vec<MulticastRoute> = wanted.iter().map(|(_, route)| route.clone()).collect();
    for (mlid, switches) in held {
        let own = wanted
            .iter()
            .filter(|(it, _)| it.get() == Mlid::MIN.get() + mlid);
        let own: BTreeSet<Sl> = own.map(|(_, route)| route.sl).collect();
        let sls = if own.is_empty() { &all } else { &own };
        // Mostly the tree is the one that is wanted.
        let is_new = |sl: &Sl| {
            let same = |tree: &MulticastRoute| tree.sl == *sl && tree.switches == switches;
            !switches.is_empty() && !wanted.iter().any(|(_, tree)| same(tree))
        };
        trees.extend(sls.iter().copied().filter(is_new).map(|sl| MulticastRoute {
            sl,
            switches: switches.clone(),
        }));
    }
    trees
}

/// Groups whose tree changes so that old and new ports meet: packets of the old one may go on by the new one.
pub(crate) fn changed_trees(
    found: &Subnet,
    parts: &FabricState,
    wanted: &[(Mlid, MulticastRoute)],
) -> Vec<ChangedTree> {
    let held = held_trees(found, parts);
    let changed = wanted.iter().filter_map(|(mlid, route)| {
        let number = mlid.get().checked_sub(Mlid::MIN.get())?;
        let tree = ChangedTree {
            old: MulticastRoute {
                sl: route.sl,
                switches: held.get(&number)?.clone(),
            },
            new: route.switches.clone(),
        };
        tree.is_mixed().then_some(tree)
    });
    changed.collect()
}

/// By MLID, counted from the first: the ports to which switches forward it through which data passes.
fn held_trees(found: &Subnet, parts: &FabricState) -> BTreeMap<u16, Vec<(SwitchIx, PortSet)>> {
    let index = Index::new(found, parts);
    let mut held: BTreeMap<u16, BTreeMap<SwitchIx, PortSet>> = BTreeMap::new();
    for node in found.nodes().iter().filter(|node| node.passes_data()) {
        let Some(switch) = index.switch(node.guid()) else {
            continue;
        };
        for (block, data) in node.tables.multicast_perhaps() {
            for (mlid, mask) in mlids(*block).zip(data.chunks_exact(2)) {
                let ports = held.entry(mlid).or_default().entry(switch).or_default();
                ports_of(*block, mask).for_each(|port| ports.insert(port));
            }
        }
    }
    let trees = held.into_iter().map(|(mlid, switches)| {
        let switches = switches.into_iter().filter(|(_, ports)| !ports.is_empty());
        (mlid, switches.collect())
    });
    trees.collect()
}

impl Multicast {
    /// For a subnet that was found, and `parts`, which were compiled of it: a member that is not in it has no place in a tree.
    pub fn new(found: &Subnet, parts: &FabricState, groups: &Memberships) -> Self {
        let mut all = Self::default();
        // Then nothing is wanted either, so what switches hold stays.
        if parts.options.disable_multicast {
            return all;
        }
        let trees = Trees::new(found, parts, groups);
        let mut routes: BTreeMap<NodeIx, Vec<(Mlid, Vec<u8>)>> = BTreeMap::new();
        for table in trees.tables() {
            for (switch, ports) in table.switches {
                // A tree is of the compiler's switches; the model's numbers are looked up by GUID.
                // Gone since the compilation: the next sweep plans without it.
                let node = found.by_guid(parts.topology.switch(switch).guid);
                if let Some(node) = node {
                    let ports = ports.iter().collect();
                    // A switch may be in many trees: its masks are joined into blocks further down.
                    routes.entry(node).or_default().push((table.mlid, ports));
                }
            }
        }
        all.finding = trees.finding();
        all.trees = trees.routes();
        // Empty tables of wanted routes would otherwise leave entries of groups that ended.
        // All of them, not only those with routes: the others may hold what nobody wants.
        for (at, node) in found.places().filter(|(_, node)| node.is_switch()) {
            all.switch(at, node, routes.remove(&at).unwrap_or_default());
        }
        all.empty_unread(found);
        all
    }

    /// A group of MLIDs that come into use and that no sweep has read: empty blocks of them at switches outside of the trees, which may hold
    /// what an earlier Subnet Manager has left.
    fn empty_unread(&mut self, found: &Subnet) {
        let wanted = self.tables.values().flatten();
        let used = wanted.filter(|(_, data)| **data != EMPTY);
        let used: BTreeSet<u16> = used.filter_map(|(block, _)| mlids(*block).next()).collect();
        for (at, node) in found.places().filter(|(_, node)| node.is_switch()) {
            let cap = node.switch_info.map_or(0, |info| info.multicast_cap.get());
            // Of none of its blocks anything is known: the next sweep reads them.
            let known = node.tables.multicast_known();
            let is_unread = |mlid: &&u16| (1..=**mlid / 32).contains(&known) && **mlid < cap;
            let positions = (0..=node.port_count()).step_by(16);
            for (mlid, port) in used.iter().filter(is_unread).flat_map(|mlid| {
                let positions = positions.clone();
                positions.map(move |port| (*mlid, port))
            }) {
                let block = multicast::block(mlid, port);
                if node.tables.get(block).is_none() {
                    let blocks = self.tables.entry(at).or_default();
                    blocks.entry(block).or_insert(EMPTY);
                }
            }
        }
    }

    /// What a person should know of the trees.
    pub fn finding(&self) -> Option<PlanFinding> {
        self.finding.clone()
    }

    /// The trees themselves.
    pub(crate) fn into_trees(self) -> WantedTrees {
        self.trees
    }

    /// The same, looked at.
    pub(crate) const fn trees(&self) -> &WantedTrees {
        &self.trees
    }

    /// What is to be written first: without the new ports of MLIDs that lose some.
    ///
    /// Shape: for each block that [`Self::last`] has, and never more ports than it.
    pub fn first(&self, found: &Subnet) -> Tables {
        self.without_new(&self.losing, found)
    }

    /// All that is wanted, but for ports of these MLIDs that are not held.
    fn without_new(&self, mlids: &BTreeSet<u16>, held: &Subnet) -> Tables {
        let mut tables = self.tables.clone();
        for (at, blocks) in &mut tables {
            let node = held.node(*at);
            for (block, data) in blocks {
                // What is not known counts as empty: nothing that may be a new port comes in before its time.
                let held = node.and_then(|node| node.tables.perhaps(*block));
                keep_only(mlids, *block, data, held.unwrap_or(&EMPTY));
            }
        }
        tables
    }

    /// All that is wanted, with MulticastFDBTop where switches have it and the options say so. `held`: what switches have after
    /// [`Self::first`], if [`Self::is_losing`]. An MLID of which one keeps an old port gets no new ones where that may close a circle.
    ///
    /// `leaves_multicast` keeps the writing from clearing blocks by itself: those are here already.
    pub fn last(&self, held: &Subnet, parts: &FabricState) -> Wanted {
        let mut wanted = Wanted {
            tables: self.without_new(&self.held_back(held, parts), held),
            // What is to be cleared is among the tables.
            leaves_multicast: true,
            ..Wanted::default()
        };
        // The same for all switches, as OpenSM has it.
        // A switch with a lower top would drop packets of a group that its neighbour forwards.
        let top = self.top();
        for (at, node) in held.places().filter(|_| parts.options.use_mfttop) {
            let info = switch_info::with_multicast_top(node, top);
            wanted.switches.extend(info.map(|info| (at, info)));
        }
        wanted
    }

    /// An MLID loses ports, so [`Self::first`] has to be held before [`Self::last`].
    ///
    /// False for most changes: joins add, and only a leave or a lost link takes away.
    pub fn is_losing(&self) -> bool {
        !self.losing.is_empty()
    }

    /// Switches that do not hold all of it, with how many blocks they lack.
    ///
    /// Unknown blocks count as lacking, as a Set whose answer was lost may or may not have been taken.
    pub fn not_held(&self, after: &Subnet) -> BTreeMap<Guid, usize> {
        let nodes = self
            .tables
            .iter()
            .filter_map(|(at, blocks)| Some((after.node(*at)?, blocks)));
        let missing = nodes.map(|(node, blocks)| {
            let differs = |(block, data): &(&Block, &Data)| node.tables.get(**block) != Some(*data);
            (node.guid(), blocks.iter().filter(differs).count())
        });
        // Those that hold all are not worth a line.
        missing.filter(|(_, blocks)| *blocks > 0).collect()
    }

    /// The blocks of one switch: those that are wanted, and empty ones where it holds others.
    fn switch(&mut self, at: NodeIx, node: &Node, routes: Vec<(Mlid, Vec<u8>)>) {
        // A switch that did not tell its SwitchInfo gets none: nobody knows what it has room for.
        let cap = node.switch_info.map_or(0, |info| info.multicast_cap.get());
        // What was held and not wanted joins the map as an empty block, so it is cleared by the same Sets.
        let mut blocks = multicast::blocks(routes, cap, node.port_count());
        for (block, held) in node.tables.multicast_perhaps() {
            let wanted = blocks.entry(*block).or_insert(EMPTY);
            // Losing is by MLID over all switches: one that loses here may gain elsewhere, and both together close a circle.
            self.losing.extend(lost(*block, held, wanted));
        }
        // Most switches have nothing to do with any group.
        if !blocks.is_empty() {
            self.tables.insert(at, blocks);
        }
    }

    /// The last MLID of the last block in use; none without any.
    fn top(&self) -> Option<Mlid> {
        let blocks = self.tables.values().flatten();
        // Whole blocks: a top inside of a block would have to move with each join.
        // A block that is only there to be cleared needs no top.
        let used = blocks.filter(|(_, data)| **data != EMPTY);
        let last = used.filter_map(|(block, _)| mlids(*block).last()).max()?;
        Mlid::new(Mlid::MIN.get().saturating_add(last)).ok()
    }
}

/// Takes ports away that are not held, of these MLIDs. What is not known counts as not held: a switch that is
/// read or written later can only add to that.
///
/// The others get their new ports at once: no old port can close a circle with them.
fn keep_only(losing: &BTreeSet<u16>, block: Block, data: &mut Data, held: &Data) {
    // Two bytes a mask; MLIDs of a block come in its order.
    let masks = data.chunks_exact_mut(2).zip(held.chunks_exact(2));
    for (mlid, (mask, held)) in mlids(block).zip(masks) {
        if losing.contains(&mlid) {
            let bytes = mask.iter_mut().zip(held);
            bytes.for_each(|(mask, held)| *mask &= held);
        }
    }
}

/// MLIDs of which some port is held and not wanted.
///
/// Shape: counted from 0xc000, as blocks are.
fn lost(block: Block, held: &Data, wanted: &Data) -> Vec<u16> {
    let masks = held.chunks_exact(2).zip(wanted.chunks_exact(2));
    let loses =
        // Bit by bit: a port that is held and not wanted is one that goes, whatever comes besides.
        |held: &[u8], wanted: &[u8]| held.iter().zip(wanted).any(|(held, it)| held & !it != 0);
    let masks = mlids(block).zip(masks);
    masks
        .filter(|(_, (held, wanted))| loses(held, wanted))
        .map(|(mlid, _)| mlid)
        .collect()
}

/// Ports of a mask, which is of 16 ports: the upper bits of the block say which.
fn ports_of(block: Block, mask: &[u8]) -> impl Iterator<Item = u8> {
    let position = u8::try_from(block.modifier >> 28).unwrap_or(0);
    let mask = mask
        .first_chunk()
        .map_or(0, |mask| u16::from_be_bytes(*mask));
    let bits = (0..16_u8).filter(move |bit| mask >> bit & 1 == 1);
    bits.map(move |bit| position * 16 + bit)
}

/// MLIDs of a block, counted from the first there is.
///
/// The position in the upper bits does not matter: all positions have the same MLIDs.
pub(crate) fn mlids(block: Block) -> impl Iterator<Item = u16> {
    let [_, _, high, low] = block.modifier.to_be_bytes();
    let number = u16::from_be_bytes([high, low]) & 0x1ff;
    number * 32..=number * 32 + 31
}

/// A block that forwards nothing.
///
/// What a switch has at power-on, and what clearing writes.
const EMPTY: Data = [0; 64];
