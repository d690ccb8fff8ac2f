//! Whether the change from what switches hold to what is planned can deadlock, and the stages in which it cannot.
//!
//! ```text
//!  held (acknowledged) ──┐
//!                        ├──> routing::proof::mixture ──> at once, in stages, or not proved
//!  planned ──────────────┘
//! ```
//!
//! | what is found | what is written | what is said |
//! |---|---|---|
//! | no loop at any moment | all at once, destination first | nothing |
//! | stages without one | stage by stage | their number, in the log line of the sweep |
//! | none, but some with LIDs that lead nowhere for a while | stage by stage, and waiting | which LIDs and how many pairs, for how long |
//! | none, but without the trees of groups | as for unicast alone | that there is no proof, and why |
//! | none, but for SLs of before | as for SLs of afterwards alone | clients have to ask again |
//! | no stages, too much to look at, or tables that nobody knows | all at once, destination first | that there is no proof, and why |
//!
//! What is waited for is that packets of before are gone. A packet is given up by a switch that it has been in for longer than the
//! switch's LifeTimeValue says; so they are gone after as many times that as there are switches left on their ways.
//!
//! A change is written in any case: the old routes lead over what is gone, and packets that wait for ever are dropped by the timers
//! of switches, while packets that lead nowhere stay lost.
//!
//! Only switches that data passes through count: others have no packets. While a change is written the SA gives the SLs that it gave before
//! it, and clients keep those until they ask again; so packets count with the SLs of before and those of afterwards.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use routing::SwitchIx;
use routing::proof::mixture::{self, Change, ChangedTree, Moved, Safety, Stages, Waiting};
use routing::proof::{Judge, PathSls};
use routing::tables::MulticastRoute;
use sa_compiler::pipeline;
use sa_compiler::state::FabricState;
use sa_sm::model::{Node, Port, PortState, Subnet};
use sa_sm::wanted::linear;
use sa_sm::writing::{Stage, Transition, Wanted};
use sa_wire::SlToVl;
use sa_wire::records::SlToVlRecord;
use sa_wire::smp::attribute;

use crate::PlanFinding;
use crate::groups::{Multicast, changed_trees, trees_of_change};
use crate::places::Index;
use crate::sls_of_before::{gives_other_sls, held_sls};
use crate::trees::WantedTrees;
use crate::unheld::ports_of;
use crate::{fresh, moved};

/// How a change is to be written.
/// Nothing in it: at once.
#[derive(Debug, Default)]
pub(crate) struct Judged {
    /// LIDs that change together; one stage, or none, where they all may.
    pub(crate) transition: Transition,
    /// Who has no path meanwhile.
    pub(crate) waiting: Vec<Waiting>,
    /// What a person should know.
    pub(crate) finding: Option<PlanFinding>,
    /// So long new ports of groups wait after the sweep, until packets of their old trees are gone.
    pub(crate) trees_rest: Option<Duration>,
}

/// Looks at what `found` holds, which has been read, and at what is wanted. `before`: what is in service.
/// Cost: a comparison of all tables, and where some differ a proof over those that do ([`routing::proof::mixture`]).
pub(crate) fn of(
    found: &Subnet,
    (wanted, trees): (&Wanted, &WantedTrees),
    parts: &FabricState,
    before: Option<&FabricState>,
) -> Judged {
    let differing = Differing::new(found, wanted);
    let changed = changed_trees(found, parts, trees);
    if differing.routes.is_empty() && differing.sl2vl.is_empty() && changed.is_empty() {
        return Judged::default();
    }
    if differing.unknown > 0 {
        return Judged::not_proved("some switches do not tell what they hold");
    }
    let trees = trees_of_change(found, parts, trees);
    let held = Held {
        moved: moved::since(before, parts),
        fresh: fresh::rows(found, parts),
        changed,
        ..Held::new(found, parts, &differing, trees)
    };
    let old_sls = |source, lid| held_sls(parts, before, source, lid);
    let has_other_sls = before.is_some_and(|before| gives_other_sls(parts, before));
    if !has_other_sls {
        return held.transition(pipeline::path_sls(parts));
    }
    // A path that is new has new SLs alone, and one that is kept may have both: all of them count.
    // Clients keep an SL until they ask again, so both are under way for as long as nobody knows.
    let both = held.transition(PathSls::ByPair(&old_sls));
    if both.finding.is_none() {
        return both;
    }
    // Old SLs may deadlock on new tables at any time, whatever the order.
    let new = held.transition(pipeline::path_sls(parts));
    Judged {
        finding: Some(PlanFinding::OldSls),
        ..new
    }
}

