//! OpenSM and `sapphired` side by side over the fabric simulator, measured in turn by one client.
//!
//! Two simulators run the same fabric. In one OpenSM answers; in the other `sapphired` sits in
//! front of an OpenSM that only manages the subnet. Rounds alternate between them, and while one is
//! measured the other is idle. Each reply is compared with what the snapshot of
//! the fabric gives; one wrong reply voids the run.
//!
//! Exit status: 0, 1 for a failure, 2 for a wrong option, 3 for a void run.
//!
//! The two sides, and the order of what is measured:
//!
//! ```text
//! side OpenSM      client -- ibsim -- OpenSM (SM and SA)
//! side sapphired   client -- ibsim -- sapphired (SA), OpenSM (SM)      stopped while the other is measured
//!
//! round 1   load 1: OpenSM, sapphired     load 2: sapphired, OpenSM     ..
//! round 2   load 1: sapphired, OpenSM     load 2: OpenSM, sapphired     ..
//! ```
//!
//! With `--up` and `--events` they are compared as Subnet Managers instead (`up`, `events`).
//!
//! The simulator is slow and in both figures: what differs between the sides is the SA alone, and
//! its CPU time is measured apart. Interrupts end the run between two loads, and whatever was
//! started ends with it.

#![forbid(unsafe_code)]

mod bed;
mod client;
mod cpu;
mod document;
mod events;
mod fabric;
mod failure;
mod figures;
mod machine;
mod options;
mod process;
mod questions;
mod rounds;
mod show;
mod side;
mod up;

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use clap::Parser;
use signal_hook::consts::{SIGINT, SIGTERM};

use crate::fabric::Fabric;
use crate::failure::{Failure, Outcome};
use crate::options::Options;
use crate::questions::Questions;
use crate::rounds::Rounds;
use crate::show::Show;
use crate::side::Pair;

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("versus-opensm: {failure}");
            failure.exit_code()
        }
    }
}

/// The whole run, in the order of the module's text. Errors: of any step; processes that were
/// started have ended by then.
fn run(options: &Options) -> Outcome {
    let interrupted = Arc::new(AtomicBool::new(false));
    // Before anything is started: an interrupt in between would leave processes behind.
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&interrupted))
            .map_err(|error| Failure::Failed(format!("cannot set up signal handling: {error}")))?;
    }
    // Another comparison altogether: nothing below is of use to it.
    if !options.up.is_empty() {
        return up::run(&options.up, options, &interrupted);
    }
    if !options.events.is_empty() {
        return events::run(&options.events, options, &interrupted);
    }
    let fabric = Fabric::plan(options)?;
    let mut sides = Pair::start(options, &fabric, &interrupted)?;
    // Asked before the questions are made: replies carry the LID of who asks.
    let lid = sides.client_lid()?;
    let questions = Questions::draw(options, &fabric, &sides.directories(), lid)?;
    let show = Show::new(options, &fabric, &questions);
    show.head()?;
    let rounds = Rounds::new(options, &questions, &interrupted);
    let measured = rounds.run(&mut sides, |done, all| show.progress(done, all))?;
    show.cells(&measured.cells)?;
    show.verdict(&measured, &sides.counters(&interrupted)?)
}
