//! Knows what was announced when, and judges every answer by it.
//!
//! An answer is right if the follower knew one issue before and after it, that issue says what was answered, and the newest
//! announcement that the follower could have had was signed less than a TTL before. All hosts are one host here, so its wall clock
//! is true time.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use fleet_node::generation;
use fleet_transfer::clocks;
use sa_fleet::announcement::Announcement;
use sa_fleet::identity::{Generation, Issue, Position};
use sa_fleet::judge::Judge;
use sa_fleet::rules::Sound;

use crate::made::{Keys, snapshot};
use crate::rig::judge;

/// Of the subnet.
pub(crate) const PREFIX: u64 = 0xfe80_0000_0000_0000;
/// Snapshots of so many hosts are published here.
pub(crate) const HOSTS: std::ops::Range<u16> = 9..20;

/// One question to a follower.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Asked {
    /// Milliseconds since 1970, before it.
    pub(crate) at: u64,
    /// What it had heard of, before and after it.
    pub(crate) before: Position,
    pub(crate) after: Position,
    /// Of how many hosts it answered, if it did.
    pub(crate) answer: Option<usize>,
}

/// See the module.
pub(crate) struct Oracle {
    judge: Judge,
    generations: Vec<(Generation, usize)>,
    /// Of the process that leads.
    life: AtomicUsize,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    /// Of how many hosts something was ordered to be published.
    ordered: Vec<usize>,
    /// With the bytes.
    said: BTreeMap<Position, (Announcement, Vec<u8>)>,
    /// The first and the last issue of each life.
    lives: BTreeMap<usize, (Issue, Issue)>,
    asked: Vec<(usize, Asked)>,
    wrong: Vec<String>,
}

/// What was asked, and what of it was answered.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Counts {
    pub(crate) asked: usize,
    pub(crate) answered: usize,
}

impl Oracle {
    pub(crate) fn new(keys: &Keys) -> Arc<Self> {
        let made = HOSTS.map(|hosts| (generation::of(&snapshot(hosts, 1)).unwrap(), hosts.into()));
        Arc::new(Self {
            judge: judge(&keys.held()),
            generations: made.collect(),
            life: AtomicUsize::new(1),
            known: Mutex::default(),
        })
    }

    /// Before something is ordered to be published.
    pub(crate) fn orders(&self, hosts: u16) {
        self.known.lock().unwrap().ordered.push(hosts.into());
    }

    /// Before another process leads.
    pub(crate) fn another_life(&self) {
        self.life.fetch_add(1, Ordering::SeqCst);
    }

    /// Which process leads.
    pub(crate) fn life(&self) -> usize {
        self.life.load(Ordering::SeqCst)
    }

    /// Somebody has got this. `life`: from the process that led then.
    pub(crate) fn hears(&self, bytes: &[u8], life: Option<usize>) {
        let known = &mut *self.known.lock().unwrap();
        let announcement = match self.judge.open(bytes, clocks::both().wall, &Sound) {
            Ok(announcement) => announcement,
            Err(why) => return known.wrong.push(format!("announced and refused: {why:?}")),
        };
        let position = announcement.position;
        match self.hosts(&announcement) {
            Some(hosts) if known.ordered.contains(&hosts) => {}
            other => known.wrong.push(format!(
                "{position} is of {other:?} hosts, which nobody has ordered"
            )),
        }
        let of_issue = known
            .said
            .iter()
            .find(|(said, _)| said.issue == position.issue);
        if of_issue.is_some_and(|(_, (said, _))| said.content != announcement.content) {
            known.wrong.push(format!("two contents of {position}"));
        }
        let of_position = known.said.insert(position, (announcement, bytes.to_vec()));
        if of_position.is_some_and(|(_, said)| said != bytes) {
            known.wrong.push(format!("two announcements {position}"));
        }
        if let Some(life) = life {
            let its = known.lives.entry(life);
            let its = its.or_insert((position.issue, position.issue));
            its.0 = its.0.min(position.issue);
            its.1 = its.1.max(position.issue);
        }
    }

    fn hosts(&self, announcement: &Announcement) -> Option<usize> {
        let generation = announcement.content.in_force()?;
        let of = self.generations.iter().find(|(it, _)| it == generation);
        of.map(|(_, hosts)| *hosts)
    }

    /// The newest that was heard, with when it was signed. Units: milliseconds since 1970.
    pub(crate) fn newest(&self) -> Option<(Position, u64)> {
        let known = self.known.lock().unwrap();
        let (position, (newest, _)) = known.said.last_key_value()?;
        Some((*position, newest.issued.0))
    }

