//! What devices hold, and what packets meet, after every Set that reached one.
//!
//! ```text
//!  begin ──> Set, Set, .. ──> end ──> published
//!    │         │               └─ pairs that were lost for a moment, and should not have been
//!    │         └─ what the Set changed is walked again: circles, lost pairs, credit loops, P_Keys, groups
//!    └─ all pairs are walked: which of them arrive before the change
//! ```
//!
//! It knows the devices, the paths that the SA tells, and nothing of what the Subnet Manager believes, but for the LIDs that it says to be
//! without a path for a while. Packets are believed to have arrived when a sweep begins; meanwhile each passes a switch in the time that it may be in
//! one. A pair is a switch and a LID: what a Set changes is one row, so the pairs behind it are all that can end otherwise, and no other is walked.
//!
//! | what is looked at | when | it is wrong where |
//! |---|---|---|
//! | LIDs whose entry or link changed | each Set | a packet meets a switch twice |
//! | pairs that arrive before and afterwards | each Set | one does not arrive meanwhile |
//! | pairs with a path by the SA | each Set of a P_Key table | a key that passes before and afterwards does not meanwhile |
//! | places of packets, by the SLs that the SA tells, and of those of groups | each Set of routes, SL2VL or a multicast table | what they wait for closes a circle, or an SL has no VL |
//! | packets of groups | each Set of a multicast table | one meets a switch twice |
//! | all paths that the SA tells | after a sweep | devices do not carry one |
//! | members of groups | after a sweep | one does not hear another |
//!
//! A group whose tree changes loses its old ports first (`docs/sm.md`), so members that do not hear each other for that moment are not counted.

pub(crate) mod credit;
pub(crate) mod groups;
pub(crate) mod hops;
pub(crate) mod pairs;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use fabric_simulator::Simulator;
use sa_fabric::{Fabric, NodeIx, PortRef};
use sa_sm::writing::Stage;
use sa_snapshot::Snapshot;
use sa_wire::NodeType;
use sa_wire::smp::{Smp, attribute};

use self::credit::Credit;
use self::hops::{End, Hops};
use self::pairs::{Pair, Told};

/// Who is in which group, by MLID counted from the first.
pub(crate) type Groups = BTreeMap<u16, BTreeSet<PortRef>>;

/// How much was looked at.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Counts {
    /// Sets that reached a device.
    pub(crate) sets: u64,
    /// Packets that were followed to their end after a Set.
    pub(crate) pairs: u64,
    /// Paths of the SA that were followed after a sweep.
    pub(crate) paths: u64,
    /// Pairs that did not arrive at some moment, as it was said of their LID.
    pub(crate) drained: u64,
    /// Pairs that did not arrive for a moment, as they may: they do not afterwards either.
    pub(crate) gone: u64,
    /// The same in a sweep during which something happened, of which the Subnet Manager could not know.
    pub(crate) surprised: u64,
}

pub(crate) struct Walker {
    fabric: Fabric,
    hops: Hops,
    /// Pairs that arrived when this began.
    base: BTreeSet<(NodeIx, u16)>,
    /// Pairs of that which did not arrive at some moment, with the number of that Set, and where it was.
    lost: BTreeMap<(NodeIx, u16), (u64, NodeIx)>,
    told: BTreeMap<Pair, Told>,
    /// Where hosts were when they were told that. One that moves has lost its link, and asks again.
    places: BTreeMap<PortRef, PortRef>,
    /// Pairs whose P_Key passed when this began; none before a P_Key is written.
    keys: Option<BTreeSet<Pair>>,
    no_key: BTreeMap<Pair, u64>,
    credit: Credit,
    /// A loop stands, as it was said that there may be one.
    is_open: bool,
    /// It is said that there may be one.
    is_unproved: bool,
    /// Of the last Set.
    now: Duration,
    pub(crate) groups: Groups,
    pub(crate) counts: Counts,
    /// What is wrong, in words.
    pub(crate) found: Vec<String>,
}

/// What the Subnet Manager says of its change.
#[derive(Debug, Default, Clone)]
pub(crate) struct Promise {
    pub(crate) stages: Vec<Stage>,
    /// It says that it has no proof that the change closes no credit loop.
    pub(crate) is_unproved: bool,
}

impl Promise {
    /// The LID is to have no path for a while.
    fn drains(&self, lid: u16) -> bool {
        let (block, bit) = (u32::from(lid / 64), 1_u64 << (lid % 64));
        let has = |stage: &Stage| stage.lids.get(&block).is_some_and(|bits| bits & bit != 0);
        let mut dark = self.stages.iter().filter(|stage| stage.leads_nowhere);
        dark.any(has)
    }
}

