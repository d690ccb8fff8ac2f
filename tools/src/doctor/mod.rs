//! `sapphire doctor`: whether this machine can serve, and what to do where it cannot.
//!
//! It only looks: nothing is opened that would register with the kernel, nothing is sent.
//!
//! Every finding names what was looked at, how bad it is, what was found, and where something can
//! be done, what. Exit status 3 where one is a problem; warnings alone end with 0, so that it can
//! stand before `systemctl start` in a script.
//!
//! ```text
//! ok      modules  ib_umad is loaded
//! warning cores    core 3 of [workers] is not isolated: other threads may run there
//!                  -> boot with isolcpus=3 nohz_full=3 where latency counts
//! PROBLEM nodes    /dev/infiniband/umad0 (mlx5_0 port 1) is missing
//!                  -> let udev make it (udevadm trigger), or pass it into the container
//! ```
//!
//! ```text
//! modules      ib_core, ib_umad, drivers, ABI        opensm      runs here? with the split?
//! devices      umad nodes, rights, who holds them    memory      huge pages
//! ports        states, LIDs, the SM's LID            cores       isolation, governor
//! configured   what --config asks of this machine, and whether its daemon answers
//! ```
//!
//! Facts come through [`Machine`], which can be turned to another root, so that the tests make
//! machines of files and break them one fault at a time. What needs the running system (sockets,
//! netlink, writing into a directory) is in [`configured`] alone.

mod configured;
mod cores;
mod devices;
mod finding;
mod memory;
mod modules;
mod opensm;
mod ports;
#[cfg(test)]
mod tests;

use std::path::PathBuf;

use crate::machine::Machine;
use clap::Args;
use finding::{Finding, Verdict};
use sa_fabric::display;

use crate::failure::{Failure, Outcome};
use crate::json;

#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// Configuration file of sapphired, to be looked at too
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Look at a machine whose /proc, /sys and /dev are under here
    #[arg(long, value_name = "DIR", default_value = "/", hide = true)]
    root: PathBuf,
    /// Print one JSON line per finding
    #[arg(long)]
    json: bool,
}

/// Prints every finding, then how many are bad. Errors: exit 3 for problems.
pub(crate) fn run(verb: &Doctor) -> Outcome {
    let findings = look(verb);
    for finding in &findings {
        match verb.json {
            true => json::print(finding)?,
            false => outln!("{finding}"),
        }
    }
    let count = |verdict| findings.iter().filter(|it| it.verdict == verdict).count();
    let (problems, warnings) = (count(Verdict::Problem), count(Verdict::Warning));
    if !verb.json {
        outln!(
            "{}, {}",
            display::count(problems, "problem", "problems"),
            display::count(warnings, "warning", "warnings")
        );
    }
    match problems {
        0 => Ok(()),
        1 => Err(Failure::refused("a problem was found".to_owned())),
        _ => Err(Failure::refused(format!("{problems} problems were found"))),
    }
}

/// In the order in which one mends: what is below comes first. Never fails: what cannot be looked
/// at is a finding of its own, or none.
fn look(verb: &Doctor) -> Vec<Finding> {
    let machine = Machine::under(&verb.root);
    let mut findings = Vec::new();
    // First, since it says what this machine is meant to do.
    let config = configured::read(verb.config.as_deref(), &mut findings);
    let wants_umad = config.as_ref().is_some_and(configured::wants_umad);
    // One finding instead of one from each room about the same absence.
    if ports::devices(&machine).is_empty() {
        findings.push(no_infiniband(wants_umad));
    } else {
        modules::look(&machine, &mut findings);
        devices::look(&machine, &mut findings);
        ports::look(&machine, &mut findings);
    }
    // Also without a device: OpenSM may run on the simulator.
    opensm::look(&machine, &mut findings);
    memory::look(&machine, &mut findings);
    cores::look(&machine, config.as_ref(), &mut findings);
    if let Some(config) = &config {
        configured::look(config, &mut findings);
    }
    findings
}

/// What serves without any fabric is fine without it.
/// A ring or the simulator needs no device.
fn no_infiniband(wants_umad: bool) -> Finding {
    let what = "this machine has no InfiniBand device (nothing in /sys/class/infiniband)";
    match wants_umad {
        true => Finding::problem(
            "devices",
            what,
            "the configuration has a [[port]] of transport \"umad\": load the driver of the HCA \
             (modprobe mlx5_ib), or serve on a machine that has one",
        ),
        false => Finding::warning(
            "devices",
            what,
            "load the driver of the HCA (modprobe mlx5_ib) if there is one; without, only ports of \
             transport \"ring\" and \"ibsim\" can be served",
        ),
    }
}
