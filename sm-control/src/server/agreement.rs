//! Whether the SM still goes by what is in service.
//!
//! Two sets of paths are asked for: those of the snapshot in service, a few at each look and all in
//! turn, or all at once when something has just happened; and, first, the few for which a load was
//! refused. A difference puts the snapshot in doubt until the very same paths agree again, and then
//! all others do: one path that changed back proves nothing about the rest. While it is in doubt
//! OpenSM answers where one is beside; elsewhere workers are silent, as a wrong service level is
//! worse than a request that is sent again. Who does not answer raises no doubt: silence says
//! nothing about the snapshot.
//!
//! A policy that the SM reads anew changes what it answers, and may change nothing that a reading
//! of the fabric shows. So paths are asked of it all the time, on a thread of its own: while it
//! answers otherwise than the snapshot in service, that snapshot is in doubt, and nobody is
//! answered from it. What was refused because the SM answered otherwise is asked for as well, so
//! that it is loaded as soon as the SM agrees.

use core::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::Duration;

use arc_swap::{ArcSwap, ArcSwapOption};
use crossbeam_channel::{Receiver, Sender, bounded};
use sa_fabric::display::first_few;
use sa_fastpath::publish::{EpochId, Published, Reader};
use sa_source::{
    Ask, Difference, OnDifference, Probe, Reopening, SaReadError, Sampling, agrees, compare_paths,
    probes,
};
use tracing::{info, warn};

use super::ServerError;
use super::opensm::{Beside, Change};
use super::state::{State, StateInService, state_of};
use crate::config::{Config, FabricSaSection, Source};
use crate::server::operators::status::Status;

/// What is known of the snapshot in service, and of what is to come after it. Every method may be
/// called by any thread: workers read a flag, operators a sentence, the loader both.
pub(super) struct Doubts {
    /// Why the one in service is in doubt.
    reason: ArcSwapOption<String>,
    /// Workers are silent while this holds: where no SM has the reads in their place.
    muted: Arc<AtomicBool>,
    /// An operator has said what is in service: it is not judged.
    held: AtomicBool,
    stop: AtomicBool,
    /// What was refused: the paths that the SM answered otherwise.
    refused: ArcSwap<Vec<Difference>>,
    /// One place, so that nudges that come together are one.
    wake: (Sender<()>, Receiver<()>),
}

impl Default for Doubts {
    fn default() -> Self {
        Self {
            reason: ArcSwapOption::empty(),
            muted: Arc::default(),
            held: AtomicBool::new(false),
            stop: AtomicBool::new(false),
            refused: ArcSwap::default(),
            wake: bounded(1),
        }
    }
}

impl Doubts {
    /// Nobody is to be answered from what is in service. The reason is for people; that there is
    /// one, is for the gate.
    pub(super) fn is_in_doubt(&self) -> bool {
        self.reason.load().is_some()
    }

    /// Set while nobody is to be answered, where no SM answers instead.
    pub(super) fn muted(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.muted)
    }

    /// Something has happened: everything is asked for at once.
    pub(super) fn nudge(&self) {
        // One that waits already is enough.
        let _ = self.wake.0.try_send(());
    }

    /// What was to be published is not, for these; none: it was, or there was another reason.
    pub(super) fn refused(&self, differences: &[Difference]) {
        let some = differences.iter().take(SUSPECTS).cloned().collect();
        self.refused.store(Arc::new(some));
    }

    /// Whether an operator's rollback holds.
    pub(super) fn hold(&self, held: bool) {
        self.held.store(held, Ordering::Relaxed);
    }

    pub(super) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
        self.nudge();
    }
}

/// Of what was refused, so many paths are asked for again and again. Eight that agree are taken as
/// a sign that a load is worth it, and the load compares anew.
const SUSPECTS: usize = 8;

/// Between looks beside an OpenSM, and how many paths each asks for: 80 questions a second over a
/// socket of this host.
const BESIDE: (Duration, usize) = (Duration::from_millis(100), 8);

/// The same of an SA on the fabric, which others ask too: 16 a second.
const AFAR: (Duration, usize) = (Duration::from_millis(500), 8);

