//! VL arbitration in `qos-setup`.
//!
//! A weight of 0, or a high-priority table without limit, keeps packets of a VL waiting for ever. Only what
//! is wrong in the tables themselves is found here: which ports they reach, and which VLs those operate, is
//! known where there are routes.
//!
//! ```text
//! vlarb-high: 0:64, 1:0      VL 1 has no weight in the high table,
//! vlarb-low:  1:0            and none in the low one: packets there never leave (L33)
//!
//! vlarb-high: 0:255          with vl-high-limit: 255 the low table has its turn only when VL 0
//! vlarb-low:  1:64           has nothing to send: VL 1 may starve
//! ```

use std::collections::BTreeMap;

use crate::lint::finding::{Finding, LintId};
use crate::model::{Policy, VlArbScope};

/// Scopes that starve VLs, and in OpenSM's dialect numbers that it does not check.
pub(in crate::lint) fn findings(policy: &Policy) -> Vec<Finding> {
    let mut found = Vec::new();
    for scope in policy
        .setup
        .vlarb
        .iter()
        .filter(|scope| scope.skipped.is_none())
    {
        found.extend(starved(scope).into_iter().map(|sentence| {
            let remedy = "give every VL in use a weight, and the high table a limit under 255";
            Finding::new(LintId::STARVATION, scope.span, sentence, remedy)
        }));
    }
    if !policy.dialect.is_rfc() {
        found.extend(policy.setup.vlarb.iter().flat_map(out_of_range));
    }
    found
}

/// Weight by VL; entries of one VL add up, as a port takes them one after the other.
/// VLs without an entry are not in it.
fn weights(table: &[(u64, u64)]) -> BTreeMap<u64, u64> {
    let mut weights = BTreeMap::new();
    for (vl, weight) in table {
        let sum: &mut u64 = weights.entry(*vl).or_insert(0);
        *sum = sum.saturating_add(*weight);
    }
    weights
}

/// Sentences about VLs that get nothing, or hardly anything.
/// At most two for a scope.
fn starved(scope: &VlArbScope) -> Vec<String> {
    let (high, low) = (weights(&scope.high), weights(&scope.low));
    let of = |table: &BTreeMap<u64, u64>, vl: &u64| table.get(vl).copied().unwrap_or(0);
    let vls = high.keys().chain(low.keys());
    let mut idle: Vec<u64> = vls
        .filter(|vl| of(&high, vl) == 0 && of(&low, vl) == 0)
        .copied()
        .collect();
    // A VL may stand in both tables.
    idle.sort_unstable();
    idle.dedup();
    let mut sentences = Vec::new();
    if !idle.is_empty() {
        sentences.push(format!(
            "{} weight 0 in both tables: packets there never leave",
            have(&idle)
        ));
    }
    let low_only = low
        .iter()
        .filter(|(vl, weight)| **weight > 0 && of(&high, vl) == 0);
    let low_only: Vec<u64> = low_only.map(|(vl, _)| *vl).collect();
    let sum =
        |table: &BTreeMap<u64, u64>| table.values().fold(0, |sum: u64, w| sum.saturating_add(*w));
    let (high_sum, low_sum) = (sum(&high), sum(&low));
    // A high table without weights takes nothing from anybody.
    if low_only.is_empty() || high_sum == 0 {
        return sentences;
    }
    if scope.high_limit == Some(UNLIMITED) {
        sentences.push(format!(
            "vl-high-limit 255 lets the high table go on without end: {} weight in the low table \
             only and may starve",
            have(&low_only)
        ));
    // A limit of 0 lets one packet go before the low table has its turn.
    } else if scope.high_limit.unwrap_or(0) > 0 && high_sum / FAR_MORE >= low_sum {
        sentences.push(format!(
            "the high table weighs {high_sum} and the low table {low_sum}: {} hardly a share",
            have(&low_only)
        ));
    }
    sentences
}

/// The limit that is none.
const UNLIMITED: u64 = 255;
/// How many times as much is far more.
const FAR_MORE: u64 = 16;

/// The VLs as the beginning of a sentence.
fn have(vls: &[u64]) -> String {
    let words: Vec<_> = vls.iter().map(u64::to_string).collect();
    match vls {
        [_] => format!("VL {} has", words.join(", ")),
        _ => format!("VLs {} have", words.join(", ")),
    }
}

/// Numbers that OpenSM does not check. The RFC parsers refuse theirs.
/// Such a scope is skipped in the RFC dialects, and OpenSM would send what it cannot.
fn out_of_range(scope: &VlArbScope) -> Vec<Finding> {
    let pairs = || scope.high.iter().chain(&scope.low);
    let over = [
        ("VL", 14, pairs().map(|(vl, _)| *vl).max()),
        ("weight", 255, pairs().map(|(_, weight)| *weight).max()),
        ("vl-high-limit", 255, scope.high_limit),
    ];
    let over = over.into_iter().filter_map(|(what, most, largest)| {
        let largest = largest.filter(|largest| *largest > most)?;
        Some(Finding::new(
            LintId::RANGE,
            scope.span,
            format!("{what} {largest} is not within 0 to {most}"),
            "correct the number",
        ))
    });
    over.collect()
}
