//! What to do about a prediction, in a sentence or two.
//!
//! Three causes are told apart, as their cures differ: tiers that repeat the choice of the tier
//! below (polarised: no label helps, the switches must differ), labels that collide more than
//! chance, and too few flows for the ways (more QPs). What helps is taken from simulations with
//! that one thing changed, not from rules. A gain below what trials scatter by is not advised.

use sa_entropy::job::{Fabric, Job, Seeds};
use sa_entropy::predict::Prediction;
use sa_entropy::{HashKind, Method};
use sa_fabric::display;

/// A prediction and what it is compared with.
///
/// Borrowed from `predict`, which made all of these simulations.
#[derive(Clone, Copy)]
pub(super) struct Case<'a> {
    /// Which flows there are.
    pub(super) job: &'a Job,
    /// What they choose among.
    pub(super) fabric: &'a Fabric,
    /// How their labels are made now.
    pub(super) method: Method,
    /// The simulation of that.
    pub(super) chosen: &'a Prediction,
    /// The same job with other labels.
    pub(super) others: &'a [(Method, Prediction)],
    /// The same labels with more QPs.
    pub(super) more: &'a [(u32, Prediction)],
}

/// What to do. Shape: never empty.
///
/// Polarisation comes first: where the worst tier is polarised, figures for other labels say
/// nothing.
pub(super) fn of(case: &Case<'_>) -> Vec<String> {
    let polarised = polarised(case);
    let mut all = Vec::new();
    for tier in &polarised {
        all.push(polarisation(case, *tier));
    }
    let Some((tier, busiest)) = case.chosen.worst() else {
        return all;
    };
    if !polarised.contains(&(tier + 1)) {
        all.extend(labels(case, busiest));
        all.extend(queue_pairs(case, busiest));
    }
    if all.is_empty() {
        all.push(format!("Nothing to do: the busiest link carries {busiest:.2} times the mean, and neither other labels nor more QPs change that much."));
    }
    all
}

/// Tiers, from 1, that leave ways idle which as many random flows would use.
///
/// Fewer flows than ways leave some idle by chance; that is counted in.
pub(super) fn polarised(case: &Case<'_>) -> Vec<usize> {
    let tiers = case
        .chosen
        .tiers
        .iter()
        .zip(&case.chosen.flows_per_switch)
        .zip(&case.fabric.ways);
    let is_polarised = |((tier, flows), ways): &((&sa_entropy::one_pair::Balances, &f64), &u32)| {
        // Expected share of `ways` that `flows` balls hit: 1 - (1 - 1/w)^f. Below 0.6 of that is no
        // accident.
        let chance = 1.0 - (1.0 - 1.0 / f64::from(**ways)).powf(**flows);
        **ways > 1 && tier.used.mean() < 0.6 * chance
    };
    // The first tier has nothing below it that could have chosen for it.
    let tiers = tiers.enumerate().skip(1);
    tiers
        .filter(|(_, tier)| is_polarised(tier))
        .map(|(nth, _)| nth + 1)
        .collect()
}

/// By hash and seeds: a linear hash with another seed permutes the ways and keeps what collides.
fn polarisation(case: &Case<'_>, tier: usize) -> String {
    let used = case
        .chosen
        .tiers
        .get(tier - 1)
        .map_or(0.0, |tier| tier.used.mean());
    let remedy = match (&case.fabric.hash, case.fabric.seeds) {
        (HashKind::Crc32c | HashKind::XorFold, Seeds::ByTier) => {
            "another seed does not help a linear hash: have this tier use other bits or fields of it, or another hash"
        }
        (HashKind::Crc32c | HashKind::XorFold, Seeds::Same) => {
            "have this tier use other bits or fields of the hash, or another one; a seed alone does not help a linear hash"
        }
        _ => "give each tier its own hash seed",
    };
    format!(
        "Polarised: tier {tier} uses {:.0} % of its ways because it chooses as the tier below did. No flow label mends that; {remedy}.",
        100.0 * used
    )
}

/// Other labels, where they change more than the trials scatter.
///
/// None where labels are as good as they get, or the gain is within the scatter of trials.
fn labels(case: &Case<'_>, busiest: f64) -> Option<String> {
    let is_for_use = |method: Method| match method {
        Method::Constant | Method::Random | Method::CmRfc | Method::SourcePort => false,
        // Its inputs must be known to whoever makes the label.
        Method::Greedy { .. } => {
            !matches!(case.fabric.hash, HashKind::Strong) || case.fabric.known_seed.is_some()
        }
        // What one linear hash spreads evenly is no better than chance with another one.
        Method::Assigned { .. } => case.fabric.hash.is_linear(),
        _ => true,
    };
    let others = case.others.iter().filter(|(method, _)| is_for_use(*method));
    let means = others.filter_map(|(method, it)| Some((*method, it.worst()?.1)));
    let (best, value) = means.min_by(|one, other| one.1.total_cmp(&other.1))?;
    if case.method == Method::Constant {
        return Some(format!(
            "All QPs of a pair have one source port, so that their flows share one path: have the stack set a label for each; {best} gives {value:.2} in place of {busiest:.2}."
        ));
    }
    // Trials scatter by some per cent: less is not worth a change.
    (best != case.method && value < 0.93 * busiest).then(|| match best {
        Method::Assigned { .. } | Method::Greedy { .. } => format!(
            "Other labels: {best} brings the busiest link from {busiest:.2} to {value:.2} times the mean; `sapphire roce-entropy suggest` with the same options makes them."
        ),
        _ => format!("Other labels: {best} brings the busiest link from {busiest:.2} to {value:.2} times the mean."),
    })
}

/// More QPs, where flows are few for the ways.
///
/// Takes the most QPs of those that were tried. None for one constant port: more QPs share it.
fn queue_pairs(case: &Case<'_>, busiest: f64) -> Option<String> {
    let (qps, value) = case
        .more
        .iter()
        .filter_map(|(qps, it)| Some((*qps, it.worst()?.1)))
        .next_back()?;
    let flows = case.chosen.flows_per_switch.first().copied().unwrap_or(0.0);
    let ways = case.fabric.ways.first().copied().unwrap_or(1);
    (case.method != Method::Constant && qps > case.job.qps && value < 0.85 * busiest).then(|| {
        let few = display::count(format!("{flows:.0}"), "flow is", "flows are");
        let ways = display::count(ways, "way", "ways");
        format!("More QPs: {few} few for {ways}; {qps} QPs a pair in place of {} bring the busiest link from {busiest:.2} to {value:.2} times the mean.", case.job.qps)
    })
}
