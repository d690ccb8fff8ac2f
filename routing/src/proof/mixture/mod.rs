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
//! A change whose mixture closes a cycle may be made in stages (`Change::stages`): LIDs that change together, then others. In each stage
//! those of earlier stages are as they will be, and those of later ones as they were. Packets of an earlier stage are believed to have
//! arrived, or to be dropped, when the next begins.
//!
//! # What is not in it
//!
//! * Packets of groups: their trees change apart from this.
//! * Entries that nobody knows. Who asks has to know what switches hold.
//! * A switch whose new entry leads nowhere comes last, and does not go by the rule above. Packets that it gets by then are lost there, which
//!   closes nothing.
//! * Packets that are still under way from two stages ago. A switch drops what waits for longer than its HOQLife, and a stage takes an answer
//!   of each of its switches.
//!
//! # How stages are found
//!
//! ```text
//!  all LIDs that are left ──loop──> blocks of 64, one after the other, each that adds no loop ──none──> the same by single LIDs
//!            │                              │                                                             │         └─ none: not proved
//!            └─ none: the last stage        └─ a stage; its LIDs have new entries from then on ───────────┘
//! ```
//!
//! Blocks come first because they are what is written: a stage of whole blocks takes no Set more than all at once, one of single LIDs
//! writes a block for each stage that has some of it. It is a greedy search: where it finds nothing there may be stages all the same.
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

use sa_wire::SlToVl;

use self::flow::Flow;
use super::graph::DependencyGraph;
use super::proven::Proven;
use super::{Hosts, Judge};
use crate::tables::NO_PATH;
use crate::topology::SwitchIx;

/// SL2VL of switches before a change, by input and output port.
pub type OldSl2Vl<'a> = &'a (dyn Fn(SwitchIx, u8, u8) -> SlToVl + Sync);

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
}

/// Whether a change can deadlock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Safety {
    /// In no order.
    AtOnce,
    /// Not in these stages, LIDs each, one after the other.
    InStages(Vec<Vec<u16>>),
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
}

/// Channels that are gone over to find stages: some seconds.
const MOST_WORK: usize = 1 << 30;
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
        self.stages(lids)
    }

    /// Every LID at once, over the dependencies of the new tables.
    fn is_safe_at_once(&self, from: Option<&Proven>, lids: &[u16]) -> bool {
        // Dependencies that are not there any more do no harm: they only ask for stages that it would not take.
        let next = from.and_then(|from| self.judge.go_on(from));
        let graph = next.map_or_else(|| self.judge.everybody(), |next| next.graph());
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
        !graph.has_loop() && self.is_free(graph, Some(hosts), lids)
    }

    /// With the mixtures of these LIDs. The graph has all other dependencies, and those of these LIDs by new entries. `hosts`: of their packets alone.
    fn is_free(&self, graph: DependencyGraph, hosts: Option<&Hosts>, lids: &[u16]) -> bool {
        let mut flow = Flow::new(self, &graph, hosts);
        lids.iter()
            .for_each(|lid| flow.add(*lid, Has::Either, false));
        !graph.has_loop()
    }

    /// Stages of LIDs, as few as are found quickly: all at once, else by blocks of 64, else one by one.
    fn stages(&self, mut left: Vec<u16>) -> Safety {
        let hosts = &self.judge.hosts;
        let channels = DependencyGraph::new(self.judge.topology, self.judge.routes);
        let mut work = MOST_WORK;
        // LIDs that do not change have both.
        let mut has = vec![Has::New; usize::from(self.judge.routes.lids().max_lid()) + 1];
        for lid in &left {
            if let Some(has) = has.get_mut(usize::from(*lid)) {
                *has = Has::Old;
            }
        }
        let first = self
            .old_sl2vl
            .map(|_| self.state(&channels, hosts, &has, true));
        if first.is_some_and(|graph| graph.is_none_or(|graph| graph.has_loop())) {
            return Safety::Unproved;
        }
        let mut stages = Vec::new();
        while !left.is_empty() {
            let Some(graph) = self.state(&channels, hosts, &has, false) else {
                return Safety::Unproved;
            };
            let stage = self.stage(&graph, &left, &mut work);
            if stage.is_empty() {
                return Safety::Unproved;
            }
            for lid in &stage {
                if let Some(has) = has.get_mut(usize::from(*lid)) {
                    *has = Has::New;
                }
            }
            left.retain(|lid| !stage.contains(lid));
            stages.push(stage);
        }
        Safety::InStages(stages)
    }

    /// All dependencies where each LID has these entries, of packets between hosts: those of switches themselves may close loops at any
    /// time, which is told elsewhere and refuses nothing. None where that is too much work.
    fn state(
        &self,
        channels: &DependencyGraph,
        hosts: &Hosts,
        has: &[Has],
        is_sl2vl: bool,
    ) -> Option<DependencyGraph> {
        let switches = self.judge.topology.switches.len();
        if switches.saturating_mul(has.len()) > MOST_FOLLOWED {
            return None;
        }
        let graph = channels.wide();
        let mut flow = Flow::new(self, &graph, Some(hosts));
        flow.has_old_sl2vl = is_sl2vl;
        for (lid, has) in (0..).zip(has) {
            flow.add(lid, *has, true);
        }
        Some(graph)
    }

    /// LIDs that may change together now. Empty where there is none, or it is too much work to find them.
    fn stage(&self, graph: &DependencyGraph, left: &[u16], work: &mut usize) -> Vec<u16> {
        let hosts = Some(&self.judge.hosts);
        let mut fits = |graph: &DependencyGraph, lids: &[u16]| {
            *work = work.checked_sub(graph.nodes())?;
            let with = graph.copy();
            let mut flow = Flow::new(self, &with, hosts);
            lids.iter()
                .for_each(|lid| flow.add(*lid, Has::Either, false));
            (!with.has_loop()).then_some(with)
        };
        // What is left mostly goes together, once what stood against it is done.
        if fits(graph, left).is_some() {
            return left.to_vec();
        }
        // Whole blocks first: these take no Set more.
        for size in [64, 1] {
            let mut stage = Vec::new();
            let mut now = graph.copy();
            for lids in left.chunk_by(|one, next| one / size == next / size) {
                if let Some(with) = fits(&now, lids) {
                    stage.extend_from_slice(lids);
                    now = with;
                }
            }
            if !stage.is_empty() {
                return stage;
            }
        }
        Vec::new()
    }

    fn old_row(&self, switch: SwitchIx) -> &[u8] {
        match self.old.get(switch.index()) {
            Some(None) => self.judge.routes.lft(switch),
            Some(Some(row)) => row,
            None => &[],
        }
    }
}