impl Multicast {
    /// How long packets of the trees that switches hold need to be gone, before [`Self::last`] may follow [`Self::first`]: where they could go on
    /// by new ports, and that could close a credit loop. None where nothing has to wait. To be asked before the first round is written, between two
    /// sweeps: routes stay as they are.
    pub fn rest(&self, held: &Subnet, parts: &FabricState) -> Option<Duration> {
        let trees = trees_of_change(held, parts, self.trees());
        let held = Held {
            changed: changed_trees(held, parts, self.trees()),
            ..Held::new(held, parts, &Differing::default(), trees)
        };
        held.trees_rest(&held.rows, pipeline::path_sls(parts))
    }
}

impl Judged {
    /// All at once, in the order that avoids circles and holes, and with a word to a person: nothing better is known.
    /// `why`: ends the sentence of the finding.
    fn not_proved(why: &'static str) -> Self {
        Self {
            finding: Some(PlanFinding::NotProvedTogether { why }),
            ..Self::default()
        }
    }

    /// Stages as the writing takes them, with the time that packets need to be gone. `life`: how long one may be in a switch, none
    /// where nothing bounds that.
    fn in_stages(stages: Stages, life: Option<Duration>) -> Self {
        let rest = |passes: usize| {
            let passes = u32::try_from(passes).unwrap_or(u32::MAX);
            life.map(|life| life.saturating_mul(passes))
        };
        let is_bounded = |stage: &mixture::Stage| {
            stage.passes == 0 || rest(stage.passes).is_some_and(|rest| rest <= MOST_REST)
        };
        let finding = (!stages.stages.iter().all(is_bounded)).then_some(PlanFinding::NotProvedTogether {
            why: "packets may stay in switches for longer than is waited for them (LifeTimeValue)",
        });
        let made = stages.stages.iter().map(|stage| Stage {
            lids: by_block(&stage.lids),
            leads_nowhere: stage.leads_nowhere,
            rest: match stage.passes {
                0 => Duration::ZERO,
                passes => rest(passes).unwrap_or(MOST_REST).min(MOST_REST),
            },
        });
        Self {
            transition: Transition {
                stages: made.collect(),
                is_before_tables: stages.is_before_sl2vl,
                holds_back_fresh: false,
            },
            waiting: stages.waiting,
            finding,
            trees_rest: None,
        }
    }
}

/// A bit for each LID of a block.
fn by_block(lids: &[u16]) -> BTreeMap<u32, u64> {
    let mut blocks = BTreeMap::new();
    for lid in lids {
        *blocks.entry(u32::from(lid / 64)).or_default() |= 1 << (lid % 64);
    }
    blocks
}

/// The longest that a packet may be in one switch, of those that packets pass. None where some switch keeps them for ever.
/// Source: IBA vol. 1, 14.2.5.4: 4.096 µs times 2 to the power of LifeTimeValue, and no limit above 19.
fn life(found: &Subnet) -> Option<Duration> {
    let switches = found.nodes().iter().filter(|node| node.passes_data());
    let lives = switches.map(|node| match node.switch_info?.life_time_and_change >> 3 {
        exponent @ 0..=19 => Some(Duration::from_nanos(4096 << exponent)),
        _ => None,
    });
    lives.collect::<Option<Vec<_>>>()?.into_iter().max()
}

/// Nothing waits for longer: links that are down wait with it.
const MOST_REST: Duration = Duration::from_secs(30);

