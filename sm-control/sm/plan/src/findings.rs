//! What a person should know of a plan, and the words for it.
//!
//! Values until they are told: which of them stand from sweep to sweep is decided by their words.

use core::fmt;

use routing::EngineKind;
use sa_sm::lids::LidFinding;
use sa_sm::writing::Drained;
use sa_wire::{Guid, Mlid, Pkey};

/// What a person should know of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum PlanFinding {
    /// Of LIDs.
    Lid(LidFinding),
    /// Keys for which the P_Key table of an end port has no room.
    KeysLeftOut {
        /// Its port GUID.
        port: Guid,
        /// The keys.
        keys: Vec<Pkey>,
    },
    /// A port has no room for all of its alias GUIDs.
    AliasesLeftOut {
        /// Its port GUID.
        port: Guid,
        /// How many it lacks.
        count: usize,
    },
    /// Nobody named an engine, and the routes of the one that is taken then close a credit loop: another one routes.
    OtherEngine {
        /// Whose routes were refused.
        refused: EngineKind,
        /// Whose routes are written.
        taken: EngineKind,
    },
    /// Keys do not fit the table of the switch port towards an end port, so nothing is checked there.
    NotEnforced {
        /// The GUID of the end port.
        port: Guid,
    },
    /// Routes change where data passes, and the old ones together with the new ones were not proved free of credit loops.
    NotProvedTogether {
        /// Why not, in words.
        why: &'static str,
    },
    /// No order of writing was free of credit loops: these had no path for a while, so that packets of before were gone.
    Drained {
        /// What it was.
        drained: Drained,
        /// Pairs of a host and one of the LIDs that had a path over switches which changed it.
        pairs: usize,
    },
    /// The new routes close a credit loop with packets that have the SLs of the old ones.
    OldSls,
    /// No tree was found for groups that closes no credit loop with unicast, and those that they have close one.
    GroupsNotProved {
        /// An MLID whose packets pass it.
        mlid: Mlid,
        /// The channels, in words.
        circle: String,
    },
    /// Routes lead over what is drained, as there are none without it.
    DrainsSetAside {
        /// Why not.
        why: String,
    },
}

impl PlanFinding {
    /// It is of the writing of changed routes, and over when that is: nothing is left to be mended.
    pub const fn is_of_change(&self) -> bool {
        matches!(self, Self::NotProvedTogether { .. } | Self::Drained { .. })
    }
}

/// For a person who has to mend it.
impl fmt::Display for PlanFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lid(finding) => finding.fmt(f),
            Self::KeysLeftOut { port, keys } => {
                let count = keys.len();
                write!(
                    f,
                    "the P_Key table of port {port} has no room for {count} of its keys; give it fewer partitions"
                )
            }
            Self::AliasesLeftOut { port, count } => write!(
                f,
                "port {port} has no room for {count} of its alias GUIDs; packets for them do not arrive there"
            ),
            Self::OtherEngine { refused, taken } => write!(
                f,
                "the routes of {refused} close a credit loop, so {taken} routes, which closes none in any subnet; name an \
                 engine in [routing] to decide otherwise"
            ),
            Self::NotEnforced { port } => write!(
                f,
                "the switch port before port {port} has no room for its P_Keys, and checks none; give it fewer partitions"
            ),
            Self::NotProvedTogether { why } => write!(
                f,
                "routes change, and the old and the new ones together are not proved free of credit loops: {why}; each are by themselves"
            ),
            Self::Drained { drained, pairs } => {
                let (lids, ms) = (drained.lids, drained.took.as_millis());
                let end = match drained.is_over {
                    true => "",
                    false => ", and some have none yet, as a switch did not take its table: the next sweep goes on",
                };
                if *pairs == 0 {
                    return write!(
                        f,
                        "{lids} LIDs to which hosts had lost their path got the new one {ms} ms after the others, as packets of before could have \
                         closed a credit loop with it{end}"
                    );
                }
                write!(
                    f,
                    "routes changed in no order that was proved free of credit loops, so {lids} LIDs had no path for {ms} ms until packets \
                     of before were gone; packets of {pairs} pairs of a host and a LID were dropped{end}"
                )
            }
            Self::OldSls => f.write_str(
                "SLs of paths change, and packets with old ones could close a credit loop on the new routes; let clients ask for paths again",
            ),
            Self::GroupsNotProved { mlid, circle } => write!(
                f,
                "multicast and unicast together could close a credit loop, with groups of MLID {:#06x} among others, and no tree was \
                 found for them that closes none; give these groups another SL, or name another engine in [routing] (updn, or that \
                 of a torus); each may wait for the next: {circle}",
                mlid.get()
            ),
            Self::DrainsSetAside { why } => write!(
                f,
                "what is drained carries traffic, as there are no routes without it: {why}"
            ),
        }
    }
}
