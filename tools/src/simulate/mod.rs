//! `sapphire simulate`: what would be if parts of a fabric failed.
//!
//! The fabric is compiled twice, whole and damaged, and the results are compared. The second one is
//! compiled *after* the first, as the daemon reroutes: the engine sees the tables that are in
//! force, and where it refuses the damaged fabric these stay, which is what OpenSM does.
//!
//! ```text
//! whole fabric   -> compile        -> before
//! - failed parts -> compile after  -> after  -> Difference -> lists, exit status
//! ```
//!
//! Exit status 3 says that the failure hurts: a pair is lost, an SL changes (connections that are
//! up keep the old one), a credit loop appears, or the engine refuses. Hosts that are cut off do
//! not count: they are what was asked for.

pub(crate) mod compare;

use clap::Args;
use sa_compiler::pipeline::{self, Compiled, Inputs, Stamp};
use sa_fabric::display::{self, first_few};
use sa_text::Remark;
use serde::Serialize;

use self::compare::Difference;
use crate::failure::{Failure, Outcome};
use crate::inputs::{FabricArgs, failure, warn};
use crate::json::{self, Document};

// Fields are help texts; what is in `FabricArgs` is described there.
#[derive(Debug, Args)]
pub(crate) struct Simulate {
    #[command(flatten)]
    fabric: FabricArgs,
    /// More parts that fail
    #[arg(value_name = "SWITCH|LINK")]
    more: Vec<String>,
    /// Print the findings as JSON, with the lists
    #[arg(long)]
    json: bool,
}

/// Errors: nothing fails; a name is of no switch or port; the whole fabric cannot be compiled.
pub(crate) fn run(verb: &Simulate) -> Outcome {
    let given = verb.fabric.given()?;
    let whole = &given.inputs;
    let failed: Vec<String> = whole.failed.iter().chain(&verb.more).cloned().collect();
    if failed.is_empty() {
        return Err(Failure::usage(
            "nothing fails: give --fail SWITCH or --fail SWITCH:PORT".to_owned(),
        ));
    }
    // The same inputs but for what fails.
    let compile = |failed: Vec<String>, before: Option<&Compiled>| {
        let inputs = Inputs {
            failed,
            ..whole.clone()
        };
        let before = before.map(|before| &before.parts);
        pipeline::compile_after(&inputs, Stamp::default(), before).map_err(failure)
    };
    let before = compile(Vec::new(), None)?;
    let after = compile(failed.clone(), Some(&before))?;
    // What was wrong before the failure is not news.
    let is_new = |warning: &&Remark| !before.warnings.contains(warning);
    let told: Vec<Remark> = after.warnings.iter().filter(is_new).cloned().collect();
    warn(&told);
    let difference = Difference::new(&before, &after);
    if verb.json {
        print_json(&failed, &after, &difference)?;
    } else {
        print(&failed, &after, &difference);
    }
    judge(&after, &difference)
}

/// All reasons in one line, not only the first.
///
/// Errors: exit status 3 where anything of the list is so.
fn judge(after: &Compiled, difference: &Difference) -> Outcome {
    let found = [
        (
            after.parts.refusal.is_some(),
            "the engine refuses the fabric",
        ),
        (after.proof.credit_loop.is_some(), "there is a credit loop"),
        (
            after.proof.multicast_loop.is_some(),
            "multicast closes a credit loop",
        ),
        (difference.pairs_lost > 0, "wired pairs have no path"),
        (difference.sl_changes > 0, "SLs of pairs change"),
    ];
    let found: Vec<&str> = found
        .into_iter()
        // All of them: one failure may do several things.
        .filter_map(|(is_so, words)| is_so.then_some(words))
        .collect();
    if found.is_empty() {
        Ok(())
    } else {
        Err(Failure::refused(found.join("; ")))
    }
}

/// The first 20 of each list; `--json` has them as far as [`compare`] lists them.
///
/// What it prints is for people: columns may change, JSON is the interface.
fn print(failed: &[String], after: &Compiled, difference: &Difference) {
    outln!("failed           {}", failed.join(" "));
    for change in &after.changes {
        outln!("change           {change}");
    }
    // Before the figures: without this they would be read as those of new tables.
    if let Some(refusal) = &after.parts.refusal {
        outln!("refused          {}", refusal.words);
        outln!("                 what is below is about the tables that the switches keep");
    }
    outln!("engine           {}", after.parts.routes.engine());
    outln!("hosts_cut_off    {}", counted(&difference.cut_off));
    outln!("pairs_lost       {}", difference.pairs_lost);
    for (from, to) in difference.lost.iter().take(20) {
        outln!("                 {from} to {to}");
    }
    outln!("sl_changes       {}", difference.sl_changes);
    for (from, to, was, is) in difference.sl_changed.iter().take(20) {
        outln!("                 {from} to {to}: SL {was}, {is} now");
    }
    outln!(
        "entries_changed  {} on {}",
        difference.changed.entries,
        display::count(difference.changed.switches, "switch", "switches")
    );
    outln!(
        "credit_loop      {}",
        in_words(after, after.proof.credit_loop.as_ref())
    );
    outln!(
        "management_cycle {}",
        in_words(after, after.proof.management_loop.as_ref())
    );
    outln!(
        "multicast_cycle  {}",
        in_words(after, after.proof.multicast_loop.as_ref())
    );
    outln!("reroute_ms       {:.2}", ms(after.timings.route));
    outln!("check_ms         {:.2}", ms(after.timings.check));
    outln!("build_ms         {:.2}", ms(after.timings.build));
}

