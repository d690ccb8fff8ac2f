//! What the daemon is at: state, what is wrong, workers, ports, the Subnet Manager.
//!
//! ```text
//!  state and why          what is wrong, with cause and remedy
//!  the snapshot | the daemon | the Subnet Manager         a list of facts each
//!  workers                a row each, requests in a second
//!  outcomes               a row for each reason
//!  requests by attribute  as far as they are counted
//!  the last events
//! ```
//!
//! What is wrong stands above what is as it should be. Sections that the script brings up to date
//! have an id and `data-live`.

use maud::{Markup, html};

use crate::asked::{self, Asked};
use crate::events::{self, Happened};
use crate::shell::{Here, Shell};
use crate::words::{count, counted, name_of, rate};

/// Everything that is shown. Each value may be of another moment.
#[derive(Debug, Clone, Default)]
pub struct Overview {
    /// What somebody should look at, the worst first.
    pub problems: Vec<Problem>,
    /// Of these, how many there are beside those that are shown.
    pub more_problems: usize,
    /// Of the snapshot in force.
    pub snapshot: Vec<Fact>,
    /// Of the process.
    pub daemon: Vec<Fact>,
    /// Of the Subnet Manager; empty where another one has the subnet.
    pub manager: Vec<Fact>,
    /// One for each `[[port]]`.
    pub workers: Vec<Worker>,
    /// What became of requests, by reason; those that never happened are left out.
    pub outcomes: Vec<Outcome>,
    /// What they asked for.
    pub asked: Asked,
    /// From the oldest on; a few.
    pub happened: Vec<Happened>,
}

/// A name and its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fact {
    /// What it is.
    pub name: &'static str,
    /// For people.
    pub value: String,
}

impl Fact {
    /// A fact.
    pub fn new(name: &'static str, value: impl Into<String>) -> Self {
        let value = value.into();
        Self { name, value }
    }
}

/// What somebody should look at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// False for a hint: a healthy subnet may have it.
    pub is_fault: bool,
    /// What is seen, in a sentence; may have names of devices.
    pub what: String,
    /// Why that is likely.
    pub cause: Option<String>,
    /// What to do.
    pub remedy: Option<String>,
    /// For how long, in words.
    pub since: Option<String>,
    /// Node GUID of the switch that it is about, as an address has it.
    pub switch: Option<String>,
}

/// A port and the thread that answers there.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Worker {
    /// Kind of port.
    pub transport: &'static str,
    /// A device and its port, a node, or a path.
    pub place: String,
    /// Its thread runs.
    pub is_served: bool,
    /// Why it is not attached; none: it is.
    pub away: Option<String>,
    /// Of the snapshot that it answers from; none before the first.
    pub epoch: Option<u64>,
    /// Requests a second; none before there are two readings.
    pub received: Option<f64>,
    /// Likewise, answered.
    pub answered: Option<f64>,
    /// Likewise, answered with an error status.
    pub refused: Option<f64>,
    /// Likewise, without a reply.
    pub dropped: Option<f64>,
    /// Likewise, handed to the slow lane.
    pub slow: Option<f64>,
    /// All requests since the start.
    pub total: u64,
    /// Replies that the port did not take, since the start.
    pub unsent: u64,
}

/// What became of requests.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// `answered`, `refused`, `dropped` or `slow lane`.
    pub kind: &'static str,
    /// Why; empty for what is answered.
    pub reason: &'static str,
    /// Since the start, of all ports.
    pub total: u64,
    /// A second; none before there are two readings.
    pub rate: Option<f64>,
}

/// The page.
pub fn page(shell: Shell<'_>, overview: &Overview) -> String {
    let main = html! {
        h1 { "Overview" }
        div id="state-now" data-live {
            @match shell.not_ready {
                None => p class="note good" { strong { "Ready." } " Requests are answered from epoch "
                    (shell.epoch.unwrap_or_default()) "." },
                Some(why) => p class="note error" { strong { "Not ready: " } (name_of(why)) },
            }
            (problems(overview))
        }
        div class="cards" id="facts" data-live {
            (facts("Snapshot in force", &overview.snapshot))
            (facts("Daemon", &overview.daemon))
            @if !overview.manager.is_empty() { (facts("Subnet Manager", &overview.manager)) }
        }
        div id="traffic" data-live { (workers(overview)) (outcomes(overview)) (asked::section(&overview.asked)) }
        h2 { "Last events" }
        (events::table(overview.happened.iter().rev()))
        p { a href="/events" { "All events" } }
    };
    shell.document(Here::Overview, "Overview", &main)
}