/// Switches with packets whose tables are to change.
/// The same comparison as the writing makes.
#[derive(Default)]
struct Differing {
    /// With forwarding tables that do, as they are numbered in the subnet.
    routes: BTreeSet<sa_fabric::NodeIx>,
    sl2vl: BTreeSet<sa_fabric::NodeIx>,
    /// Blocks of which nobody knows what is held: they were not told, or cannot be read.
    unknown: usize,
}

impl Differing {
    /// Compares each block that is wanted with what is held of it.
    /// Cost: a comparison of 64 bytes for each block of each switch.
    fn new(found: &Subnet, wanted: &Wanted) -> Self {
        let mut differing = Self::default();
        for (at, blocks) in &wanted.tables {
            let Some(node) = found.node(*at).filter(|node| node.passes_data()) else {
                continue;
            };
            for (block, _, held) in node.tables.differing(blocks) {
                let nodes = match block.attribute {
                    attribute::LINEAR_TABLE => &mut differing.routes,
                    attribute::SL_TO_VL => &mut differing.sl2vl,
                    _ => continue,
                };
                // Between ports without a link SL2VL says nothing yet.
                let counts =
                    block.attribute != attribute::SL_TO_VL || is_in_use(node, block.modifier);
                if counts {
                    nodes.insert(*at);
                    differing.unknown += usize::from(held.is_none());
                }
            }
        }
        differing
    }
}

/// What switches hold, in the numbers of the compiler. Of switches that change nothing there is no copy.
struct Held<'a> {
    parts: &'a FabricState,
    life: Option<Duration>,
    /// By switch, then by LID; none where it is as planned.
    rows: Vec<Option<Vec<u8>>>,
    /// By switch, input and output port; what is not in it is as planned.
    sl2vl: HashMap<(SwitchIx, u8, u8), SlToVl>,
    /// Of groups, held and wanted.
    trees: Vec<MulticastRoute>,
    /// Those of them whose old and new ports meet.
    changed: Vec<ChangedTree>,
    /// Hosts that were elsewhere.
    moved: Moved,
    /// Of switches without data, if they wait for stages.
    fresh: Vec<(SwitchIx, Vec<u8>)>,
}

impl<'a> Held<'a> {
    /// Copies the tables of the switches that change theirs, and nothing of the others: in a large subnet few do.
    /// `differing`: which these are. A switch that the compiler does not know has no routes, and is left out.
    fn new(
        found: &Subnet,
        parts: &'a FabricState,
        differing: &Differing,
        trees: Vec<MulticastRoute>,
    ) -> Self {
        let index = Index::new(found, parts);
        let mut held = Self {
            parts,
            life: life(found),
            rows: vec![None; parts.topology.switches.len()],
            sl2vl: HashMap::new(),
            trees,
            changed: Vec::new(),
            moved: Moved::default(),
            fresh: Vec::new(),
        };
        let lids = usize::from(parts.topology.max_lid()) + 1;
        for (at, node) in found.places() {
            let Some(switch) = index.switch(node.guid()) else {
                continue;
            };
            // Switches without packets are written whole before any link of theirs comes up.
            if differing.routes.contains(&at)
                && let Some(row) = held.rows.get_mut(switch.index())
            {
                *row = Some(linear::known(&node.tables, lids));
            }
            if differing.sl2vl.contains(&at) {
                held.add_sl2vl(node, switch);
            }
        }
        held
    }

    /// Takes all SL2VL tables that a switch holds. Which input and output ports a block means is in its modifier;
    /// where several mean the same ports, that of single ports counts.
    fn add_sl2vl(&mut self, node: &Node, switch: SwitchIx) {
        // A block for all ports comes behind those of single ones by its modifier, and holds for the others.
        for (block, data) in node.tables.blocks() {
            if block.attribute != attribute::SL_TO_VL {
                continue;
            }
            let Some(packed) = data.first_chunk() else {
                continue;
            };
            let table = SlToVlRecord::unpacked(*packed);
            for (input, output) in ports_of(node, block.modifier) {
                self.sl2vl.entry((switch, input, output)).or_insert(table);
            }
        }
    }

