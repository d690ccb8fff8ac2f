//! A rollback: what it would change, and the form that orders it.
//!
//! The one page with a form that changes something. It goes by POST and needs the token of `[http] token_file`, which never stands in an
//! address; without a token file there is no form, and the page names the command.

use maud::{Markup, html};
use sa_compiler::snapshot_change::SnapshotChange;

use crate::shell::{Here, Shell};
use crate::words::{count, name_of};

/// Names that are shown of those that come or go.
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
    pub change: SnapshotChange,
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
    let change = &it.change;
    let extent = match change.asked == change.pairs {
        true => "all there are".to_owned(),
        false => format!("of {}, evenly spread", count(change.pairs)),
    };
    html! {
        p class="small" { "Epoch " (it.from) " is in force; a rollback returns to what is epoch " (it.to) "." }
        p {
            strong { (count(change.different)) " of " (count(change.asked)) " pairs of hosts" } " would be answered otherwise (" (extent) ")."
        }
        @for (what, names) in [("come back", &change.come), ("go", &change.go)] {
            @if !names.is_empty() { p { (count(names.len() as u64)) " nodes would " (what) ": " (listed(names)) "." } }
        }
        @if !change.fields.is_empty() {
            div class="wide" role="region" aria-label="What differs" tabindex="0" {
                table class="numbers" {
                    thead { tr { @for head in ["Field", "Pairs", "Such as", "Now", "Then"] { th scope="col" { (head) } } } }
                    tbody {
                        @for it in &change.fields {
                            tr {
                                th scope="row" { (it.field) }
                                td { (count(it.pairs)) }
                                td { (name_of(&it.example.0)) " to " (name_of(&it.example.1)) }
                                td { (it.values.0) }
                                td { (it.values.1) }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn listed(names: &[String]) -> String {
    let shown = names.iter().take(SHOWN).map(|name| name_of(name));
    let shown = shown.collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {} more", count(more as u64)),
    }
}
