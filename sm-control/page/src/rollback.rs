//! A rollback: what it would change, and the form that orders it.
//!
//! The one page with a form that changes something. It goes by POST and needs the token of `[http]
//! token_file`, which never stands in an address; without a token file there is no form, and the
//! page names the command.

use maud::{Markup, html};
use sa_compiler::snapshot_change::{Comparison, List, PairCounts, Transition, Words};

use crate::shell::{Here, Shell};
use crate::words::{count, name_of};

/// Names of ports that are shown of each list.
const SHOWN: usize = 20;

/// What there is to show.
#[derive(Debug)]
pub struct Rollback {
    /// Of an order; none where none was given.
    pub outcome: Outcome,
    /// There is a token that an order can bring.
    pub can_order: bool,
    /// Epoch that it returns to; none where there is none.
    pub to: Option<u64>,
    /// None where one of the two is not known well enough.
    pub difference: Option<Difference>,
}

/// What came of an order.
#[derive(Debug)]
pub enum Outcome {
    /// None was given.
    None,
    /// Nothing was done, and why.
    Refused(String),
    /// It is done when the load under way is over.
    Waits,
    /// It was done.
    Done {
        /// In force now.
        epoch: u64,
        /// Under which this was in force before.
        of: u64,
        /// What is left of it then, in words.
        restart: String,
    },
}

/// Two snapshots, compared.
#[derive(Debug)]
pub struct Difference {
    /// Epoch in force.
    pub from: u64,
    /// Epoch that a rollback returns to.
    pub to: u64,
    /// What the latter answers otherwise.
    pub change: Comparison,
}

/// The page.
pub fn page(shell: Shell<'_>, rollback: &Rollback) -> String {
    let main = html! {
        h1 { "Rollback" }
        p class="lead" { "Back to the snapshot that was in force before. Automatic reloads then wait for " code { "sapphire reload" } "." }
        (told(&rollback.outcome))
        h2 { "What would change" }
        @match &rollback.difference {
            Some(difference) => (self::difference(difference)),
            None if rollback.to.is_none() => p { "There is nothing to return to: no other snapshot was in force since the start." },
            None => p { "The two cannot be compared: what one of them was compiled from is not here." },
        }
        (form(rollback))
        p { a href="/snapshots" { "All snapshots" } }
    };
    shell.document(Here::Snapshots, "Rollback", &main)
}

fn told(outcome: &Outcome) -> Markup {
    html! {
        @match outcome {
            Outcome::None => {},
            Outcome::Refused(why) => p class="note error" role="alert" { strong { "Nothing was done: " } (name_of(why)) "." },
            Outcome::Waits => p class="note warning" role="status" {
                strong { "Ordered. " } "It is done when the load under way is over; " a href="/events" { "the events" } " tell it."
            },
            Outcome::Done { epoch, of, restart } => p class="note good" role="status" {
                strong { "Done. " } "What was epoch " (of) " is in force as epoch " (epoch) "; " (name_of(restart)) "."
            },
        }
    }
}

fn form(rollback: &Rollback) -> Markup {
    html! {
        h2 { "Roll back" }
        @match (rollback.can_order, rollback.to) {
            (_, None) => p { "Nothing to do." },
            (false, Some(_)) => p {
                "There is no " code { "[http] token_file" } ", so nothing can be ordered here. " code { "sapphire rollback" } " does it on the machine."
            },
            (true, Some(to)) => form action="/rollback" method="post" class="form" {
                p {
                    label for="token" { "Token, from the file that " code { "[http] token_file" } " names" }
                    input type="password" id="token" name="token" required maxlength="256" autocomplete="off" spellcheck="false";
                    input type="hidden" name="epoch" value=(to);
                }
                p { button type="submit" { "Return to epoch " (to) } }
            },
        }
    }
}

