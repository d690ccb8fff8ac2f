//! The fabric that both serve, as files.
//!
//! A healthy torus from the generator of `sapphire fabric`, written twice, once per side, so that
//! neither reads what the other wrote. The LIDs are OpenSM's: a snapshot for comparing replies is
//! compiled from the `opensm-subnet.lst` that it writes.

use std::fs;
use std::path::{Path, PathBuf};

use sa_bench::rules::RuleSpec;
use sa_fabric::generate::{TorusPlan, TorusSpec, plan};

use crate::failure::{Failure, Outcome};
use crate::options::Options;

/// What both are given.
///
/// Made once; each side writes its own copy.
#[derive(Debug)]
pub(crate) struct Fabric {
    plan: TorusPlan,
    policy: Option<String>,
}

/// Where a side's copies lie.
#[derive(Debug, Clone)]
pub(crate) struct Files {
    pub(crate) net: PathBuf,
    pub(crate) torus_conf: PathBuf,
    pub(crate) policy: Option<PathBuf>,
    /// Written by OpenSM.
    pub(crate) subnet: PathBuf,
}

impl Fabric {
    /// Errors: the torus cannot be wired.
    pub(crate) fn plan(options: &Options) -> Outcome<Self> {
        let mut spec = TorusSpec::new(options.size, options.hosts);
        // Six for the links of a torus, the rest for hosts.
        spec.ports = spec.ports.max(options.hosts.saturating_add(6));
        let plan = plan(&spec).map_err(|error| Failure::Usage(error.to_string()))?;
        // A port's GUID is that of its node and 1.
        // Rules name port groups by ranges of port GUIDs, so they need the span of all.
        let guids = plan.hosts.iter().map(|host| host.guid + 1);
        let (first, last) = (guids.clone().min(), guids.max());
        let guids = first.unwrap_or(0)..=last.unwrap_or(0);
        let rules = RuleSpec::mixed(options.rules, GROUPS);
        let policy = (options.rules > 0).then(|| rules.text_for(&guids));
        Ok(Self { plan, policy })
    }

    /// Writes the files. Errors: the directory takes no files.
    ///
    /// Shape: names as OpenSM's options and the daemon's configuration in `bed` have them.
    pub(crate) fn write(&self, directory: &Path) -> Outcome<Files> {
        let files = Files {
            net: directory.join("net"),
            torus_conf: directory.join("torus-2QoS.conf"),
            policy: self
                .policy
                .is_some()
                .then(|| directory.join("qos-policy.conf")),
            subnet: directory.join("opensm-subnet.lst"),
        };
        put(&files.net, &self.plan.net())?;
        put(&files.torus_conf, &self.plan.torus_conf())?;
        if let (Some(path), Some(text)) = (&files.policy, &self.policy) {
            put(path, text)?;
        }
        Ok(files)
    }

    /// Options of ibsim that make room for it. Its own defaults hold 256 switches.
    pub(crate) fn room(&self) -> [String; 6] {
        let (switches, hosts) = (self.switches(), self.hosts());
        // ibsim counts port 0 of a switch too, and gets room for two at a host.
        let ports = switches * (usize::from(self.plan.spec.ports) + 1) + 2 * hosts;
        room(switches + hosts, switches, ports)
    }

    /// The node of the SM, and with it of the SA.
    pub(crate) fn sm_node(&self) -> &str {
        self.plan
            .hosts
            .first()
            .map_or("", |host| host.name.as_str())
    }

    /// The node of the client: far from the SM's.
    pub(crate) fn client_node(&self) -> &str {
        self.plan.hosts.last().map_or("", |host| host.name.as_str())
    }

    pub(crate) fn switches(&self) -> usize {
        self.plan.switches.len()
    }

    pub(crate) fn hosts(&self) -> usize {
        self.plan.hosts.len()
    }
}

/// Options of ibsim for so many nodes, switches among them, and ports.
///
/// More than is needed costs memory alone.
pub(crate) fn room(nodes: usize, switches: usize, ports: usize) -> [String; 6] {
    // An eighth more and some, so that the size of ibsim's tables is never the limit.
    let more = |count: usize| (count + count / 8 + 64).to_string();
    let [nodes, switches, ports] = [nodes, switches, ports].map(more);
    let [n, s, p] = ["-N", "-S", "-P"].map(str::to_owned);
    [n, nodes, s, switches, p, ports]
}

/// Errors name the path.
fn put(path: &Path, text: &str) -> Outcome {
    fs::write(path, text).map_err(Failure::of(path.display()))
}

/// Port groups of the policy, as `sapphire bench` makes it.
const GROUPS: u64 = 60;
