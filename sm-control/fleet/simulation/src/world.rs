//! All hosts, what is on its way between them, and the order in which it happens.

use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap};
use std::rc::Rc;
use std::time::Duration;

use sa_fleet::announcement::Content;
use sa_fleet::identity::{Digest, Issue};
use sa_fleet::judge::WALL_TOLERANCE;

use crate::chance::Chance;
use crate::clock::{MS, SECOND, Time};
use crate::engine::Engine;
use crate::event::{Event, What};
use crate::host::Host;
use crate::notary::Notary;
use crate::oracle::{BUSY, Oracle, WHILE, Wrong};
use crate::planted::Planted;
use crate::schedule::{Mode, Schedule};

/// See the module.
#[derive(Debug)]
pub(crate) struct World {
    /// True time.
    pub(crate) now: Time,
    /// What is to happen.
    pub(crate) schedule: Schedule,
    /// What is wrong on purpose.
    pub(crate) planted: Option<Planted>,
    /// Whether signatures are.
    pub(crate) is_real: bool,
    /// Everything that is left to it.
    pub(crate) chance: Chance,
    /// Candidates, relays, followers.
    pub(crate) hosts: Vec<Host>,
    /// The one with leases.
    pub(crate) engine: Engine,
    /// Who remembers what was signed.
    pub(crate) notary: Rc<RefCell<Notary>>,
    /// Who judges.
    pub(crate) oracle: Oracle,
    /// Who reaches whom; the last is the engine's.
    pub(crate) groups: Vec<u8>,
    /// Messages that are lost, of a thousand.
    pub(crate) loss: u64,
    /// All faults are over.
    pub(crate) is_calm: bool,
    /// What is true of the fabric.
    pub(crate) generation: u32,
    /// Which file of it.
    pub(crate) variant: u32,
    /// What was before, for patches.
    pub(crate) before: Option<Content>,
    /// What each leader has said.
    pub(crate) said: HashMap<(Issue, usize), Digest>,
    /// What is to come, by time and number.
    queue: BinaryHeap<Reverse<(Time, u64)>>,
    /// The same by number.
    things: HashMap<u64, Event>,
    /// The last number.
    last: u64,
    /// How many events there were.
    pub(crate) events: u64,
}

/// What came of a simulation.
#[derive(Debug, Clone)]
pub struct Report {
    /// What must not be: when, and on which host.
    pub wrong: BTreeMap<String, (Time, usize)>,
    /// The kinds of it.
    pub kinds: Vec<Wrong>,
    /// How long hosts could answer, of all their time.
    pub answered: f64,
    /// How many events there were.
    pub events: u64,
}

impl World {
    /// All hosts begin at once, and faults come as they are planned.
    pub(crate) fn new(schedule: Schedule, planted: Option<Planted>, is_real: bool) -> Self {
        let hosts = schedule.hosts();
        // Wall clocks are a second apart at most there, on both sides.
        let tolerance = WALL_TOLERANCE + Duration::from_secs(2);
        let tolerance = if schedule.is_strict {
            tolerance
        } else {
            Duration::ZERO
        };
        let is_divided = schedule.mode == Mode::TwoLeaders;
        let mut world = Self {
            now: 0,
            planted,
            is_real,
            chance: Chance::new(schedule.seed ^ 0x5eed),
            hosts: Vec::new(),
            engine: Engine::default(),
            notary: Rc::default(),
            oracle: Oracle::new(hosts, tolerance, is_divided),
            groups: vec![0; hosts + 1],
            loss: schedule.loss,
            is_calm: false,
            generation: 0,
            variant: 0,
            before: None,
            said: HashMap::new(),
            queue: BinaryHeap::new(),
            things: HashMap::new(),
            last: 0,
            events: 0,
            schedule,
        };
        world.make_hosts();
        let faults = world
            .schedule
            .faults
            .iter()
            .map(|(at, _)| *at)
            .collect::<Vec<_>>();
        for (number, at) in faults.into_iter().enumerate() {
            world.push(
                at,
                Event {
                    host: 0,
                    life: None,
                    what: What::Fault(number),
                },
            );
        }
        world
    }

    /// Until the end, or until the first thing that must not be.
    pub(crate) fn run(mut self) -> Report {
        while let Some(Reverse((at, number))) = self.queue.pop() {
            if at > self.schedule.end {
                break;
            }
            self.now = at;
            if let Some(event) = self.things.remove(&number) {
                self.events += 1;
                self.happens(event);
            }
        }
        self.now = self.schedule.end;
        (0..self.hosts.len()).for_each(|host| self.at_last(host));
        let all = self.schedule.end as f64 * self.hosts.len() as f64;
        let wrong = self.oracle.wrong.iter();
        Report {
            wrong: wrong
                .clone()
                .map(|(wrong, at)| (format!("{wrong:?}"), *at))
                .collect(),
            kinds: wrong.map(|(wrong, _)| *wrong).collect(),
            answered: self.oracle.answered as f64 / all,
            events: self.events,
        }
    }

