//! What an engine knows about its routes besides the tables.

use super::multicast::MulticastTree;
use crate::placement::Torus;

/// What an engine says about its routes besides the tables, as values: nobody has to know the
/// engine to use them.
#[derive(Debug, Clone, Default)]
pub struct EngineFacts {
    /// How the SL of a path is found.
    pub path_sl: PathSlRule,
    /// Where the switches are; none for engines that give them no places.
    pub torus: Option<Torus>,
    /// The tree of which multicast groups use parts; none for engines that make none.
    pub multicast: Option<MulticastTree>,
    /// The engine makes no SL2VL tables: those of the options hold.
    pub keeps_configured_sl2vl: bool,
}

/// How the SL of a path follows from the SL that the policy chose.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum PathSlRule {
    /// It is the one that the policy chose.
    #[default]
    Policy,
    /// Bits 0 to 2 say which datelines of the torus the shorter way crosses; bit 3 is the policy's.
    /// Takes a torus; see [`Torus::path_sl`].
    Datelines,
}

impl EngineFacts {
    /// The torus whose datelines decide about SLs, where there is one.
    pub(crate) fn sl_torus(&self) -> Option<&Torus> {
        let torus = self.torus.as_ref();
        torus.filter(|_| self.path_sl == PathSlRule::Datelines)
    }
}
