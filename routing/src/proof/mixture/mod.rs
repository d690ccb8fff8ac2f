//! Proofs over a change: old and new tables of the switches, mixed.
//!
//! While tables are written some switches have their old entry for a LID and some the new one, and packets are on cables by
//! either. Switches get new entries destination first: who has the new one for a LID sends to switches that have theirs. So a packet meets old
//! entries, then new ones, and never an old one behind a new one. It may hold any cable on such a way, and wait for the next. If all
//! these dependencies together close no cycle, no moment of the change does.
//!
//! ```text
//! A's entry      old: B   new: C          dependencies  A-B then B-D, A-B then B-E,
//! B's entry      old: D   new: E                        A-C then what C's new entry says
//! ```
//!
//! LIDs whose entries stay need no second look: theirs are among the dependencies of the new tables. Nor do paths that pass no
//! changed entry: only those of the switches behind one are followed, the others being the same before and after.
//!
//! A change whose mixture closes a cycle may be made in stages (`stages`): LIDs that change together, then others. In each stage
//! those of earlier stages are as they will be, and those of later ones as they were. Where that does not do, some LIDs lead nowhere for a
//! while.
//!
//! # What is not in it
//!
//! * Trees of groups that change: all that are held at some moment count from beginning to end ([`Change::groups`]). Packets that a tree of before has
//!   brought to a switch, and one of afterwards leads on, have a question of their own ([`Change::may_grow`]).
//! * Entries that nobody knows. Who asks has to know what switches hold.
//! * A switch whose new entry leads nowhere comes last, and does not go by the rule above. Packets that it gets by then are lost there, which
//!   closes nothing.
//!
//! # Sizes
//!
//! | change | followed |
//! |---|---|
//! | a cable of a fat tree or a torus | some thousand LIDs, over a few switches each |
//! | another engine on 64 switches | everything, milliseconds |
//! | another engine on 4,096 switches with 8,192 LIDs | everything, seconds |
//! | more than that | nothing: [`Safety::Unproved`] |

mod flow;
mod found;
mod moved;
mod stages;
mod ways;

use self::flow::Flow;
use self::stages::Search;
use super::graph::DependencyGraph;
use super::proven::Proven;
use super::{Hosts, Judge};
use crate::tables::{MulticastRoute, NO_PATH};
use crate::topology::SwitchIx;

pub use self::found::{Stage, Stages};
pub use self::moved::Moved;
pub use self::ways::Waiting;
pub use super::multicast::{ChangedTree, OldSl2Vl};

/// A change of tables.
/// Borrows all it needs; made for one question and dropped.
#[derive(Clone, Copy)]
pub struct Change<'a> {
    /// The new tables, and whose packets decide.
    pub judge: Judge<'a>,
    /// Forwarding tables before it, `None` where it is the new one. Shape: by switch of the topology, then by LID; what is
    /// missing has no path.
    pub old: &'a [Option<Vec<u8>>],
    /// SL2VL before it, where some are others. They are written before forwarding tables.
    pub old_sl2vl: Option<OldSl2Vl<'a>>,
    /// Trees of groups, of before and of afterwards: packets take them at any moment.
    pub groups: &'a [MulticastRoute],
    /// Hosts that were elsewhere.
    pub moved: &'a Moved,
}

/// Whether a change can deadlock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Safety {
    /// In no order.
    AtOnce,
    /// Not in these stages.
    InStages(Stages),
    /// No such stages were found.
    Unproved,
}

/// Which of its entries a LID has.
/// Of all switches alike: stages are of LIDs and not of switches, as one LID's ways are a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Has {
    Old,
    New,
    Either,
    /// None at the switches that change it.
    Nowhere,
}

/// LIDs times switches that are followed at most: some seconds. A cable that fails changes few entries, and stays far below; another
/// engine on thousands of switches does not, and has no proof.
const MOST_FOLLOWED: usize = 1 << 25;
/// With no more changed entries than that LIDs are looked at however many there are: only switches behind a changed one are followed.
const FEW_ENTRIES: usize = 1 << 16;