/// A number, and the first few names.
///
/// The whole list is in the JSON.
fn counted(names: &[String]) -> String {
    match names {
        [] => "0".to_owned(),
        names => format!("{} ({})", names.len(), first_few(names)),
    }
}

/// The hops of the loop, one per line.
///
/// `none` stands in the same column as the loop would.
fn in_words(after: &Compiled, found: Option<&routing::proof::CreditLoop>) -> String {
    match found {
        None => "none".to_owned(),
        Some(cycle) => {
            let words = cycle.in_words(&after.parts.topology, &after.parts.routes);
            format!("yes, each may wait for the next:\n{words}")
        }
    }
}

/// What would be.
///
/// Lists are cut at a thousand, the numbers beside them are not.
#[derive(Debug, Serialize)]
struct Report<'a> {
    /// As they were named.
    /// What the command line names, in its order.
    failed: &'a [String],
    /// That made the tables, also where another one was asked for and refused.
    engine: String,
    /// The engine refuses the damaged fabric, and the switches keep their tables.
    refused: bool,
    /// Of the refusal; empty without one.
    reasons: Vec<Reason>,
    /// Of the placement, in sentences.
    changes: &'a [String],
    /// Those that the whole fabric does not have.
    warnings: Vec<String>,
    /// By name.
    hosts_cut_off: &'a [String],
    /// Units: ordered pairs of hosts that are still wired together.
    pairs_lost: u64,
    /// The first thousand.
    lost: Vec<Pair>,
    /// Units: ordered pairs; their connections keep the old SL until they ask again.
    sl_changes: u64,
    /// The first thousand.
    sl_changed: Vec<SlChange<'a>>,
    /// Units: entries of forwarding tables.
    entries_changed: u64,
    /// Switches with at least one of them.
    switches_changed: usize,
    /// Each waits for the next; none without a loop.
    credit_loop: Option<Vec<String>>,
    /// Of requests to and from switches; it loses management packets, not traffic.
    management_cycle: Option<Vec<String>>,
    /// With multicast in the same buffers.
    multicast_cycle: Option<Vec<String>>,
    /// Of the damaged fabric. Units of all times: ms.
    reroute_ms: f64,
    check_ms: f64,
    build_ms: f64,
}

impl Document for Report<'_> {
    const SCHEMA: &'static str = "sapphire.simulate/1";
}

/// Why an engine refuses.
///
/// `code` is stable; `text` is for people and may change.
#[derive(Debug, Serialize)]
struct Reason {
    code: &'static str,
    text: String,
}

/// Two hosts.
///
/// Ordered: packets go from one to the other.
#[derive(Debug, Serialize)]
pub(crate) struct Pair {
    pub(crate) from: String,
    pub(crate) to: String,
}

/// A pair of hosts whose SL changes.
///
/// By name of both; `was` and `is` are SLs.
#[derive(Debug, Serialize)]
struct SlChange<'a> {
    from: &'a str,
    to: &'a str,
    was: u8,
    is: u8,
}

/// The same as `print` in one object, lists included.
// Lists are told as far as they were compared; `print` shows the first of them.
fn print_json(failed: &[String], after: &Compiled, difference: &Difference) -> Outcome {
    let cycle = |found: Option<&routing::proof::CreditLoop>| {
        let words = found.map(|it| it.in_words(&after.parts.topology, &after.parts.routes));
        words.map(|words| words.lines().map(str::to_owned).collect::<Vec<_>>())
    };
    let reasons = after
        .parts
        .refusal
        .iter()
        .flat_map(|standing| &standing.refusal.reasons);
    let reasons = reasons.map(|reason| Reason {
        code: reason.code(),
        text: reason.to_string(),
    });
    let pair = |(from, to): &(String, String)| Pair {
        from: from.clone(),
        to: to.clone(),
    };
    let changed = difference.sl_changed.iter();
    let changed = changed.map(|(from, to, was, is)| SlChange {
        from,
        to,
        was: *was,
        is: *is,
    });
    json::print(&Report {
        failed,
        engine: after.parts.routes.engine().to_string(),
        refused: after.parts.refusal.is_some(),
        reasons: reasons.collect(),
        changes: &after.changes,
        warnings: after.warnings.iter().map(ToString::to_string).collect(),
        hosts_cut_off: &difference.cut_off,
        pairs_lost: difference.pairs_lost,
        lost: difference.lost.iter().map(pair).collect(),
        sl_changes: difference.sl_changes,
        sl_changed: changed.collect(),
        entries_changed: difference.changed.entries,
        switches_changed: difference.changed.switches,
        credit_loop: cycle(after.proof.credit_loop.as_ref()),
        management_cycle: cycle(after.proof.management_loop.as_ref()),
        multicast_cycle: cycle(after.proof.multicast_loop.as_ref()),
        reroute_ms: ms(after.timings.route),
        check_ms: ms(after.timings.check),
        build_ms: ms(after.timings.build),
    })
}

/// For people and JSON alike, with as many digits as the clock gives.
fn ms(time: std::time::Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
