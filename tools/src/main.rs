//! `sapphire`: routes, checks, compiles, explains and asks; thin over the libraries.
//!
//! Each verb is a file or a folder of its name: a type of arguments that clap fills in, and a
//! function `run` that returns an `Outcome`. The way of a call is always the same:
//!
//! ```text
//! command line -> Arguments -> run(verb) -> output (standard output)
//!                    |            |
//!                 usage()      Failure  -> report() -> standard error, exit status
//! ```
//!
//! A verb never ends the process and never writes to the streams itself. So there is one place that
//! decides on the exit status (`report` and `output::end`), and one that knows whether an error
//! still needs an object of its own under `--json`.
//!
//! The comments of `Arguments`, of `Verb` and of each verb's arguments are the help and the man
//! pages: they are part of what the program prints, and are changed as such.

#![forbid(unsafe_code)]

#[macro_use]
mod output;

mod answer;
mod bench;
mod check;
mod compare;
mod comparison;
mod compile;
mod control;
mod demo;
mod doctor;
mod draw;
mod explain;
mod fabric;
mod failure;
mod fleet;
mod help;
mod init;
mod inputs;
mod interrupt;
mod json;
mod kept;
mod load;
mod machine;
mod manual;
mod migrate;
mod netlink;
mod policy;
mod progress;
mod query;
mod reach;
mod roce_entropy;
mod room;
mod route;
mod scratch;
mod services;
mod setup;
mod simulate;
mod snapshot;
mod time;
mod toml;
mod top;
mod wrong;

use std::ffi::OsStr;
use std::process::ExitCode;

use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser, Subcommand};

use failure::{Failure, Outcome};

#[global_allocator]
// As in the daemon: what `sapphire bench` measures is then allocated as there.
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Routes, proves, compiles and answers for InfiniBand subnets.
///
/// Exit status: 0 done; 1 a file cannot be read or parsed, or the work failed; 2 wrong usage; 3
/// inputs understood, but the route is refused or problems were found; 4 nobody answered; 130 ended
/// by Ctrl-C. A pipe that is closed early (| head) changes none of it; with a full disk behind
/// standard output it is 1.
///
/// Work of more than some seconds says on standard error how far it is. After Ctrl-C half files are
/// removed, and what was measured is printed; a second Ctrl-C ends at once.
///
/// With --json a verb that fails before it has printed anything prints {"error": {..}} with
/// message, exit_code, file, line and column. What --json prints begins with "schema": its name and
/// version, which docs/schemas describes.
#[derive(Debug, Parser)]
#[command(
    name = "sapphire",
    version,
    max_term_width = 100,
    propagate_version = true
)]
struct Arguments {
    /// Do not say how far long work is
    #[arg(long, global = true, help_heading = "Progress")]
    quiet: bool,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Route an 8x8x8 torus, serve it from a pinned worker and load it, all in memory
    Demo(demo::Demo),
    /// Write a first configuration of sapphired, from what is found on this machine
    Init(init::Init),
    /// Make fabric files, read them from a running SA, or say how its links are
    #[command(subcommand)]
    Fabric(fabric::Fabric),
    /// Route a fabric and write the tables in OpenSM's formats
    Route(route::Route),
    /// Prove tables free of credit loops and all pairs reachable
    Check(check::Check),
    /// Show the SL2VL and VL arbitration tables of every port
    Setup(setup::Setup),
    /// Say what would be if switches or links failed
    Simulate(simulate::Simulate),
    /// Compile a fabric, its routes and its policy into a snapshot file
    Compile(compile::Compile),
    /// Look into snapshot files
    #[command(subcommand)]
    Snapshot(snapshot::Snapshot),
    /// Answer requests read as JSON lines from standard input
    Answer(answer::Answer),
    /// Say why a pair gets the PathRecord it gets, hop by hop
    Explain(explain::Explain),
    /// Write a configuration of sapphired from OpenSM's options
    Migrate(migrate::Migrate),
    /// Check, convert, explain QoS policy files
    #[command(subcommand)]
    Policy(policy::Policy),
    /// Draw a fabric: what is missing, paths, the multicast tree, load
    Draw(draw::Draw),
    /// Say how RoCE v2 flows spread over equal paths, and what to do about it
    #[command(subcommand)]
    RoceEntropy(roce_entropy::RoceEntropy),
    /// Ask a running SA
    #[command(subcommand)]
    Query(query::Query),
    /// Measure what an answer costs, in memory and over the ring
    Bench(Box<bench::Bench>),
    /// Ask a running SA for random pairs and compare with what a snapshot answers
    Compare(Box<compare::Compare>),
    /// Say whether this machine can serve, and what to do where it cannot
    Doctor(doctor::Doctor),
    /// Say how a running sapphired is doing
    Status(control::Control),
    /// Show a running sapphired live: workers, answers, subnet, findings, what happens
    Top(top::Top),
    /// Have a running sapphired read its sources again
    Reload(control::Reload),
    /// Have a running sapphired return to the snapshot before
    Rollback(control::Control),
    /// Have routes leave a switch or a cable, so that it may be pulled
    Drain(control::Drain),
    /// Let routes take a drained part again
    Undrain(control::Undrain),
    /// Say what a change would write to the subnet, and write nothing
    Plan(control::Plan),
    /// Write what was planned, or nothing where it is not that any more
    Apply(control::Apply),
    /// Show which ports have which LIDs, and give those of ports that are gone back
    #[command(subcommand)]
    Lid(control::Lid),
    /// Make the keys of a fleet, have hosts join it, and say how it is doing
    #[command(subcommand)]
    Fleet(fleet::Fleet),
    /// Load a running SA and measure how fast and how well it answers
    Load(load::Load),
    /// Print a script by which a shell completes verbs and options
    Completions(manual::Completions),
    /// Write man pages of sapphire, its verbs, and sapphired
    Man(manual::Manual),
    /// Play recorded messages of the kernel's local service
    #[command(subcommand)]
    Netlink(netlink::Netlink),
}

