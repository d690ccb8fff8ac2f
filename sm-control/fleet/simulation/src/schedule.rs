//! What happens in a simulation: sizes, clocks and faults, all by a seed.

use std::time::Duration;

use crate::chance::Chance;
use crate::clock::{MS, SECOND, Time};

/// How long each beat is good.
pub(crate) const TTL: Duration = Duration::from_secs(30);
/// Of the leader, at the engine.
pub(crate) const LEASE: Duration = Duration::from_secs(5);

/// Who remembers who leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// An engine with leases, as etcd is; every candidate may lead.
    Lease,
    /// A counter on the disk of the one leader.
    Embedded,
    /// The same on two leaders, which is the operator's error.
    TwoLeaders,
}

/// What happens to a host, or to all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// Who has another number cannot be reached; the last is the engine's.
    Split(Vec<u8>),
    /// Everybody reaches everybody.
    Heal,
    /// Power fails, and comes back after this.
    Crash(usize, Time),
    /// Nothing runs for so long.
    Pause(usize, Time),
    /// Somebody sets the wall clock. Units: ms.
    Wall(usize, i64),
    /// The engine does not answer for so long.
    EngineDown(Time),
    /// The fabric changes to this; the leaders know it, or find out when it is compiled.
    Fabric(u32, bool),
    /// Another file of the same generation.
    Repacked,
    /// The disk refuses for so long.
    Disk(usize, Time),
    /// LIDs or SM of the own port change, for so long.
    Ports(usize, Time),
    /// A relay lies from now on, or ends to.
    Lie(usize, bool),
    /// A person wants a host to lead, or not.
    Wanted(usize, bool),
    /// All faults are over; what should be, is.
    Calm,
}

/// One simulation.
#[derive(Debug, Clone)]
pub struct Schedule {
    /// Everything follows from it.
    pub seed: u64,
    /// Who remembers who leads.
    pub mode: Mode,
    /// Relays may lie, and wall clocks are right and count.
    pub is_strict: bool,
    /// Numbers of hosts.
    pub candidates: usize,
    /// They follow candidates.
    pub relays: usize,
    /// They follow relays.
    pub followers: usize,
    /// Messages that are lost, of a thousand.
    pub loss: u64,
    /// Clocks run apart by this at most.
    pub max_ppm: u64,
    /// In the order of time.
    pub faults: Vec<(Time, Fault)>,
    /// When all is looked at.
    pub end: Time,
}

impl Schedule {
    /// By a seed.
    pub fn new(seed: u64) -> Self {
        let mut chance = Chance::new(seed);
        let mode = match chance.within(0, 10) {
            0..=5 => Mode::Lease,
            6..=7 => Mode::Embedded,
            _ => Mode::TwoLeaders,
        };
        let mut schedule = Self {
            seed,
            mode,
            is_strict: chance.is(300),
            candidates: match mode {
                Mode::Lease => 1 + chance.place(3),
                Mode::Embedded => 1,
                Mode::TwoLeaders => 2,
            },
            relays: chance.place(3),
            followers: 2 + chance.place(5),
            loss: [0, 0, 20, 150][chance.place(4)],
            max_ppm: 500,
            faults: Vec::new(),
            end: 0,
        };
        schedule.plan(&mut chance);
        schedule
    }

    /// Many followers, few faults.
    pub fn large(seed: u64, followers: usize) -> Self {
        let mut schedule = Self::new(seed);
        (schedule.relays, schedule.followers, schedule.loss) = (10, followers, 20);
        schedule.is_strict = false;
        let hosts = schedule.hosts();
        schedule
            .faults
            .retain(|(_, fault)| !matches!(fault, Fault::Split(_)));
        let mut chance = Chance::new(seed);
        // Another host than in a small fleet each time.
        for (_, fault) in &mut schedule.faults {
            if let Fault::Crash(host, _) | Fault::Pause(host, _) | Fault::Disk(host, _) = fault {
                *host = chance.place(hosts);
            }
        }
        schedule
    }

