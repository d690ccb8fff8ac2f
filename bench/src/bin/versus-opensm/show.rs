//! Figures for people and machines.
//!
//! Text for a person and JSON for programs are made from the same samples. Text has medians with
//! the least and the most of the rounds in brackets, `7412 (7291-7440)`, and a third row with the
//! ratio, which is not the quotient of the two medians but the median of the quotients.

use std::io::{self, Write};

use sa_bench::pace::Pace;
use serde::Serialize;

use crate::document::{Head, Load, Verdict, Whole};
use crate::fabric::Fabric;
use crate::failure::{Failure, Outcome};
use crate::figures::{Sample, Spread, kernel_share};
use crate::machine::{self, Machine};
use crate::options::Options;
use crate::questions::Questions;
use crate::rounds::{Cell, Measured};
use crate::side::Who;

/// Prints one run.
///
/// Borrowed: it measures nothing and keeps nothing.
pub(crate) struct Show<'a> {
    options: &'a Options,
    fabric: &'a Fabric,
    questions: &'a Questions,
}

impl<'a> Show<'a> {
    pub(crate) fn new(options: &'a Options, fabric: &'a Fabric, questions: &'a Questions) -> Self {
        Self {
            options,
            fabric,
            questions,
        }
    }

    /// What is measured, and on what.
    /// Errors: standard output, as of all that prints here.
    pub(crate) fn head(&self) -> Outcome {
        let machine = Machine::here();
        let [x, y, z] = self.options.size;
        let options = self.options;
        let requests = self.questions.pools().first();
        let requests = requests.map_or(0, |pool| pool.requests.len());
        // One line and nothing else, so that each line of the output is a document.
        if options.json {
            return print(&Head {
                schema: Head::SCHEMA,
                machine,
                fabric: format!("torus:{x}x{y}x{z}"),
                hosts_per_switch: options.hosts,
                switches: self.fabric.switches(),
                hosts: self.fabric.hosts(),
                rules: options.rules,
                pairs: requests,
                seed: options.seed,
                rounds: options.rounds,
                seconds: options.seconds,
                idle: options.idle(),
            });
        }
        let word = |told: &Option<String>| told.clone().unwrap_or_else(|| "unknown".to_owned());
        let load = machine
            .load
            .map_or_else(|| "unknown".to_owned(), json_number);
        // Said in the text too: figures of a debug build look like any others.
        let built = match cfg!(debug_assertions) {
            true => ", a debug build: figures mean nothing",
            false => "",
        };
        let policy = match options.rules {
            0 => "no policy".to_owned(),
            rules => format!("a policy of {rules} rules"),
        };
        let text = format!(
            "OpenSM {} and sapphired (commit {}{built}) over ibsim {}, libumad2sim {}\n\
             machine   {}, {} cores, Linux {}, load {}\n\
             fabric    torus {x}x{y}x{z}: {} switches, {} hosts; torus-2QoS, QoS on, {policy}\n\
             asked     {requests} pairs of hosts drawn at random (seed {:#x}) by one client\n\
             rounds    {} of {} s; who goes first alternates; sapphired is stopped (SIGSTOP) while \
             OpenSM is measured\n\
             CPU       of all threads of the SA, and of ibsim, for each answer; sapphired's workers \
             have {}\n",
            word(&machine.opensm),
            word(&machine.commit),
            word(&machine.ibsim),
            word(&machine.libumad2sim),
            word(&machine.cpu),
            machine.cores,
            word(&machine.kernel),
            load,
            self.fabric.switches(),
            self.fabric.hosts(),
            options.seed,
            options.rounds,
            options.seconds,
            options.idle(),
        );
        say(&text)
    }

    /// A sign of life.
    /// On the standard error stream, so that documents stay whole.
    pub(crate) fn progress(&self, done: u16, all: u16) {
        let load = machine::load().map_or_else(String::new, |load| format!(", load {load}"));
        eprintln!("round {done} of {all}{load}");
    }

    /// All figures.
    /// A document for each cell, or a table for each. Errors: standard output.
    pub(crate) fn cells(&self, cells: &[Cell]) -> Outcome {
        if self.options.json {
            return cells.iter().try_for_each(|cell| print(&Load::new(cell)));
        }
        say(
            "medians (least-most) over the rounds; the ratio is sapphired's by OpenSM's, round by round\n\n",
        )?;
        cells.iter().try_for_each(|cell| say(&table(cell)))
    }