/// How long a packet may be in one switch, by the LifeTimeValue that the Subnet Manager writes without an option: 4.096 µs times 2^18.
const LIFE: Duration = Duration::from_nanos(4096 << 18);

impl Walker {
    pub(crate) fn new(fabric: &Fabric) -> Self {
        let is_switch = fabric.nodes().iter();
        let is_switch = is_switch.map(|node| node.kind == NodeType::Switch);
        Self {
            fabric: fabric.clone(),
            hops: Hops::new(is_switch.collect()),
            base: BTreeSet::new(),
            lost: BTreeMap::new(),
            told: BTreeMap::new(),
            places: BTreeMap::new(),
            keys: None,
            no_key: BTreeMap::new(),
            credit: Credit::default(),
            is_open: false,
            is_unproved: false,
            now: Duration::ZERO,
            groups: Groups::new(),
            counts: Counts::default(),
            found: Vec::new(),
        }
    }

    /// The SA answers by this already.
    pub(crate) fn tell(&mut self, simulator: &Simulator, snapshot: &Snapshot) {
        self.told = pairs::all_told(&self.fabric, simulator, snapshot);
        let sources = self.told.keys().map(|(from, _)| *from);
        let places = sources.filter_map(|from| Some((from, simulator.peer(from)?)));
        self.places = places.collect();
    }

    /// Before the first Set of a sweep, and again when something else than a Set has changed devices.
    pub(crate) fn begin(&mut self, simulator: &Simulator) {
        for node in self.hops.switches().collect::<Vec<_>>() {
            let lids = self.hops.lids();
            self.hops.refresh(simulator, node, lids);
        }
        (self.base, self.lost) = (BTreeSet::new(), BTreeMap::new());
        (self.keys, self.no_key) = (None, BTreeMap::new());
        let owned: BTreeSet<u16> = self.lids(simulator);
        for node in self.hops.switches() {
            for lid in &owned {
                match self.hops.end(node, *lid) {
                    End::Arrives => drop(self.base.insert((node, *lid))),
                    End::Lost => {}
                    End::Circle => self.found.push(circle(node, *lid, 0)),
                }
            }
        }
        self.forget_packets(simulator);
        // What a sweep without a proof has left is not the fault of the next one.
        let circle = self.credit.loops();
        self.is_open = circle.is_some() && self.is_unproved;
        if let Some(circle) = circle.filter(|_| !self.is_unproved) {
            self.found.push(format!("a credit loop stands: {circle:?}"));
        }
    }

    /// Packets that are on the wire pass so many switches more, by the tables of now.
    fn let_pass(&mut self, simulator: &Simulator, switches: u128) {
        let before = core::mem::take(&mut self.credit);
        let left = before.after(&self.hops, simulator, switches);
        self.forget_packets(simulator);
        self.credit.follow(&self.hops, simulator, left);
    }

    /// All that were on the wire have arrived.
    fn forget_packets(&mut self, simulator: &Simulator) {
        self.credit = Credit::default();
        self.send_all(simulator);
    }

    /// Every host sends to all that the SA tells it, and to its groups.
    fn send_all(&mut self, simulator: &Simulator) {
        let is_there = |from: &PortRef| self.places.get(from).copied() == simulator.peer(*from);
        let told = self.told.iter().filter(|((from, _), _)| is_there(from));
        let packets = told.filter_map(|(pair, told)| pairs::first(simulator, *pair, *told));
        let groups = self.groups.iter();
        let members = groups.flat_map(|(mlid, members)| members.iter().map(|at| (*mlid, *at)));
        let of_groups = members.filter_map(|(mlid, at)| groups::first(simulator, at, mlid));
        let packets = packets.chain(of_groups).collect();
        self.credit.follow(&self.hops, simulator, packets);
    }

    fn lids(&self, simulator: &Simulator) -> BTreeSet<u16> {
        let nodes = (0..).map(NodeIx).zip(self.fabric.nodes());
        let ends = nodes.map(|(node, it)| {
            let port = u8::from(it.kind != NodeType::Switch);
            PortRef { node, port }
        });
        ends.filter_map(|at| simulator.lids(at)).flatten().collect()
    }

    /// A Set is about to reach this node.
    pub(crate) fn before(&mut self, simulator: &Simulator, node: NodeIx, smp: &Smp, now: Duration) {
        let passed = now.saturating_sub(self.now).as_nanos() / LIFE.as_nanos();
        if passed > 0 {
            self.let_pass(simulator, passed);
        }
        self.now = now;
        match smp.header.attribute_id.get() {
            attribute::PKEY_TABLE | attribute::PORT_INFO if self.keys.is_none() => {
                // Only where a key or its check may change: all pairs are many.
                let at = self.checked_port(node, smp);
                if at.is_some_and(|at| self.changes_keys(simulator, at, smp)) {
                    let told = self.told.iter();
                    let pass = told
                        .filter(|(pair, told)| pairs::passes(simulator, **pair, told.pkey).is_ok());
                    self.keys = Some(pass.map(|(pair, _)| *pair).collect());
                }
            }
            _ => {}
        }
    }

