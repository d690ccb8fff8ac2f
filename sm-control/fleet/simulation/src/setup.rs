//! Hosts as they are at the beginning, and as they begin anew.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use std::time::Duration;

use sa_fleet::announcement::LeaderKey;
use sa_fleet::follower::{Follower, Settings};
use sa_fleet::highest::Highest;
use sa_fleet::identity::{FleetId, KeyId, Position};
use sa_fleet::judge::{Judge, WallRule};
use sa_fleet::leader::{Leader, LeaderSettings};
use sa_fleet::time::{Boot, Wall};
use sa_fleet::trust::{Trust, TrustedKey};
use sa_fleet::verdict::{Gate, StaleRule};
use sa_wire::SubnetPrefix;

use crate::clock::{Clock, SECOND};
use crate::event::What;
use crate::host::{Disk, Host};
use crate::notary::Broken;
use crate::planted::Planted;
use crate::schedule::{Mode, TTL};
use crate::world::World;

/// Of the one fleet. All leaders have one key: whose it is is nothing that these rules ask.
pub(crate) fn judge(is_strict: bool) -> Judge {
    let key = key();
    let trusted = TrustedKey::new(key.id, &key.public(), Wall(u64::MAX));
    Judge {
        trust: Trust {
            fleet: FleetId([1; 16]),
            era: 1,
            root_version: 1,
            keys: trusted.into_iter().collect(),
        },
        subnet: SubnetPrefix::LINK_LOCAL,
        max_ttl: Duration::from_secs(300),
        wall: if is_strict {
            WallRule::Strict
        } else {
            WallRule::Counted
        },
    }
}

/// The key of all leaders.
fn key() -> LeaderKey {
    LeaderKey::new(KeyId([1; 8]), &[5; 32])
}

impl World {
    /// All of them, not started yet.
    pub(crate) fn make_hosts(&mut self) {
        for host in 0..self.schedule.hosts() {
            let made = self.make(host);
            self.hosts.push(made);
            self.later(host, self.now, What::Start);
        }
    }

    /// A host with its clock and its place; its machines begin with [`World::starts`].
    fn make(&mut self, host: usize) -> Host {
        let is_drift = self.has(Planted::Drift);
        let ppm = if is_drift {
            20_000
        } else {
            self.schedule.max_ppm
        };
        let drift = self.chance.within(0, 2 * ppm + 1);
        // Many clocks at the ends of what may be.
        let drift = [0, 2 * ppm, drift][self.chance.place(3)];
        let is_wanted =
            host < self.schedule.candidates && (self.schedule.mode == Mode::Lease || host == 0);
        let wall_ahead = self.chance.within(0, 2_000) as i64 - 1_000;
        let upstreams = self.upstreams(host);
        Host {
            clock: Clock {
                start: self.chance.within(SECOND, 1_000_000 * SECOND),
                ppm: drift as i64 - ppm as i64,
                wall_ahead,
                lost: 0,
            },
            life: 0,
            is_up: false,
            paused_until: 0,
            last_read: 0,
            follower: self.new_follower(host, upstreams.len(), Highest::NOTHING),
            leader: None,
            gate: Gate::SHUT,
            slot: None,
            disk: Disk::default(),
            upstreams,
            waiting: Vec::new(),
            asks: HashMap::new(),
            jobs: HashMap::new(),
            calls: HashSet::new(),
            offered: None,
            timer_at: None,
            polls_at: None,
            timers: (0, 0),
            since: 0,
            has_ports: true,
            knows_ports: true,
            lies: false,
            past: Vec::new(),
            saw_term: 0,
            is_wanted,
            told: Position::default(),
            raised: (Position::default(), Boot::NEVER),
            believed: Position::default(),
        }
    }

    /// Followers poll relays, or candidates where there are none, and two of them; the rest polls
    /// candidates.
    fn upstreams(&mut self, host: usize) -> Vec<usize> {
        let (candidates, relays) = (self.schedule.candidates, self.schedule.relays);
        if host < candidates {
            let others = (0..candidates).filter(|other| *other != host);
            return others.chain([host]).collect();
        }
        if host < candidates + relays || relays == 0 {
            return (0..candidates).collect();
        }
        // One that has nobody but a relay, which may lie.
        if self.schedule.is_strict && host + 1 == self.schedule.hosts() {
            return vec![candidates];
        }
        let first = self.chance.place(relays);
        let second = (first + 1) % relays;
        // A leader last, where it can be reached: a relay that is away must not take its children with it.
        let mut upstreams = vec![candidates + first, candidates + second, 0];
        upstreams.dedup();
        upstreams
    }

    /// With what its disk says.
    fn new_follower(&self, host: usize, upstreams: usize, stored: Highest) -> Follower<Broken> {
        // The first of all followers falls back last: what is too late is seen there.
        let node = if host + 1 == self.schedule.hosts() {
            0
        } else {
            self.schedule.seed << 20 | host as u64
        };
        let settings = Settings {
            judge: judge(self.schedule.is_strict),
            node,
            upstreams,
            at_once: if self.schedule.is_strict { 2 } else { 1 },
            formats: vec![7],
            stale: StaleRule::Stop,
        };
        Follower::with_rules(settings, stored, self.rules())
    }

    /// On candidates.
    fn new_leader(&self, host: usize) -> Option<Leader<Broken>> {
        let settings = LeaderSettings {
            judge: judge(false),
            key: key(),
            ttl: TTL,
            beat: TTL / 3,
            node: self.schedule.seed << 20 | host as u64,
        };
        (host < self.schedule.candidates).then(|| Leader::with_rules(settings, self.rules()))
    }

    /// With the flaw that is planted, if it is one of the machines.
    fn rules(&self) -> Broken {
        let flaw = match self.planted {
            Some(Planted::Rule(flaw)) => Some(flaw),
            _ => None,
        };
        Broken {
            flaw,
            is_real: self.is_real,
            notary: Rc::clone(&self.notary),
        }
    }

    /// A process begins, with what is on its disk.
    pub(crate) fn starts(&mut self, host: usize) {
        let Some(it) = self.hosts.get(host).filter(|it| !it.is_up) else {
            return;
        };
        let record = it.disk.record;
        let upstreams = it.upstreams.len();
        // Nothing but a record that was written whole is ever read: see `Disk::writing`.
        let stored = record.and_then(|record| Highest::from_record(&record).ok());
        let follower = self.new_follower(host, upstreams, stored.unwrap_or(Highest::NOTHING));
        let leader = self.new_leader(host);
        self.oracle.restarted(host);
        let generation = self.generation;
        let Some(it) = self.hosts.get_mut(host) else {
            return;
        };
        (it.follower, it.leader) = (follower, leader);
        (it.is_up, it.since, it.saw_term) = (true, self.now, 0);
        it.raised.1 = Boot::NEVER;
        it.believed = it.follower.highest().position;
        self.look_at_ports(host);
        if host < self.schedule.candidates {
            self.wanted(host);
            let long = self.chance.within(SECOND, 4 * SECOND);
            self.later(host, long, What::Compiled(generation));
        }
    }
}
