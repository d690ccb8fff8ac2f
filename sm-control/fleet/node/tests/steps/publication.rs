//! A leader is killed, refused by its disk or stopped at each call of its start, its first publication and a later one.

use std::time::{Duration, Instant};

use fleet_transfer::clocks;

use crate::bed::{Bed, Stage};
use crate::leading::TTL;
use crate::oracle::Counts;
use crate::rig::until;
use crate::steps::{each, taken};
use crate::tracer::{Fault, Step, Tracer, are_lasting, steps};

/// The calls of a stage on the leader's directory, of all its threads.
fn listed(stage: Stage) -> Vec<Step> {
    let mut bed = Bed::before(stage);
    let watch = |name: &&'static str| {
        let tracer = Tracer::watch(bed.leader.thread(name), &bed.out(name));
        (*name, tracer)
    };
    let tracers: Vec<_> = stage.threads().iter().map(watch).collect();
    bed.go(stage);
    bed.follow(stage.hosts());
    let directory = bed.directory();
    let traced = tracers
        .into_iter()
        .flat_map(|(name, tracer)| steps(name, &tracer.end(), &directory));
    let steps: Vec<Step> = traced.collect();
    for needed in ["fsync", "renameat"] {
        let has = steps.iter().any(|step| step.kind == needed);
        assert!(
            has || stage == Stage::Opens,
            "{stage:?}: no {needed}: {steps:#?}"
        );
    }
    assert!(!steps.is_empty(), "{stage:?}");
    are_lasting(&steps);
    steps
}

/// All steps of all stages, or so many of them as are asked for.
fn all() -> Vec<(Stage, Step)> {
    let stages = [Stage::Opens, Stage::First, Stage::Next];
    let lists = each(&stages, |stage| (*stage, listed(*stage)));
    let mut taken_of_all = Vec::new();
    for stage in stages {
        let (_, steps) = lists.iter().find(|(of, _)| *of == stage).unwrap();
        println!("{stage:?}: {} calls", steps.len());
        taken_of_all.extend(taken(steps).into_iter().map(|step| (stage, step)));
    }
    taken_of_all
}

/// What is told of many cases.
fn told(what: &str, cases: &[(Duration, Vec<Counts>)]) {
    let counts = cases.iter().flat_map(|(_, counts)| counts);
    let (asked, answered) = counts.fold((0, 0), |sum, it| (sum.0 + it.asked, sum.1 + it.answered));
    let longest = cases
        .iter()
        .map(|(time, _)| *time)
        .max()
        .unwrap_or_default();
    println!(
        "{what}: {} cases, asked {asked} times, {answered} answers, none wrong; in force again after {longest:.1?} at most",
        cases.len()
    );
}

/// Puts the fault there, and goes to where it has struck.
fn struck(stage: Stage, step: &Step, fault: Fault) -> (Bed, Tracer) {
    let mut bed = Bed::before(stage);
    let thread = bed.leader.thread(&step.thread);
    let tracer = Tracer::inject(thread, &bed.out("trace"), step, fault);
    bed.go(stage);
    tracer.strikes();
    (bed, tracer)
}

/// What the oracle says in the end, and how long it took until all was well.
fn judged(bed: &Bed, what: &str, since: Instant) -> (Duration, Vec<Counts>) {
    let took = since.elapsed();
    let counts = bed.oracle.judges(what);
    assert_eq!(
        counts.len(),
        bed.followers.len(),
        "{what}: not all were asked"
    );
    (took, counts.into_values().collect())
}

#[test]
fn a_leader_that_is_killed_at_any_call_goes_on_where_it_was() {
    if !Tracer::is_there() {
        return println!("skipped: no strace, or it may not trace here");
    }
    let cases = each(&all(), |(stage, step)| {
        let what = format!("killed: {stage:?}: {step:?}");
        let (mut bed, tracer) = struck(*stage, step, Fault::Killed);
        bed.leader.ends();
        drop(tracer);
        let since = Instant::now();
        bed.starts_again(stage.hosts());
        bed.follow(stage.hosts());
        judged(&bed, &what, since)
    });
    told("killed", &cases);
}

#[test]
fn a_leader_whose_disk_refuses_any_call_says_so_and_publishes_nevertheless() {
    if !Tracer::is_there() {
        return println!("skipped: no strace, or it may not trace here");
    }
    let mut faults = Vec::new();
    for (stage, step) in all() {
        if step.changes() && step.kind != "fsync" {
            faults.push((stage, step.clone(), "ENOSPC"));
        }
        faults.push((stage, step, "EIO"));
    }
    let cases = each(&faults, |(stage, step, error)| {
        let what = format!("{error}: {stage:?}: {step:?}");
        let (mut bed, tracer) = struck(*stage, step, Fault::Error(error));
        let since = Instant::now();
        until("it publishes, or says why it does not and ends", || {
            bed.leader.is_over() || bed.are_at(stage.hosts())
        });
        if bed.leader.is_over() {
            // It cannot open its files; to the standard library an error of closing a directory is a defect of the program, which panics.
            let is_right = *stage == Stage::Opens || step.kind == "close";
            assert!(is_right, "{what}: it ended");
            bed.starts_again(stage.hosts());
            bed.follow(stage.hosts());
        }
        drop(tracer);
        let warned = bed.said_before.len() + bed.leader.said("warns").len();
        assert!(!step.changes() || warned > 0, "{what}: nothing said");
        judged(&bed, &what, since)
    });
    told("refused", &cases);
}

#[test]
fn a_leader_that_stood_still_for_longer_than_its_word_says_nothing_old() {
    if !Tracer::is_there() {
        return println!("skipped: no strace, or it may not trace here");
    }
    let cases = each(&all(), |(stage, step)| {
        let what = format!("stopped: {stage:?}: {step:?}");
        let (bed, tracer) = struck(*stage, step, Fault::Stopped);
        let stopped = clocks::both().wall.0;
        until("a TTL is over, and all are silent", || {
            let over = stopped + u64::try_from(TTL.as_millis()).unwrap() + 100;
            clocks::both().wall.0 > over && bed.are_silent()
        });
        // Whoever has heard of what was signed before has it from before.
        let goes_on = clocks::both().wall.0;
        let since = Instant::now();
        bed.leader.goes_on();
        bed.follow(stage.hosts());
        drop(tracer);
        let (position, issued) = bed.oracle.newest().unwrap();
        assert!(issued >= goes_on, "{what}: {position} was signed before");
        let meanwhile = bed.oracle.signed_within(stopped + 1, goes_on);
        assert!(meanwhile.is_empty(), "{what}: {meanwhile:?}");
        judged(&bed, &what, since)
    });
    told("stopped", &cases);
}