    /// Where packets have these SLs. Switches without data get their tables before anything else changes, or with the stages where there are
    /// any: with their links up, new entries there and old ones elsewhere are a moment that no stage has.
    fn transition(&self, sls: PathSls<'_>) -> Judged {
        Judged {
            trees_rest: self.trees_rest(&self.rows, sls),
            ..self.of_routes(sls)
        }
    }

    /// None where packets of old trees may go on by new ones.
    fn trees_rest(&self, rows: &[Option<Vec<u8>>], sls: PathSls<'_>) -> Option<Duration> {
        if self.changed.is_empty() {
            return None;
        }
        let change = Change {
            judge: pipeline::judge(self.parts, sls),
            old: rows,
            old_sl2vl: None,
            groups: &self.trees,
            moved: &self.moved,
        };
        if change.may_grow(self.parts.proven.as_deref(), &self.changed) {
            return None;
        }
        let passes = self.changed.iter();
        let passes = passes.map(|tree| tree.passes(&self.parts.topology)).max();
        let passes = u32::try_from(passes.unwrap_or_default()).unwrap_or(u32::MAX);
        let rest = self.life.map(|life| life.saturating_mul(passes));
        Some(rest.unwrap_or(MOST_REST).min(MOST_REST))
    }

    /// Of routes and SL2VL.
    fn of_routes(&self, sls: PathSls<'_>) -> Judged {
        let judged = self.judged(&self.rows, sls);
        let is_at_once = judged.finding.is_none() && judged.transition == Transition::default();
        if is_at_once || self.fresh.is_empty() {
            return judged;
        }
        let mut rows = self.rows.clone();
        for (switch, fresh) in &self.fresh {
            if let Some(row) = rows.get_mut(switch.index()) {
                *row = Some(fresh.clone());
            }
        }
        let mut with_stages = self.judged(&rows, sls);
        if judged.finding.is_none()
            && let Some(why) = with_stages.finding.take()
        {
            // Better in stages, and with a word, than all at once.
            return Judged {
                finding: Some(why),
                ..judged
            };
        }
        with_stages.transition.holds_back_fresh = true;
        with_stages
    }

    /// With these tables before. Goes on from the proof of the plan where there is one to go on from.
    fn judged(&self, rows: &[Option<Vec<u8>>], sls: PathSls<'_>) -> Judged {
        let parts = self.parts;
        let judge: Judge<'_> = pipeline::judge(parts, sls);
        let planned = |switch, input, output| parts.routes.sl2vl(switch, input, output);
        let old = |switch, input, output| {
            let held = self.sl2vl.get(&(switch, input, output)).copied();
            held.unwrap_or_else(|| planned(switch, input, output))
        };
        let change = Change {
            judge,
            old: rows,
            old_sl2vl: (!self.sl2vl.is_empty()).then_some(&old),
            groups: &self.trees,
            moved: &self.moved,
        };
        let proven = parts.proven.as_deref();
        let judged = |change: &Change<'_>| match change.safety(proven) {
            Safety::AtOnce => Some(Judged::default()),
            Safety::InStages(stages) => Some(Judged::in_stages(stages, self.life)),
            Safety::Unproved => None,
        };
        if let Some(judged) = judged(&change) {
            return judged;
        }
        // Stages that unicast needs are better than none.
        let without = Change {
            groups: &[],
            ..change
        };
        let is_of_groups = !self.trees.is_empty();
        match judged(&without).filter(|_| is_of_groups) {
            Some(mut judged) => {
                let why = "trees of multicast groups, of before or of afterwards, could close a credit loop with routes meanwhile";
                let finding = PlanFinding::NotProvedTogether { why };
                judged.finding.get_or_insert(finding);
                judged
            }
            None => {
                Judged::not_proved("they could close a credit loop in any order that was tried")
            }
        }
    }
}

/// Packets go between some ports that a modifier of SL2VL means.
fn is_in_use(node: &Node, modifier: u32) -> bool {
    let is_up =
        |port: u8| port == 0 || node.port(port).and_then(Port::state) == Some(PortState::Active);
    let mut pairs = ports_of(node, modifier).into_iter();
    pairs.any(|(input, output)| is_up(input) && is_up(output))
}
