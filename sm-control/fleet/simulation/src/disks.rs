//! Disks of hosts: records of what was seen, and snapshot files.

use sa_fleet::announcement::Blob;
use sa_fleet::follower::{Event, Outcome};
use sa_fleet::highest::{Highest, RECORD_SIZE};

use crate::clock::{MS, SECOND};
use crate::event::What;
use crate::planted::{Duty, Planted};
use crate::world::World;

impl World {
    /// Begins a write; the fsync ends later, or never.
    pub(crate) fn writes(&mut self, host: usize, order: u64, record: [u8; RECORD_SIZE]) {
        let slow = if self.is_calm { 0 } else { 30 };
        let long = if self.chance.is(slow) {
            3 * SECOND
        } else {
            50 * MS
        };
        let long = self.chance.within(MS, long);
        self.hosts
            .get_mut(host)
            .into_iter()
            .for_each(|it| it.disk.writing = Some(record));
        let is_told = !self.has(Planted::Duty(Duty::SaysStored));
        if !is_told {
            self.later(host, 0, What::Stored(order));
        }
        self.later(
            host,
            long,
            What::Synced {
                order,
                record,
                is_told,
            },
        );
    }

    /// An fsync has ended, well or not.
    pub(crate) fn synced(
        &mut self,
        host: usize,
        order: u64,
        record: [u8; RECORD_SIZE],
        is_told: bool,
    ) {
        let Some(it) = self.hosts.get_mut(host) else {
            return;
        };
        it.disk.writing = None;
        let is_bad = it.disk.bad_until > self.now;
        // What failed may be there all the same.
        if !is_bad || self.chance.is(500) {
            self.is_durable(host, record);
        }
        if is_told {
            let position = Highest::from_record(&record).ok().filter(|_| !is_bad);
            let it = self.hosts.get_mut(host).zip(position);
            it.into_iter()
                .for_each(|(it, highest)| it.told = highest.position);
            self.stored(host, order, !is_bad);
        }
    }

    /// Tells the follower.
    pub(crate) fn stored(&mut self, host: usize, order: u64, is_stored: bool) {
        self.follower(host, Event::Stored { order, is_stored });
    }

    /// This record is on the disk.
    pub(crate) fn is_durable(&mut self, host: usize, record: [u8; RECORD_SIZE]) {
        self.hosts
            .get_mut(host)
            .into_iter()
            .for_each(|it| it.disk.record = Some(record));
        if let Ok(highest) = Highest::from_record(&record) {
            let truth = self.notary.borrow().at(highest.position, highest.content);
            self.oracle.durable(host, highest, truth.as_ref());
        }
    }

    /// Begins a job on a file.
    pub(crate) fn begins(&mut self, host: usize, job: u64, blob: &Blob, what: What) {
        self.hosts
            .get_mut(host)
            .and_then(|it| it.jobs.insert(job, blob.digest));
        let long = self.chance.within(MS, 200 * MS);
        self.later(host, long, what);
    }

    /// A file was looked for on the own disk.
    pub(crate) fn loaded(&mut self, host: usize, job: u64) {
        let Some(it) = self.hosts.get(host) else {
            return;
        };
        let is_there = it
            .jobs
            .get(&job)
            .is_some_and(|file| it.disk.files.contains(file));
        let is_bad = it.disk.bad_until > self.now;
        let outcome = match (is_bad, is_there) {
            (true, _) => Outcome::Failed,
            (false, true) => Outcome::Done,
            (false, false) => Outcome::Missing,
        };
        self.ended(host, job, outcome);
    }

    /// A file was asked of an upstream.
    pub(crate) fn fetched(&mut self, host: usize, job: u64, upstream: usize) {
        let Some(it) = self.hosts.get(host) else {
            return;
        };
        let (Some(file), Some(from)) = (it.jobs.get(&job), it.upstreams.get(upstream)) else {
            return;
        };
        let (file, from, is_bad) = (*file, *from, it.disk.bad_until > self.now);
        let is_cut = self.groups.get(host) != self.groups.get(from) && host != from;
        let Some(sender) = self.hosts.get(from) else {
            return;
        };
        let is_away = !sender.is_up || sender.paused_until > self.now || is_cut;
        let (lies, has_it) = (sender.lies, sender.disk.files.contains(&file));
        let outcome = if is_away || is_bad || self.chance.is(self.loss) {
            Outcome::Failed
        } else if lies && self.chance.is(500) {
            Outcome::Bad
        } else if has_it {
            self.hosts.get_mut(host).into_iter().for_each(|it| {
                it.disk.files.insert(file);
            });
            Outcome::Done
        } else {
            Outcome::Missing
        };
        self.ended(host, job, outcome);
    }

    /// Tells the follower, unless nobody waits for the job any more.
    pub(crate) fn ended(&mut self, host: usize, job: u64, outcome: Outcome) {
        let known = self.hosts.get_mut(host).and_then(|it| it.jobs.remove(&job));
        if known.is_some() {
            self.follower(host, Event::Ended { job, outcome });
        }
    }
}