    /// All hosts: candidates, then relays, then followers.
    pub const fn hosts(&self) -> usize {
        self.candidates + self.relays + self.followers
    }

    /// Faults in the first part, and a quiet end of two TTLs.
    fn plan(&mut self, chance: &mut Chance) {
        let mut quiet = (40 + chance.within(0, 120)) * SECOND;
        let mut faults = vec![(MS, Fault::Fabric(1, true))];
        if self.mode == Mode::TwoLeaders {
            self.second_leader(chance, &mut faults);
        }
        let mut generation = 1;
        for _ in 0..chance.within(2, 16) {
            let at = chance.within(5 * SECOND, quiet);
            self.fault(chance, at, &mut generation, &mut faults);
        }
        // What is stopped goes on by itself, and what is down comes back, before all is looked at.
        for (at, fault) in &faults {
            if let Fault::Crash(_, long) | Fault::Pause(_, long) | Fault::Ports(_, long) = fault {
                quiet = quiet.max(at + long);
            }
            quiet = quiet.max(*at);
        }
        quiet += MS;
        faults.push((quiet, Fault::Calm));
        faults.sort_by_key(|(at, _)| *at);
        self.faults = faults;
        // Everybody is to be fresh within two TTLs.
        self.end = quiet + 2 * 30 * SECOND;
    }

    /// Some time later; or at once and unseen, so that both have one term.
    fn second_leader(&self, chance: &mut Chance, faults: &mut Vec<(Time, Fault)>) {
        let late = chance.within(0, 60) * SECOND;
        if chance.is(500) {
            return faults.push((late + 2 * MS, Fault::Wanted(1, true)));
        }
        let mut group = |host| u8::from(host == 1 || host > 1 && chance.is(500));
        let groups = (0..=self.hosts()).map(&mut group).collect();
        faults.push((0, Fault::Split(groups)));
        faults.push((2 * MS, Fault::Wanted(1, true)));
        faults.push((late + 5 * SECOND, Fault::Heal));
    }

    /// One fault, and how it ends.
    fn fault(
        &self,
        chance: &mut Chance,
        at: Time,
        generation: &mut u32,
        faults: &mut Vec<(Time, Fault)>,
    ) {
        let host = chance.place(self.hosts());
        let leader = chance.place(self.candidates);
        let long = [300 * MS, 2 * SECOND, 5 * SECOND, 11 * SECOND, 45 * SECOND][chance.place(5)];
        let long = long + chance.within(0, SECOND);
        let fault = match chance.within(0, 20) {
            0..=4 => {
                *generation += 1;
                // Some changes come back to what was, and some at once.
                let back = chance.is(300);
                if back {
                    let soon = at + chance.within(MS, 3 * SECOND);
                    faults.push((soon, Fault::Fabric(*generation - 1, true)));
                }
                (at, Fault::Fabric(*generation, chance.is(800)))
            }
            5..=6 => {
                let group = |_| u8::from(chance.is(400));
                faults.push((at + long, Fault::Heal));
                (at, Fault::Split((0..=self.hosts()).map(group).collect()))
            }
            7 => (at, Fault::Crash(leader, long)),
            8..=9 => (at, Fault::Crash(host, long)),
            10..=12 => (at, Fault::Pause(leader, long)),
            13 => (at, Fault::Pause(host, long)),
            14 if !self.is_strict => {
                let hours = chance.within(0, 3) as i64 - 1;
                (at, Fault::Wall(host, hours * 3_600_000))
            }
            15 => (at, Fault::EngineDown(long)),
            16 => (at, Fault::Disk(host, long)),
            17 => (at, Fault::Ports(host, long)),
            18 => (at, Fault::Repacked),
            _ if self.is_strict && self.relays > 0 => {
                let relay = self.candidates + chance.place(self.relays);
                (at / 4, Fault::Lie(relay, true))
            }
            _ if self.mode == Mode::Lease => {
                faults.push((at + long, Fault::Wanted(leader, true)));
                (at, Fault::Wanted(leader, false))
            }
            _ => (at, Fault::Crash(leader, MS)),
        };
        faults.push(fault);
    }
}
