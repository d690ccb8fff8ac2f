//! The torus that is compiled, and what changes of it.
//!
//! A failure takes cables away and moves no LID, as the SM keeps them (`Inputs::failed`). Each time
//! another cable or switch fails, so that no host has the file of it from before.
//!
//! | kind | what the compiler is given | what of the answers differs |
//! |---|---|---|
//! | cable | `failed: S8_8_8:1` | the generation: hosts are silent until they have the new file |
//! | switch | `failed: S8_8_8` | its hosts are gone, and all behind them have other numbers |
//! | rule | another policy file | the level of who asks for one range of services |
//!
//! Back is the fabric as it was, compiled anew: by its stamp another file with the answers of the
//! first.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::ValueEnum;
use sa_compiler::pipeline::Inputs;
use sa_fabric::generate::{TorusPlan, TorusSpec, plan};

use super::{Wanted, policy};
use crate::Failure;

/// Switches on each axis. Shape: `16x16x16`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Size(pub(super) [u8; 3]);

impl FromStr for Size {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let numbers: Result<Vec<u8>, _> = text.split('x').map(str::parse).collect();
        match numbers.as_deref() {
            // Of three and more, a ring can lose a cable and stay whole.
            Ok(&[x, y, z]) if x.min(y).min(z) >= 3 => Ok(Self([x, y, z])),
            _ => Err("expected XxYxZ, each 3 or more"),
        }
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [x, y, z] = self.0;
        write!(f, "{x}x{y}x{z}")
    }
}

/// What changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Kind {
    /// A cable between two switches fails
    Cable,
    /// A switch fails, and its hosts are gone
    Switch,
    /// One rule of the policy gives another level
    Rule,
}

impl Kind {
    /// As they are measured by default.
    pub(super) const ALL: [Self; 3] = [Self::Cable, Self::Switch, Self::Rule];
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Cable => "cable",
            Self::Switch => "switch",
            Self::Rule => "rule",
        })
    }
}

/// A fabric in files, as the daemon reads it with `source = "files"`.
///
/// Lives as long as the directory of the run.
pub(super) struct Fabric {
    /// Where switches, cables and hosts are, to choose of them what fails.
    plan: TorusPlan,
    /// Of the policy, changed or not.
    rules: u16,
    /// The policy's file, which is written anew when a rule changes.
    policy: PathBuf,
    /// Of the fabric as it is now: what has failed is in it.
    pub(super) inputs: Inputs,
}

impl Fabric {
    /// Writes the files of a healthy one. Errors: a torus that cannot be; the disk.
    pub(super) fn write(wanted: &Wanted, directory: &Path) -> Result<Self, Failure> {
        let plan = plan(&TorusSpec::new(wanted.fabric.0, wanted.hosts))?;
        let [net, conf, policy] =
            ["net", "torus-2QoS.conf", "policy"].map(|name| directory.join(name));
        fs::write(&net, plan.net())?;
        fs::write(&conf, plan.torus_conf())?;
        let inputs = Inputs {
            fabric: net,
            torus_conf: Some(conf),
            policy: Some(policy.clone()),
            ..Inputs::default()
        };
        let fabric = Self {
            plan,
            rules: wanted.rules,
            policy,
            inputs,
        };
        fabric.write_policy(None)?;
        Ok(fabric)
    }

    /// Changes it. `time`: another part for each. Errors: the disk; there is no such part.
    pub(super) fn change(&mut self, kind: Kind, time: usize) -> Result<(), Failure> {
        match kind {
            Kind::Cable => self.inputs.failed = vec![self.cable(time).ok_or("no cable")?],
            Kind::Switch => self.inputs.failed = vec![self.switch(time).ok_or("no switch")?],
            Kind::Rule => self.write_policy(Some(time))?,
        }
        Ok(())
    }

    /// As it was at first. Errors: the disk.
    pub(super) fn change_back(&mut self) -> Result<(), Failure> {
        self.inputs.failed.clear();
        self.write_policy(None)
    }

    /// Errors: the disk.
    fn write_policy(&self, changed: Option<usize>) -> Result<(), Failure> {
        let guids = self.plan.hosts.iter().map(|host| host.guid + 1);
        let guids: Vec<u64> = guids.collect();
        let text = policy::text(self.rules, &guids, changed);
        Ok(fs::write(&self.policy, text)?)
    }

    /// One end of a cable, as `SWITCH:PORT`. From the middle on, as the first ones are the seed of
    /// the torus configuration. None: there is no cable.
    fn cable(&self, time: usize) -> Option<String> {
        let links = &self.plan.links;
        // A prime: neighbours in the list are of one switch.
        let link = links.get((links.len() / 2 + time * 37) % links.len().max(1))?;
        let (at, port) = link.from;
        let switch = self.plan.switches.iter().find(|it| it.coordinate == at)?;
        Some(format!("{}:{port}", switch.name))
    }

    /// The same of switches.
    fn switch(&self, time: usize) -> Option<String> {
        let switches = &self.plan.switches;
        let switch = switches.get((switches.len() / 2 + time * 37) % switches.len().max(1))?;
        Some(switch.name.clone())
    }
}
