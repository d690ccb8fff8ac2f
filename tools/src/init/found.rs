//! What is on this machine that a configuration may name: of OpenSM's files those that it uses
//! itself.

use std::path::{Path, PathBuf};

use sa_fabric::options::OpenSmOptions;

use super::Source;
use crate::machine::Machine;

/// Files of OpenSM, its process, devices.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// InfiniBand devices with their ports.
    pub(super) devices: Vec<String>,
    /// A process called `opensm` runs.
    pub(super) runs_opensm: bool,
    pub(super) opensm_conf: Option<PathBuf>,
    pub(super) partitions: Option<PathBuf>,
    pub(super) policy: Option<PathBuf>,
    pub(super) torus_conf: Option<PathBuf>,
}

/// Where distributions have OpenSM's files. The first that has one counts.
const DIRECTORIES: [&str; 2] = ["/etc/opensm", "/etc/rdma"];

impl Found {
    /// Only looks: nothing is opened but files below `/etc` and `/proc`.
    pub(super) fn on(machine: &Machine) -> Self {
        let file = |name: &str| {
            let paths = DIRECTORIES.iter().map(|it| Path::new(it).join(name));
            let is_there =
                |path: &PathBuf| path.to_str().is_some_and(|it| machine.at(it).is_file());
            paths.into_iter().find(is_there)
        };
        let opensm_conf = file("opensm.conf");
        let options = options(machine, opensm_conf.as_deref());
        let is_torus = |name: &String| name.eq_ignore_ascii_case("torus-2qos");
        let has_torus = options.routing_engine.first().is_some_and(is_torus);
        let processes = machine.processes().into_iter();
        let mut names = processes.filter_map(|process| machine.command(process));
        Self {
            devices: devices(machine),
            runs_opensm: names.any(|name| name == "opensm"),
            opensm_conf,
            partitions: file("partitions.conf"),
            // Both may lie there unused: answers are to be as OpenSM's.
            policy: file("qos-policy.conf").filter(|_| options.qos),
            torus_conf: file("torus-2QoS.conf").filter(|_| has_torus),
        }
    }

    /// Where the fabric comes from, if that is plain. `has_fabric`: one is named.
    pub(super) const fn source(&self, has_fabric: bool) -> Option<Source> {
        match (has_fabric, self.runs_opensm) {
            (true, _) => Some(Source::Files),
            (false, true) => Some(Source::Opensm),
            // To become the Subnet Manager is nobody's default.
            (false, false) => None,
        }
    }
}

/// What OpenSM's file says; its defaults where there is none, or none that can be read, which
/// `--check` tells.
fn options(machine: &Machine, conf: Option<&Path>) -> OpenSmOptions {
    let text = conf
        .and_then(Path::to_str)
        .and_then(|conf| machine.text(conf));
    let text = text.unwrap_or_default();
    OpenSmOptions::parse(text.as_bytes()).unwrap_or_default()
}

/// `DEVICE:PORT` of each InfiniBand port.
fn devices(machine: &Machine) -> Vec<String> {
    let devices = machine.names("/sys/class/infiniband").into_iter();
    let ports = devices.flat_map(|device| {
        let ports = machine.names(&format!("/sys/class/infiniband/{device}/ports"));
        let is_infiniband = |port: &String| {
            let link = format!("/sys/class/infiniband/{device}/ports/{port}/link_layer");
            machine.text(&link).as_deref() == Some("InfiniBand")
        };
        let ports = ports.into_iter().filter(is_infiniband);
        ports
            .map(|port| format!("{device}:{port}"))
            .collect::<Vec<_>>()
    });
    ports.collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// A machine with all of OpenSM's files, and these options.
    fn found(options: &str) -> Found {
        let root = tempfile::tempdir().unwrap();
        let directory = root.path().join("etc/opensm");
        fs::create_dir_all(&directory).unwrap();
        for name in ["partitions.conf", "qos-policy.conf", "torus-2QoS.conf"] {
            fs::write(directory.join(name), "").unwrap();
        }
        fs::write(directory.join("opensm.conf"), options).unwrap();
        Found::on(&Machine::under(root.path()))
    }

    #[test]
    fn a_policy_and_a_torus_are_taken_where_opensm_takes_them() {
        let path = |name: &str| Some(PathBuf::from("/etc/opensm").join(name));
        let all = found("qos TRUE\nrouting_engine torus-2QoS,no_fallback\n");
        assert_eq!(all.opensm_conf, path("opensm.conf"));
        assert_eq!(all.partitions, path("partitions.conf"));
        assert_eq!(all.policy, path("qos-policy.conf"));
        assert_eq!(all.torus_conf, path("torus-2QoS.conf"));
        for options in ["", "qos FALSE\nrouting_engine ftree\n", "qos 17 18\n"] {
            let few = found(options);
            assert_eq!(few.partitions, path("partitions.conf"), "{options}");
            assert_eq!((few.policy, few.torus_conf), (None, None), "{options}");
        }
    }

    #[test]
    fn what_is_no_file_is_not_there() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("etc/rdma/opensm.conf")).unwrap();
        assert_eq!(Found::on(&Machine::under(root.path())).opensm_conf, None);
    }
}
