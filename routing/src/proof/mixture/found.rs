//! Stages that were found, and what they cost.
//!
//! ```text
//!  X nowhere, 6 switches │ K new, 6 switches │ X new        X is without a path for 12 switches' time, K never is
//!  X and K nowhere, 6 switches │ X and K new                both are for that of 6
//! ```

use super::ways::Waiting;

/// How a change is to be made.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Stages {
    /// One after the other.
    pub stages: Vec<Stage>,
    /// The first one comes before SL2VL changes, and the packets that it waits for too.
    pub is_before_sl2vl: bool,
    /// Who is without a path meanwhile. A LID at most once.
    pub waiting: Vec<Waiting>,
}

impl Stages {
    /// What waiting costs: for each pair of a host and a LID, how many switches packets pass while it has no path.
    pub(super) fn cost(&self) -> usize {
        let cost = |waiting: &Waiting| {
            waiting
                .hosts
                .saturating_mul(self.passes_without(waiting.lid))
        };
        let costs = self.waiting.iter().map(cost);
        costs.fold(0, usize::saturating_add)
    }

    /// How many switches packets pass from the stage that takes this LID's path away to the one that gives it back.
    fn passes_without(&self, lid: u16) -> usize {
        let has = |stage: &&Stage| stage.lids.contains(&lid);
        let before = |stage: &&Stage| !has(stage) || stage.leads_nowhere;
        let stages = self.stages.iter().skip_while(|stage| !has(stage));
        stages.take_while(before).map(|stage| stage.passes).sum()
    }
}

/// LIDs that change together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stage {
    /// None where there is only something to wait for.
    pub lids: Vec<u16>,
    /// They get no path, at the switches that change theirs; else their new entries.
    pub leads_nowhere: bool,
    /// What comes next begins when packets of before could pass so many switches more. 0: at once.
    pub passes: usize,
}
