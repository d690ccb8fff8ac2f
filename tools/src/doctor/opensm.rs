//! OpenSM: whether it runs here, and whether it lets sapphired answer.
//!
//! OpenSM takes the SA's requests of its port for itself unless the split is preloaded into it,
//! which leaves reads to `sapphired` (ADR 0011). Whether it is shows in the maps of the process;
//! that it was only asked for shows in its environment.
//!
//! ```text
//! /proc/40/comm       opensm
//! /proc/40/maps       .. /usr/lib/libsapphire_split.so      the split is loaded
//! /proc/40/environ    LD_PRELOAD=..                         or was only asked for
//! ```
//!
//! With the split, OpenSM still sends and takes everything else of its port: sweeps, traps, and
//! requests that change something.

use super::finding::Finding;
use super::ports;
use crate::machine::Machine;

/// Library that leaves reads to sapphired.
/// The beginning of the file's name, as it stands in `/proc/PID/maps`.
const SPLIT: &str = "libsapphire_split";

/// Several OpenSMs are looked at one by one.
pub(super) fn look(machine: &Machine, findings: &mut Vec<Finding>) {
    // By name: its path differs between distributions.
    let named = |process: &u32| machine.command(*process).as_deref() == Some("opensm");
    let all: Vec<u32> = machine.processes().into_iter().filter(named).collect();
    if all.is_empty() {
        findings.push(absent(machine));
    }
    if all.len() > 1 {
        findings.push(Finding::warning(
            "opensm",
            format!("{} OpenSMs run here", all.len()),
            "run one per port; two on one port take each other's packets",
        ));
    }
    for process in all {
        // Whether it lets us answer comes before which SM is master.
        findings.push(split(machine, process));
        // A machine's own port being the SM's is all that can be known without asking OpenSM.
        if ports::has_sm(machine) {
            let what = "the SM's LID is a port of this machine: OpenSM is master, or was";
            findings.push(Finding::ok("opensm", what));
        } else if !ports::devices(machine).is_empty() {
            findings.push(Finding::warning(
                "opensm",
                "the SM's LID is no port of this machine: another SM is master",
                "sapphired beside a standby answers nothing until this OpenSM is master; see \
                 `sapphire status`",
            ));
        }
    }
}

/// Without a device there is nothing that an OpenSM could run on.
fn absent(machine: &Machine) -> Finding {
    if ports::devices(machine).is_empty() {
        return Finding::ok("opensm", "no OpenSM runs here");
    }
    Finding::warning(
        "opensm",
        "no OpenSM runs here",
        "start opensm.service if this machine is to be the SM host; requests for the SA go to \
         where the SM is",
    )
}

/// Three ways to have no split, each with another remedy: hidden, not found by the loader, never
/// installed.
fn split(machine: &Machine, process: u32) -> Finding {
    // The process is named, since there may be several.
    let what = |words: &str| format!("OpenSM (process {process}) {words}");
    let Some(maps) = machine.text(&format!("/proc/{process}/maps")) else {
        return Finding::warning(
            "opensm",
            what("runs, but this user may not look at it"),
            "run `sapphire doctor` as root",
        );
    };
    // Loaded counts, however it came there.
    if maps.contains(SPLIT) {
        return Finding::ok("opensm", what("has the split: reads are left to sapphired"));
    }
    let environment = machine.text(&format!("/proc/{process}/environ"));
    // The loader only warns when it does not find a library to preload, and that is easily missed
    // in a journal.
    if environment.is_some_and(|all| all.split('\0').any(|one| one.contains(SPLIT))) {
        return Finding::problem(
            "opensm",
            what("was started with LD_PRELOAD of the split, but it is not loaded"),
            "see that the library is where LD_PRELOAD says and of this machine's architecture, and \
             restart opensm.service",
        );
    }
    Finding::warning(
        "opensm",
        what("has no split: it takes all SA requests of its port itself"),
        "install the drop-in of opensm.service that preloads libsapphire_split.so, and restart \
         OpenSM; until then sapphired cannot answer on that port",
    )
}
