//! Why a fabric is not routed, and what is odd about one that is.
//!
//! Plain values, the same for all engines: a code that programs may rely on, and a sentence for
//! people. What an engine can say lies with the engine, as an enum with the facts of each case, so
//! that a new engine changes nothing here.
//!
//! A refusal's text ends in what to do about it ("Raise max_op_vls, or replace the switch"), its
//! code is one word that does not change. Scripts go by codes, people by texts.
//!
//! ```text
//! torus-2QoS refuses to route this fabric
//!   error[missing-switches]: the switches missing at 3,1,0 and 3,2,0 cannot be routed around ...
//! ```

use std::fmt;

use sa_text::Position;
use sa_wire::Guid;

use crate::kind::EngineKind;
use crate::placement::{Coordinate, Torus};
use crate::topology::{SwitchIx, Topology};

/// A fabric that an engine will not route. Nothing of it is routed then.
/// Whoever gets one leaves in service what was in service: an SM leaves the switches alone, too.
/// [`crate::tables::survivors`] says what of the old routes still holds.
#[derive(Debug, Clone)]
pub struct Refusal {
    /// The engine that refused.
    pub engine: EngineKind,
    /// Every reason found. Never empty.
    /// OpenSM stops at its first error; here all are looked for, so that one run tells an operator
    /// everything that has to be repaired.
    pub reasons: Vec<Reason>,
    /// What was noticed on the way.
    /// Kept although nothing is routed: a missing switch that is warned about is often the cause.
    pub warnings: Vec<Warning>,
    /// Where the switches are, when that was known before the refusal.
    /// Boxed, since a refusal travels in every `Result` and the placement is large.
    pub torus: Option<Box<Torus>>,
}

impl Refusal {
    /// For these reasons alone: nothing was noticed on the way, and switches have no places.
    pub(crate) const fn new(engine: EngineKind, reasons: Vec<Reason>) -> Self {
        Self {
            engine,
            reasons,
            warnings: Vec::new(),
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

/// Why a fabric is refused. Its text says what to do.
/// Made by the engines from enums of their own, so that only strings and places leave them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reason {
    pub(crate) code: &'static str,
    pub(crate) text: String,
    pub(crate) place: Option<Position>,
    /// Such as `4E38`: what to look for in an OpenSM log of the same fabric.
    pub(crate) opensm_code: Option<&'static str>,
}

impl Reason {
    /// One that is no matter of a configuration, and of which OpenSM logs nothing.
    pub(crate) const fn new(code: &'static str, text: String) -> Self {
        Self {
            code,
            text,
            place: None,
            opensm_code: None,
        }
    }

    /// A short name that does not change.
    pub const fn code(&self) -> &'static str {
        self.code
    }

    /// Where the engine's configuration says what the fabric contradicts; none when it is no
    /// matter of the configuration.
    pub const fn place(&self) -> Option<Position> {
        self.place
    }

    /// The error that OpenSM logs in this case; none when it says nothing or has no such case.
    pub const fn opensm_code(&self) -> Option<&'static str> {
        self.opensm_code
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Something that does not stop an engine.
/// Its text tells what follows from it, such as which hosts get no routes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    pub(crate) code: &'static str,
    pub(crate) text: String,
}

impl Warning {
    /// A short name that does not change.
    pub const fn code(&self) -> &'static str {
        self.code
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A switch, as messages name it.
/// A copy, so that messages outlive the topology that they are about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SwitchName {
    /// Node GUID, which is also that of its port 0.
    pub guid: Guid,
    /// NodeDescription, as the switch gives it.
    pub description: String,
    /// Its place in the torus, when it has one.
    /// With it an operator finds the switch in the drawing of the torus; without it only by cable.
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
