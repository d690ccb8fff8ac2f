//! What is wrong with a link, for a person who has to mend it, and when that is told.
//!
//! A finding is known by its kind and place. Its numbers change with each reading and are no news; that it has begun, and that
//! it is over, is.
//!
//! ```text
//!  set ──> not there yet: News "has begun" ──> standing <── set: new numbers, no news
//!                                                 │
//!                                              clear ──> News "is over", in the words of its beginning
//! ```
//!
//! That it is over is told in the words of the beginning, so that both lines of a log can be found by one search, and so that a set of
//! sentences that stand can be kept by who tells them. News are taken by who tells them at each turn; they are as many as findings
//! that begin or end between two turns.

use core::fmt;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use sa_wire::Guid;

use crate::kind::{Kind, Severity};

/// A port, or a whole device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Of the node.
    pub guid: Guid,
    /// None for all of the device.
    pub port: Option<u8>,
    /// NodeDescription.
    pub name: Arc<str>,
}

/// What a person should know of one link.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// What it is.
    pub kind: Kind,
    /// The end that shows it.
    pub place: Place,
    /// The far end.
    pub peer: Option<Place>,
    /// What was measured, in words.
    pub what: String,
    /// How often in the last hour, of what is counted.
    pub count: Option<u64>,
    /// The same at the far end.
    pub peer_count: Option<u64>,
    /// Errors by bits, of [`Kind::SymbolErrors`].
    pub bit_error_rate: Option<f64>,
    /// Since when it stands.
    pub since: Duration,
}

/// Something to be told once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct News {
    /// False: it is over.
    pub has_begun: bool,
    /// How bad it is, or was.
    pub severity: Severity,
    /// In words; of one that is over, those with which it began.
    pub words: String,
}

/// By kind, device and port.
pub(crate) type Key = (Kind, Guid, Option<u8>);

/// What stands, and what is to be told. Memory: kinds times links at most.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    /// With the words that were told.
    standing: BTreeMap<Key, (Finding, String)>,
    /// In the order in which it happened.
    news: Vec<News>,
}

impl Findings {
    /// It stands, now with these numbers.
    pub(crate) fn set(&mut self, finding: Finding) {
        let key = finding.key();
        // Since when it stands is what people ask first, so that stays.
        if let Some((standing, _)) = self.standing.get_mut(&key) {
            let since = standing.since;
            *standing = Finding { since, ..finding };
            return;
        }
        let words = finding.to_string();
        self.news.push(News {
            has_begun: true,
            severity: finding.kind.severity(),
            words: words.clone(),
        });
        self.standing.insert(key, (finding, words));
    }

    /// It is over, if it was there.
    pub(crate) fn clear(&mut self, key: Key) {
        if let Some((finding, words)) = self.standing.remove(&key) {
            self.news.push(News {
                has_begun: false,
                severity: finding.kind.severity(),
                words,
            });
        }
    }

    /// Those are over for which `stays` says no.
    pub(crate) fn retain(&mut self, stays: impl Fn(&Key) -> bool) {
        let gone: Vec<Key> = self
            .standing
            .keys()
            .copied()
            .filter(|key| !stays(key))
            .collect();
        for key in gone {
            self.clear(key);
        }
    }

    /// Those of a kind that stand.
    pub(crate) fn of(&self, kind: Kind) -> Vec<Key> {
        let keys = self.standing.keys().copied();
        keys.filter(|(it, ..)| *it == kind).collect()
    }

    /// Whether it stands: then a lower limit holds for it.
    pub(crate) fn stands(&self, key: Key) -> bool {
        self.standing.contains_key(&key)
    }

    /// What is to be told, once.
    pub(crate) fn take_news(&mut self) -> Vec<News> {
        core::mem::take(&mut self.news)
    }

    /// The worst first: by kind, then by count.
    pub(crate) fn sorted(&self) -> Vec<Finding> {
        let mut all: Vec<Finding> = self.standing.values().map(|(it, _)| it.clone()).collect();
        // Stable, so places of one kind and count stay in the order of GUIDs.
        all.sort_by_key(|finding| (finding.kind, core::cmp::Reverse(finding.count)));
        all
    }
}

impl Finding {
    /// What makes two findings the same one, whatever their numbers say.
    pub(crate) fn key(&self) -> Key {
        (self.kind, self.place.guid, self.place.port)
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.port {
            Some(port) => write!(f, "\"{}\" port {port} ({}:{port})", self.name, self.guid),
            None => write!(f, "\"{}\" ({})", self.name, self.guid),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.place)?;
        if let Some(peer) = &self.peer {
            write!(f, " to {peer}")?;
        }
        let Self { what, kind, .. } = self;
        write!(
            f,
            ": {what}. Cause: {}. Remedy: {}",
            kind.cause(),
            kind.remedy()
        )
    }
}
