//! Answers from what the SA of the port says, kept for as long as it holds.
//!
//! For hosts without a copy of the snapshot (`paths = "sa"`). A question goes one of these ways:
//!
//! ```text
//!  port not up, or without SM ──────────────> refused: stale
//!  kept and still holds ────────────────────> answered at once
//!  asked already by another question ───────> waits with it
//!  queue of the askers full ────────────────> refused: budget
//!  else: a job for the askers ──────────────> waits ──> the SA answers: answered, kept
//!                                                  └──> budget_ms over: refused
//! ```
//!
//! A refusal by time does not end the question to the SA. Its answer is kept when it comes, so the
//! next connection to the same host finds it.
//!
//! States are numbered. Each change of a port, its SM or the SA's snapshot begins a new generation:
//! everything kept is forgotten, who waits is refused, and answers to questions of the generation
//! before are dropped when they come. What is kept therefore outlives a change by as long as the
//! watcher takes to see it: a look for the ports, a second for the SA's snapshot.

#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use sa_wire::Gid;
use sa_wire::netlink_ls::{IpResolve, PathUse, Resolve};
use sa_wire::path_record::PathRecord;

use super::addresses::Addresses;
use super::agent::{Reason, Records, Resolver, Verdict};
use super::askers::{Askers, Job};
use super::far;
use super::kept::Kept;
use super::key::{Key, Services};
use super::request::path_get;
use super::watch::Seen;
use super::{Late, Paths};
use crate::options::{CacheSection, FarSubnet};

/// Resolves by asking the SA, and by what it said before. All of it is the thread `sa-local`'s;
/// only the askers run elsewhere.
pub struct Proxy {
    ports: Vec<Seen>,
    /// Number of the state that `ports` are in; what was said in another one holds no more.
    generation: u64,
    kept: Kept,
    /// Who waits for what. A key is in here without being in `asked` only for a moment; it is in
    /// `asked` without being in here when everybody was refused by time.
    waiting: HashMap<Key, Vec<Waiting>>,
    /// What is being asked now, of this generation. It keeps one question from being asked twice at
    /// a time.
    asked: HashSet<Key>,
    askers: Askers,
    /// How long a question may wait for the SA.
    budget: Duration,
    services: Services,
    addresses: Addresses,
    far: Vec<FarSubnet>,
    /// What [`Paths::late`] gives next.
    late: Vec<Late>,
}

/// A question of the kernel's that waits for the SA: what its reply needs, and until when.
#[derive(Debug, Clone, Copy)]
struct Waiting {
    seq: u32,
    path_use: PathUse,
    until: Instant,
}

impl Proxy {
    /// Without ports until it is told of some: until then every question is refused.
    pub fn new(
        section: &CacheSection,
        askers: Askers,
        services: Services,
        addresses: Addresses,
        far: Vec<FarSubnet>,
    ) -> Self {
        Self {
            ports: Vec::new(),
            generation: 0,
            kept: Kept::new(section),
            waiting: HashMap::new(),
            asked: HashSet::new(),
            askers,
            budget: Duration::from_millis(section.budget_ms.get().into()),
            services,
            addresses,
            far,
            late: Vec::new(),
        }
    }

    /// The record if it is kept; none where the question waits now. Errors: why the kernel is
    /// refused at once.
    fn find(&mut self, question: &Resolve<'_>, now: Instant) -> Result<Option<PathRecord>, Reason> {
        let (index, seen) = self.port(question)?;
        let request = path_get(seen.port.lid, question)?;
        let key = Key::of(index, question, &self.services);
        if let Some(answer) = self.kept.get(&key, now) {
            return answer.map(Some);
        }
        // A job start asks the same many times within a millisecond; the SA hears it once.
        if !self.asked.contains(&key) {
            let job = Job {
                key,
                generation: self.generation,
                port: seen.port.clone(),
                request: Box::new(request),
            };
            if !self.askers.ask(job) {
                return Err(Reason::Budget);
            }
            self.asked.insert(key);
        }
        self.waiting.entry(key).or_default().push(Waiting {
            seq: question.seq,
            path_use: question.path_use,
            until: now + self.budget,
        });
        Ok(None)
    }