fn main() -> ExitCode {
    // In two steps, not by `Arguments::parse`: the matches are needed once more, for `wants_json`,
    // and clap would end the process where its words cannot be written.
    let mut command = help::grouped(Arguments::command());
    let parsed = command.try_get_matches_from_mut(std::env::args_os());
    let parsed = parsed.and_then(|matches| {
        let arguments = Arguments::from_arg_matches(&matches);
        Ok((
            arguments.map_err(|error| error.format(&mut command))?,
            wants_json(&matches),
        ))
    });
    match parsed {
        Ok((arguments, is_json)) => report(watched(&arguments), is_json),
        Err(error) => usage(&error),
    }
}

/// With a way to say how far it is, and with an eye on Ctrl-C.
fn watched(arguments: &Arguments) -> Outcome {
    if arguments.quiet {
        progress::silence();
    }
    // Which has the terminal in its hands, and gives it back.
    if !matches!(arguments.verb, Verb::Top(_)) {
        interrupt::watch();
    }
    run(&arguments.verb)
}

/// One arm per verb: what a verb does is nowhere but in its file.
fn run(verb: &Verb) -> Outcome {
    match verb {
        Verb::Demo(verb) => demo::run(verb),
        Verb::Init(verb) => init::run(verb),
        Verb::Fabric(verb) => fabric::run(verb),
        Verb::Route(verb) => route::run(verb),
        Verb::Check(verb) => check::run(verb),
        Verb::Setup(verb) => setup::run(verb),
        Verb::Simulate(verb) => simulate::run(verb),
        Verb::Compile(verb) => compile::run(verb),
        Verb::Snapshot(verb) => snapshot::run(verb),
        Verb::Answer(verb) => answer::run(verb),
        Verb::Explain(verb) => explain::run(verb),
        Verb::Migrate(verb) => migrate::run(verb),
        Verb::Policy(verb) => policy::run(verb),
        Verb::Draw(verb) => draw::run(verb),
        Verb::RoceEntropy(verb) => roce_entropy::run(verb),
        Verb::Query(verb) => query::run(verb),
        Verb::Bench(verb) => bench::run(verb),
        Verb::Compare(verb) => compare::run(verb),
        Verb::Doctor(verb) => doctor::run(verb),
        Verb::Status(verb) => control::status(verb),
        Verb::Top(verb) => top::run(verb),
        Verb::Reload(verb) => control::reload(verb),
        Verb::Rollback(verb) => control::rollback(verb),
        Verb::Drain(verb) => control::drain(verb),
        Verb::Undrain(verb) => control::undrain(verb),
        Verb::Plan(verb) => control::plan(verb),
        Verb::Apply(verb) => control::apply(verb),
        Verb::Lid(verb) => control::lid(verb),
        Verb::Fleet(verb) => fleet::run(verb),
        Verb::Load(verb) => load::run(verb),
        Verb::Completions(verb) => manual::completions(verb),
        Verb::Man(verb) => manual::manual(verb),
        Verb::Netlink(verb) => netlink::run(verb),
    }
}

/// Whether the verb was asked for JSON.
///
/// Asked of the innermost subcommand, since `--json` is an option of verbs, not of the program. A
/// verb without that option gives an error in `try_get_one`, which counts as no.
fn wants_json(matches: &ArgMatches) -> bool {
    match matches.subcommand() {
        Some((_, of_verb)) => wants_json(of_verb),
        None => matches!(matches.try_get_one("json"), Ok(Some(true))),
    }
}

/// Ends a verb. Under `--json` a failure becomes an object on standard output only where nothing
/// was printed there before: a reader of one document must not find two.
fn report(outcome: Outcome, is_json: bool) -> ExitCode {
    let Err(failure) = outcome else {
        return output::end(0);
    };
    if is_json && !output::is_answered() {
        json::print_failure(&failure);
    }
    errln!("{failure}");
    output::end(failure.exit_code())
}

/// What clap has to say: help, or what is wrong with the command line.
///
/// Help and `--version` are errors to clap, too: those go to standard output and end with 0.
fn usage(error: &clap::Error) -> ExitCode {
    let words = error.render().to_string();
    if !error.use_stderr() {
        out!("{words}");
        return output::end(0);
    }
    // clap has refused the command line, so that there are no matches to ask: the words are looked
    // through instead, up to `--`, behind which a `--json` would be a value.
    let mut words_given = std::env::args_os().take_while(|word| word != "--");
    if words_given.any(|word| word == OsStr::new("--json")) {
        json::print_failure(&Failure::usage(words.trim_end().to_owned()));
    }
    err!("{words}");
    output::end(Failure::USAGE)
}