    /// Whether something of so many hosts was announced.
    pub(crate) fn heard_of(&self, hosts: u16) -> bool {
        let known = self.known.lock().unwrap();
        let mut said = known.said.values();
        said.any(|(it, _)| self.hosts(it) == Some(hosts.into()))
    }

    /// Announcements that were signed between these times.
    pub(crate) fn signed_within(&self, from: u64, to: u64) -> Vec<Position> {
        let known = self.known.lock().unwrap();
        let within = known.said.iter();
        let within = within.filter(|(_, (it, _))| (from..to).contains(&it.issued.0));
        within.map(|(position, _)| *position).collect()
    }

    /// Something is wrong that this does not see itself.
    pub(crate) fn finds(&self, what: String) {
        self.known.lock().unwrap().wrong.push(what);
    }

    /// A follower was asked.
    pub(crate) fn asked(&self, follower: usize, asked: Asked) {
        self.known.lock().unwrap().asked.push((follower, asked));
    }

    /// The newest issue that a follower has answered by.
    pub(crate) fn newest_answered(&self, follower: usize) -> Option<Issue> {
        let known = self.known.lock().unwrap();
        let its = known.asked.iter().filter(|(of, _)| *of == follower);
        let answered = its.filter(|(_, asked)| asked.answer.is_some());
        // What it knew before may be what it answered by.
        answered.map(|(_, asked)| asked.before.issue).max()
    }

    /// What was announced until then, as it was signed; the newest first.
    pub(crate) fn said_until(&self, last: Position) -> Vec<Vec<u8>> {
        let known = self.known.lock().unwrap();
        let said = known.said.range(..=last).rev();
        said.map(|(_, (_, bytes))| bytes.clone()).collect()
    }

    /// Of how many hosts a follower answered when it was asked last.
    pub(crate) fn last_answer(&self, follower: usize) -> Option<usize> {
        let known = self.known.lock().unwrap();
        let mut asked = known.asked.iter().rev();
        asked.find(|(of, _)| *of == follower)?.1.answer
    }

    /// Of each follower: how often it was asked, and how often it answered. Panics where anything was wrong.
    pub(crate) fn judges(&self, what: &str) -> BTreeMap<usize, Counts> {
        let mut known = self.known.lock().unwrap();
        let mut counts: BTreeMap<usize, Counts> = BTreeMap::new();
        let asked = std::mem::take(&mut known.asked);
        for (follower, asked) in &asked {
            let counts = counts.entry(*follower).or_default();
            counts.asked += 1;
            counts.answered += usize::from(asked.answer.is_some());
            if let Some(why) = self.wrong(&known, asked) {
                known
                    .wrong
                    .push(format!("follower {follower}: {why}: {asked:?}"));
            }
        }
        let lives: Vec<_> = known.lives.values().copied().collect();
        for pair in lives.windows(2) {
            if let [(_, last), (first, _)] = pair
                && first <= last
            {
                let why = format!("{last} was announced, and {first} after the process began anew");
                known.wrong.push(why);
            }
        }
        let wrong = std::mem::take(&mut known.wrong);
        drop(known);
        let first: Vec<&String> = wrong.iter().take(5).collect();
        assert!(
            wrong.is_empty(),
            "{what}: {} wrong: {first:#?}",
            wrong.len()
        );
        for (follower, counts) in &counts {
            assert!(
                counts.asked > 0 && counts.answered > 0,
                "{what}: follower {follower}: {counts:?}"
            );
        }
        counts
    }

    /// Why an answer is not what the rules allow.
    fn wrong(&self, known: &Known, asked: &Asked) -> Option<String> {
        let hosts = asked.answer?;
        if asked.before.issue > asked.after.issue {
            return Some("it knows less than before".to_owned());
        }
        let (_, (newest, _)) = known.said.range(asked.after..).next()?;
        let over = newest.issued.0 + u64::try_from(newest.ttl.as_millis()).unwrap() + 1;
        if asked.at > over {
            return Some(format!("over for {} ms", asked.at - over));
        }
        // In between it may have answered by the one or by the other.
        let issues = [asked.before, asked.after].map(|it| it.issue);
        let said = known.said.iter();
        let mut said = said.filter(|(position, _)| issues.contains(&position.issue));
        let is_said = said.any(|(_, (it, _))| self.hosts(it) == Some(hosts));
        (!is_said).then(|| "not what it knows to be announced".to_owned())
    }
}
