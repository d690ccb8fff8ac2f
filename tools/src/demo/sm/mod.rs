//! `sapphire demo --sm`: a subnet of simulated devices is brought up, and lives through some failures.
//!
//! ```text
//!                 ┌── sweep: find, plan, write ──> SMPs, Sets, times
//!  what happens ──┤
//!                 └── look: tables read back, all pairs of hosts asked and walked ──> arrived, lanes, credit loop
//! ```
//!
//! | what happens | what has to come of it |
//! |---|---|
//! | devices are switched on | every table written, every link up |
//! | nothing | no Set |
//! | a cable is pulled | its pairs go another way |
//! | it is plugged in again | tables as before |
//! | a switch is rebooted | it holds its tables again |
//! | a switch does not answer while another cable is pulled | answers follow what it holds |
//! | it answers again | all as planned |
//!
//! Each look is a judgement: a pair that is told a path which the devices do not carry, or a credit loop, ends the demo with an error,
//! after all has been shown.

mod devices;
mod events;
mod show;
mod walk;

use std::fs;
use std::time::Duration;

use fabric_simulator::{Simulator, Timing};
use sa_bench::shapes::first_host;
use sa_bench::sweeps::{Manager, Took};
use sa_compiler::pipeline::Inputs;
use sa_fabric::formats::net;
use sa_fabric::generate::{TorusSpec, plan};
use sa_fabric::options::ManagerOptions;
use sa_fabric::{Fabric, PortRef};
use sa_sm::lids::Remembered;
use serde::Serialize;
use sm_plan::Planner;
use tempfile::TempDir;

use self::devices::Devices;
use self::events::Event;
use self::walk::Walked;
use super::prepare::POLICY;
use crate::failure::{Failure, Outcome};
use crate::inputs::or_fail;
use crate::json::{self, Document};

/// A fabric, the Subnet Manager at one of its hosts, and the files that it plans by.
pub(super) struct Site {
    pub(super) fabric: Fabric,
    pub(super) manager: Manager,
    /// Where the Subnet Manager is.
    pub(super) at: PortRef,
    _directory: TempDir,
}

/// What one event came to.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) event: Event,
    pub(super) took: Took,
    pub(super) walked: Walked,
}

/// `radix`: switches along each axis, one host each. Errors: what the plan refuses, and what a look finds wrong.
pub(super) fn run(radix: u8, json: bool) -> Outcome {
    let mut site = prepare(radix)?;
    show::site(&site, radix);
    let events = Event::all(&site.fabric)?;
    let mut steps = Vec::new();
    for event in events {
        event.happen(&mut site);
        let took = or_fail(site.manager.sweep())?;
        let walked = look(&mut site)?;
        let step = Step {
            event,
            took,
            walked,
        };
        show::step(&step);
        steps.push(step);
    }
    show::end(&steps);
    if json {
        print_json(&steps)?;
    }
    steps.iter().try_for_each(Step::judge)
}

/// A torus by torus-2QoS, with QoS and the policy of the documentation.
fn prepare(radix: u8) -> Outcome<Site> {
    let directory = or_fail(tempfile::tempdir())?;
    let plan = or_fail(plan(&TorusSpec::new([radix; 3], 1)))?;
    let put = |name: &str, text: &str| {
        let path = directory.path().join(name);
        or_fail(fs::write(&path, text)).map(|()| path)
    };
    let inputs = Inputs {
        torus_conf: Some(put("torus-2QoS.conf", &plan.torus_conf())?),
        policy: Some(put("qos-policy.conf", POLICY)?),
        qos: Some(true),
        ..Inputs::default()
    };
    let fabric =
        net::parse(plan.net().as_bytes()).map_err(|error| Failure::failed(error.to_string()))?;
    let timing = Timing {
        hop: Duration::from_micros(1),
        service: SERVICE,
    };
    let planner = Planner::new(inputs, ManagerOptions::default(), Remembered::default());
    let at = first_host(&fabric).ok_or_else(|| Failure::failed("the fabric has no host"))?;
    Ok(Site {
        manager: Manager::new(Simulator::new(&fabric, timing), planner, at),
        fabric,
        at,
        _directory: directory,
    })
}

/// Reads the devices back and follows all pairs.
fn look(site: &mut Site) -> Outcome<Walked> {
    let devices = Devices::read(&mut site.manager, &site.fabric, site.at);
    let devices = devices.map_err(Failure::failed)?;
    let compiled = site.manager.in_force();
    let compiled = compiled.ok_or_else(|| Failure::failed("nothing answers"))?;
    Ok(walk::all_pairs(&compiled.snapshot, &site.fabric, &devices))
}

impl Step {
    /// Errors: what devices hold is not what it should be after this event.
    fn judge(&self) -> Outcome {
        let Walked { lost, .. } = self.walked;
        let wrong = if self.walked.credit_loop {
            "the tables of the devices have a credit loop".to_owned()
        } else if lost > 0 {
            format!("{lost} pairs are told a path that the devices do not carry")
        } else if self.event.must_be_whole() && !self.is_whole() {
            let Took {
                not_held,
                links_down,
                ..
            } = self.took;
            let unanswered = self.walked.unanswered;
            format!(
                "{not_held} blocks are not held, {links_down} ports are down, {unanswered} pairs have no path"
            )
        } else if matches!(self.event, Event::Nothing) && self.took.counts.sets > 0 {
            "a sweep over an unchanged subnet wrote something".to_owned()
        } else {
            return Ok(());
        };
        let event = &self.event;
        Err(Failure::failed(format!("after \"{event}\": {wrong}")))
    }

    fn is_whole(&self) -> bool {
        self.took.not_held == 0 && self.took.links_down == 0 && self.walked.unanswered == 0
    }
}

/// All of it for programs, printed behind the lines for people.
#[derive(Debug, Serialize)]
struct Report {
    steps: Vec<InNumbers>,
}

impl Document for Report {
    const SCHEMA: &'static str = "sapphire.demo-sm/1";
}

/// One event and the sweep after it.
#[derive(Debug, Serialize)]
struct InNumbers {
    event: String,
    smps: u64,
    /// Of these, Sets.
    sets: u64,
    /// By the clock of the devices, without the plan.
    simulated_ms: f64,
    plan_ms: f64,
    /// Of the processor that sweeps, without the plan.
    core_ms: f64,
    not_held: usize,
    links_down: usize,
    pairs: u64,
    unanswered: u64,
    lost: u64,
    credit_loop: bool,
}

fn print_json(steps: &[Step]) -> Outcome {
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    let steps = steps.iter().map(|step| InNumbers {
        event: step.event.to_string(),
        smps: step.took.counts.sent,
        sets: step.took.counts.sets,
        simulated_ms: ms(step.took.simulated),
        plan_ms: ms(step.took.plan),
        core_ms: ms(step.took.core),
        not_held: step.took.not_held,
        links_down: step.took.links_down,
        pairs: step.walked.pairs,
        unanswered: step.walked.unanswered,
        lost: step.walked.lost,
        credit_loop: step.walked.credit_loop,
    });
    json::print(&Report {
        steps: steps.collect(),
    })
}

/// What a device needs for an SMP.
const SERVICE: Duration = Duration::from_micros(50);
