//! One event after the other, the sweeps after each, and what the walker says.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Instant;

use fabric_simulator::{Rule, Simulator, Timing};
use sa_fabric::{NodeIx, PortRef};
use sa_sm::sm_info::{SmInfo, SmState};
use sa_wire::SlVlMask;

use crate::events::{Kind, Scene, Weather};
use crate::manager::{Came, Manager, Over};
use crate::random::Random;
use crate::site::{OPEN, Site, policy};
use crate::walker::{Promise, Walker};
use crate::wire::Wire;

pub(crate) struct Life {
    pub(crate) site: Site,
    pub(crate) wire: Wire,
    pub(crate) manager: Manager,
    weather: Weather,
    random: Random,
    pub(crate) tally: Tally,
    /// What happens is printed, and what comes of it.
    pub(crate) is_told: bool,
}

/// What there was.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) events: BTreeMap<Kind, usize>,
    /// Things that happened in the middle of a sweep.
    pub(crate) amidst: usize,
    pub(crate) sweeps: usize,
    /// Sweeps that could not be planned, by reason.
    pub(crate) refused: BTreeMap<String, usize>,
    /// Sweeps during which another SM came first.
    pub(crate) yielded: usize,
    /// Sweeps of which something was not held as planned.
    pub(crate) not_held: usize,
    /// Ends of links of switches that were not Active after a sweep of which SMPs were spoilt.
    pub(crate) links_down: usize,
    /// Paths that were told then.
    pub(crate) told_then: u64,
    /// Changes in several stages, and those without a proof.
    pub(crate) staged: usize,
    pub(crate) unproved: usize,
    /// Sweeps after which trees of groups were not proved.
    pub(crate) open_groups: usize,
    pub(crate) longest: f64,
}

impl Life {
    /// Nothing is written yet.
    pub(crate) fn new(site: Site, seed: u64) -> Self {
        let mut simulator = Simulator::new(&site.fabric, Timing::NONE);
        site.settle(&mut simulator);
        let walker = Walker::new(&site.fabric);
        let wire = Wire::new(simulator, walker, site.sm, Random::new(seed ^ 0x5eed));
        let own = SmInfo {
            guid: Some(site.guid(site.sm.node)),
            sm_key: 1,
            act_count: 0,
            priority: 1,
            state: SmState::Discovering,
        };
        Self {
            manager: Manager::new(site.inputs.clone(), own),
            site,
            wire,
            weather: Weather::default(),
            random: Random::new(seed),
            tally: Tally::default(),
            is_told: false,
        }
    }

    /// What is wrong so far.
    pub(crate) fn found(&mut self) -> &mut Vec<String> {
        &mut self.wire.walker.found
    }

    /// From now on it is walked, or not.
    pub(crate) fn watch(&mut self, is_watched: bool) {
        let begins = is_watched && !self.wire.is_watched;
        self.wire.is_watched = is_watched;
        if let (true, Some(compiled)) = (begins, &self.manager.in_force) {
            let simulator = &self.wire.simulator;
            self.wire.walker.tell(simulator, &compiled.snapshot);
        }
    }

    /// The next thing that happens, whatever it is, and what comes of it.
    pub(crate) fn live(&mut self) -> Kind {
        let begun = Instant::now();
        let kind = loop {
            let kind = Kind::draw(&mut self.random, &self.weather);
            if self.scene().happen(kind).is_some() {
                break kind;
            }
        };
        *self.tally.events.entry(kind).or_default() += 1;
        self.follow();
        self.tally.longest = self.tally.longest.max(begun.elapsed().as_secs_f64());
        kind
    }

    /// A certain thing happens, if it can.
    pub(crate) fn meet(&mut self, kind: Kind) {
        self.scene().happen(kind);
        self.follow();
    }

    /// A switch answers nothing any more, then one is rebooted, and at last it answers again.
    pub(crate) fn silence(&mut self, mute: NodeIx, rebooted: NodeIx) {
        self.weather.mute = Some(mute);
        self.scene().be_mute();
        self.follow();
        self.wire.simulator.reboot(rebooted);
        self.follow();
        self.meet(Kind::SwitchHeard);
    }