    /// Whether it was as it should be.
    ///
    /// The goals: OpenSM's rate at least, and half of its CPU time at most. Nothing is refused
    /// here.
    pub(crate) fn verdict(&self, measured: &Measured, counters: &str) -> Outcome {
        // Over medians of cells: the worst cell is what the goal is about.
        let cells = &measured.cells;
        let slowest = cells
            .iter()
            .filter(|cell| matches!(cell.pace, Pace::Closed { .. }))
            .map(|cell| Spread::ratio(&cell.samples, |it| it.rate).median)
            // Infinite without a closed loop; the sentence about rates is then left out.
            .fold(f64::INFINITY, f64::min);
        let dearest = cells
            .iter()
            .map(|cell| Spread::ratio(&cell.samples, |it| it.sa).median)
            .fold(0.0, f64::max);
        let answers = |who: Who| {
            let samples = cells.iter().flat_map(|cell| &cell.samples[who.index()]);
            samples.map(|sample| sample.answered).sum::<u64>()
        };
        let headers = |who: Who| {
            let cells = cells.iter();
            cells
                .map(|cell| cell.differences[who.index()].headers)
                .sum::<u64>()
        };
        // The first cell that has one: one example is enough to look into it.
        let first = |who: Who| {
            let mut cells = cells.iter();
            cells.find_map(|cell| cell.differences[who.index()].first.clone())
        };
        if self.options.json {
            let sides = Who::BOTH.map(|who| Whole {
                who: who.key(),
                answered: answers(who),
                // A wrong answer ends the run before, so that none gets here.
                wrong: 0,
                headers_differ: headers(who),
                idle_share: measured.idle[who.index()],
                first_difference: first(who),
            });
            return print(&Verdict {
                schema: Verdict::SCHEMA,
                least_rate_ratio: finite(slowest),
                most_cpu_ratio: dearest,
                sides,
                sapphired_counters: counters.to_owned(),
                load: machine::load(),
            });
        }
        for who in Who::BOTH {
            let mut line = format!(
                "{:<10}{} answers, each compared with the snapshot's: 0 wrong, {} with other bytes \
                 in a header; {:.1} % of a core while nobody asks\n",
                who.name(),
                answers(who),
                headers(who),
                measured.idle[who.index()] * 100.0
            );
            if let Some(first) = first(who) {
                line += &format!("          the first: {first}\n");
            }
            say(&line)?;
        }
        say(&format!("sapphired counted {counters}\n"))?;
        let rate = match slowest.is_finite() {
            true => {
                format!("at least {slowest:.2} times OpenSM's rate in closed loops (goal: 1), ")
            }
            false => String::new(),
        };
        say(&format!(
            "sapphired {rate}at most {dearest:.2} of its CPU time per query (goal: 0.5)\n"
        ))
    }
}

/// One kind of load: a row for each side, and one for the ratio.
///
/// Shape: a heading and three rows, then a row for each side that lost requests, and a blank one.
fn table(cell: &Cell) -> String {
    let mut text = format!(
        "{:<28}{:>24}{:>22}{:>22}{:>24}{:>20}{:>20}\n",
        heading(cell),
        "queries/s",
        "p50, us",
        "p99, us",
        "SA CPU, us/query",
        "of it kernel",
        "ibsim CPU, us"
    );
    // Microseconds for people; documents have nanoseconds.
    for who in Who::BOTH {
        let samples = &cell.samples[who.index()];
        let us =
            |figure: fn(&Sample) -> f64| spread(Spread::over(samples, |it| figure(it) / 1e3), 1);
        text += &format!(
            "  {:<26}{:>24}{:>22}{:>22}{:>24}{:>20}{:>20}\n",
            who.name(),
            spread(Spread::over(samples, |it| it.rate), 0),
            us(|it| it.p50),
            us(|it| it.p99),
            us(|it| it.sa),
            kernel_share(samples)
                .map_or_else(|| "-".to_owned(), |share| format!("{:.0} %", share * 100.0)),
            us(|it| it.ibsim),
        );
    }
    let ratio = |figure: fn(&Sample) -> f64| spread(Spread::ratio(&cell.samples, figure), 2);
    text += &format!(
        "  {:<26}{:>24}{:>22}{:>22}{:>24}{:>20}{:>20}\n",
        "ratio",
        ratio(|it| it.rate),
        ratio(|it| it.p50),
        ratio(|it| it.p99),
        ratio(|it| it.sa),
        "",
        ratio(|it| it.ibsim),
    );
    // Only where there were some: a row of zeros would hide them.
    for who in Who::BOTH {
        let lost: u64 = cell.samples[who.index()].iter().map(|it| it.timeouts).sum();
        if lost > 0 {
            text += &format!("  {}: {lost} requests timed out\n", who.name());
        }
    }
    text + "\n"
}

/// The workload and how it was asked: requests under way, or a second.
fn heading(cell: &Cell) -> String {
    match cell.pace {
        Pace::Closed { window } => format!("{}, {window} under way", cell.workload),
        Pace::Open { rate } => format!("{}, {rate:.0}/s", cell.workload),
    }
}

/// Shape: large figures have no fractions.
/// A median with the least and the most, as in the module's text.
fn spread(spread: Spread, digits: usize) -> String {
    let Spread {
        median,
        least,
        most,
    } = spread;
    // Digits that are beyond the scatter of the rounds would mislead.
    let digits = if most >= 100.0 { 0 } else { digits };
    format!("{median:.digits$} ({least:.digits$}-{most:.digits$})")
}

/// JSON has no infinity.
///
/// A figure that is not there is `null` then.
fn finite(figure: f64) -> Option<f64> {
    figure.is_finite().then_some(figure)
}

/// As JSON has it.
fn json_number(number: f64) -> String {
    serde_json::to_string(&number).unwrap_or_default()
}

/// Errors: standard output.
fn print(line: &impl Serialize) -> Outcome {
    let line = serde_json::to_string(line).map_err(Failure::of("a line of JSON"))?;
    say(&format!("{line}\n"))
}

/// A reader that has gone is no panic. Errors: it cannot be written.
fn say(text: &str) -> Outcome {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())
        .and_then(|()| out.flush())
        .map_err(Failure::of("standard output"))
}
