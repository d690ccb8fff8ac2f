//! What was said of the subnet: each finding once, until it is gone.
//!
//! Two findings are the same where their words are: these name the place. What a device does again and again is therefore one line,
//! however many sweeps find it, and a second line when it has ended.
//!
//! A sweep every ten seconds would fill a log with the same cable. So what stands is kept in words, what is new is a warning, and what
//! is gone is said once more, as "no more". Three kinds come together: what discovery and writing noted, what the
//! plan could not have, and switches that do not hold what was planned.

use std::collections::BTreeSet;

use sa_sm::model::Subnet;
use sm_plan::Planned;
use tracing::{info, warn};

/// Findings that stand, in words.
#[derive(Debug, Default)]
pub(super) struct Said(BTreeSet<String>);

impl Said {
    /// What stands as of the last telling.
    pub(super) const fn standing(&self) -> &BTreeSet<String> {
        &self.0
    }

    /// Tells what is new of the findings of a sweep and its plan, and what is over.
    pub(super) fn tell(&mut self, swept: &Subnet, planned: &Planned) {
        let found = swept.findings().map(ToString::to_string);
        let plan = planned.findings.iter().map(ToString::to_string);
        let now: BTreeSet<String> = found.chain(plan).chain(not_held(swept, planned)).collect();
        // New ones first: what is mended can wait for a line.
        for new in now.difference(&self.0) {
            warn!("{new}");
        }
        for gone in self.0.difference(&now) {
            info!("no more: {gone}");
        }
        self.0 = now;
    }
}

/// One sentence a switch, however many blocks it lacks.
fn not_held(swept: &Subnet, planned: &Planned) -> BTreeSet<String> {
    let missing = planned.not_held(swept);
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
