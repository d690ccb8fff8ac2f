//! What is on this machine that a configuration may name.

use std::path::PathBuf;

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
            let mut paths = DIRECTORIES
                .iter()
                .map(|directory| format!("{directory}/{name}"));
            let path = paths.find(|path| machine.text(path).is_some())?;
            Some(PathBuf::from(path))
        };
        let processes = machine.processes().into_iter();
        let mut names = processes.filter_map(|process| machine.command(process));
        Self {
            devices: devices(machine),
            runs_opensm: names.any(|name| name == "opensm"),
            opensm_conf: file("opensm.conf"),
            partitions: file("partitions.conf"),
            policy: file("qos-policy.conf"),
            torus_conf: file("torus-2QoS.conf"),
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
