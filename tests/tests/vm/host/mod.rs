//! Boots VMs and judges what came out of them. Speaks as a libtest harness does, which cannot say
//! at run time that a test was skipped.

mod alone;
mod beside;
mod fleet;
mod live;
mod local_service;
mod osmtest;
mod rmpp;
mod saquery;
mod split;
mod systemd;
mod tables;
mod two_sms;
mod umad;
mod vm;

use core::sync::atomic::{AtomicUsize, Ordering};
use std::process::ExitCode;
use std::sync::Mutex;
use std::time::Instant;

use anyhow::Result;
use vm::Skipped;

/// The words that are neither options nor their values.
fn filters(words: &[String]) -> Vec<&String> {
    let mut before = "";
    let mut all = Vec::new();
    for word in words {
        if !word.starts_with('-') && !WITH_VALUE.contains(&before) {
            all.push(word);
        }
        before = word;
    }
    all
}

/// Options of test programs.
const WITH_VALUE: [&str; 6] = [
    "--test-threads",
    "--skip",
    "--format",
    "--color",
    "--logfile",
    "-Z",
];

/// Runs a test and prints how it went. Gives the place of that in the tally.
fn one(name: &str, test: fn() -> Result<String>) -> usize {
    let began = Instant::now();
    let outcome = if std::env::var_os("SAPPHIRE_VM").is_some() {
        test()
    } else {
        Err(Skipped("boots a VM; set SAPPHIRE_VM=1".to_owned()).into())
    };
    let seconds = began.elapsed().as_secs_f32();
    match outcome {
        Ok(said) => {
            println!("{said}test {name} ... ok ({seconds:.1} s)");
            PASSED
        }
        Err(error) if error.is::<Skipped>() => {
            println!("test {name} ... ignored, {error}");
            IGNORED
        }
        Err(error) => {
            println!("{error:#}\ntest {name} ... FAILED ({seconds:.1} s)");
            FAILED
        }
    }
}

/// Places in the tally.
const PASSED: usize = 0;
const FAILED: usize = 1;
const IGNORED: usize = 2;
/// Each keeps one core busy. Units: VMs.
const AT_ONCE: usize = 2;

/// A test and its name; it gives lines that are worth reading.
type Test = (&'static str, fn() -> Result<String>);

/// The longest first.
const TESTS: [Test; 13] = [
    ("two_sms_hand_the_subnet_over", two_sms::hand_over),
    ("tables_and_saquery_equal_opensms", tables::equal_opensms),
    ("the_standbys_daemon_takes_over", beside::fails_over),
    ("osmtest_passes_on_a_tree_read_as_dumped", osmtest::passes),
    ("the_daemon_alone_is_sm_and_sa", alone::manages_a_subnet),
    (
        "umad_serves_on_a_kernel_and_agrees_with_its_rmpp",
        umad::serves,
    ),
    ("the_daemon_lives_with_opensm", beside::lives_with_opensm),
    (
        "a_host_of_a_fleet_follows_its_leader",
        fleet::follows_its_leader,
    ),
    (
        "the_kernel_is_answered_here",
        local_service::answers_the_kernel,
    ),
    (
        "systemd_runs_the_units_as_they_are",
        systemd::runs_the_units,
    ),
    (
        "tables_of_a_torus_read_as_dumped_equal_opensms",
        tables::of_a_torus,
    ),
    ("opensm_splits_its_reads_off", split::works),
    ("umad_costs_little_more_than_an_echo", umad::costs_little),
];

/// Runs the tests that `words` ask for, which are those of any test program of cargo's.
pub(crate) fn run(words: &[String]) -> ExitCode {
    let has = |word: &str| words.iter().any(|known| known == word);
    let filters = filters(words);
    let fits = |name: &str| {
        let fits = |filter: &&String| match has("--exact") {
            true => name == filter.as_str(),
            false => name.contains(filter.as_str()),
        };
        filters.is_empty() || filters.iter().any(fits)
    };
    let chosen: Vec<Test> = TESTS.into_iter().filter(|(name, _)| fits(name)).collect();
    if has("--list") {
        chosen.iter().for_each(|(name, _)| println!("{name}: test"));
        return ExitCode::SUCCESS;
    }
    println!("\nrunning {} tests", chosen.len());
    let began = Instant::now();
    let tally = Mutex::new([0; 3]);
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some((name, test)) = chosen.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let outcome = one(name, *test);
                    if let Ok(mut tally) = tally.lock() {
                        tally[outcome] += 1;
                    }
                }
            });
        }
    });
    let [passed, failed, ignored] = tally.into_inner().unwrap_or_default();
    let word = if failed == 0 { "ok" } else { "FAILED" };
    println!(
        "\ntest result: {word}. {passed} passed; {failed} failed; {ignored} ignored; 0 measured; \
         {} filtered out; finished in {:.2}s\n",
        TESTS.len() - chosen.len(),
        began.elapsed().as_secs_f32()
    );
    if failed == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
