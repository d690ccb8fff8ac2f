//! What is asked of the Subnet Manager of this process, and what it answers.
//!
//! ```text
//!  > {"verb":"drain","part":"S0:3"}
//!  < {"ok":true,"schema":"sapphired.drain/1","part":"S0:3","sets":12,"acknowledged":true,..}
//!  > {"verb":"plan","change":"/etc/sapphire/new-policy.conf"}
//!  < {"ok":true,"schema":"sapphired.plan/1","plan":"9f0c5d..","sets":..,"sets_by_attribute":{..},..}
//! ```
//!
//! | what | asked by | answered |
//! |---|---|---|
//! | what is drained | everybody who may read the status | at once |
//! | a plan | root and the daemon's user: it takes the memory and the time of a compilation | when it is made |
//! | drain, undrain, apply | the same | when the switches have answered |
//! | LIDs | the same | between two sweeps |
//!
//! A refusal has the code `refused`: the subnet does not allow it, and nothing has changed. With
//! the code `failed` it may stand in part.
//!
//! Fields are only added under a schema, as of the status.

use core::fmt;
use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::Refusal;
use crate::server::operators::sweeps::Drain;

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::server) enum Task {
    /// Routes leave a part.
    Drain {
        /// SWITCH or SWITCH:PORT.
        part: String,
        /// Also where hosts have no other way.
        force: bool,
    },
    /// Routes may take it again.
    Undrain {
        /// As it was drained, or by its GUID.
        part: String,
    },
    /// What a change would write.
    Plan(Box<Wish>),
    /// Does what was planned last.
    Apply {
        /// Its number.
        plan: String,
    },
    /// Who has which LIDs.
    Lids,
    /// Gives LIDs of ports that are away back.
    Forget(Forgotten),
}

/// A change to be planned. Shape: all of what is given, together; nothing: what a reload would
/// write.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::server) struct Wish {
    /// A policy, `partitions.conf`, `opensm.conf`, `torus-2QoS.conf`, or a configuration of this
    /// daemon, whole or in parts. An absolute path.
    #[serde(default)]
    pub(in crate::server) change: Option<PathBuf>,
    /// By name.
    #[serde(default)]
    pub(in crate::server) engine: Option<String>,
    /// Parts.
    #[serde(default)]
    pub(in crate::server) drain: Vec<String>,
    /// Parts.
    #[serde(default)]
    pub(in crate::server) undrain: Vec<String>,
}

/// Ports whose LIDs are to be free. Shape: one of the two.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::server) struct Forgotten {
    /// A port GUID.
    #[serde(default)]
    pub(in crate::server) guid: Option<String>,
    /// All ports that were not there for as many seconds.
    #[serde(default)]
    pub(in crate::server) absent_for_s: Option<u64>,
}

impl fmt::Display for Task {
    /// As an operator types it, for the log.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Drain { part, force } => {
                let force = if *force { " --force" } else { "" };
                write!(f, "sapphire drain {part}{force}")
            }
            Self::Undrain { part } => write!(f, "sapphire undrain {part}"),
            Self::Plan(_) => f.write_str("sapphire plan"),
            Self::Apply { plan } => write!(f, "sapphire apply {plan}"),
            Self::Lids => f.write_str("sapphire lid list"),
            Self::Forget(_) => f.write_str("sapphire lid forget"),
        }
    }
}

impl Refusal {
    /// There is nobody who could do it.
    pub(in crate::server) fn no_manager() -> Self {
        Self::failed(
            "this daemon is not the Subnet Manager; it is with source = \"sweep\" in [fabric]",
        )
    }
}

/// What was done or found. Shape: an object; its fields are an interface.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(in crate::server) enum Report {
    /// What is drained.
    Drained(DrainedParts),
    /// Of a part that is drained from now on.
    Drain(DrainReport),
    /// Of one that is not any more.
    Undrain(UndrainReport),
    /// What a change would write.
    Plan(PlanReport),
    /// What it wrote.
    Applied(AppliedReport),
    /// Who has which LIDs.
    Lids(LidReport),
    /// Who has none any more.
    Forgotten(ForgottenReport),
}

impl Report {
    /// Its name and version in `docs/schemas`.
    pub(super) const fn schema(&self) -> &'static str {
        match self {
            Self::Drained(_) => "sapphired.drained/1",
            Self::Drain(_) => "sapphired.drain/1",
            Self::Undrain(_) => "sapphired.undrain/1",
            Self::Plan(_) => "sapphired.plan/1",
            Self::Applied(_) => "sapphired.apply/1",
            Self::Lids(_) => "sapphired.lid-list/1",
            Self::Forgotten(_) => "sapphired.lid-forget/1",
        }
    }
}

/// All that is drained.
#[derive(Debug, Serialize)]
pub(in crate::server) struct DrainedParts {
    /// In the order in which they were drained.
    pub(in crate::server) drained: Vec<DrainedPart>,
}

impl FromIterator<DrainedPart> for DrainedParts {
    fn from_iter<I: IntoIterator<Item = DrainedPart>>(parts: I) -> Self {
        Self {
            drained: parts.into_iter().collect(),
        }
    }
}

/// One part.
#[derive(Debug, Serialize)]
pub(in crate::server) struct DrainedPart {
    /// `S0`, or `S0:3`.
    part: String,
    /// Of the switch.
    guid: String,
    /// None: the whole switch.
    port: Option<u8>,
    /// Units: seconds since 1970.
    since_unix: u64,
    /// It was found by the last sweep.
    present: bool,
    /// The switches have acknowledged routes that leave it: it may be pulled.
    acknowledged: bool,
    /// Its hosts have no path.
    severed: bool,
}

