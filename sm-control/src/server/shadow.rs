//! `role = "shadow"`: what another SA answers is asked for and compared, and nobody is answered.
//!
//! This is how a fabric gets to trust a new SA: it runs beside the old one for days, asks it
//! questions that cover pairs, partitions and rules in turn, and every difference is logged with
//! both answers. Questions are spread over a minute evenly, so that the SA that serves hardly
//! notices.
//!
//! ```text
//!  every 60 s / pairs per minute:  question ──> snapshot here ─┬─ same? nothing
//!                                     └───────> the SA ────────┘  other: both answers in the log, counted
//! ```
//!
//! Silence is counted as asked and not as answered. Questions are made from the snapshot, so they
//! never name what it does not know.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};
use sa_fastpath::publish::{EpochId, Published, Reader};
use sa_source::compare::{Questions, ask_and_compare, service_ids};
use sa_source::{Ask, Reopening};
use sa_wire::Lid;
use tracing::{info, warn};

use super::ServerError;
use super::state::{StateInService, state_of};
use crate::config::Config;
use crate::server::operators::counts::Event;
use crate::server::operators::status::Status;

/// The thread `sa-shadow`; it ends when this goes, after the question that it has in hand.
pub(super) struct Shadow {
    thread: Option<JoinHandle<()>>,
    stop: Option<Sender<()>>,
}

/// Starts it where the configuration has this role; it opens the port when it first asks. Errors:
/// [`ServerError::Os`].
pub(super) fn start(
    config: &Config,
    reader: Reader,
    state: &Arc<StateInService>,
    status: &Arc<Status>,
) -> Result<Option<Shadow>, ServerError> {
    let Some(source) = config.shadowed() else {
        return Ok(None);
    };
    let per_minute = config.sa.shadow_pairs_per_minute;
    info!(
        per_minute,
        "shadow: answers nobody, and compares with the SA of the subnet"
    );
    let comparer = Comparer {
        ask: Box::new(Reopening::new(source)),
        pause: Duration::from_secs(60) / per_minute.get(),
        reader,
        state: Arc::clone(state),
        status: Arc::clone(status),
        questions: None,
    };
    let (stop, stopped) = crossbeam_channel::bounded(0);
    let thread = std::thread::Builder::new().name("sa-shadow".into());
    let thread = thread.spawn(move || comparer.run(&stopped));
    let thread = thread.map_err(|source| ServerError::Os {
        what: "start the thread of the shadow",
        source,
    })?;
    Ok(Some(Shadow {
        thread: Some(thread),
        stop: Some(stop),
    }))
}

impl Drop for Shadow {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The state of the thread.
struct Comparer {
    ask: Box<dyn Ask>,
    /// Between two questions.
    pause: Duration,
    reader: Reader,
    state: Arc<StateInService>,
    status: Arc<Status>,
    /// Of the snapshot with this epoch, to this requester; made anew when one of both changes.
    questions: Option<(EpochId, Option<Lid>, Questions)>,
}

impl Comparer {
    /// A question in each pause, until it is told to stop. One that takes longer than the pause
    /// delays the next.
    fn run(mut self, stopped: &Receiver<()>) {
        while stopped.recv_timeout(self.pause) == Err(RecvTimeoutError::Timeout) {
            if let Some(published) = self.reader.refresh_shared().cloned() {
                self.compare(&published);
            }
        }
    }

    /// Asks one question and counts what came of it. Silence of the SA is no difference. A
    /// difference is logged with the question and both answers, so that it can be asked again by
    /// hand.
    fn compare(&mut self, published: &Published) {
        self.renew(published);
        let Some((_, _, questions)) = &mut self.questions else {
            return;
        };
        let question = questions.next_question();
        let counts = &self.status.counts;
        counts.add(Event::ShadowAsked);
        // The snapshot that is asked about is held meanwhile: its answer and the question are of
        // one epoch.
        let asked = ask_and_compare(&published.snapshot, &question, |mad| {
            self.ask.ask(mad).map(Some)
        });
        let asked = match asked {
            Ok(asked) => asked,
            Err(why) => {
                warn!("shadow: no answer: {why}");
                return;
            }
        };
        counts.add(Event::ShadowAnswered);
        if let Some(difference) = asked.difference {
            counts.add(Event::ShadowDiffered);
            let epoch = published.epoch.get();
            warn!(epoch, "shadow: another answer: {difference}");
        }
    }

    /// Other questions for another snapshot, or from another port: who asks decides what an SA may
    /// tell. None where this port is not in the snapshot.
    fn renew(&mut self, published: &Published) {
        let (epoch, lid) = (published.epoch, self.ask.lid());
        // Over many snapshots the questions go on where they can: each begins with another pair, by
        // its epoch.
        if matches!(self.questions, Some((of, from, _)) if (of, from) == (epoch, lid)) {
            return;
        }
        let state = state_of(&self.state, epoch);
        let policy = state.as_ref().and_then(|state| state.parts.policy.as_ref());
        let ids = service_ids(policy);
        let questions = Questions::new(&published.snapshot, lid, ids, epoch.get());
        self.questions = questions.map(|questions| (epoch, lid, questions));
    }
}
