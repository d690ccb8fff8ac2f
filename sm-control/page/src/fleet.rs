//! The part of this host in its fleet, and who asks here.
//!
//! ```text
//!  state, what it means, what to do          the last alert
//!  this host | hosts that ask here           a list of facts each; the second of a leader or relay
//!  refused announcements                     a row for each reason
//!  hosts                                     a row each: late ones, then those that are not fresh, then the rest
//!  what their states mean                    those that are there
//! ```
//!
//! Hosts say themselves what they are called and what they do; of them, too, words are text.

mod meaning;

use std::collections::BTreeSet;

use maud::{Markup, html};

use crate::overview::{Fact, facts};
use crate::shell::{Here, Shell};
use crate::words::{age, bytes, count, counted, name_of};

pub use self::meaning::{Meaning, meaning};

/// Hosts that are shown; all are counted.
const SHOWN: usize = 2000;

/// With more hosts the script does not load the page again by itself: it would be some 100 kB every
/// few seconds.
const LIVE: usize = 200;

/// Everything that is shown.
#[derive(Debug, Clone, Default)]
pub struct Fleet {
    /// `leader`, `relay` or `follower`.
    pub role: &'static str,
    /// Its prefix.
    pub subnet: String,
    /// A word that [`meaning`] knows.
    pub state: &'static str,
    /// The fleet does not hold this host's answers back.
    pub answers: bool,
    /// For how long that is so without another word. Units: ms.
    pub fresh_ms: Option<u64>,
    /// The newest announcement that was seen or made: `ERA.TERM.SEQ.BEAT`.
    pub announced: String,
    /// Of a leader, while it leads.
    pub term: Option<u64>,
    /// Of the root file that is held.
    pub root_version: u32,
    /// What is answered from, or was published; the first 16 hexadecimal digits.
    pub snapshot: Option<String>,
    /// Announcements that were refused.
    pub refused: Vec<Refused>,
    /// What a person was told last, and how long ago. Units: seconds.
    pub alert: Option<(String, u64)>,
    /// Of a leader or relay.
    pub children: Option<Children>,
}

/// Announcements that were refused for one reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// As metrics have it.
    pub name: &'static str,
    /// In a sentence.
    pub why: String,
    /// Since the start.
    pub count: u64,
}

/// Who asks here.
#[derive(Debug, Clone, Default)]
pub struct Children {
    /// Those that are open.
    pub connections: usize,
    /// Of snapshots and patches since the start.
    pub sent_bytes: u64,
    /// All of them, by name.
    pub hosts: Vec<Host>,
}

/// A host that asks here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host {
    /// What it calls itself.
    pub node: String,
    /// In its word.
    pub state: String,
    /// How it stands.
    pub standing: Standing,
    /// Since it asked last. Units: seconds.
    pub age: u64,
    /// What it answers from; the first 16 hexadecimal digits.
    pub snapshot: Option<String>,
    /// Of a relay: hosts that ask there, and those of them that are fresh.
    pub below: Option<(u64, u64)>,
}

/// How a host stands to what is announced here. Order: who should be looked at comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Standing {
    /// It should have asked again by now.
    Late,
    /// It does not answer, or from something else.
    NotFresh,
    /// It answers from what is announced here.
    Fresh,
}

impl Standing {
    /// Its word, and the class of its badge.
    const fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Late => ("late", "badge bad"),
            Self::NotFresh => ("not fresh", "badge warning"),
            Self::Fresh => ("fresh", "badge good"),
        }
    }
}

/// The page.
pub fn page(shell: Shell<'_>, fleet: &Fleet) -> String {
    let children = fleet.children.as_ref();
    let is_live = children.is_none_or(|it| it.hosts.len() <= LIVE);
    let main = html! {
        h1 { "Fleet" }
        p class="lead" {
            "What this host does in its fleet" @if children.is_some() { ", and who asks here" } "."
            @if !is_live { " Load the page again for later figures." }
        }
        div id="fleet-now" data-live[is_live] {
            (state(fleet))
            div class="cards" {
                (facts("This host", &own(fleet)))
                @if let Some(children) = children { (facts("Hosts that ask here", &counts(children))) }
            }
            (refused(&fleet.refused))
        }
        @if let Some(children) = children {
            div id="fleet-hosts" data-live[is_live] { (hosts(children)) (states(children)) }
        }
    };
    shell.document(Here::Fleet, "Fleet", &main)
}

/// The state in words, and the last alert.
fn state(fleet: &Fleet) -> Markup {
    let class = match (fleet.answers, fleet.state) {
        (false, _) => "note error",
        (true, "leads" | "fresh") => "note good",
        (true, _) => "note warning",
    };
    html! {
        p class=(class) {
            strong { (fleet.role) ", " (fleet.state) @if !fleet.answers { ": nobody is answered" } "." }
            @if let Some(meaning) = meaning(fleet.state) {
                " " (meaning.what)
                @if let Some(remedy) = meaning.remedy { " " (remedy) }
            }
        }
        @if let Some((what, ago)) = &fleet.alert {
            p class="note warning" { strong { "The last alert, " (age(*ago)) " ago:" } " " (name_of(what)) }
        }
    }
}

