//! Why a fabric is not routed, and what is odd about one that is.

mod reason;
mod warning;

use std::fmt;

use sa_wire::Guid;

pub use self::reason::{Reason, SeedNeed};
pub use self::warning::Warning;
use crate::placement::{Coordinate, Torus};
use crate::tables::Engine;
use crate::topology::{SwitchIx, Topology};

/// A fabric that an engine will not route. Nothing of it is routed then.
#[derive(Debug, Clone)]
pub struct Refusal {
    /// The engine.
    pub engine: Engine,
    /// Every reason found. Never empty.
    pub reasons: Vec<Reason>,
    /// What was noticed on the way.
    pub warnings: Vec<Warning>,
    /// The placement, when it was complete before the refusal.
    pub torus: Option<Box<Torus>>,
}

impl Refusal {
    pub(crate) fn new(engine: Engine, reasons: Vec<Reason>, warnings: Vec<Warning>) -> Self {
        Self {
            engine,
            reasons,
            warnings,
            torus: None,
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} refuses to route this fabric", self.engine)?;
        for reason in &self.reasons {
            write!(f, "\n  error[{}]: {reason}", reason.code())?;
        }
        Ok(())
    }
}

impl std::error::Error for Refusal {}

/// A switch, as messages name it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SwitchName {
    /// Node GUID.
    pub guid: Guid,
    /// NodeDescription.
    pub description: String,
    /// Its place in the torus, when it has one.
    pub at: Option<Coordinate>,
}

impl SwitchName {
    /// Its name as `at` places it.
    pub fn new(topology: &Topology, switch: SwitchIx, at: Option<Coordinate>) -> Self {
        let switch = topology.switch(switch);
        Self {
            guid: switch.guid,
            description: switch.description.clone(),
            at,
        }
    }
}

impl fmt::Display for SwitchName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "switch \"{}\" ({}", self.description, self.guid)?;
        match self.at {
            Some(at) => write!(f, " at {at})"),
            None => write!(f, ")"),
        }
    }
}

/// A GUID of a seed that is on no switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AbsentSeedSwitch {
    /// Number of the seed, from 0.
    pub seed: usize,
    /// GUID as configured.
    pub guid: u64,
    /// Line of torus-2QoS.conf.
    pub line: u32,
}

/// Most items that a message lists.
const LISTED: usize = 8;

fn list<T: fmt::Display>(items: &[T]) -> String {
    let mut text = items
        .iter()
        .take(LISTED)
        .map(T::to_string)
        .collect::<Vec<_>>()
        .join(" and ");
    if items.len() > LISTED {
        text.push_str(&format!(" and {} more", items.len() - LISTED));
    }
    text
}

fn pairs(examples: &[(SwitchName, SwitchName)]) -> String {
    let texts: Vec<_> = examples
        .iter()
        .map(|(from, to)| format!("from {from} to {to}"))
        .collect();
    list(&texts)
}

fn absent_switches(absent: &[AbsentSeedSwitch]) -> String {
    let name = |it: &AbsentSeedSwitch| {
        format!(
            "seed {} names {:#x} (line {}), which is in no switch",
            it.seed + 1,
            it.guid,
            it.line
        )
    };
    list(&absent.iter().map(name).collect::<Vec<_>>())
}
