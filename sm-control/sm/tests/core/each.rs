//! Each single SMP of a first sweep goes wrong, in each way, one at a time: in the end devices hold the same.

use std::time::Duration;

use fabric_simulator::{Effect, Rule, Simulator};
use sa_fabric::PortRef;
use sa_sm::sweep::Swept;
use sa_wire::mad::Status;

use crate::golden;
use crate::rig;
use crate::sweep::{Ended, sweep};

/// A process that sweeps until a sweep writes nothing and finds nothing wrong.
struct Run {
    simulator: Simulator,
    sm: PortRef,
    /// What devices held after each sweep.
    held: Vec<Vec<String>>,
}

/// As many sweeps as a value waits for that was refused once, and those that find it gone.
const MOST_SWEEPS: usize = 5;

fn run(rule: Option<Rule>) -> Run {
    let (fabric, sm) = golden::fabric("g03-ftree");
    let mut simulator = Simulator::new(&fabric, rig::TIMING);
    rule.into_iter().for_each(|rule| simulator.add_rule(rule));
    let mut run = Run {
        simulator,
        sm,
        held: Vec::new(),
    };
    let mut swept = Swept::default();
    while run.held.len() < MOST_SWEEPS {
        let ended = run.sweep(swept);
        let is_over = ended.counts.sets == 0 && ended.swept.subnet.findings().next().is_none();
        swept = ended.swept;
        if is_over && !swept.memory.has_refused() {
            return run;
        }
    }
    panic!("it does not come to rest: {rule:?}");
}

impl Run {
    fn sweep(&mut self, before: Swept) -> Ended {
        let ended = sweep(&mut self.simulator, self.sm, before);
        self.held.push(self.simulator.held());
        ended
    }
}

fn smps_of_a_first_sweep() -> u64 {
    let (fabric, sm) = golden::fabric("g03-ftree");
    let mut simulator = Simulator::new(&fabric, rig::TIMING);
    sweep(&mut simulator, sm, Swept::default()).counts.sent
}

/// All runs end as the undisturbed one, `within` so many sweeps.
fn each(effect: Effect, within: usize) {
    let whole = run(None).held.pop().unwrap();
    let count = smps_of_a_first_sweep();
    assert!(count > 300);
    for skip in 0..count {
        let rule = Rule {
            skip,
            count: 1,
            ..Rule::always(effect)
        };
        let run = run(Some(rule));
        let first = run.held.iter().position(|held| *held == whole);
        assert!(
            first.is_some_and(|first| first < within),
            "SMP {skip} {effect:?}: {first:?} of {}",
            run.held.len()
        );
        assert_eq!(run.held.last(), Some(&whole), "SMP {skip} {effect:?}");
    }
}

#[test]
fn each_smp_lost() {
    each(Effect::Lost, 1);
}

#[test]
fn each_answer_after_its_time_which_is_then_a_second_one() {
    each(Effect::Late(Duration::from_millis(250)), 1);
}

#[test]
fn each_answer_after_all_tries() {
    each(Effect::Late(Duration::from_secs(5)), 1);
}

#[test]
fn each_smp_refused() {
    // A refused Set is left alone for a sweep.
    each(Effect::Status(Status::INVALID_FIELD), 3);
}
