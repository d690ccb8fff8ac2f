//! A policy that is tried: a form, what is likely wrong with the text, and which pairs of ports
//! would get another level.
//!
//! ```text
//!  form ──POST──> verdict   refused at 12:9, or loads
//!                 findings  12:9 error L01 ..           line and column of the text
//!                 changes   levels | groups | pairs: 30 from `default` to `bulk`, such as H9 to H1
//! ```
//!
//! Nothing is put into force. The form goes by POST, as a policy does not fit into an address.

use maud::{Markup, html};

use crate::shell::{Here, Shell};
use crate::words::{count, counted, name_of};

/// What came of a text.
#[derive(Debug)]
pub enum Outcome {
    /// Nothing was tried yet.
    None,
    /// It could not be tried now, and why.
    NotTried(String),
    /// It was.
    Tried(Box<Tried>),
}

/// A text that was tried against the snapshot in force.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tried {
    /// Of the snapshot.
    pub epoch: u64,
    /// A load would take it.
    pub loads: bool,
    /// What it has, in a line; empty where it is refused.
    pub summary: String,
    /// In the order of the file. Of a text that is refused: why.
    pub findings: Vec<Finding>,
    /// How many there are beside these.
    pub more_findings: usize,
    /// What was not looked at, and why. Shape: sentences.
    pub left_out: Vec<String>,
    /// What it would change; none where that was not compared.
    pub change: Option<Change>,
}

/// A remark about the text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Finding {
    /// `error`, `warning` or `info`.
    pub severity: &'static str,
    /// Of the check, as `L10`; empty where it has none.
    pub code: String,
    /// Line and column, from 1 on; none for what lies outside the text.
    pub place: Option<(u32, u32)>,
    /// The line of the text; empty without a place.
    pub line: String,
    /// One sentence.
    pub message: String,
    /// What to do, and other places. Shape: a line each.
    pub help: Vec<String>,
}

/// What would be otherwise.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Change {
    /// Levels and groups. Shape: what it is, its name, what happens to it, details.
    pub named: Vec<(&'static str, String, &'static str, String)>,
    /// Rules of the policy in force, and of this one.
    pub rules: (usize, usize),
    /// Ordered pairs of ports.
    pub pairs: u64,
    /// Those for which some request gets another level.
    pub changed: u64,
    /// Kinds of requests that were looked at.
    pub requests: usize,
    /// These are all kinds; else the counts are lower bounds.
    pub complete: bool,
    /// Most pairs first.
    pub transitions: Vec<Transition>,
    /// How many there are beside these.
    pub more_transitions: usize,
}

/// Pairs that would get one level instead of another.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Transition {
    /// How many.
    pub pairs: u64,
    /// Level, and what it gives.
    pub old: String,
    /// Likewise.
    pub new: String,
    /// A pair: source and destination.
    pub example: (String, String),
    /// What the request of the example names besides.
    pub asked: String,
    /// Line of the rule that decides in the policy in force; none: its default level.
    pub old_line: Option<u32>,
    /// Line of the rule of this text; likewise.
    pub new_line: Option<u32>,
}

/// The page. `longest`: of the form's text in bytes.
pub fn page(shell: Shell<'_>, text: &str, outcome: &Outcome, longest: usize) -> String {
    let main = html! {
        h1 { "Policy" }
        p class="lead" {
            "Try a policy against the fabric in force: what is likely wrong with it, and which pairs of ports would get another level. "
            "It is not put into force."
        }
        @match outcome {
            Outcome::None => {},
            Outcome::NotTried(why) => p class="note error" role="alert" { (name_of(why)) },
            Outcome::Tried(tried) => (told(tried)),
        }
        (form(text, longest))
    };
    shell.document(Here::Policy, "Policy", &main)
}

fn form(text: &str, longest: usize) -> Markup {
    html! {
        form action="/policy" method="post" class="form whole" {
            p {
                label for="policy" { "Text of the policy, in any dialect" }
                // A line break behind the tag is no part of the text, so one that is must not be the first.
                textarea id="policy" name="policy" required rows="16" maxlength=(longest) spellcheck="false" autocomplete="off"
                    aria-describedby="limit" { "\n" (text) }
            }
            p id="limit" class="small" {
                "At most " (count(longest as u64 / 1024)) " KiB with what a form adds to signs and line breaks; "
                code { "sapphire policy check" } " and " code { "sapphire policy lint" } " take any."
            }
            p { button type="submit" { "Try it" } }
        }
    }
}