fn own(fleet: &Fleet) -> Vec<Fact> {
    let dash = || "–".to_owned();
    let fresh = fleet.fresh_ms.map(|ms| age(ms / 1000));
    let mut facts = vec![
        Fact::new("Announced", fleet.announced.clone()),
        Fact::new("Fresh for", fresh.unwrap_or_else(dash)),
        Fact::new("Snapshot", fleet.snapshot.clone().unwrap_or_else(dash)),
        Fact::new("Root file", format!("version {}", fleet.root_version)),
        Fact::new("Subnet", fleet.subnet.clone()),
    ];
    if let Some(term) = fleet.term {
        facts.insert(0, Fact::new("Term", term.to_string()));
    }
    facts
}

fn counts(children: &Children) -> Vec<Fact> {
    let hosts = &children.hosts;
    let of = |standing| hosts.iter().filter(|it| it.standing == standing).count();
    let number = |number: usize| count(number as u64);
    let mut facts = vec![
        Fact::new("Hosts", number(hosts.len())),
        Fact::new("Late", number(of(Standing::Late))),
        Fact::new("Not fresh", number(of(Standing::NotFresh))),
        Fact::new("Fresh", number(of(Standing::Fresh))),
    ];
    let below = hosts.iter().filter_map(|it| it.below);
    if let Some((all, fresh)) = below.reduce(|one, other| {
        // Hosts say these numbers themselves.
        let sum = u64::saturating_add;
        (sum(one.0, other.0), sum(one.1, other.1))
    }) {
        let value = format!("{}, fresh {}", count(all), count(fresh));
        facts.push(Fact::new("Below relays", value));
    }
    // It is the first to be silent when nothing is heard any more.
    let answers = hosts
        .iter()
        .filter(|it| matches!(it.state.as_str(), "fresh" | "serve_stale"));
    if let Some(oldest) = answers.max_by_key(|it| it.age) {
        let value = format!("{}, asked {} ago", oldest.node, age(oldest.age));
        facts.push(Fact::new("Oldest answerer", value));
    }
    let sent = usize::try_from(children.sent_bytes).unwrap_or(usize::MAX);
    facts.push(Fact::new("Connections", number(children.connections)));
    facts.push(Fact::new("Bytes sent", bytes(sent)));
    facts
}

/// What was not believed, and why.
fn refused(refused: &[Refused]) -> Markup {
    html! {
        h2 { "Refused announcements" }
        @if refused.is_empty() { p { "None." } }
        @else {
            div class="wide" role="region" aria-label="Refused announcements" tabindex="0" {
                table class="events" {
                    caption { "Since the start" }
                    thead { tr { th scope="col" { "Reason" } th scope="col" { "Count" } th scope="col" { "What it says" } } }
                    tbody {
                        @for it in refused {
                            tr { th scope="row" { (it.name) } td { (count(it.count)) } td { (it.why) } }
                        }
                    }
                }
            }
        }
    }
}

/// A row each, those first that should be looked at.
fn hosts(children: &Children) -> Markup {
    let mut hosts: Vec<&Host> = children.hosts.iter().collect();
    // Those of one standing stay by name.
    hosts.sort_by_key(|it| it.standing);
    let more = hosts.len().saturating_sub(SHOWN);
    hosts.truncate(SHOWN);
    html! {
        h2 { "Hosts" }
        @if hosts.is_empty() { p { "None has asked within the last minute." } }
        @else {
            div class="wide" role="region" aria-label="Hosts" tabindex="0" {
                table class="numbers" {
                    caption { "Those that asked within the last minute" }
                    thead {
                        tr {
                            @for head in ["Host", "Standing", "State", "Asked", "Has", "Below"] { th scope="col" { (head) } }
                        }
                    }
                    tbody { @for it in hosts { (host(it)) } }
                }
            }
            @if more > 0 { p { "And " (counted(more, "host")) " more." } }
        }
    }
}

fn host(it: &Host) -> Markup {
    let (word, class) = it.standing.words();
    html! {
        tr {
            th scope="row" { (name_of(&it.node)) }
            td { span class=(class) { (word) } }
            td { (name_of(&it.state)) }
            td { (age(it.age)) " ago" }
            td { @match &it.snapshot { Some(digest) => code { (digest) }, None => "–" } }
            td { @match it.below { Some((all, fresh)) => { (count(all)) ", fresh " (count(fresh)) }, None => "–" } }
        }
    }
}

/// What those of the hosts' states mean that something is to be done about.
fn states(children: &Children) -> Markup {
    let words: BTreeSet<&str> = children.hosts.iter().map(|it| it.state.as_str()).collect();
    let told = words.into_iter().filter_map(|word| {
        let meaning = meaning(word)?;
        Some((word, meaning.what, meaning.remedy?))
    });
    let told: Vec<_> = told.collect();
    html! {
        @if !told.is_empty() {
            h2 { "What their states mean" }
            dl { @for (word, what, remedy) in told { dt { (word) } dd { (what) " " (remedy) } } }
        }
    }
}

#[cfg(test)]
mod tests;
