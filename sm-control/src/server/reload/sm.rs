//! The SM whose fabric this is, as the thread that loads sees it: whether it can be read, what it
//! says has changed, and whether its answers agree.
//!
//! Where no OpenSM is beside this daemon most of it is quiet: files can always be read, changes
//! come from the comparison with an SA at most, and there are no generations.

use std::sync::Arc;

use crossbeam_channel::{Receiver, never};
use sa_source::Difference;

use crate::config::{Config, Source};
use crate::server::agreement::Doubts;
use crate::server::opensm::{Beside, Change};
use crate::server::operators::status::{SmFacts, Status};

/// The SM, wherever it is.
pub(in crate::server) struct Sm {
    source: Source,
    /// The OpenSM that has the fabric, where this daemon reads beside it.
    beside: Option<Arc<Beside>>,
    doubts: Arc<Doubts>,
    changes: Receiver<Change>,
}

impl Sm {
    /// `compared`: what the comparison with an SM elsewhere tells; beside an OpenSM it tells by
    /// that.
    pub(in crate::server) fn new(
        config: &Config,
        beside: Option<Arc<Beside>>,
        doubts: Arc<Doubts>,
        elsewhere: Option<Receiver<Change>>,
    ) -> Self {
        let told = beside.as_ref().map(|beside| beside.changes.clone());
        Self {
            source: config.fabric.source,
            beside,
            doubts,
            changes: told.or(elsewhere).unwrap_or_else(never),
        }
    }

    /// Where changes are told; a channel that never says anything where nobody does.
    pub(super) fn changes(&self) -> Receiver<Change> {
        self.changes.clone()
    }

    /// False while there is nothing to read the fabric from. What is due waits then, and is not
    /// forgotten.
    pub(super) fn can_load(&self) -> bool {
        match self.source {
            Source::OpenSm => self.beside.as_deref().is_some_and(Beside::can_ask),
            // The fleet gives what is loaded, unasked.
            Source::None | Source::Fleet => false,
            Source::Files | Source::Sa | Source::Snapshot | Source::Sweep => true,
        }
    }

    /// Of the fabric as the SM has it now; none where no OpenSM has it, and for a copy, which says
    /// nothing about the fabric of an OpenSM beside.
    pub(super) fn generation(&self) -> Option<u64> {
        let beside = self.beside.as_deref();
        beside
            .filter(|_| self.source != Source::Snapshot)
            .map(Beside::generation)
    }

    /// What was read since then is in service.
    pub(super) fn published(&self, generation: Option<u64>) {
        if let (Some(beside), Some(generation)) = (&self.beside, generation) {
            beside.published(generation);
        }
    }

    /// Paths for which the SA does not agree with what was read; none: it does, or was not asked.
    /// The comparison asks for them again until it does.
    pub(super) fn disagrees(&self, differences: &[Difference]) {
        self.doubts.refused(differences);
    }

    /// Why the Subnet Manager of this process lets nobody be answered; none: it does not.
    pub(super) fn rests(&self, status: &Status, why: Option<String>) {
        // Beside an OpenSM that one's standing is told.
        if self.beside.is_none() {
            status.stand(SmFacts {
                passive: why,
                ..SmFacts::default()
            });
        }
    }

    /// Writes up what operators see of it, and whether what is in service is to be judged: not what
    /// an operator has put there.
    pub(super) fn show(&self, status: &Status, is_held: bool) {
        self.doubts.hold(is_held);
        let Some(beside) = &self.beside else {
            return;
        };
        let passive = (!beside.is_serving()).then(|| "OpenSM has the read methods".to_owned());
        status.stand(SmFacts {
            passive,
            facts: beside.facts(),
            overheard: Some(beside.overheard()),
        });
    }
}
