//! Ports in words.
//!
//! A scope can be wrong on thousands of ports. A finding names four of them, which is enough to
//! look one up, and counts all.

use core::fmt;

use sa_fabric::PortRef;
use sa_wire::NodeType;

use super::SetupContext;

/// Some ports or devices, by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Places {
    /// The first few.
    pub shown: Vec<String>,
    /// How many there are.
    pub total: usize,
    /// What they are, for one and for several.
    nouns: [&'static str; 2],
}

/// Enough to know which.
const SHOWN: usize = 4;

impl Places {
    /// Ports of the fabric, by node and number.
    pub(super) fn of_ports(context: SetupContext<'_>, ports: &[PortRef]) -> Self {
        let fabric = context.subnet.fabric();
        let shown = ports.iter().take(SHOWN);
        Self {
            shown: shown.map(|at| fabric.port_name(*at)).collect(),
            total: ports.len(),
            nouns: ["port", "ports"],
        }
    }

    /// A switch is named without a port.
    ///
    /// For what is about devices as a whole.
    pub(super) fn of_ends(context: SetupContext<'_>, ends: &[usize]) -> Self {
        let fabric = context.subnet.fabric();
        let ports = context.subnet.end_ports();
        let name = |end: &usize| {
            let at = ports.get(*end)?.at;
            match fabric.node(at.node).kind {
                NodeType::Switch => Some(fabric.node(at.node).name().to_owned()),
                _ => Some(fabric.port_name(at)),
            }
        };
        let switches = ends.iter().filter(|end| context.is_switch(**end)).count();
        // What is not named must still be counted by the right word.
        let nouns = match ends.len() - switches {
            0 => ["switch", "switches"],
            _ if switches == 0 => ["port", "ports"],
            _ => ["port or switch", "ports and switches"],
        };
        Self {
            shown: ends.iter().take(SHOWN).filter_map(name).collect(),
            total: ends.len(),
            nouns,
        }
    }
}

impl fmt::Display for Places {
    /// `S1 port 3, S2 port 1 and 37 more ports`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown.join(", "))?;
        let [one, several] = self.nouns;
        match self.total.saturating_sub(self.shown.len()) {
            0 => Ok(()),
            1 => write!(f, " and 1 more {one}"),
            more => write!(f, " and {more} more {several}"),
        }
    }
}