    /// The port whose keys or enforcement a Set writes.
    fn checked_port(&self, node: NodeIx, smp: &Smp) -> Option<PortRef> {
        let [_, high, _, low] = smp.header.attribute_modifier.get().to_be_bytes();
        let is_table = smp.header.attribute_id.get() == attribute::PKEY_TABLE;
        let port = match (self.hops.is_switch(node), is_table) {
            (true, true) => high,
            (true, false) => low,
            (false, _) => 1,
        };
        Some(PortRef { node, port })
    }

    fn changes_keys(&self, simulator: &Simulator, at: PortRef, smp: &Smp) -> bool {
        if smp.header.attribute_id.get() == attribute::PKEY_TABLE {
            return true;
        }
        let held = simulator.port_info(at).unwrap_or_default();
        // Of PortInfo the byte of OperationalVLs and enforcement.
        (held.operational_vls_and_enforcement ^ smp.data[43]) & 0xc != 0
    }

    /// A Set has reached this node.
    pub(crate) fn set(
        &mut self,
        simulator: &Simulator,
        node: NodeIx,
        smp: &Smp,
        promise: &Promise,
    ) {
        self.counts.sets += 1;
        let found = self.found.len();
        self.looked(simulator, node, smp, promise);
        let (attribute, modifier) = (smp.header.attribute_id, smp.header.attribute_modifier);
        for words in self.found.iter_mut().skip(found) {
            *words += &format!(" (attribute {attribute:#x}, modifier {modifier:#x}, to {node:?})");
        }
    }

    /// The kinds of Sets.
    fn looked(&mut self, simulator: &Simulator, node: NodeIx, smp: &Smp, promise: &Promise) {
        let modifier = smp.header.attribute_modifier.get();
        match smp.header.attribute_id.get() {
            attribute::LINEAR_TABLE => {
                let first = u16::try_from(modifier * 64).unwrap_or(u16::MAX);
                self.look(simulator, node, first..first.saturating_add(64), promise);
            }
            attribute::SWITCH_INFO => self.look(simulator, node, self.hops.lids(), promise),
            attribute::PORT_INFO => {
                self.look_around(simulator, node, promise);
                self.look_at_keys(simulator, node, smp);
            }
            attribute::PKEY_TABLE => self.look_at_keys(simulator, node, smp),
            attribute::SL_TO_VL if self.hops.is_switch(node) => {
                self.credit.again_at(&self.hops, simulator, node);
            }
            attribute::MULTICAST_TABLE => {
                self.send_all(simulator);
                for mlid in block_of(modifier) {
                    let lid = credit::FIRST_MLID + mlid;
                    self.credit.again(&self.hops, simulator, node, lid);
                }
                self.look_at_groups(simulator, modifier);
            }
            _ => {}
        }
        self.judge_credit(promise);
    }

    /// Links have changed.
    fn look_around(&mut self, simulator: &Simulator, node: NodeIx, promise: &Promise) {
        let ports = self.fabric.node(node).port_count();
        let peers = (1..=ports).filter_map(|port| simulator.peer(PortRef { node, port }));
        let nodes: BTreeSet<NodeIx> = peers.map(|at| at.node).chain([node]).collect();
        for node in nodes {
            self.look(simulator, node, self.hops.lids(), promise);
        }
    }

    /// Entries of a switch may have changed.
    fn look(
        &mut self,
        simulator: &Simulator,
        node: NodeIx,
        lids: impl Iterator<Item = u16>,
        promise: &Promise,
    ) {
        for lid in self.hops.refresh(simulator, node, lids) {
            self.counts.pairs += 1;
            self.credit.again(&self.hops, simulator, node, lid);
            match self.hops.end(node, lid) {
                End::Arrives => continue,
                End::Lost => {}
                End::Circle => self.found.push(circle(node, lid, self.counts.sets)),
            }
            for from in self.hops.switches().collect::<Vec<_>>() {
                let pair = (from, lid);
                self.counts.pairs += 1;
                if self.base.contains(&pair) && self.hops.passes(from, node, lid) {
                    match promise.drains(lid) {
                        true => self.counts.drained += 1,
                        false => {
                            let at = (self.counts.sets, node);
                            self.lost.entry(pair).or_insert(at);
                        }
                    }
                }
            }
        }
    }