    /// The port that a question is about, and its place. Errors: no such port; or it cannot have a
    /// path, or no SA to ask.
    fn port(&self, question: &Resolve<'_>) -> Result<(usize, &Seen), Reason> {
        let meant = |seen: &Seen| seen.port.is_meant(question);
        let index = self.ports.iter().position(meant);
        let found = index.and_then(|index| Some((index, self.ports.get(index)?)));
        let (index, seen) = found.ok_or(Reason::UnknownPort)?;
        if !seen.port.is_active || seen.port.lid.is_none() || seen.port.sm_lid.is_none() {
            return Err(Reason::Stale);
        }
        Ok((index, seen))
    }

    /// Answers all who wait for this key.
    fn settle(&mut self, key: &Key, answer: Result<PathRecord, Reason>) {
        for waiting in self.waiting.remove(key).unwrap_or_default() {
            self.late.push(late(&waiting, answer, &self.far));
        }
    }

    /// Refuses who has waited for longer than the budget. O(n) in those who wait; the service calls
    /// it once in a turn.
    fn give_up(&mut self, now: Instant) {
        let Self { waiting, late, .. } = self;
        waiting.retain(|_, waiting| {
            waiting.retain(|one| {
                let waits = now < one.until;
                if !waits {
                    late.push(refused(one, Reason::Budget));
                }
                waits
            });
            !waiting.is_empty()
        });
    }
}

impl Resolver for Proxy {
    fn resolve(&mut self, question: &Resolve<'_>, records: &mut Records) -> Verdict {
        match self.find(question, Instant::now()) {
            Ok(Some(record)) => {
                far::fill(records, question.path_use, record, &self.far);
                Verdict::Resolved
            }
            Ok(None) => Verdict::Later,
            Err(reason) => Verdict::Unresolved(reason),
        }
    }

    fn gid_of(&mut self, question: &IpResolve) -> Result<Gid, Reason> {
        self.addresses.resolve(question)
    }
}

impl Paths for Proxy {
    fn look(&mut self, ports: &[Seen]) {
        // The service calls this every `look_ms`; only a difference begins a new generation.
        if self.ports == ports {
            return;
        }
        self.ports = ports.to_vec();
        self.generation += 1;
        self.kept.clear();
        // Their answers will be of the generation before and dropped, so the same may be asked
        // anew.
        self.asked.clear();
        for waiting in core::mem::take(&mut self.waiting).into_values().flatten() {
            self.late.push(refused(&waiting, Reason::Stale));
        }
    }

    fn late(&mut self, now: Instant) -> Vec<Late> {
        // Collected first: the iterator borrows the askers, and the loop changes the rest.
        let done: Vec<_> = self.askers.done().collect();
        for done in done {
            if done.generation != self.generation {
                continue;
            }
            self.asked.remove(&done.key);
            if let Some(answer) = done.answer {
                self.kept.put(done.key, answer, now);
            }
            self.settle(&done.key, done.answer.unwrap_or(Err(Reason::Budget)));
        }
        self.give_up(now);
        core::mem::take(&mut self.late)
    }

    fn next(&self) -> Option<Instant> {
        let waiting = self.waiting.values().flatten();
        waiting.map(|waiting| waiting.until).min()
    }

    fn kept(&self) -> usize {
        self.kept.count()
    }
}

/// An answer for one who waited. The records are made for each, because the flags depend on its
/// path use.
fn late(waiting: &Waiting, answer: Result<PathRecord, Reason>, far: &[FarSubnet]) -> Late {
    let records = answer.map(|record| {
        let mut records = Records::new();
        far::fill(&mut records, waiting.path_use, record, far);
        records
    });
    Late {
        seq: waiting.seq,
        path_use: waiting.path_use,
        records,
    }
}

const fn refused(waiting: &Waiting, reason: Reason) -> Late {
    Late {
        seq: waiting.seq,
        path_use: waiting.path_use,
        records: Err(reason),
    }
}
