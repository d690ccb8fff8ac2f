//! What an engine knows about its routes besides the tables.
//!
//! A forwarding table says where a packet goes, and nothing about the SL that it should have, nor
//! why the way was chosen. Callers that ask (path classes for the SL, drawings and messages for
//! places, groups for the tree) find it here as values, and none has to ask which engine it was: a
//! new engine fills in this struct and its callers stay as they are.

use std::sync::Arc;

use super::multicast::MulticastTree;
use super::path_sl_table::PathSlTable;
use crate::placement::Torus;

/// What an engine says about its routes besides the tables, as values: nobody has to know the
/// engine to use them.
#[derive(Debug, Clone, Default)]
pub struct EngineFacts {
    /// How the SL of a path is found. A rule where there is one: a table by pairs of switches would
    /// be the largest part of a snapshot of a torus (ADR 4).
    pub path_sl: PathSlRule,
    /// Where the switches are; none for engines that give them no places.
    /// Needed where `path_sl` is [`PathSlRule::Datelines`].
    pub torus: Option<Torus>,
    /// The tree of which multicast groups use parts; none for engines that make none.
    /// None, too, for what is left of routes when an engine refused.
    pub multicast: Option<MulticastTree>,
    /// The engine makes no SL2VL tables: those of the options hold.
    /// Then `qos_*_sl2vl` of `opensm.conf`, or a policy's scopes, decide which VL an SL travels on.
    pub keeps_configured_sl2vl: bool,
}

/// How the SL of a path follows from the SL that the policy chose.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum PathSlRule {
    /// It is the one that the policy chose.
    #[default]
    Policy,
    /// Bits 0 to 2 say which datelines of the torus the shorter way crosses; bit 3 is the policy's.
    /// Takes a torus; see [`Torus::path_sl`].
    Datelines,
    /// Pair by pair, whatever the policy chose, but where the table says that the policy's stays.
    Table(Arc<PathSlTable>),
}

impl EngineFacts {
    /// The torus whose datelines decide about SLs, where there is one.
    pub(crate) fn sl_torus(&self) -> Option<&Torus> {
        // Tables from files may lie on a torus whose SLs are the policy's: places alone decide
        // nothing.
        let torus = self.torus.as_ref();
        torus.filter(|_| self.path_sl == PathSlRule::Datelines)
    }

    /// The table of SLs, where one decides about them.
    pub(crate) const fn sl_table(&self) -> Option<&Arc<PathSlTable>> {
        match &self.path_sl {
            PathSlRule::Table(table) => Some(table),
            PathSlRule::Policy | PathSlRule::Datelines => None,
        }
    }
}
