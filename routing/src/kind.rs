//! The routing engines by name.
//!
//! Apart from the engines themselves, since the tables that they return say which one made them.
//!
//! The name is an interface: it stands in `sapphired.toml` and on command lines. OpenSM spells its
//! own engine `torus-2QoS`; reading ignores case so that a word copied from `opensm.conf` works.

use std::fmt;
use std::str::FromStr;

/// A routing engine by name; [`crate::engine::by_kind`] gives the engine itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EngineKind {
    /// Two QoS levels on a torus or mesh, free of deadlock.
    /// Tables equal to OpenSM's, entry by entry, and refusals at the same damage. See
    /// [`crate::engine::torus`].
    Torus2Qos,
    /// The same, around any damage that can be proved free of deadlock.
    /// Not OpenSM's: switches have to be programmed from our tables. See
    /// [`crate::engine::torus_proved`].
    TorusProved,
    /// Shortest paths in any fabric.
    /// May close credit loops on anything but trees, which the proof then reports. See
    /// [`crate::engine::minhop`].
    MinHop,
    /// Shortest balanced paths in any fabric, free of deadlock by VLs.
    /// The SL of a path says which; the policy gives none. See [`crate::engine::dfsssp_nue`].
    DfssspNue,
    /// Up and then down: any fabric, without deadlock on one VL.
    /// See [`crate::engine::updn`].
    UpDown,
    /// Fat trees; others are refused.
    /// See [`crate::engine::ftree`].
    FatTree,
    /// Tables that something else made.
    /// For answering what switches do, whoever programmed them. See [`crate::engine::files`].
    Files,
}

/// A name that no engine has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown engine `{0}`")]
pub struct UnknownEngine(pub String);

impl EngineKind {
    /// Every engine, in the order in which messages list them.
    pub const ALL: [Self; 7] = [
        Self::Torus2Qos,
        Self::TorusProved,
        Self::MinHop,
        Self::DfssspNue,
        Self::UpDown,
        Self::FatTree,
        Self::Files,
    ];

    /// The name in configurations and on command lines: small letters.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Torus2Qos => "torus-2qos",
            Self::TorusProved => "torus-proved",
            Self::MinHop => "minhop",
            Self::DfssspNue => "dfsssp-nue",
            Self::UpDown => "updn",
            Self::FatTree => "ftree",
            Self::Files => "files",
        }
    }
}

/// The name in messages: as OpenSM spells it.
impl fmt::Display for EngineKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Torus2Qos => "torus-2QoS",
            other => other.name(),
        })
    }
}

/// By [`EngineKind::name`], in small or large letters: OpenSM itself writes torus-2QoS.
impl FromStr for EngineKind {
    type Err = UnknownEngine;

    fn from_str(name: &str) -> Result<Self, UnknownEngine> {
        let mut all = Self::ALL.into_iter();
        let found = all.find(|kind| kind.name().eq_ignore_ascii_case(name));
        found.ok_or_else(|| UnknownEngine(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back_to_their_engines() {
        for kind in EngineKind::ALL {
            assert_eq!(kind.name().parse(), Ok(kind));
            assert_eq!(kind.to_string().parse(), Ok(kind));
            assert_eq!(kind.name().to_uppercase().parse(), Ok(kind));
        }
        let unknown = "auto".parse::<EngineKind>().unwrap_err();
        assert_eq!(unknown.to_string(), "unknown engine `auto`");
    }
}
