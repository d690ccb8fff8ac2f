//! Levels of two policies by name.
//!
//! A level is compared by the sentence that tells what it gives. That leaves out its name, its
//! `use:` and where it stands, none of which a client can see.
//!
//! ```text
//! level `bulk`, changed      was: SL 2, MTU to 2048      is: SL 2, MTU to 4096
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use super::Fate;
use crate::model::{Level, Policy};
use sa_snapshot::model::FlowLabels;

/// A level that comes, goes or gives something else.
/// What a level of this name gave before and gives now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LevelChange {
    /// What people call it.
    pub name: String,
    /// What happens to it.
    pub fate: Fate,
    /// What it gave, as [`offer`] says it; none for a level that is new.
    pub old: Option<String>,
    /// What it gives, as [`offer`] says it; none for a level that goes.
    pub new: Option<String>,
}

/// Levels that differ. Shape: by name; of equal names the first.
pub fn level_changes(old: &Policy, new: &Policy) -> Vec<LevelChange> {
    let (before, after) = (by_name(old), by_name(new));
    let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let changes = names.into_iter().map(|name| {
        let (had, has) = (before.get(name), after.get(name));
        let title = has.or(had).map_or_else(String::new, |level| level.title());
        LevelChange {
            name: title,
            fate: Fate::of(had.is_some(), has.is_some()),
            old: had.map(|level| offer(level)),
            new: has.map(|level| offer(level)),
        }
    });
    // Compared in words: what reads the same gives the same.
    changes.filter(|change| change.old != change.new).collect()
}

/// By title in small letters; of equal ones the first, as rules see them.
fn by_name(policy: &Policy) -> BTreeMap<String, &Level> {
    let mut levels = BTreeMap::new();
    for level in &policy.levels {
        let name = level.title().to_ascii_lowercase();
        levels.entry(name).or_insert(level);
    }
    levels
}

/// What a level gives, in words: `SL 3, MTU 2048, packet life 18`. Levels that give the same have
/// the same words.
pub fn offer(level: &Level) -> String {
    let labels = level.flow_label.map_or(FlowLabels::None, |labels| *labels);
    offer_with(level, labels)
}

/// As [`offer`], with the flow labels that a rule gives in place of the level's.
/// Written into a string, so that no error can come of it.
pub fn offer_with(level: &Level, labels: FlowLabels) -> String {
    // Without an SL of its own: only in the RFC dialects.
    let mut words = match level.sl {
        Some(sl) => format!("SL {}", *sl),
        None => String::from("the partition's SL"),
    };
    if let Some(mtu) = level.mtu_limit {
        let _ = write!(words, ", MTU to {}", mtu.bytes());
    }
    if let Some(rate) = level.rate_limit {
        let _ = write!(words, ", rate to {}", *rate);
    }
    if let Some(life) = level.packet_life {
        let _ = write!(words, ", packet life {}", *life);
    }
    if let Some(bits) = &level.path_bits {
        let _ = write!(words, ", path bits {}", listed(bits.pairs(), false));
    }
    if let Some(tclass) = level.tclass {
        let _ = write!(words, ", TClass {}", *tclass);
    }
    if let Some(pkeys) = &level.pkeys {
        let _ = write!(words, ", P_Keys {}", listed(pkeys.pairs(), true));
    }
    if labels.are_set() {
        let _ = write!(words, ", flow label {labels}");
    }
    words
}

/// Ranges with commas between, P_Keys with all their digits.
fn listed(pairs: &[(u64, u64)], hexadecimal: bool) -> String {
    let number = |value: u64| {
        if hexadecimal {
            format!("0x{value:04x}")
        } else {
            value.to_string()
        }
    };
    let ranges = pairs.iter().map(|(low, high)| {
        if low == high {
            number(*low)
        } else {
            format!("{}-{}", number(*low), number(*high))
        }
    });
    ranges.collect::<Vec<_>>().join(",")
}
