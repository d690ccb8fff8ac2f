//! Thousands of hosts for hours in seconds: no answer that the rules forbid, every host fresh when faults are over, and
//! each flaw that is planted is found.
//!
//! `SAPPHIRE_FLEET_SCHEDULES=100000` runs so many schedules; `SAPPHIRE_FLEET_SEED=7` begins with that one, and says what it found
//! of it. `SAPPHIRE_FLEET_FOLLOWERS=10000` makes the large fleet that large.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use fleet_simulation::{Duty, Planted, Report, Schedule, Wrong, run, run_signed};
use sa_fleet::rules::Flaw;

fn number(variable: &str, otherwise: u64) -> u64 {
    std::env::var(variable).map_or(otherwise, |text| text.parse().unwrap())
}

#[test]
fn no_schedule_has_a_wrong_answer_and_all_are_fresh_in_the_end() {
    let (seeds, first) = (
        number("SAPPHIRE_FLEET_SCHEDULES", 600),
        number("SAPPHIRE_FLEET_SEED", 0),
    );
    let (mut events, mut answered) = (0, 0.0);
    let mut wrong = Vec::new();
    for seed in first..first + seeds {
        let report = run(Schedule::new(seed), None);
        (events, answered) = (events + report.events, answered + report.answered);
        if !report.wrong.is_empty() {
            wrong.push(format!("seed {seed}: {:?}", report.wrong));
        }
    }
    let share = 100.0 * answered / seeds as f64;
    println!(
        "{seeds} schedules, {} events each, answers {share:.0} % of the time",
        events / seeds
    );
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    // Who never answers is never wrong.
    assert!(share > 60.0, "{share:.0} %");
}

#[test]
fn a_large_fleet_follows_through_faults() {
    let followers = usize::try_from(number("SAPPHIRE_FLEET_FOLLOWERS", 1_000)).unwrap();
    for seed in [3, 6] {
        let report = run(Schedule::large(seed, followers), None);
        println!(
            "{followers} followers, seed {seed}: {} events",
            report.events
        );
        assert!(report.wrong.is_empty(), "{:?}", report.wrong);
        assert!(report.answered > 0.5, "{}", report.answered);
    }
}

#[test]
fn with_real_signatures_everything_is_the_same() {
    for seed in 0..3 {
        let (numbers, real) = (
            run(Schedule::new(seed), None),
            run_signed(Schedule::new(seed)),
        );
        assert_eq!((numbers.events, numbers.wrong), (real.events, real.wrong));
    }
}

/// What finds each.
const SEEDS: [(Planted, u64, Wrong); Planted::ALL.len()] = [
    (Planted::Rule(Flaw::CountsFromArrival), 7, Wrong::TooLate),
    (Planted::Rule(Flaw::UsesBeforeStored), 0, Wrong::TooLate),
    (
        Planted::Rule(Flaw::ForgetsWhatItSaw),
        17,
        Wrong::HeardOtherwise,
    ),
    (
        Planted::Rule(Flaw::IgnoresWithdrawal),
        1,
        Wrong::HeardOtherwise,
    ),
    (
        Planted::Rule(Flaw::KeepsFreshness),
        1,
        Wrong::HeardOtherwise,
    ),
    (
        Planted::Rule(Flaw::TakesContradiction),
        327,
        Wrong::HeardOtherwise,
    ),
    (Planted::Rule(Flaw::LeavesNoMargin), 7, Wrong::TooLate),
    (Planted::Rule(Flaw::BelievesRemaining), 28, Wrong::TooFar),
    (Planted::Rule(Flaw::BelievesHeld), 28, Wrong::TooFar),
    (Planted::Rule(Flaw::IgnoresWallClock), 93, Wrong::TooLate),
    (Planted::Rule(Flaw::SkipsSignature), 28, Wrong::NotSigned),
    (Planted::Rule(Flaw::CountsBeatsTwice), 0, Wrong::SameBeat),
    (Planted::Rule(Flaw::IgnoresPorts), 3, Wrong::OtherPorts),
    (Planted::Rule(Flaw::StretchesRemaining), 21, Wrong::TooLate),
    (
        Planted::Rule(Flaw::BeatsPastLease),
        0,
        Wrong::AfterLaterTerm,
    ),
    (
        Planted::Rule(Flaw::LeaseFromArrival),
        12,
        Wrong::AfterLaterTerm,
    ),
    (
        Planted::Rule(Flaw::SpeaksWhilePublishing),
        99,
        Wrong::Replaced,
    ),
    (Planted::Rule(Flaw::UnknownIsNo), 2, Wrong::TwoContents),
    (Planted::Rule(Flaw::UnknownIsYes), 2, Wrong::NotPublished),
    (Planted::Rule(Flaw::IgnoresFence), 246, Wrong::NotPublished),
    (
        Planted::Rule(Flaw::IgnoresLaterTerm),
        4,
        Wrong::SawLaterTerm,
    ),
    (Planted::Duty(Duty::ClockThatSleeps), 0, Wrong::TooLate),
    (
        Planted::Duty(Duty::WorkerWithoutGeneration),
        1,
        Wrong::HeardOtherwise,
    ),
    (Planted::Duty(Duty::SaysStored), 0, Wrong::TooLate),
    (Planted::Duty(Duty::TermBeforeDisk), 112, Wrong::TwoContents),
    (Planted::Drift, 6, Wrong::TooLate),
];

fn finds(report: &Report, wrong: Wrong) -> bool {
    report.kinds.contains(&wrong)
}

#[test]
fn each_planted_flaw_is_found_by_its_seed_and_nothing_without_it() {
    let mut silent = Vec::new();
    for (number, (planted, seed, wrong)) in SEEDS.into_iter().enumerate() {
        assert_eq!(planted, Planted::ALL[number]);
        if !finds(&run(Schedule::new(seed), Some(planted)), wrong) {
            let mut others = 0..3_000;
            let other = others.find(|seed| finds(&run(Schedule::new(*seed), Some(planted)), wrong));
            silent.push(format!(
                "{planted:?}: seed {seed} does not find it; {other:?} does"
            ));
        }
        assert!(
            run(Schedule::new(seed), None).wrong.is_empty(),
            "seed {seed} without anything"
        );
    }
    assert!(silent.is_empty(), "{}", silent.join("\n"));
}
