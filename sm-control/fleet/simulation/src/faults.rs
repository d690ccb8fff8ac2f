//! What goes wrong, and how it ends.

use crate::clock::{MS, SECOND, Time};
use crate::event::{Event, What};
use crate::planted::{Duty, Planted};
use crate::schedule::{Fault, Mode};
use crate::world::World;

impl World {
    /// A fault begins, or ends.
    pub(crate) fn fails(&mut self, fault: &Fault) {
        match fault {
            Fault::Split(groups) if !self.is_calm => self.groups.clone_from(groups),
            Fault::Split(_) => {}
            Fault::Heal => self.groups.fill(0),
            Fault::Crash(host, long) => self.crashes(*host, *long),
            Fault::Pause(host, long) => self.pauses(*host, *long),
            Fault::Wall(host, ahead) => self.with(*host, |it| it.clock.wall_ahead = *ahead),
            Fault::EngineDown(long) => self.engine.down_until = self.now + long,
            Fault::Fabric(generation, is_known) => {
                self.before = (self.generation > 0).then(|| self.content());
                self.generation = *generation;
                self.tell_fabric(*is_known);
            }
            Fault::Repacked => {
                self.before = (self.generation > 0).then(|| self.content());
                self.variant += 1;
                self.tell_fabric(false);
            }
            Fault::Disk(host, long) => {
                let until = self.now + long;
                self.with(*host, |it| it.disk.bad_until = until);
            }
            Fault::Ports(host, long) => self.ports(*host, *long),
            Fault::Lie(host, lies) => self.with(*host, |it| it.lies = *lies),
            Fault::Wanted(host, is_wanted) => {
                self.with(*host, |it| it.is_wanted = *is_wanted);
                self.later(*host, 0, What::Wanted);
            }
            Fault::Calm => self.calms(),
        }
    }

    /// Changes a host, after the oracle has looked at what it was until now.
    fn with(&mut self, host: usize, does: impl FnOnce(&mut crate::host::Host)) {
        self.settle(host);
        self.hosts.get_mut(host).map(does);
    }

    /// What was synced survives; of what was being written nobody knows.
    fn crashes(&mut self, host: usize, long: Time) {
        self.settle(host);
        let is_there = self.chance.is(500);
        let Some(it) = self.hosts.get_mut(host).filter(|it| it.is_up) else {
            return;
        };
        let writing = it.disk.writing.take();
        (it.is_up, it.life, it.paused_until) = (false, it.life + 1, 0);
        (it.slot, it.offered, it.timer_at, it.polls_at) = (None, None, None, None);
        it.waiting.clear();
        it.asks.clear();
        it.jobs.clear();
        it.calls.clear();
        if let Some(record) = writing.filter(|_| is_there) {
            self.is_durable(host, record);
        }
        self.later(host, long, What::Start);
    }

    /// Nothing runs on a host: no worker, no timer; what comes waits.
    fn pauses(&mut self, host: usize, long: Time) {
        let sleeps = self.has(Planted::Duty(Duty::ClockThatSleeps));
        let until = self.now + long;
        self.with(host, |it| {
            if it.paused_until < until && it.is_up {
                let asleep = until - it.since.max(until - long);
                it.clock.lost += if sleeps { asleep } else { 0 };
                (it.paused_until, it.since) = (until, until);
            }
        });
    }

    /// Now and then a host is stopped, or power fails, right after it has asked for something.
    pub(crate) fn stumbles(&mut self, host: usize) {
        if self.is_calm || self.now + 15 * SECOND > self.quiet() {
            return;
        }
        if self.chance.is(10) {
            let long = self.chance.within(SECOND, 12 * SECOND);
            self.pauses(host, long);
        } else if self.chance.is(5) {
            let long = self.chance.within(MS, 5 * SECOND);
            self.crashes(host, long);
        }
    }

    /// When all faults are over.
    fn quiet(&self) -> Time {
        self.schedule.end.saturating_sub(60 * SECOND)
    }

    /// Own ports are others; sysfs is looked at a little later.
    fn ports(&mut self, host: usize, long: Time) {
        self.with(host, |it| (it.has_ports, it.knows_ports) = (false, false));
        let soon = self.chance.within(MS, 100 * MS);
        let event = |what| Event {
            host,
            life: None,
            what,
        };
        self.push(self.now + soon, event(What::Ports));
        self.push(self.now + long, event(What::PortsBack));
    }

    /// Everything is as it should be, and stays so.
    fn calms(&mut self) {
        (self.is_calm, self.loss) = (true, 0);
        self.groups.fill(0);
        self.engine.down_until = 0;
        for host in 0..self.hosts.len() {
            self.settle(host);
            if let Some(it) = self.hosts.get_mut(host) {
                (it.lies, it.has_ports, it.disk.bad_until) = (false, true, 0);
                it.clock.wall_ahead = it.clock.wall_ahead.clamp(-1_000, 1_000);
            }
            self.later(host, MS, What::Start);
            self.later(host, 2 * MS, What::Ports);
        }
        self.calm_leaders();
        self.tell_fabric(false);
    }

    /// A person sees to it that one leads, and above all that was seen.
    fn calm_leaders(&mut self) {
        let is_lease = self.schedule.mode == Mode::Lease;
        for host in 0..self.schedule.candidates {
            self.with(host, |it| it.is_wanted = is_lease || host == 0);
            self.later(host, 3 * MS, What::Wanted);
        }
        if !is_lease {
            self.later(0, SECOND, What::Promoted);
        }
    }
}
