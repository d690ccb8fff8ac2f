//! What happened, the newest first.
//!
//! The same rows are made here for a page and by the script for what comes later; both write the
//! words as text.

use maud::{Markup, html};

use crate::shell::{Here, Shell};
use crate::words::{name_of, unix};

/// How much it matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// As it should be.
    Info,
    /// Somebody should look.
    Warning,
    /// It failed.
    Error,
}

impl Level {
    /// As it is shown; also a class of the style sheet.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// Something that happened to the daemon or the subnet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Happened {
    /// Counts from 1 since the start of the daemon.
    pub nth: u64,
    /// When. Units: seconds since 1970.
    pub unix: u64,
    /// How much it matters.
    pub level: Level,
    /// In a sentence; may have names of devices.
    pub words: String,
}

/// The page. Shape: `happened` from the oldest on; `kept` is how many there may be.
pub fn page(shell: Shell<'_>, happened: &[Happened], kept: usize) -> String {
    let main = html! {
        h1 { "Events" }
        p class="lead" {
            "The last " (kept) " since the start of the daemon, the newest first. The log has all. "
            span id="live" {}
        }
        (table(happened.iter().rev()))
    };
    shell.document(Here::Events, "Events", &main)
}

/// Rows, in the order given.
pub(crate) fn table<'a>(happened: impl Iterator<Item = &'a Happened>) -> Markup {
    let happened: Vec<_> = happened.collect();
    // From which on the script goes on.
    let last = happened.iter().map(|it| it.nth).max().unwrap_or(0);
    html! {
        div class="wide" role="region" aria-label="Events" tabindex="0" {
            table class="events" {
                thead { tr { th scope="col" { "When" } th scope="col" { "Level" } th scope="col" { "What" } } }
                tbody id="happened" data-last=(last) {
                    @for it in &happened {
                        tr class=(it.level.word()) {
                            td { (unix(it.unix)) }
                            td { (it.level.word()) }
                            td { (name_of(&it.words)) }
                        }
                    }
                }
            }
        }
        @if happened.is_empty() { p id="nothing" { "Nothing yet." } }
    }
}