/// Asked for before it is judged: the first that differ count, and the rest need not be asked.
const CHUNK: usize = 16;

/// What the thread needs of the daemon.
pub(super) struct Context {
    pub(super) reader: Reader,
    pub(super) newest: Arc<StateInService>,
    pub(super) status: Arc<Status>,
    pub(super) doubts: Arc<Doubts>,
}

/// Starts it where there is somebody to ask. Gives what it says to the main thread; none where it
/// is said beside OpenSM's. Errors: [`ServerError::Os`].
pub(super) fn start(
    config: &Config,
    beside: Option<&Beside>,
    context: Context,
) -> Result<Option<Receiver<Change>>, ServerError> {
    let section = config.fabric.sa.clone().unwrap_or_default();
    let (ask, (pace, share)): (Box<dyn Ask>, _) = match (beside, config.sa_source()) {
        (Some(beside), _) => (Box::new(beside.ask()), BESIDE),
        (None, Some(source)) => (Box::new(Reopening::new(source)), AFAR),
        (None, None) => return Ok(None),
    };
    if section.samples == 0 || config.fabric.source == Source::Snapshot {
        return Ok(None);
    }
    let (own, receiver) = bounded(8);
    let changes = beside.map_or(own, |beside| beside.teller.clone());
    let agreement = Agreement {
        ask,
        context,
        changes,
        section,
        pace,
        share,
        mutes: beside.is_none(),
        epoch: None,
        probes: Vec::new(),
        next: 0,
        doubtful: Vec::new(),
    };
    let thread = std::thread::Builder::new().name("sa-vigil".to_owned());
    // Not waited for at the end: it may be in the middle of a question.
    thread
        .spawn(move || agreement.run())
        .map_err(|source| ServerError::Os {
            what: "start the thread that compares with the SM",
            source,
        })?;
    Ok(beside.is_none().then_some(receiver))
}

/// The state of the thread `sa-vigil`.
struct Agreement {
    ask: Box<dyn Ask>,
    context: Context,
    changes: Sender<Change>,
    section: FabricSaSection,
    pace: Duration,
    /// Paths for each look where nothing has happened.
    share: usize,
    /// Workers fall silent; beside an OpenSM that answers in their place.
    mutes: bool,
    /// That the rest is of; none before the first.
    epoch: Option<EpochId>,
    probes: Vec<Probe>,
    /// The place of the one that is asked for next.
    next: usize,
    /// Those that the SM answered otherwise; empty where nothing is in doubt. These very paths have
    /// to agree again first.
    doubtful: Vec<Probe>,
}

impl Agreement {
    fn run(mut self) {
        let doubts = Arc::clone(&self.context.doubts);
        while !doubts.stop.load(Ordering::Relaxed) {
            // The nudge and the pause between looks are one wait.
            let is_nudged = doubts.wake.1.recv_timeout(self.pace).is_ok();
            let Some((published, state)) = self.in_service() else {
                continue;
            };
            // Nobody answers: that says nothing about what is in service.
            let _ = self.look(&published, &state, is_nudged);
        }
    }

    /// The snapshot in service and what it was compiled from; none where that is not known, or not
    /// to be judged: a rollback is an operator's word against the SM's.
    fn in_service(&mut self) -> Option<(Arc<Published>, Arc<State>)> {
        let published = Arc::clone(self.context.reader.refresh_shared()?);
        let state = state_of(&self.context.newest, published.epoch)?;
        if self.context.doubts.held.load(Ordering::Relaxed) {
            self.settle("an operator has put this snapshot into service");
            return None;
        }
        Some((published, state))
    }

    /// One look. Errors: the SM does not answer, and nothing is changed by that.
    fn look(
        &mut self,
        published: &Published,
        state: &State,
        is_nudged: bool,
    ) -> Result<(), SaReadError> {
        if self.epoch != Some(state.epoch) {
            self.begin(state);
        }
        self.look_at_refused(state)?;
        let doubtful = self.doubtful.clone();
        if !doubtful.is_empty() {
            if self.differs(published, state, &doubtful)? {
                return Ok(());
            }
            // The SM has changed its mind: about everything?
            // One path that came back proves nothing of the others, and a wrong one in service is
            // the worse mistake.
            let all = self.probes.clone();
            if !self.differs(published, state, &all)? {
                self.settle("the SM gives the same answers again");
            }
            return Ok(());
        }
        let some = self.turn(if is_nudged { usize::MAX } else { self.share });
        self.differs(published, state, &some).map(drop)
    }