fn difference(it: &Difference) -> Markup {
    let (change, pairs) = (&it.change, &it.change.pairs);
    let extent = match pairs.complete {
        true => "all there are".to_owned(),
        false => format!("of {}, evenly spread", count(pairs.all)),
    };
    let rows = rows(change);
    html! {
        p class="small" { "Epoch " (it.from) " is in force; a rollback returns to what is epoch " (it.to) "." }
        p {
            strong { (count(pairs.changed)) " of " (count(pairs.asked)) " pairs of hosts" } " would be answered otherwise (" (extent) ")."
        }
        @for (what, ports) in [
            ("come back", &change.ports_added),
            ("go", &change.ports_removed),
            ("have another P_Key table", &change.partition_changes),
            ("have another MTU or rate", &change.link_changes),
            ("have another LMC", &change.lmc_changes),
        ] {
            @if ports.count > 0 { p { (count(ports.count as u64)) " ports would " (what) ": " (listed(ports)) "." } }
        }
        @if change.lid_changes > 0 { p { (count(change.lid_changes as u64)) " ports would have another LID." } }
        @if !rows.is_empty() {
            div class="wide" role="region" aria-label="What differs" tabindex="0" {
                table class="numbers" {
                    thead { tr { @for head in ["Field", "Pairs", "Such as", "Now", "Then"] { th scope="col" { (head) } } } }
                    tbody { @for row in &rows { (row) } }
                }
            }
        }
    }
}

/// What differs, those of most pairs first: how many pairs, and the values of one.
fn rows(change: &Comparison) -> Vec<Markup> {
    let mut rows: Vec<_> = fields(&change.pairs)
        .into_iter()
        .filter(|(_, pairs, _)| *pairs > 0)
        .collect();
    rows.sort_by_key(|(_, pairs, _)| core::cmp::Reverse(*pairs));
    let rows = rows.into_iter();
    rows.map(|(field, pairs, value)| row(field, pairs, value, &change.transitions))
        .collect()
}

/// A value of a path in words; none where there is no path.
type Value = fn(Option<&Words>) -> Option<String>;

/// Fields by the names that the specification gives them.
fn fields(pairs: &PairCounts) -> [(&'static str, u64, Value); 8] {
    [
        ("Path", pairs.lost + pairs.gained, |path| {
            Some(path.map_or("none", |_| "a record").to_owned())
        }),
        ("SL", pairs.sl, |path| Some(path?.sl.to_string())),
        ("P_Key", pairs.pkey, |path| Some(path?.pkey.clone())),
        ("MTU", pairs.mtu, |path| {
            Some(
                path?
                    .mtu_bytes
                    .map_or_else(|| "-".to_owned(), |it| it.to_string()),
            )
        }),
        ("Rate", pairs.rate, |path| {
            Some(path?.rate.clone().unwrap_or_else(|| "-".to_owned()))
        }),
        ("Packet life time", pairs.packet_life, |path| {
            Some(path?.packet_life.to_string())
        }),
        ("Traffic class", pairs.traffic_class, |path| {
            Some(path?.traffic_class.to_string())
        }),
        // By pair, so no change has one of its own.
        ("Flow label", pairs.flow_label, |_| None),
    ]
}

fn row(field: &str, pairs: u64, value: Value, changes: &[Transition]) -> Markup {
    let shown = changes.iter().find_map(|it| {
        let (now, then) = (value(it.old.as_ref())?, value(it.new.as_ref())?);
        (now != then).then_some((it, now, then))
    });
    html! {
        tr {
            th scope="row" { (field) }
            td { (count(pairs)) }
            @match shown {
                Some((it, now, then)) => {
                    td { (name_of(&it.source)) " to " (name_of(&it.destination)) }
                    td { (now) }
                    td { (then) }
                },
                None => { td {} td {} td {} },
            }
        }
    }
}

fn listed(ports: &List) -> String {
    let shown: Vec<_> = ports
        .names
        .iter()
        .take(SHOWN)
        .map(|name| name_of(name))
        .collect();
    let words = shown.join(", ");
    match ports.count.saturating_sub(shown.len()) {
        0 => words,
        more => format!("{words} and {} more", count(more as u64)),
    }
}
