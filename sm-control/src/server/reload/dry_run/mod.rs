//! A load that is tried and not published: `sapphire reload --dry-run` (ADR 31).
//!
//! ```text
//!  control socket ──begin──> a turn? ──> thread sa-dry-run, nice: settle, attempt, compare ──> report
//!                              busy         the same steps as a load, from the same sources
//!  sa-load ── compiles ──────────────────────^ stopped
//! ```
//!
//! It shares with the thread that loads what that has accepted last, to go on from, and nothing
//! else: sources are read by a reader of its own, and what comes out is dropped. [`turn`] says who
//! may run; [`work`] does it; [`policy`] tells what the policy changes; [`quiet`] asks a running
//! SA.

mod policy;
mod quiet;
mod turn;
mod work;

use std::sync::Arc;

use arc_swap::ArcSwapOption;
use sa_compiler::state::FabricState;
use sa_source::{Ask, Reopening, SaReader};
use tokio::sync::oneshot;
use tracing::info;

use self::quiet::Quiet;
use self::turn::{Run, Taken};
pub(in crate::server) use self::turn::{Stopped, Turn};
use super::caught::{DRY_RUN, Panicked, caught};
use super::compiled::LoadError;
use crate::config::{Config, Source};
use crate::server::opensm::Beside;
use crate::server::operators::control::{DryRun, DryRunReport, Peer, Refusal, Running};
use crate::server::operators::in_force::InForce;

/// What the next compilation goes on from, for whoever only looks. The thread that loads fills it.
pub(in crate::server) type Accepted = ArcSwapOption<FabricState>;

/// What dry runs are made from.
pub(in crate::server) struct DryRuns(Arc<Ground>);

/// The same for the thread of a run.
struct Ground {
    config: Config,
    in_force: Arc<InForce>,
    accepted: Arc<Accepted>,
    /// The OpenSM that has the fabric; none where there is another source.
    beside: Option<Arc<Beside>>,
    turn: &'static Turn,
}

impl DryRuns {
    /// Of this daemon.
    pub(in crate::server) fn new(
        config: &Config,
        in_force: Arc<InForce>,
        (accepted, turn): (Arc<Accepted>, &'static Turn),
        beside: Option<Arc<Beside>>,
    ) -> Self {
        Self(Arc::new(Ground {
            config: config.clone(),
            in_force,
            accepted,
            beside,
            turn,
        }))
    }
}

impl DryRun for DryRuns {
    fn begin(&self, by: Peer) -> Result<Running, Refusal> {
        self.0.can_read()?;
        let run = self.0.turn.begin().map_err(|taken| {
            Refusal::busy(match taken {
                Taken::Running => "a dry run is under way; try again when it is over",
                Taken::Loading => "a load is under way; try again when it is over",
            })
        })?;
        info!(uid = by.uid, pid = by.pid, "sapphire reload --dry-run");
        let (turn, number) = (self.0.turn, run.number());
        let (done, result) = oneshot::channel();
        let ground = Arc::clone(&self.0);
        let work = move || {
            let report = ground.run(&run);
            // Before it is told: who has read it may ask for the next.
            drop(run);
            log(&report);
            // Who asked may have left.
            let _ = done.send(report);
        };
        let thread = std::thread::Builder::new().name(DRY_RUN.into());
        let started = thread.spawn(work);
        started.map_err(|error| Refusal::busy(format!("no thread for it: {error}")))?;
        Ok(Running {
            result,
            leave: Box::new(move || turn.stop(number, Stopped::Left)),
        })
    }
}

impl Ground {
    /// Errors: there is nothing that could be read here and now.
    fn can_read(&self) -> Result<(), Refusal> {
        let words = match self.config.fabric.source {
            Source::Files | Source::Snapshot | Source::Sa => return Ok(()),
            Source::OpenSm if self.beside.as_deref().is_some_and(Beside::can_ask) => return Ok(()),
            Source::OpenSm => {
                "OpenSM on this host is not the master, or away: there is nobody to read the fabric from"
            }
            Source::Sweep => {
                "this sapphired is the Subnet Manager: `sapphire plan` says what a reload would write to the subnet and whose \
                 paths and SLs that changes, and writes nothing"
            }
            Source::Fleet => "this host follows a fleet: what is in force is its leader's to say",
            Source::None => "source = \"none\": there is no fabric to load",
        };
        Err(Refusal::failed(words))
    }

    /// Errors: a reload would fail, in its words; it gave up.
    fn run(&self, run: &Run) -> Result<DryRunReport, Refusal> {
        // Behind everything else on this machine; where that is not allowed it is as any other thread.
        let _ = rustix::process::nice(19);
        let done = caught(|| work::run(self, run));
        let done =
            done.unwrap_or_else(|Panicked(words)| Err(self.failed(&LoadError::Panicked(words))));
        // Whatever it says then, it says of work that was not done.
        match run.stopped() {
            Some(Stopped::Left) => Err(Refusal::failed("who asked has left")),
            Some(Stopped::Load) => Err(Refusal::busy(
                "a load is under way, and the dry run has given up; try again when it is over",
            )),
            None => done,
        }
    }

    /// As a reload says it.
    fn failed(&self, error: &LoadError) -> Refusal {
        let stays = match self.in_force.published() {
            Some(_) => "; the snapshot in service stays",
            None => "",
        };
        Refusal::failed(format!("{error}{stays}"))
    }

    /// Reads a running SA; none where files hold the fabric.
    fn reader(&self, run: &Run) -> Option<SaReader> {
        let way: Box<dyn Ask> = match (self.config.fabric.source, self.beside.as_deref()) {
            (Source::OpenSm, Some(beside)) => Box::new(beside.ask()),
            _ => Box::new(Reopening::new(self.config.sa_source()?)),
        };
        let watch = run.watch();
        let section = self.config.fabric.sa.clone().unwrap_or_default();
        Some(section.live_source(Box::new(Quiet { way, watch })))
    }
}

/// How it ended.
fn log(report: &Result<DryRunReport, Refusal>) {
    match report {
        Ok(report) => info!(took_ms = report.took_ms, "dry run: a reload would succeed"),
        Err(why) => info!("dry run: {}", why.words()),
    }
}
