//! What was said of the subnet: each finding once, until it is gone.
//!
//! Two findings are the same where their words are: these name the place. What a device does again
//! and again is therefore one line, however many sweeps find it, and a second line when it has
//! ended.
//!
//! A sweep every ten seconds would fill a log with the same cable. So what stands is kept in words,
//! what is new is a warning, and what is gone is said once more, as "no more". Five kinds come
//! together: what discovery and writing noted, what the plan could not have, SMs that do not count,
//! switches that do not hold what was planned, and ports without the configured M_Key.

use std::collections::BTreeSet;

use sa_sm::model::Subnet;
use sa_sm::sm_info::SmInfo;
use sm_plan::{PlanFinding, Planned, Unheld};
use tracing::{info, warn};

/// Findings that stand, in words.
#[derive(Debug, Default)]
pub(super) struct Said {
    standing: BTreeSet<String>,
    /// Those of a change of routes. It is over with its sweep, and they are with the next one.
    of_change: BTreeSet<String>,
}

impl Said {
    /// What stands as of the last telling.
    pub(super) const fn standing(&self) -> &BTreeSet<String> {
        &self.standing
    }

    /// A sweep has found what the one before left: nothing changes any more.
    pub(super) fn end_change(&mut self) {
        for gone in core::mem::take(&mut self.of_change) {
            if self.standing.remove(&gone) {
                info!("no more: {gone}");
            }
        }
    }

    /// Tells what is new of the findings of a sweep and its plan, of which some blocks are
    /// `missing`, and what is over.
    pub(super) fn tell(
        &mut self,
        own: &SmInfo,
        swept: &Subnet,
        (planned, missing): (&Planned, &[Unheld]),
        of_keys: Vec<String>,
    ) {
        let found = swept.findings().map(ToString::to_string);
        // Those of groups are told with their tables, which may change between two sweeps.
        let plan = planned.findings.iter();
        let plan = plan.filter(|finding| !matches!(finding, PlanFinding::GroupsNotProved { .. }));
        let plan = plan.map(ToString::to_string);
        let other = strangers(own, swept).chain(not_held(missing));
        let now: BTreeSet<String> = found.chain(plan).chain(other).chain(of_keys).collect();
        // New ones first: what is mended can wait for a line.
        for new in now.difference(&self.standing) {
            warn!("{new}");
        }
        for gone in self.standing.difference(&now) {
            info!("no more: {gone}");
        }
        self.standing = now;
        let of_change = planned.findings.iter().filter(|it| it.is_of_change());
        self.of_change = of_change.map(ToString::to_string).collect();
    }
}

/// SMs that do not count for their sm_key. A sentence each, without what changes from sweep to
/// sweep.
fn strangers(own: &SmInfo, swept: &Subnet) -> impl Iterator<Item = String> {
    let others = swept.managers().map(|(_, other)| other);
    // Of port GUID and key alone: state and counters change, and each change would be a line.
    let strangers = others.filter(|other| !own.trusts(other));
    strangers.map(|other| {
        let of = other.guid.map_or_else(String::new, |guid| format!(" of port {guid}"));
        format!(
            "the SM{of} has another sm_key, so it does not count, and both may write to this subnet; give them one key, or \
             stop one"
        )
    })
}

/// One sentence a switch, however many blocks it lacks.
fn not_held(missing: &[Unheld]) -> BTreeSet<String> {
    let nodes: BTreeSet<_> = missing.iter().map(|block| block.node).collect();
    let of = |node: &_| missing.iter().filter(|block| block.node == *node).count();
    let words = nodes.iter().map(|node| {
        let blocks = of(node);
        format!(
            "switch {node} does not hold {blocks} blocks of its tables as planned; answers follow what it holds, and its \
             links that are down stay down"
        )
    });
    words.collect()
}