    /// Another snapshot is in service: other paths, and no doubt yet. Sampled by the epoch, so that
    /// over many epochs other pairs come in turn.
    fn begin(&mut self, state: &State) {
        let sampling = Sampling {
            pairs: self.section.samples,
            seed: state.epoch.get(),
        };
        self.probes = probes(&state.parts, &[], sampling);
        (self.epoch, self.next) = (Some(state.epoch), 0);
        self.settle("another snapshot is in service");
    }

    /// The next so many, each in its turn.
    fn turn(&mut self, count: usize) -> Vec<Probe> {
        let count = count.min(self.probes.len());
        let all = self.probes.iter().cycle().skip(self.next);
        let some = all.take(count).copied().collect();
        self.next = (self.next + count)
            .checked_rem(self.probes.len())
            .unwrap_or(0);
        some
    }

    /// Whether the SM answers some of them otherwise; then what is in service is in doubt.
    fn differs(
        &mut self,
        published: &Published,
        state: &State,
        probes: &[Probe],
    ) -> Result<bool, SaReadError> {
        for some in probes.chunks(CHUNK) {
            let subnet = &state.parts.subnet;
            let found = compare_paths(&mut *self.ask, subnet, &published.snapshot, some)?;
            if !found.is_empty() {
                self.raise(state.epoch, &found);
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Puts the snapshot in doubt, or renews the paths that are. Said once.
    fn raise(&mut self, epoch: EpochId, found: &[Difference]) {
        let is_first = self.doubtful.is_empty();
        self.doubtful = found.iter().map(|found| found.probe).collect();
        if !is_first {
            return;
        }
        let shown: Vec<String> = found.iter().map(ToString::to_string).collect();
        let shown = first_few(&shown);
        let whom = self.ask.whom();
        let reason = format!("{whom} gives other answers than the snapshot in service: {shown}");
        if self.section.on_difference == OnDifference::Warn {
            warn!(
                epoch = epoch.get(),
                "{reason}; on_difference = \"warn\": the snapshot is used all the same"
            );
        } else {
            warn!(
                epoch = epoch.get(),
                "{reason}; the snapshot is not used until they agree"
            );
            let reason = Arc::new(reason);
            self.context.status.doubt(Some(Arc::clone(&reason)));
            self.context.doubts.reason.store(Some(reason));
            self.context
                .doubts
                .muted
                // Beside an OpenSM the gate shuts instead, and OpenSM answers; elsewhere silence is
                // the better of two evils.
                .store(self.mutes, Ordering::SeqCst);
        }
        self.say(Change::Differs);
    }

    /// Ends a doubt, if there was one.
    fn settle(&mut self, why: &str) {
        let was = core::mem::take(&mut self.doubtful);
        let doubts = &self.context.doubts;
        // Before the reason goes: who sees no reason must not find workers silent.
        doubts.muted.store(false, Ordering::SeqCst);
        self.context.status.doubt(None);
        if doubts.reason.swap(None).is_some() || !was.is_empty() {
            info!(
                epoch = EpochId::raw(self.epoch),
                "{why}: the snapshot in service may be used again"
            );
        }
    }

    /// Has what was refused loaded again when the SM agrees with it.
    fn look_at_refused(&mut self, state: &State) -> Result<(), SaReadError> {
        let refused = self.context.doubts.refused.load_full();
        if refused.is_empty() || !agrees(&mut *self.ask, &state.parts.subnet, &refused)? {
            return Ok(());
        }
        self.context.doubts.refused(&[]);
        self.say(Change::Agrees);
        Ok(())
    }

    /// Tells the loader; a full channel is no loss.
    fn say(&self, change: Change) {
        // When so many wait, everything will be read again anyway.
        let _ = self.changes.try_send(change);
    }
}
