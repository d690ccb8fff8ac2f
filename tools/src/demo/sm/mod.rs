//! `sapphire demo --sm`: a subnet of simulated devices is brought up, and lives through some
//! failures.
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
//! Each look is a judgement: a pair that is told a path which the devices do not carry, or a credit
//! loop, ends the demo with an error, after all has been shown.

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

use self::devices::Devices;
use self::events::Event;
use self::walk::Walked;
use super::prepare::POLICY;
use crate::failure::{Failure, Outcome};
use crate::inputs::or_fail;
use crate::interrupt::{self, Seen};
use crate::json::{self, Document};
use crate::scratch::Scratch;

/// A fabric, the Subnet Manager at one of its hosts, and the files that it plans by.
///
/// The fabric is the drawing: it stays whole whatever happens to the simulated devices.
pub(super) struct Site {
    /// As drawn; names and places are told by it.
    pub(super) fabric: Fabric,
    /// Both ends of cables that are pulled just now.
    pub(super) pulled: Vec<PortRef>,
    /// Sweeps, and keeps the simulated devices.
    pub(super) manager: Manager,
    /// Where the Subnet Manager is.
    pub(super) at: PortRef,
    /// Kept for as long as the planner reads from it; removed with this.
    _directory: Scratch,
}

/// The drawing without the cables that are pulled: what packets can travel on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cabled<'a> {
    pub(super) fabric: &'a Fabric,
    /// As in [`Site`].
    pulled: &'a [PortRef],
}

impl Cabled<'_> {
    /// The port at the other end. None where there is no cable, or it is pulled.
    pub(super) fn peer(self, at: PortRef) -> Option<PortRef> {
        // The drawing stays whole: by it a table that still leads over a pulled cable would look right.
        let peer = self.fabric.port(at).peer;
        peer.filter(|_| !self.pulled.contains(&at))
    }
}

/// What one event came to.
///
/// All three are figures and words: nothing refers to devices any more.
#[derive(Debug)]
pub(super) struct Step {
    /// What happened before the sweep.
    pub(super) event: Event,
    /// What the sweep took.
    pub(super) took: Took,
    /// What the devices then carry.
    pub(super) walked: Walked,
}

/// `radix`: switches along each axis, one host each. Errors: what the plan refuses, and what a look
/// finds wrong.
///
/// A wrong look does not end it: all events happen and are shown, and the first wrong one is then
/// the error.
pub(super) fn run(radix: u8, json: bool) -> Outcome {
    let mut site = prepare(radix)?;
    show::site(&site, radix);
    let events = Event::all(&site.fabric)?;
    let tell = move |steps: &[Step], is_interrupted| {
        show::end(steps, is_interrupted);
        if json {
            print_json(steps, is_interrupted)?;
        }
        steps.iter().try_for_each(Step::judge)
    };
    let so_far = move |steps: &Vec<Step>| tell(steps, true);
    let steps = interrupt::telling(so_far, |seen: &Seen<_>| {
        for event in events {
            event.happen(&mut site);
            let took = or_fail(site.manager.sweep())?;
            let walked = look(&mut site)?;
            let step = Step {
                event,
                took,
                walked,
            };
            // Shown and kept together, so that a signal in between tells no sum without its lines.
            seen.with(|steps| {
                show::step(&step);
                steps.push(step);
            });
        }
        Ok(())
    })?;
    tell(&steps, false)
}

/// A torus by torus-2QoS, with QoS and the policy of the documentation.
///
/// Errors: files cannot be written, the torus cannot be planned. `radix`: 3 to 14 along each axis.
fn prepare(radix: u8) -> Outcome<Site> {
    let directory = or_fail(Scratch::new())?;
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
    // A short cable; nearly all of the time is the devices' own.
    let timing = Timing {
        hop: Duration::from_micros(1),
        service: SERVICE,
    };
    let planner = Planner::new(inputs, ManagerOptions::default(), Remembered::default());
    let at = first_host(&fabric).ok_or_else(|| Failure::failed("the fabric has no host"))?;
    Ok(Site {
        manager: Manager::new(Simulator::new(&fabric, timing), planner, at),
        fabric,
        pulled: Vec::new(),
        at,
        _directory: directory,
    })
}

/// Reads the devices back and follows all pairs.
///
/// Errors: a device does not answer, or nothing is in force yet.
fn look(site: &mut Site) -> Outcome<Walked> {
    // From the devices and not the manager's records: those are what is to be checked.
    let cabled = Cabled {
        fabric: &site.fabric,
        pulled: &site.pulled,
    };
    let devices = Devices::read(&mut site.manager, cabled, site.at);
    let devices = devices.map_err(Failure::failed)?;
    let compiled = site.manager.in_force();
    let compiled = compiled.ok_or_else(|| Failure::failed("nothing answers"))?;
    Ok(walk::all_pairs(&compiled.snapshot, cabled, &devices))
}

impl Step {
    /// Errors: what devices hold is not what it should be after this event.
    fn judge(&self) -> Outcome {
        let Walked { lost, .. } = self.walked;
        // The worst first: a credit loop stops the fabric, a lost pair only that pair.
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

    /// What was planned is held, and every pair has a path.
    fn is_whole(&self) -> bool {
        self.took.not_held == 0 && self.took.links_down == 0 && self.walked.unanswered == 0
    }
}

/// All of it for programs, printed behind the lines for people.
///
/// In the order in which they happened.
#[derive(Debug, Serialize)]
struct Report {
    steps: Vec<InNumbers>,
    /// A signal came before all of them.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    interrupted: bool,
}

impl Document for Report {
    const SCHEMA: &'static str = "sapphire.demo-sm/1";
}

/// One event and the sweep after it.
///
/// Times are in milliseconds; counts are those of this sweep alone.
#[derive(Debug, Serialize)]
struct InNumbers {
    /// In words, as they are printed.
    event: String,
    /// Sent, repeated ones too.
    smps: u64,
    /// Of these, Sets.
    sets: u64,
    /// By the clock of the devices, without the plan.
    simulated_ms: f64,
    /// By the clock on the wall.
    plan_ms: f64,
    /// Of the processor that sweeps, without the plan.
    core_ms: f64,
    /// Blocks that a switch did not acknowledge.
    not_held: usize,
    /// Ports with a cable that are not Active.
    links_down: usize,
    /// Ordered pairs of different hosts.
    pairs: u64,
    /// Pairs that are told no path.
    unanswered: u64,
    /// Pairs that are told one that the devices do not carry.
    lost: u64,
    /// Whether the tables as read back can stand still.
    credit_loop: bool,
}

/// One document behind everything else, on standard output.
fn print_json(steps: &[Step], interrupted: bool) -> Outcome {
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
        interrupted,
    })
}

/// What a device needs for an SMP.
const SERVICE: Duration = Duration::from_micros(50);

#[cfg(test)]
mod tests {
    use super::*;

    /// What a look is worth: tables that lead over a cable which is gone are found out, though the
    /// drawing has it.
    #[test]
    fn tables_of_before_lose_pairs() {
        let mut site = prepare(3).unwrap();
        site.manager.sweep().unwrap();
        assert_eq!(look(&mut site).unwrap().lost, 0);
        let events = Event::all(&site.fabric).unwrap();
        let pulled = events.iter().find(|it| matches!(it, Event::Pulled(_)));
        pulled.unwrap().happen(&mut site);
        // No sweep: what answers and what devices hold is still of before.
        assert!(look(&mut site).unwrap().lost > 0);
        site.manager.sweep().unwrap();
        assert_eq!(look(&mut site).unwrap().lost, 0);
    }
}