    /// At a time. Of two at one time the first is the first.
    pub(crate) fn push(&mut self, at: Time, event: Event) {
        self.last += 1;
        self.queue.push(Reverse((at, self.last)));
        self.things.insert(self.last, event);
    }

    /// On this host, in this process of it, so much later.
    pub(crate) fn later(&mut self, host: usize, delay: Time, what: What) {
        let life = self.hosts.get(host).map(|host| host.life);
        self.push(self.now + delay, Event { host, life, what });
    }

    /// To another host, if the network lets it through: late, twice, or not at all.
    pub(crate) fn send(&mut self, from: usize, to: usize, life: Option<u32>, what: What) {
        let is_cut = self.groups.get(from) != self.groups.get(to);
        if from != to && (is_cut || self.chance.is(self.loss)) {
            return;
        }
        if self.chance.is(10) {
            let at = self.now + self.delay();
            self.push(
                at,
                Event {
                    host: to,
                    life,
                    what: what.clone(),
                },
            );
        }
        let at = self.now + self.delay();
        self.push(
            at,
            Event {
                host: to,
                life,
                what,
            },
        );
    }

    /// What a message takes: a few milliseconds, and now and then seconds.
    pub(crate) fn delay(&mut self) -> Time {
        match self.chance.within(0, 100) {
            0 if !self.is_calm => self.chance.within(100 * MS, 5 * SECOND),
            _ => self.chance.within(MS / 5, 5 * MS),
        }
    }

    /// Whether this is what is wrong in this simulation.
    pub(crate) fn has(&self, planted: Planted) -> bool {
        self.planted == Some(planted)
    }

    /// To all, to the engine, or to a host: at once if it runs, and later if it is stopped.
    fn happens(&mut self, event: Event) {
        if let What::Fault(number) = event.what {
            let fault = self
                .schedule
                .faults
                .get(number)
                .map(|(_, fault)| fault.clone());
            return fault.into_iter().for_each(|fault| self.fails(&fault));
        }
        if event.host == self.hosts.len() {
            return self.engine_is_asked(event.what);
        }
        let Some(host) = self.hosts.get(event.host) else {
            return;
        };
        if event.life.is_some_and(|life| life != host.life) {
            return;
        }
        if host.paused_until > self.now {
            return self.push(host.paused_until, event);
        }
        self.on_host(event.host, event.what);
    }

    /// Something on a host that runs.
    fn on_host(&mut self, host: usize, what: What) {
        match what {
            What::Start => self.starts(host),
            What::Timer(at) => self.timer(host, at),
            What::Polls(at) => self.polls(host, at),
            What::Poll {
                from,
                life,
                ask,
                after,
            } => self.polled(host, from, life, ask, after),
            What::Reply { .. } | What::Quiet(_) | What::Refused(_) => self.replied(host, what),
            What::Synced {
                order,
                record,
                is_told,
            } => self.synced(host, order, record, is_told),
            What::Stored(order) => self.stored(host, order, true),
            What::Loaded(job) => self.loaded(host, job),
            What::Fetched { job, upstream } => self.fetched(host, job, upstream),
            What::Done {
                call,
                what,
                is_told,
            } => self.embedded_done(host, call, &what, is_told),
            What::Returned { call, kept } => self.returned(host, call, &kept),
            What::Saw(bytes) => self.saw(host, &bytes),
            What::Changed => self.changed(host),
            What::Compiled(generation) => self.compiled(host, generation),
            What::Ports => self.look_at_ports(host),
            What::PortsBack => self.ports_back(host),
            What::Wanted => self.wanted(host),
            What::Promoted => self.promoted(host),
            What::Fault(_) | What::Asked { .. } => {}
        }
    }

    /// A timer that was set, and not moved since.
    fn timer(&mut self, host: usize, at: Time) {
        let Some(it) = self.hosts.get_mut(host) else {
            return;
        };
        if it.timer_at != Some(at) {
            return;
        }
        it.timer_at = None;
        if self.now > it.timers.0 + WHILE {
            it.timers = (self.now, 0);
        }
        it.timers.1 += 1;
        if it.timers.1 > BUSY {
            self.oracle.blame(Wrong::Spins, self.now, host);
            return;
        }
        self.tick(host);
    }

    /// Every host answers from what is in force.
    fn at_last(&mut self, host: usize) {
        self.settle(host);
        let token = self.content().generation().token();
        let Some(it) = self.hosts.get(host) else {
            return;
        };
        let boot = it.clock.at(self.now).boot;
        let answers = it.slot.is_some_and(|slot| it.gate.may_answer(boot, slot));
        if !(it.is_up && answers && it.slot == Some(token)) {
            self.oracle.blame(Wrong::NotFresh, self.now, host);
        }
    }
}
