//! Lists of switches and seeds as messages of torus-2QoS write them.
//!
//! A message about a large fabric names a few examples and counts the rest: eight fit a screen, and
//! a thousand would hide the next message.

use std::fmt;

use crate::error::SwitchName;

/// A GUID of a seed that is on no switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::engine) struct AbsentSeedSwitch {
    /// Number of the seed, from 0.
    pub(super) seed: usize,
    /// GUID as configured.
    /// May be a typing error or a switch that is off; the file does not tell which.
    pub(super) guid: u64,
    /// Line of torus-2QoS.conf.
    pub(super) line: u32,
}

/// Most items that a message lists.
const LISTED: usize = 8;

/// The first few, joined, and how many more there are.
/// Of nine items eight and "and 1 more".
pub(super) fn list<T: fmt::Display>(items: &[T]) -> String {
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

/// Pairs of a source and a destination.
/// Callers cut them before; the count beside the text is that of all.
pub(super) fn pairs(examples: &[(SwitchName, SwitchName)]) -> String {
    let texts: Vec<_> = examples
        .iter()
        .map(|(from, to)| format!("from {from} to {to}"))
        .collect();
    list(&texts)
}

/// GUIDs of seeds that no switch has, each with its line.
/// Seeds are numbered from 1 here, as people count.
pub(super) fn absent_switches(absent: &[AbsentSeedSwitch]) -> String {
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