    /// A switch is rebooted, and for one sweep this happens to SMPs.
    pub(crate) fn spoil(&mut self, rules: &[Rule], rebooted: NodeIx) {
        self.weather.is_rough = true;
        for rule in rules {
            self.wire.simulator.add_rule(*rule);
        }
        self.wire.simulator.reboot(rebooted);
        self.follow();
    }

    fn scene(&mut self) -> Scene<'_> {
        Scene {
            site: &mut self.site,
            weather: &mut self.weather,
            simulator: &mut self.wire.simulator,
            random: &mut self.random,
            is_told: self.is_told && self.wire.is_watched,
        }
    }

    /// The sweeps after an event, until the subnet rests.
    fn follow(&mut self) {
        self.tell_members();
        if core::mem::take(&mut self.weather.has_joined) && self.manages() {
            self.manager.follow_groups(&mut self.wire);
        }
        let amidst = self.random.one_of(5);
        let first = self.sweep(amidst);
        if core::mem::take(&mut self.weather.is_broken) {
            self.judge_broken(&first);
        }
        if core::mem::take(&mut self.weather.is_rough) {
            if matches!(first.came, Came::Published { .. }) && !amidst {
                let before = self.wire.walker.counts.paths;
                self.judge(false);
                self.tally.told_then += self.wire.walker.counts.paths - before;
            }
            self.tally.links_down += self.links_down();
            self.wire.simulator.clear_rules();
            self.scene().be_mute();
        }
        let mut last = first;
        for _ in 0..6 {
            self.forget_members();
            last = self.sweep(false);
            if last.sets == 0 {
                break;
            }
        }
        self.judge_rest(&last);
    }

    fn links_down(&self) -> usize {
        let simulator = &self.wire.simulator;
        let switches = self.site.switches().into_iter();
        let ports = switches.flat_map(|node| (1..=u8::MAX).map(move |port| PortRef { node, port }));
        let is_down =
            |at: &PortRef| simulator.peer(*at).is_some() && simulator.active_peer(*at).is_none();
        ports.filter(is_down).count()
    }

    /// This one is the master.
    fn manages(&self) -> bool {
        self.weather.other_sm.is_none()
    }

    /// One sweep. `amidst`: something happens in the middle of it.
    fn sweep(&mut self, amidst: bool) -> Over {
        let when = amidst.then(|| u64::try_from(1 + self.random.below(2500)).unwrap());
        let may_skip = !core::mem::take(&mut self.weather.is_new) && self.random.one_of(4);
        let inputs = self.site.inputs.clone();
        let (site, weather, random) = (&mut self.site, &mut self.weather, &mut self.random);
        let is_told = self.is_told && self.wire.is_watched;
        let count = &mut self.tally.amidst;
        let mut happen = |simulator: &mut Simulator, smp: u64| {
            if Some(smp) != when {
                return false;
            }
            let kind = Kind::draw_amidst(random);
            let mut scene = Scene {
                site,
                weather,
                simulator,
                random,
                is_told,
            };
            *count += 1;
            scene.happen(kind).is_some()
        };
        let over = self
            .manager
            .sweep(&mut self.wire, &inputs, may_skip, &mut happen);
        self.tally.add(&over);
        self.tally.open_groups += usize::from(self.manager.open_groups.is_some());
        if self.is_told && self.wire.is_watched {
            let set = self.wire.walker.counts.sets;
            println!("  swept: {}, {} Sets until {set}", over.came, over.sets);
            let open = self.manager.open_groups.iter();
            open.for_each(|words| println!("  it says: {words}"));
        }
        if let Came::Published { promise, .. } = &over.came {
            self.publish(promise);
        }
        if matches!(over.came, Came::Yielded | Came::Refused(_)) && over.sets > 0 {
            self.found()
                .push(format!("it wrote without a plan: {over:?}"));
        }
        over
    }

    fn publish(&mut self, promise: &Promise) {
        let compiled = self.manager.in_force.as_ref();
        if let (Some(compiled), true) = (compiled, self.wire.is_watched) {
            let (walker, simulator) = (&mut self.wire.walker, &self.wire.simulator);
            walker.published(simulator, &compiled.snapshot, promise);
        }
    }

    /// Broken files: nothing is written; then they are mended.
    fn judge_broken(&mut self, over: &Over) {
        if matches!(over.came, Came::Published { .. }) {
            let words = format!("a broken file is followed: {over:?}");
            self.found().push(words);
        }
        self.site.write("partitions.conf", OPEN);
        self.site.write("qos-policy.conf", &policy(0, 15));
        self.site.is_open = true;
        self.weather.is_new = true;
    }

    /// After the last sweep: nothing is left to be written, and what is answered is so.
    fn judge_rest(&mut self, last: &Over) {
        let is_calm = self.weather.mute.is_none() && self.manages();
        if last.sets > 0 && is_calm {
            let words = format!("it does not come to rest: {last:?}");
            self.found().push(words);
        }
        match &last.came {
            Came::Published { .. } | Came::Same => self.judge(is_calm),
            Came::Refused(why) if is_calm && self.site.is_whole() => {
                let words = format!("nothing is damaged, and there is no plan: {why}");
                self.found().push(words);
            }
            Came::Refused(_) | Came::Yielded => {}
        }
    }

    /// All answers, and where all is well all groups and that every pair has an answer.
    fn judge(&mut self, is_calm: bool) {
        if !self.wire.is_watched {
            return;
        }
        self.wire.walker.begin(&self.wire.simulator);
        let promise = Promise {
            is_unproved: self.manager.open_groups.is_some(),
            ..Promise::default()
        };
        self.publish(&promise);
        let is_whole = self.wire.walker.judge_answers(&self.wire.simulator);
        if is_calm {
            self.wire.walker.judge_groups(&self.wire.simulator);
            if !is_whole && self.site.is_whole() && self.site.is_open {
                let words = "nothing is damaged, and some pair has no path".to_owned();
                self.found().push(words);
            }
        }
    }

    /// To the Subnet Manager and the walker.
    fn tell_members(&mut self) {
        let site = &self.site;
        let members = site.members.iter();
        let sl_0 = SlVlMask(1);
        let members = members.map(|(mlid, guids)| (*mlid, (sl_0, guids.iter().copied().collect())));
        self.manager.members = Arc::new(members.collect());
        self.manager.aliases = Arc::new(site.aliases.clone());
        let on = site.hosts().into_iter();
        let on: Vec<_> = on
            .filter(|host| self.manager.has(site.guid(*host)))
            .collect();
        let groups = site.members.iter().map(|(mlid, guids)| {
            let there = on.iter().filter(|host| guids.contains(&site.guid(**host)));
            let there: BTreeSet<_> = there
                .map(|node| PortRef {
                    node: *node,
                    port: 1,
                })
                .collect();
            (mlid.get() - 0xc000, there)
        });
        self.wire.walker.groups = groups.collect();
    }

    /// Hosts that a sweep did not find lose their memberships.
    fn forget_members(&mut self) {
        let on = self.site.hosts().into_iter().map(|it| self.site.guid(it));
        let on: BTreeSet<_> = on.filter(|guid| self.manager.has(*guid)).collect();
        for guids in self.site.members.values_mut() {
            guids.retain(|guid| on.contains(guid));
        }
        self.site.members.retain(|_, guids| !guids.is_empty());
        self.site.aliases.retain(|guid, _| on.contains(guid));
        self.tell_members();
    }
}

impl Tally {
    fn add(&mut self, over: &Over) {
        self.sweeps += 1;
        match &over.came {
            Came::Published { not_held, promise } => {
                self.not_held += usize::from(*not_held > 0);
                self.staged += usize::from(promise.stages.len() > 1);
                self.unproved += usize::from(promise.is_unproved);
            }
            Came::Same => {}
            Came::Refused(why) => {
                let why = why.chars().take(70).collect();
                *self.refused.entry(why).or_default() += 1;
            }
            Came::Yielded => self.yielded += 1,
        }
    }
}