    fn look_at_keys(&mut self, simulator: &Simulator, node: NodeIx, smp: &Smp) {
        let at = self.checked_port(node, smp);
        let end = at.and_then(|at| match self.hops.is_switch(node) {
            true => simulator.peer(at),
            false => Some(at),
        });
        let (Some(end), Some(base)) = (end, &self.keys) else {
            return;
        };
        let told = self.told.iter();
        for (pair, told) in told.filter(|((from, to), _)| [*from, *to].contains(&end)) {
            self.counts.pairs += 1;
            if base.contains(pair) && pairs::passes(simulator, *pair, told.pkey).is_err() {
                self.no_key.entry(*pair).or_insert(self.counts.sets);
            }
        }
    }

    fn look_at_groups(&mut self, simulator: &Simulator, modifier: u32) {
        for (mlid, members) in self.groups.range(block_of(modifier)) {
            for from in members {
                self.counts.pairs += 1;
                if groups::flood(&self.hops, simulator, *from, *mlid).circles {
                    let set = self.counts.sets;
                    self.found.push(format!(
                        "a packet of group {mlid} from {from:?} meets a switch twice at Set {set}"
                    ));
                }
            }
        }
    }

    fn judge_credit(&mut self, promise: &Promise) {
        let set = self.counts.sets;
        for (packet, port) in core::mem::take(&mut self.credit.dropped) {
            let words = format!("SL2VL drops {packet:?} to port {port} at Set {set}");
            self.found.push(words);
        }
        self.is_unproved = promise.is_unproved;
        let loops = self.credit.loops();
        if let Some(circle) = loops.filter(|_| !promise.is_unproved && !self.is_open) {
            self.found
                .push(format!("a credit loop at Set {set}: {circle:?}"));
        }
    }

    /// A sweep is over, or something else than a Set has changed devices: what was lost meanwhile and need not have been?
    pub(crate) fn end(&mut self, is_surprised: bool) {
        for ((from, lid), (set, at)) in core::mem::take(&mut self.lost) {
            match self.hops.end(from, lid) {
                End::Arrives if is_surprised => self.counts.surprised += 1,
                End::Arrives => self.found.push(format!(
                    "a hole from switch {from:?} to LID {lid} at Set {set}, to {at:?}"
                )),
                End::Lost | End::Circle => self.counts.gone += 1,
            }
        }
    }

    /// The same of P_Keys.
    pub(crate) fn end_of_keys(&mut self, simulator: &Simulator) {
        for (pair, set) in core::mem::take(&mut self.no_key) {
            let told = self.told[&pair];
            if pairs::passes(simulator, pair, told.pkey).is_ok() {
                let words = format!("the P_Key of {pair:?} does not pass at Set {set}");
                self.found.push(words);
            }
        }
    }

    /// The SA answers by this from now on, so packets have these SLs too.
    pub(crate) fn published(
        &mut self,
        simulator: &Simulator,
        snapshot: &Snapshot,
        promise: &Promise,
    ) {
        self.tell(simulator, snapshot);
        self.send_all(simulator);
        self.judge_credit(promise);
    }

    /// Those that the SA tells.
    pub(crate) fn sls(&self) -> impl Iterator<Item = u8> + '_ {
        self.told.values().map(|told| told.sl)
    }

    /// Devices carry all that the SA tells, and members of groups hear each other. True where every pair of hosts has a path.
    pub(crate) fn judge_answers(&mut self, simulator: &Simulator) -> bool {
        for (pair, told) in &self.told {
            self.counts.paths += 1;
            if let Err(fault) = pairs::carried(&self.hops, simulator, *pair, *told) {
                let words = format!("the SA tells {pair:?} {told:?}, and {fault:?}");
                self.found.push(words);
            }
        }
        let hosts = pairs::hosts(&self.fabric, simulator).len();
        self.told.len() == hosts * hosts.saturating_sub(1)
    }

    /// Members of groups hear each other.
    pub(crate) fn judge_groups(&mut self, simulator: &Simulator) {
        for (mlid, members) in &self.groups {
            for from in members {
                let heard = groups::flood(&self.hops, simulator, *from, *mlid).heard;
                let deaf = members.iter().filter(|to| *to != from);
                let deaf: Vec<_> = deaf.filter(|to| !heard.contains(to)).collect();
                if !deaf.is_empty() {
                    let words = format!("group {mlid}: {deaf:?} do not hear {from:?}");
                    self.found.push(words);
                }
            }
        }
    }
}

/// MLIDs of a block of a multicast table, counted from the first.
fn block_of(modifier: u32) -> core::ops::Range<u16> {
    let first = u16::try_from(modifier & 0x1ff).unwrap() * 32;
    first..first + 32
}

fn circle(node: NodeIx, lid: u16, set: u64) -> String {
    format!("packets to LID {lid} go in a circle at switch {node:?} at Set {set}")
}