impl From<&Drain> for DrainedPart {
    fn from((part, is_present, is_left): &Drain) -> Self {
        Self {
            part: part.word(),
            guid: part.guid.to_string(),
            port: part.port,
            since_unix: part.since,
            present: *is_present,
            acknowledged: *is_left,
            severed: part.severed,
        }
    }
}

/// What a plan comes to.
#[derive(Debug, Serialize)]
pub(in crate::server) struct PlanReport {
    /// To be given to `apply`. It stands for these very Sets.
    pub(in crate::server) plan: String,
    /// It is kept for so long, or until the next one.
    pub(in crate::server) kept_s: u64,
    /// In words.
    pub(in crate::server) change: Vec<String>,
    /// Whose routes are in service.
    pub(in crate::server) engine_before: String,
    /// Who would route.
    pub(in crate::server) engine: String,
    /// All Sets.
    pub(in crate::server) sets: u64,
    /// By the names of the specification.
    pub(in crate::server) sets_by_attribute: BTreeMap<String, u64>,
    /// Of forwarding tables.
    pub(in crate::server) entries_changed: u64,
    /// Switches with such entries.
    pub(in crate::server) switches_changed: u64,
    /// Ports that get other LIDs.
    pub(in crate::server) lids_changed: u64,
    /// Whose paths and SLs change.
    pub(in crate::server) pairs: Pairs,
    /// Of what is drained: hosts and pairs that have no other way.
    pub(in crate::server) hosts_without_another_way: u64,
    /// Ordered.
    pub(in crate::server) pairs_without_another_way: u64,
    /// `none`, `at once`, `in stages` or `not proved`.
    pub(in crate::server) transition: &'static str,
    /// How many, where there are some.
    pub(in crate::server) stages: usize,
    /// All of them, of which `findings` has the first.
    pub(in crate::server) findings_count: usize,
    /// What the plan lacks, in the words of the log.
    pub(in crate::server) findings: Vec<String>,
}

/// Ordered pairs of hosts that are there before and afterwards.
#[derive(Debug, Serialize)]
pub(in crate::server) struct Pairs {
    /// Of hosts with LIDs.
    pub(in crate::server) all: u64,
    /// Their packets take other switches or ports.
    pub(in crate::server) path_changed: u64,
    /// They had a path, and would have none.
    pub(in crate::server) lost: u64,
    /// The other way round.
    pub(in crate::server) gained: u64,
    /// They would be answered with another SL.
    pub(in crate::server) sl_changed: u64,
    /// Of so many pairs the SLs were compared.
    pub(in crate::server) sl_compared: u64,
}

/// A part that is drained.
#[derive(Debug, Serialize)]
pub(in crate::server) struct DrainReport {
    /// `S0`, or `S0:3`.
    pub(in crate::server) part: String,
    #[serde(flatten)]
    pub(in crate::server) done: Done,
    /// Of forwarding tables.
    pub(in crate::server) entries_changed: u64,
    /// Whose paths and SLs changed.
    pub(in crate::server) pairs: Pairs,
    /// Hosts that lose the subnet when this part is pulled.
    pub(in crate::server) hosts_without_another_way: u64,
    /// Ordered pairs, those of these hosts among them.
    pub(in crate::server) pairs_without_another_way: u64,
    /// They have lost it already, as the engine has no routes but those for a switch that has
    /// failed.
    pub(in crate::server) severed: bool,
    /// Whether it outlives a restart.
    pub(in crate::server) kept: bool,
}

/// A part that is none any more.
#[derive(Debug, Serialize)]
pub(in crate::server) struct UndrainReport {
    /// As it was drained.
    pub(in crate::server) part: String,
    #[serde(flatten)]
    pub(in crate::server) done: Done,
}

/// A plan that was carried out.
#[derive(Debug, Serialize)]
pub(in crate::server) struct AppliedReport {
    /// As it was asked for.
    pub(in crate::server) plan: String,
    #[serde(flatten)]
    pub(in crate::server) done: Done,
    /// What to do that it stays, in words; none where nothing is.
    pub(in crate::server) to_keep: Option<String>,
}

/// A sweep that was ordered.
#[derive(Debug, Serialize)]
pub(in crate::server) struct Done {
    /// In service.
    pub(in crate::server) epoch: Option<u64>,
    /// That were sent.
    pub(in crate::server) sets: u64,
    /// By all switches.
    pub(in crate::server) acknowledged: bool,
    /// What is not, in words.
    pub(in crate::server) lacking: Vec<String>,
}

/// LIDs of all ports that have some.
#[derive(Debug, Serialize)]
pub(in crate::server) struct LidReport {
    /// By GUID.
    pub(in crate::server) ports: Vec<LidRow>,
    /// How many are there.
    pub(in crate::server) present: usize,
    /// How many are not.
    pub(in crate::server) away: usize,
}

/// Ports that have no LIDs any more.
#[derive(Debug, Serialize)]
pub(in crate::server) struct ForgottenReport {
    /// By GUID.
    pub(in crate::server) forgotten: Vec<LidRow>,
    /// Ports that have some still.
    pub(in crate::server) left: usize,
}

/// A port.
#[derive(Debug, Serialize)]
pub(in crate::server) struct LidRow {
    /// Of the port.
    pub(in crate::server) guid: String,
    /// Both ends included.
    pub(in crate::server) first: u16,
    /// The same as `first` where there is one.
    pub(in crate::server) last: u16,
    /// As of the last sweep.
    pub(in crate::server) present: bool,
    /// None where it was never seen.
    pub(in crate::server) last_seen_unix: Option<u64>,
    /// Since it was last seen, or else since it is known to be away.
    pub(in crate::server) absent_s: Option<u64>,
}
