//! Device nodes, and who has them open.

use std::fs::OpenOptions;
use std::os::unix::fs::PermissionsExt;

use super::finding::Finding;
use super::machine::Machine;

/// Programs that belong on a umad file.
const OURS: [&str; 2] = ["opensm", "sapphired"];

pub(super) fn look(machine: &Machine, findings: &mut Vec<Finding>) {
    let umads = machine.names("/sys/class/infiniband_mad");
    let umads: Vec<&String> = umads
        .iter()
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
    let mode = about.permissions().mode() & 0o777;
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
    match mode & 0o006 {
        0 => Finding::ok("nodes", format!("{path} ({port}), mode {mode:04o}")),
        _ => Finding::warning(
            "nodes",
            format!("{path} ({port}) is open to every user, mode {mode:04o}"),
            "take that away by a udev rule: whoever opens it can send any management packet",
        ),
    }
}

fn port_of(machine: &Machine, name: &str) -> String {
    let fact = |fact: &str| {
        let text = machine.text(&format!("/sys/class/infiniband_mad/{name}/{fact}"));
        text.unwrap_or_else(|| "?".to_owned())
    };
    format!("{} port {}", fact("ibdev"), fact("port"))
}

/// Who has umad files open. Registrations themselves cannot be seen from outside.
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
            "no process has a umad file open (as far as this user may see)",
        )];
    }
    findings
}

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

fn held(machine: &Machine, process: u32, file: &str) -> Finding {
    let command = machine.command(process).unwrap_or_else(|| "?".to_owned());
    let what = format!("{command} (process {process}) has {file} open");
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
