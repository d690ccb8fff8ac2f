//! What torus-2QoS finds odd about a fabric that it routes all the same.
//!
//! As with reasons, cases are values until they leave the engine. torus-proved shares the list and
//! adds those that begin with `StrayPlaced`: what it did that torus-2QoS would not have done.

use super::reason::TorusReason;
use super::text::{AbsentSeedSwitch, absent_switches, list, pairs};
use crate::error::{SwitchName, Warning};
use crate::placement::{Coordinate, Direction};

/// Something that does not stop an engine.
/// Compared with each other in one place: the same bundle is told once (`discover`).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(in crate::engine) enum TorusWarning {
    /// Enough VLs for a whole torus only.
    #[error(
        "with {have} data VLs between switches the torus cannot be routed free of deadlock \
        around a failed switch (needs 4)"
    )]
    NoFailedSwitchSupport {
        /// Fewest between switches.
        have: u8,
    },
    /// Too few VLs for two levels between switches.
    #[error("with {have} data VLs between switches there is one QoS level only (two need 8)")]
    OneLevelBetweenSwitches {
        /// Fewest between switches.
        have: u8,
    },
    /// Too few VLs for two levels at end ports.
    #[error("with {have} data VL at end ports there is one QoS level only (two need 2)")]
    OneLevelAtEndPorts {
        /// Fewest at an end port.
        have: u8,
    },
    /// Another seed than the first is used.
    #[error("seed {} of torus-2QoS.conf is used; earlier ones name switches that are missing: {}",
        seed + 1, absent_switches(absent))]
    BackupSeed {
        /// Number of the seed, from 0.
        seed: usize,
        /// Why the earlier ones are of no use.
        absent: Vec<AbsentSeedSwitch>,
    },
    /// No seed has all its switches.
    #[error(
        "every seed of torus-2QoS.conf names a switch that is missing: {}; what is left of seed {} \
        is enough to find the torus. Bring the switches back, or add a `next_seed` around others: \
        OpenSM would refuse",
        absent_switches(absent), seed + 1
    )]
    PartialSeed {
        /// Number of the seed that is used, from 0.
        seed: usize,
        /// What is missing of each.
        absent: Vec<AbsentSeedSwitch>,
    },
    /// A bundle of cables larger than a port group.
    #[error(
        "more than portgroup_max_ports ({limit}) cables between {from} and {to}; the rest is \
        not used"
    )]
    CablesLeftOut {
        from: SwitchName,
        to: SwitchName,
        limit: u32,
    },
    /// A cable between switches that has no place in the torus.
    #[error(
        "the cable from {from} port {from_port} to {to} port {to_port} has no place in the \
        torus and is not used"
    )]
    CableOutside {
        from: SwitchName,
        from_port: u8,
        to: SwitchName,
        to_port: u8,
    },
    /// A switch that has no place in the torus.
    #[error("{switch} has no place in the torus; neither it nor its {hosts} hosts get routes")]
    SwitchOutside {
        switch: SwitchName,
        /// CA and router ports plugged into it.
        hosts: usize,
    },
    /// An empty place.
    #[error("no switch at {at}")]
    SwitchMissing { at: Coordinate },
    /// A switch without a neighbour on one side.
    #[error("{switch} has no {direction} link")]
    LinkMissing {
        switch: SwitchName,
        direction: Direction,
    },
    /// A CA or router port that is plugged into no switch.
    #[error("\"{description}\" port {port} is plugged into no switch and gets no routes")]
    HostOutside {
        /// NodeDescription.
        description: String,
        port: u8,
    },
    /// A switch that torus-2QoS leaves outside.
    #[error(
        "{switch} is placed by its neighbours alone, since too much around it is missing for \
        torus-2QoS to find its place"
    )]
    StrayPlaced {
        /// The switch and its place.
        switch: SwitchName,
    },
    /// Damage that torus-2QoS would refuse.
    /// The refusal that torus-2QoS would have given, in its own words.
    #[error("torus-2QoS would refuse this fabric: {0}")]
    BeyondTorus2Qos(TorusReason),
    /// Ways that differ from those of torus-2QoS.
    #[error(
        "{count} pairs of switches are routed other than by torus-2QoS, which has no way for them \
        or one that could deadlock, such as {}; their SLs stay",
        pairs(examples)
    )]
    Rerouted {
        /// How many ordered pairs.
        count: usize,
        examples: Vec<(SwitchName, SwitchName)>,
    },
    /// Pairs that cannot be routed.
    #[error(
        "{count} pairs of switches have no way that is free of deadlock with their SLs, such as \
        {}; packets between them are dropped. Repair missing links and switches around them",
        pairs(examples)
    )]
    PairsLost {
        /// How many ordered pairs.
        count: usize,
        examples: Vec<(SwitchName, SwitchName)>,
    },
    /// Another multicast tree than that of torus-2QoS.
    #[error(
        "the multicast tree is not the one of torus-2QoS, which could deadlock; its root is {root}"
    )]
    OtherTree { root: SwitchName },
    /// No multicast tree.
    #[error(
        "no multicast tree is free of deadlock beside the unicast routes: there is no multicast"
    )]
    NoTree,
    /// Switches that the multicast tree does not reach.
    #[error(
        "the multicast tree does not reach {}. Repair their links",
        list(switches)
    )]
    OutsideTree { switches: Vec<SwitchName> },
}

impl TorusWarning {
    /// A short name that does not change.
    const fn code(&self) -> &'static str {
        match self {
            Self::NoFailedSwitchSupport { .. } => "no-failed-switch-support",
            Self::OneLevelBetweenSwitches { .. } => "one-level-between-switches",
            Self::OneLevelAtEndPorts { .. } => "one-level-at-end-ports",
            Self::BackupSeed { .. } => "backup-seed",
            Self::PartialSeed { .. } => "partial-seed",
            Self::CablesLeftOut { .. } => "cables-left-out",
            Self::CableOutside { .. } => "cable-outside",
            Self::SwitchOutside { .. } => "switch-outside",
            Self::SwitchMissing { .. } => "switch-missing",
            Self::LinkMissing { .. } => "link-missing",
            Self::HostOutside { .. } => "host-outside",
            Self::StrayPlaced { .. } => "stray-placed",
            Self::BeyondTorus2Qos(_) => "beyond-torus-2qos",
            Self::Rerouted { .. } => "rerouted",
            Self::PairsLost { .. } => "pairs-lost",
            Self::OtherTree { .. } => "other-tree",
            Self::NoTree => "no-tree",
            Self::OutsideTree { .. } => "outside-tree",
        }
    }
}

impl From<TorusWarning> for Warning {
    fn from(warning: TorusWarning) -> Self {
        Self {
            code: warning.code(),
            text: warning.to_string(),
        }
    }
}