/// What is wrong; that nothing is, is said too.
fn problems(overview: &Overview) -> Markup {
    html! {
        h2 { "Findings" }
        @if overview.problems.is_empty() { p { "None." } }
        @else {
            ul class="problems" { @for it in &overview.problems { (problem(it)) } }
        }
        @if overview.more_problems > 0 { p { "And " (count(overview.more_problems as u64)) " more; the log has all." } }
    }
}

/// A finding, with cause and remedy where they are known.
fn problem(it: &Problem) -> Markup {
    html! {
        li class=(if it.is_fault { "fault" } else { "hint" }) {
            p {
                span class="badge" { (if it.is_fault { "fault" } else { "hint" }) } " "
                (name_of(&it.what))
                @if let Some(since) = &it.since { " " span class="small" { "for " (since) } }
                @if let Some(switch) = &it.switch { " " a href={ "/switch?name=" (switch) } { "Show the switch" } }
            }
            @if it.cause.is_some() || it.remedy.is_some() {
                dl {
                    @if let Some(cause) = &it.cause { dt { "Cause" } dd { (cause) } }
                    @if let Some(remedy) = &it.remedy { dt { "Remedy" } dd { (remedy) } }
                }
            }
        }
    }
}

/// A list with a heading.
pub(crate) fn facts(title: &str, facts: &[Fact]) -> Markup {
    html! {
        section {
            h2 { (title) }
            @if facts.is_empty() { p { "None yet." } }
            dl class="facts" {
                @for fact in facts { div { dt { (fact.name) } dd { (name_of(&fact.value)) } } }
            }
        }
    }
}

/// A row for each port.
fn workers(overview: &Overview) -> Markup {
    html! {
        h2 { "Workers" }
        div class="wide" role="region" aria-label="Workers" tabindex="0" {
            table class="numbers" {
                caption { "Requests in a second, from the last two readings" }
                thead {
                    tr {
                        @for head in ["Port", "State", "Epoch", "Received", "Answered", "Refused", "Dropped", "Slow lane", "In all", "Unsent"] {
                            th scope="col" { (head) }
                        }
                    }
                }
                tbody { @for it in &overview.workers { (worker(it)) } }
            }
        }
    }
}

fn worker(it: &Worker) -> Markup {
    let rates = [it.received, it.answered, it.refused, it.dropped, it.slow];
    html! {
        tr {
            th scope="row" { (it.transport) " " (name_of(&it.place)) }
            td {
                @match (it.is_served, &it.away) {
                    (false, _) => span class="badge bad" { "ended" },
                    (true, Some(why)) => { span class="badge warning" { "away" } " " (name_of(why)) },
                    (true, None) => span class="badge good" { "serves" },
                }
            }
            td { @match it.epoch { Some(epoch) => (epoch), None => "–" } }
            @for per_second in rates { td { (rate(per_second)) } }
            td { (count(it.total)) }
            td { (count(it.unsent)) }
        }
    }
}

/// What became of all requests, by reason.
fn outcomes(overview: &Overview) -> Markup {
    html! {
        h2 { "Outcomes" }
        @if overview.outcomes.is_empty() { p { "No request has come yet." } }
        @else {
            div class="wide" role="region" aria-label="Outcomes" tabindex="0" {
                table class="numbers" {
                    caption { (counted(overview.workers.len(), "port")) ", since the start" }
                    thead { tr { th scope="col" { "Outcome" } th scope="col" { "Reason" } th scope="col" { "A second" } th scope="col" { "In all" } } }
                    tbody {
                        @for it in &overview.outcomes {
                            tr { th scope="row" { (it.kind) } td { (it.reason) } td { (rate(it.rate)) } td { (count(it.total)) } }
                        }
                    }
                }
            }
        }
    }
}
