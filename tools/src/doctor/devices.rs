//! Device nodes, and who has them open.
//!
//! Packets of management go through `/dev/infiniband/umadN`, a node for each port. Whoever may open
//! one may speak as anybody on the fabric, SM included, so its rights matter both ways: the daemon
//! must be let in, and others must not.
//!
//! The kernel gives each class and method of a port to one agent. A program that has registered for
//! class 3 (SA) takes the requests away from `sapphired`, without an error that would be seen
//! anywhere; who holds the file is the nearest to that which can be seen.
//!
//! ```text
//! /sys/class/infiniband_mad/umad0/{ibdev,port}    mlx5_0, 1     which port a node is for
//! /dev/infiniband/umad0                           mode 0600     who may open it
//! /proc/812/fd/5 -> /dev/infiniband/umad0                       who has it open
//! ```

use std::fs::OpenOptions;
use std::os::unix::fs::PermissionsExt;

use super::finding::Finding;
use crate::machine::Machine;

/// Programs that belong on a umad file.
/// By the name in `/proc/PID/comm`.
const OURS: [&str; 2] = ["opensm", "sapphired"];

/// A finding for each node, then for each process that has one open.
///
/// A device without one is a finding by itself: nothing of the daemon could be attached there.
pub(super) fn look(machine: &Machine, findings: &mut Vec<Finding>) {
    let umads = machine.names("/sys/class/infiniband_mad");
    let umads: Vec<&String> = umads
        .iter()
        // `issm` nodes and attributes of the class lie there too.
        .filter(|name| name.starts_with("umad"))
        .collect();
    if umads.is_empty() {
        findings.push(Finding::problem(
            "nodes",
            "no port has a umad device",
            "modprobe ib_umad; a port must be of link layer InfiniBand",
        ));
    }
    for name in umads {
        findings.push(node(machine, name));
    }
    findings.extend(holders(machine));
}

/// In the order of what keeps the daemon out: missing, closed, too open.
fn node(machine: &Machine, name: &str) -> Finding {
    let path = format!("/dev/infiniband/{name}");
    let port = port_of(machine, name);
    let Ok(about) = machine.at(&path).metadata() else {
        return Finding::problem(
            "nodes",
            format!("{path} ({port}) is missing"),
            "let udev make it (udevadm trigger), or pass it into the container",
        );
    };
    // Rights alone, without the kind of the file.
    let mode = about.permissions().mode() & 0o777;
    // Opening registers nothing, and it is the one sure test of rights: groups and access lists
    // count too.
    let opens = OpenOptions::new()
        .read(true)
        .write(true)
        .open(machine.at(&path));
    if let Err(error) = opens {
        return Finding::problem(
            "nodes",
            format!("{path} ({port}) cannot be opened by this user: {error}"),
            "run sapphired as the node's owner, or give the node to its group by a udev rule",
        );
    }
    // Reading or writing by others, each of which is enough.
    match mode & 0o006 {
        0 => Finding::ok("nodes", format!("{path} ({port}), mode {mode:04o}")),
        _ => Finding::warning(
            "nodes",
            format!("{path} ({port}) is open to every user, mode {mode:04o}"),
            "take that away by a udev rule: whoever opens it can send any management packet",
        ),
    }
}

/// Device and port behind the node, as `mlx5_0 port 1`: numbers of nodes change from boot to boot.
fn port_of(machine: &Machine, name: &str) -> String {
    let fact = |fact: &str| {
        let text = machine.text(&format!("/sys/class/infiniband_mad/{name}/{fact}"));
        text.unwrap_or_else(|| "?".to_owned())
    };
    format!("{} port {}", fact("ibdev"), fact("port"))
}

/// Who has umad files open. Registrations themselves cannot be seen from outside.
/// A finding per process and file; a program with several descriptors on one file is told once.
fn holders(machine: &Machine) -> Vec<Finding> {
    let all = machine.processes().into_iter().flat_map(|process| {
        let mut files = files_of(machine, process);
        files.sort_unstable();
        files.dedup();
        files.into_iter().map(move |file| (process, file))
    });
    let findings: Vec<Finding> = all
        .map(|(process, file)| held(machine, process, &file))
        .collect();
    if findings.is_empty() {
        return vec![Finding::ok(
            "class 3",
            // Descriptors of other users' processes are hidden from all but root.
            "no process has a umad file open (as far as this user may see)",
        )];
    }
    findings
}

/// Empty for a process that is gone or not ours to look into.
fn files_of(machine: &Machine, process: u32) -> Vec<String> {
    let directory = format!("/proc/{process}/fd");
    let names = machine.names(&directory);
    let links = names
        .iter()
        .filter_map(|name| machine.link(&format!("{directory}/{name}")));
    links
        .filter(|link| link.starts_with("/dev/infiniband/umad"))
        .collect()
}

/// A warning only: a monitor that reads counters has the file open and harms nobody.
///
/// What it has registered for cannot be seen from here.
fn held(machine: &Machine, process: u32, file: &str) -> Finding {
    let command = machine.command(process).unwrap_or_else(|| "?".to_owned());
    let what = format!("{command} (process {process}) has {file} open");
    // By name: there is no other mark on a process of ours that its neighbours could not have.
    match OURS.contains(&command.as_str()) {
        true => Finding::ok("class 3", what),
        false => Finding::warning(
            "class 3",
            what,
            "if it has registered SA methods (class 3) there, sapphired gets none of them; end it \
             before you start sapphired",
        ),
    }
}