impl Change<'_> {
    /// LIDs that some switch sends elsewhere than before, ascending.
    pub fn lids(&self) -> Vec<u16> {
        let entries = self.entries();
        let lids = (0..)
            .zip(entries)
            .filter(|(lid, count)| *lid > 0 && *count > 0);
        lids.map(|(lid, _)| lid).collect()
    }

    /// By LID: how many switches change their entry.
    fn entries(&self) -> Vec<u32> {
        let routes = self.judge.routes;
        let mut counts = vec![0; usize::from(routes.lids().max_lid()) + 1];
        for switch in self.judge.topology.switch_ixs() {
            let (old, new) = (self.old_row(switch), routes.lft(switch));
            // Most switches keep their table.
            if old == new {
                continue;
            }
            let old = old.iter().copied().chain(core::iter::repeat(NO_PATH));
            let pairs = new.iter().copied().zip(old);
            for (count, (new, old)) in counts.iter_mut().zip(pairs) {
                *count += u32::from(new != old);
            }
        }
        counts
    }

    /// Whether the change can deadlock at all, or in which stages it cannot. `from`: what the proof of the new tables went on
    /// from, if it did.
    /// Cost: that of a proof from nothing where there is no `from`; else of the LIDs that change. Stages cost a proof from nothing for each
    /// that is tried, up to a limit.
    pub fn safety(&self, from: Option<&Proven>) -> Safety {
        let lids = self.lids();
        if lids.is_empty() && self.old_sl2vl.is_none() {
            return Safety::AtOnce;
        }
        let entries = self
            .entries()
            .iter()
            .map(|count| *count as usize)
            .sum::<usize>();
        let followed = lids
            .len()
            .saturating_mul(self.judge.topology.switches.len());
        if followed > MOST_FOLLOWED && entries > FEW_ENTRIES {
            return Safety::Unproved;
        }
        if self.old_sl2vl.is_none() && self.is_safe_at_once(from, &lids) {
            return Safety::AtOnce;
        }
        let found = Search::new(self, lids).run();
        found.map_or(Safety::Unproved, |stages| match stages.stages.as_slice() {
            [] => Safety::AtOnce,
            [one] if one.passes == 0 => Safety::AtOnce,
            _ => Safety::InStages(stages),
        })
    }

    /// Every LID at once, over the dependencies of the new tables.
    fn is_safe_at_once(&self, from: Option<&Proven>, lids: &[u16]) -> bool {
        // Dependencies that are not there any more do no harm: they only ask for stages that it would not take.
        let next = from.and_then(|from| self.judge.go_on(from));
        let graph = next.map_or_else(|| self.judge.everybody(), |next| next.graph());
        self.add_groups(&graph, false);
        if !graph.has_loop() {
            return self.is_free(graph, None, lids);
        }
        // Those of switches may close one by themselves, which matters to nobody.
        let mut graph = DependencyGraph::new(self.judge.topology, self.judge.routes);
        let Judge {
            topology,
            routes,
            sls,
            hosts,
        } = &self.judge;
        graph.add_unicast_between_hosts(topology, routes, *sls, hosts);
        self.add_groups(&graph, false);
        !graph.has_loop() && self.is_free(graph, Some(hosts), lids)
    }

    /// Whether packets that these old trees have brought may go on by the new ones while they are under way, with the routes of before or of
    /// afterwards. Where not, the new ports have to wait until they are gone ([`ChangedTree::passes`]).
    /// Cost: that of a proof of the new tables, and of the LIDs that change.
    pub fn may_grow(&self, from: Option<&Proven>, trees: &[ChangedTree]) -> bool {
        let lids = self.lids();
        let graph = self.judge.unicast_to_join(from);
        self.add_groups(&graph, false);
        graph.add_changed_trees(self.judge.topology, trees);
        !graph.has_loop() && self.is_free(graph, Some(&self.judge.hosts), &lids)
    }

    /// With what packets of groups need. `is_sl2vl`: by SL2VL tables of before, too.
    fn add_groups(&self, graph: &DependencyGraph, is_sl2vl: bool) {
        let old = self.old_sl2vl.filter(|_| is_sl2vl);
        graph.add_trees(self.judge.topology, self.groups, old);
    }

    /// With the mixtures of these LIDs. The graph has all other dependencies, and those of these LIDs by new entries. `hosts`: of their packets alone.
    fn is_free(&self, graph: DependencyGraph, hosts: Option<&Hosts>, lids: &[u16]) -> bool {
        let mut flow = Flow::new(self, &graph, hosts);
        lids.iter()
            .for_each(|lid| flow.add(*lid, Has::Either, false));
        !graph.has_loop()
    }

    /// The old and the new entry.
    fn entries_of(&self, switch: SwitchIx, lid: u16) -> [u8; 2] {
        let rows = [self.old_row(switch), self.judge.routes.lft(switch)];
        rows.map(|row| row.get(usize::from(lid)).copied().unwrap_or(NO_PATH))
    }

    /// The forwarding table before the change, by LID. Empty for a switch that was not there.
    fn old_row(&self, switch: SwitchIx) -> &[u8] {
        match self.old.get(switch.index()) {
            Some(None) => self.judge.routes.lft(switch),
            Some(Some(row)) => row,
            None => &[],
        }
    }
}