/// The verdict first, then its reasons.
fn told(tried: &Tried) -> Markup {
    let worst = |severity| tried.findings.iter().any(|it| it.severity == severity);
    html! {
        section aria-labelledby="verdict" {
            h2 id="verdict" { "Verdict" }
            @if !tried.loads { p class="note error" role="status" { strong { "Refused." } " A load would keep what is in force." } }
            @else if worst("error") || worst("warning") { p class="note warning" role="status" { strong { "It loads, with findings." } " " (name_of(&tried.summary)) } }
            @else { p class="note good" role="status" { strong { "It loads." } " " (name_of(&tried.summary)) } }
            p class="small" { "Against epoch " (tried.epoch) "." }
            @for words in &tried.left_out { p class="note" { (name_of(words)) } }
        }
        h2 { "Findings" }
        (findings(tried))
        @if let Some(change) = &tried.change { (self::change(change)) }
    }
}

fn findings(tried: &Tried) -> Markup {
    html! {
        @if tried.findings.is_empty() { p { "None." } }
        @else {
            div class="wide" role="region" aria-label="Findings" tabindex="0" {
                table class="events" {
                    caption { "By line and column of the text" }
                    thead { tr { @for head in ["Place", "Severity", "Check", "What"] { th scope="col" { (head) } } } }
                    tbody { @for it in &tried.findings { (finding(it)) } }
                }
            }
        }
        @if tried.more_findings > 0 { p { "And " (count(tried.more_findings as u64)) " more; " code { "sapphire policy lint" } " tells all." } }
    }
}

fn finding(it: &Finding) -> Markup {
    html! {
        tr class=(it.severity) {
            td { @match it.place { Some((line, column)) => { (line) ":" (column) }, None => "–" } }
            td { (it.severity) }
            td { (if it.code.is_empty() { "–" } else { &it.code }) }
            td {
                (name_of(&it.message))
                @if !it.line.is_empty() { br; code { (name_of(&it.line)) } }
                @for words in &it.help { br; span class="small" { (name_of(words)) } }
            }
        }
    }
}

fn change(it: &Change) -> Markup {
    let least = if it.complete { "" } else { "at least " };
    let extent = if it.complete {
        "all there are"
    } else {
        "of too many to look at all"
    };
    html! {
        h2 { "What would change" }
        p {
            strong { (least) (count(it.changed)) " of " (counted_pairs(it.pairs)) } " would get another level for some request ("
            (count(it.requests as u64)) " kinds of requests looked at, " (extent) "). Rules: " (count(it.rules.0 as u64)) " in force, "
            (count(it.rules.1 as u64)) " here."
        }
        @if !it.named.is_empty() {
            div class="wide" role="region" aria-label="Levels and groups" tabindex="0" {
                table {
                    thead { tr { @for head in ["What", "Name", "Change", "How"] { th scope="col" { (head) } } } }
                    tbody {
                        @for (what, name, fate, how) in &it.named {
                            tr { th scope="row" { (what) } td { (name_of(name)) } td { (fate) } td { (name_of(how)) } }
                        }
                    }
                }
            }
        }
        @if !it.transitions.is_empty() { (transitions(it, least)) }
    }
}

fn transitions(it: &Change, least: &str) -> Markup {
    html! {
        div class="wide" role="region" aria-label="Pairs" tabindex="0" {
            table {
                caption { "From which level to which, each with a request that shows it" }
                thead { tr { @for head in ["Pairs", "In force", "With this text", "Such as", "Rules"] { th scope="col" { (head) } } } }
                tbody {
                    @for one in &it.transitions {
                        tr {
                            th scope="row" { (least) (count(one.pairs)) }
                            td { (name_of(&one.old)) }
                            td { (name_of(&one.new)) }
                            td { (name_of(&one.example.0)) " to " (name_of(&one.example.1)) " with " (name_of(&one.asked)) }
                            td { (rule(one.old_line)) " → " (rule(one.new_line)) }
                        }
                    }
                }
            }
        }
        @if it.more_transitions > 0 { p { "And " (counted(it.more_transitions, "other change")) " of level." } }
    }
}

fn rule(line: Option<u32>) -> String {
    line.map_or_else(
        || "default level".to_owned(),
        |line| format!("rule in line {line}"),
    )
}

fn counted_pairs(pairs: u64) -> String {
    format!("{} pairs of ports", count(pairs))
}
