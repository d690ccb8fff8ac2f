//! What a configuration file asks of this machine.
//!
//! The sections are tried by the functions of `sapphired --check`, and so mean the same. Compiling
//! the sources is part of it and takes as long as a start of the daemon; whoever wants a quick look
//! leaves `--config` out.
//!
//! Of the daemon itself it is only asked over the control socket, as `sapphire status` does,
//! whether it answers and is ready.
//!
//! ```text
//! [workers], [[port]], [control]   cores and paths that can be had
//! [source]                         read and compiled, as at a start
//! [state]                          a file can be made there
//! [local_service]                  who else answers the kernel
//! the daemon                       answers, and is ready
//! ```
//!
//! A daemon that is not ready is a problem and one that does not run is not: the first was started
//! and does not do what it was started for.

use std::path::Path;
use std::time::Duration;

use sa_local::others::{self, Listener};
use serde_json::Value;
use sm_control::checks;
use sm_control::config::{Config, ControlSection, PortSection};

use super::finding::Finding;
use crate::control;

/// None, with the finding, when it cannot be used.
/// Everything else is looked at all the same: a broken file need not be the only fault.
pub(super) fn read(path: Option<&Path>, findings: &mut Vec<Finding>) -> Option<Config> {
    match Config::read(path?) {
        Ok(config) => Some(config),
        Err(error) => {
            findings.push(Finding::problem("config", error.to_string(), CORRECT));
            None
        }
    }
}

/// True when a port is a kernel's.
/// Then a machine without InfiniBand is a problem and not a remark.
pub(super) fn wants_umad(config: &Config) -> bool {
    let mut ports = config.ports.iter();
    ports.any(|port| matches!(port, PortSection::Umad { .. }))
}

/// In the order of the file, the daemon last.
/// Each is looked at though the one before failed: an operator mends all of them at once.
pub(super) fn look(config: &Config, findings: &mut Vec<Finding>) {
    findings.extend(sections(config));
    findings.push(sources(config));
    if let Some(directory) = &config.state.directory {
        findings.push(state(directory));
    }
    // None where the kernel does not tell who listens; nothing is said then.
    if config.local_service.is_some() {
        findings.extend(others::listeners(None).map(|all| local_service(&all)));
    }
    // A daemon without the socket serves all the same.
    match &config.control {
        Some(section) => findings.push(daemon(section)),
        None => findings.push(Finding::warning(
            "control",
            "no [control] section: `sapphire status`, reload and rollback reach nobody",
            "add [control] path = \"/run/sapphire/control.sock\"",
        )),
    }
}

/// What can be judged without reading a fabric. Each has its own finding, as they are mended one by
/// one.
fn sections(config: &Config) -> Vec<Finding> {
    let mut all = Vec::new();
    match checks::check_workers(config) {
        Ok(remarks) => {
            let remarks = remarks.into_iter();
            // Such as two workers on one core: it works, and is seldom meant.
            all.extend(remarks.map(|remark| Finding::warning("config", remark, CORRECT)));
        }
        Err(error) => all.push(Finding::problem("config", error.to_string(), CORRECT)),
    }
    if let Err(error) = checks::check_rings(config) {
        all.push(Finding::problem("config", error.to_string(), CORRECT));
    }
    if let Err(error) = checks::check_control(config) {
        all.push(Finding::problem("config", error.to_string(), CORRECT));
    }
    all
}

/// As `sapphired --check`.
/// Reads and compiles, in memory; nothing is stored or served.
fn sources(config: &Config) -> Finding {
    let checked = checks::check_sources(config);
    match checked {
        // Switches, hosts, rules and so on, in the words in which the daemon logs a load.
        Ok((_, summary)) => Finding::ok("config", format!("the sources give: {summary}")),
        Err(error) => Finding::problem(
            "config",
            format!("the sources give no snapshot: {error}"),
            "correct the file; a daemon that runs keeps its snapshot meanwhile",
        ),
    }
}

/// Whether somebody else answers this host's kernel.
/// The kernel sends a query to all that listen and takes the first answer, so two of them answer at
/// random.
fn local_service(listeners: &[Listener]) -> Finding {
    // By the name of the program: one that cannot be told counts as a stranger.
    let own = |listener: &&Listener| listener.program.as_deref() == Some("sapphired");
    let (ours, others): (Vec<_>, Vec<_>) = listeners.iter().partition(own);
    // A stranger first: it matters whether we run or not.
    match (others.first(), ours.len()) {
        (Some(other), _) => Finding::problem(
            "local service",
            format!("{other} answers the kernel's path queries, by its own rules"),
            "stop it (ibacm: systemctl disable --now ibacm.service ibacm.socket)",
        ),
        (None, 0) => Finding::warning(
            "local service",
            "nobody answers the kernel's path queries: it asks the SA",
            "start sapphired",
        ),
        (None, 1) => Finding::ok(
            "local service",
            "sapphired answers the kernel's path queries",
        ),
        (None, _) => Finding::problem(
            "local service",
            "several sapphired answer the kernel's path queries",
            "stop all but one",
        ),
    }
}

/// Tried by a file without a name, which leaves nothing behind. As the user who runs the doctor,
/// who may not be the daemon's.
fn state(directory: &Path) -> Finding {
    let named = directory.display();
    // Trying is the only sure test: a file system may be full or mounted for reading only.
    match tempfile::tempfile_in(directory) {
        Ok(_) => Finding::ok("state", format!("{named} can be written by this user")),
        Err(error) => Finding::problem(
            "state",
            format!("{named} cannot be written: {error}"),
            "make it and give it to sapphired's user; without it a restart answers nothing until \
             the sources are read",
        ),
    }
}

/// A warning where nobody answers, because a machine is looked at before its first start too.
fn daemon(section: &ControlSection) -> Finding {
    let answer = control::ask(
        &section.path,
        control::bare("status"),
        Duration::from_secs(2),
    );
    let answer = match answer {
        Ok(answer) => answer,
        Err(failure) => {
            // The finding has no need of the program's name in front.
            let said = failure.to_string();
            let said = said.trim_start_matches("sapphire: ").to_owned();
            return Finding::warning(
                "control",
                said,
                "start sapphired (systemctl start sapphired)",
            );
        }
    };
    match answer.get("not_ready").and_then(Value::as_str) {
        None => Finding::ok("control", "the daemon answers, and is ready"),
        Some(why) => Finding::problem(
            "control",
            format!("the daemon is not ready: {why}"),
            "see its log (journalctl -u sapphired)",
        ),
    }
}

/// The error itself names the place in the file.
const CORRECT: &str = "correct the configuration file; see docs/examples";

#[cfg(test)]
mod tests {
    use super::super::finding::Verdict;
    use super::*;

    #[test]
    fn one_alone_should_answer_the_kernel() {
        let listener = |program: &str| Listener {
            port_id: 1,
            program: Some(program.to_owned()),
        };
        let of = |programs: &[&str]| {
            let all: Vec<Listener> = programs.iter().map(|program| listener(program)).collect();
            local_service(&all).verdict
        };
        assert_eq!(of(&["sapphired"]), Verdict::Ok);
        assert_eq!(of(&[]), Verdict::Warning);
        assert_eq!(of(&["ibacm"]), Verdict::Problem);
        assert_eq!(of(&["sapphired", "ibacm"]), Verdict::Problem);
        assert_eq!(of(&["sapphired", "sapphired"]), Verdict::Problem);
    }
}
