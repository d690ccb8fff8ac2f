//! `--up`: how long each needs as the Subnet Manager, from its start until it says `SUBNET UP`.
//!
//! ```text
//! round 1   ibsim, OpenSM     ibsim, sapphired
//! round 2   ibsim, sapphired  ibsim, OpenSM        a fresh simulator each time, one subnet at a time
//! ```
//!
//! Both get the same cables, the same engine and, on a torus, the same QoS options. The simulator
//! is in both times, and is what bounds the faster one; CPU time is told apart. SMPs are counted by
//! those who send them: OpenSM's console says how many, and so does sapphired's line.

pub(crate) mod subnet;
pub(crate) mod taken;

use std::io::Write as _;
use std::sync::atomic::AtomicBool;

use serde::Serialize;

use self::subnet::Subnet;
use self::taken::{Taken, bring_up};
use crate::failure::{Failure, Outcome};
use crate::machine::Machine;
use crate::options::Options;
use crate::process::Programs;
use crate::side::Who;

/// All subnets, one after the other. Errors: one does not come up; an interrupt.
///
/// A line for each start, as it ends: a run of an hour that is interrupted has said what it knew.
pub(crate) fn run(names: &[String], options: &Options, interrupted: &AtomicBool) -> Outcome {
    let programs = Programs::find()?;
    let machine = Machine::here();
    for name in names {
        let subnet = Subnet::named(name)?;
        for round in 0..options.rounds {
            for who in Who::in_turn(round) {
                let taken = bring_up(who, &subnet, &programs, options, interrupted)?;
                tell(&Line::new(name, who, &machine, &taken), options.json)?;
            }
        }
    }
    Ok(())
}

/// One start of one Subnet Manager.
///
/// A document of its own, complete: each names its machine.
#[derive(Debug, Serialize)]
struct Line<'a> {
    schema: &'static str,
    machine: &'a Machine,
    /// As `torus:8x8x8x1`.
    subnet: &'a str,
    /// `opensm` or `sapphired`.
    who: &'static str,
    smps: u64,
    /// From the start of the process to `SUBNET UP`.
    up_s: f64,
    /// Of all threads of the process until then.
    cpu_s: f64,
    /// The same for each SMP.
    cpu_us_per_smp: f64,
    /// Of the simulator meanwhile.
    ibsim_cpu_s: f64,
}

impl<'a> Line<'a> {
    #[expect(
        clippy::cast_precision_loss,
        reason = "fewer than 2^52 SMPs and nanoseconds"
    )]
    fn new(subnet: &'a str, who: Who, machine: &'a Machine, taken: &Taken) -> Self {
        let cpu_s = taken.cpu.total as f64 / 1e9;
        Self {
            schema: "bench.versus-opensm-up/1",
            machine,
            subnet,
            who: who.key(),
            smps: taken.smps,
            up_s: taken.up.as_secs_f64(),
            cpu_s,
            cpu_us_per_smp: cpu_s * 1e6 / taken.smps.max(1) as f64,
            ibsim_cpu_s: taken.ibsim.total as f64 / 1e9,
        }
    }
}

/// As a sentence for people or a line of JSON.
fn tell(line: &Line<'_>, json: bool) -> Outcome {
    let text = if json {
        serde_json::to_string(line).map_err(Failure::of("JSON"))?
    } else {
        format!(
            "{:<18}{:<10}{:>9} SMPs {:8.2} s to SUBNET UP {:7.2} s of CPU, {:5.1} us an SMP; ibsim {:.2} s",
            line.subnet,
            line.who,
            line.smps,
            line.up_s,
            line.cpu_s,
            line.cpu_us_per_smp,
            line.ibsim_cpu_s
        )
    };
    writeln!(std::io::stdout(), "{text}").map_err(Failure::of("standard output"))
}
