//! `--events`: what each does as the Subnet Manager after an event: how many SMPs, and how long
//! until the last Set.
//!
//! ```text
//! round 1   ibsim, tap, OpenSM     ibsim, tap, sapphired
//!           the first sweep, rest, a cable out, rest, the cable in, rest, ..        the same events for both
//! round 2   ibsim, tap, sapphired  ibsim, tap, OpenSM
//! ```
//!
//! The tap passes all packets between the simulator and the Subnet Manager, and counts
//! (`sa_rig::tap`): both are counted by the same means, and the last Set is that which a device has
//! answered. Neither sweeps by itself, so what is counted is what the event made. It is over when
//! the Subnet Manager has said `SUBNET UP` and sent nothing since for a second, and for as long as
//! it had needed: whoever waits between two stages of a change, or gives traps a rest, is not cut
//! off.

mod course;
mod place;

use std::io::Write as _;
use std::sync::atomic::AtomicBool;

use serde::Serialize;

use self::course::{Course, Taken};
use crate::failure::{Failure, Outcome};
use crate::machine::Machine;
use crate::options::Options;
use crate::process::Programs;
use crate::side::Who;
use crate::up::subnet::Subnet;

/// All subnets, one after the other. Errors: one does not come up, or to rest; an interrupt.
pub(crate) fn run(names: &[String], options: &Options, interrupted: &AtomicBool) -> Outcome {
    let programs = Programs::find()?;
    let machine = Machine::here();
    for name in names {
        let subnet = Subnet::named(name)?.that_fails();
        for round in 0..options.rounds {
            for who in Who::in_turn(round) {
                let mut course = Course::start(who, &subnet, &programs, options, interrupted)?;
                while let Some((event, taken)) = course.next()? {
                    tell(&Line::new(name, who, event, &machine, &taken), options.json)?;
                }
            }
        }
    }
    Ok(())
}

/// One event. A document of its own, complete: each names its machine.
#[derive(Debug, Serialize)]
struct Line<'a> {
    schema: &'static str,
    machine: &'a Machine,
    /// As `torus:8x8x8x1`.
    subnet: &'a str,
    /// `opensm` or `sapphired`.
    who: &'static str,
    /// In words, as `a cable out`.
    event: &'static str,
    gets: u64,
    /// Those that were answered.
    sets: u64,
    /// From the event to the answer to the last Set; none without one.
    last_set_s: Option<f64>,
}

impl<'a> Line<'a> {
    fn new(
        subnet: &'a str,
        who: Who,
        event: &'static str,
        machine: &'a Machine,
        taken: &Taken,
    ) -> Self {
        Self {
            schema: "bench.versus-opensm-events/1",
            machine,
            subnet,
            who: who.key(),
            event,
            gets: taken.gets,
            sets: taken.sets,
            last_set_s: taken.last_set.map(|it| it.as_secs_f64()),
        }
    }
}

/// As a sentence for people or a line of JSON.
fn tell(line: &Line<'_>, json: bool) -> Outcome {
    let text = if json {
        serde_json::to_string(line).map_err(Failure::of("JSON"))?
    } else {
        let last = match line.last_set_s {
            Some(last) => format!("{:9.3} s to the last Set", last),
            None => "        - no Set".to_owned(),
        };
        format!(
            "{:<18}{:<10}{:<20}{:>8} Get {:>8} Set {last}",
            line.subnet, line.who, line.event, line.gets, line.sets
        )
    };
    writeln!(std::io::stdout(), "{text}").map_err(Failure::of("standard output"))
}
