//! From settled sources to a snapshot that may be published.
//!
//! The work is `sa-compiler`'s, or `sa-source`'s where a running SA tells the fabric. Here it gets
//! what only the daemon has: the epoch and the time, a trial by another process where memory may
//! not do, and the tables that an engine made last, from which it goes on where it can.
//!
//! [`attempt`] changes nothing, as sources that did not stay as they were are compiled again, and a
//! dry run ([`super::dry_run`]) compiles what nobody publishes; [`Compiler::judge`] takes the
//! attempt that counts.
//!
//! | source | attempt | told before |
//! |---|---|---|
//! | files | `pipeline::compile_after`, going on from `accepted` | compiled again: no file says that it is unchanged |
//! | sa, opensm | `sa_source::compile_from_sa`, compared with samples | `AsBefore`, unless a compilation failed since |
//! | sweep | the Subnet Manager finds, plans and programs; what is held then | `AsBefore`, where nothing was written |
//! | snapshot | read and verified | `SameCopy`, by its digest |
//! | fleet | never: what it announces is published as it comes | |
//! | none | never | |

use std::sync::Arc;
use std::time::Duration;

use sa_compiler::pipeline::{self, Stamp, Timings};
use sa_compiler::state::FabricState;
use sa_compiler::watch::Watch;
use sa_fabric::sa_records::SaFabric;
use sa_snapshot::{EpochId, Snapshot};
use sa_source::{Difference, SourceError, When};
use sa_text::Remark;
use thiserror::Error;

use super::attempt::{Attempt, Way, attempt};
use super::dry_run::{Accepted, Turn};
use super::due::Due;
use super::settled::{Settled, Unsettled};
use crate::checks::copy::{self, CopyError};
use crate::config::Config;
use crate::server::subnet_manager::SweepError;
use crate::trial::{self, TrialError};

/// Why a load puts nothing into service. Its words are what operators get, in the log and by
/// `sapphire reload`.
#[derive(Debug, Error)]
pub(super) enum LoadError {
    /// The source files kept changing.
    #[error(
        "the source files change faster than they can be read; reload when their writer is done"
    )]
    Unsettled,
    /// The sources do not make a snapshot to serve.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The subnet could not be swept, or its plan was refused.
    #[error(transparent)]
    Sweep(#[from] SweepError),
    /// Another process has tried it in vain.
    #[error(transparent)]
    Trial(#[from] TrialError),
    /// The snapshot that was compiled elsewhere cannot be served.
    #[error(transparent)]
    Copy(#[from] CopyError),
    /// There is nothing to read.
    #[error(
        "this host follows a fleet: what is in force is its leader's to say; `sapphire reload` there has it read anew"
    )]
    Followed,
    /// A defect of this program.
    #[error(
        "a defect of sapphired: it panicked at this load ({0}); the log has the place. Report it with the files of the load"
    )]
    Panicked(String),
}

impl From<Unsettled> for LoadError {
    fn from(Unsettled: Unsettled) -> Self {
        Self::Unsettled
    }
}

impl LoadError {
    /// When it is to be tried again, where that is known.
    pub(super) const fn again_in(&self) -> Option<Duration> {
        match self {
            Self::Sweep(error) => error.again_in(),
            _ => None,
        }
    }

    /// True where nobody is answered from then on, though there may be a snapshot.
    pub(super) const fn is_silent(&self) -> bool {
        matches!(self, Self::Sweep(error) if error.is_silent())
    }

    /// The paths that the SA answers otherwise, where it failed for these.
    pub(super) fn differences(&self) -> &[Difference] {
        match self {
            Self::Source(SourceError::Differs(differences)) => differences,
            _ => &[],
        }
    }
}

/// What came of settled sources: what the publication is to do.
pub(super) enum Compiled {
    /// The SA tells what it told when the snapshot in service was compiled.
    AsBefore,
    /// A snapshot, with what it was compiled from.
    New(Box<New>),
    /// A snapshot that was compiled elsewhere.
    Copy(Box<Snapshot>),
    /// The same, and it is in service already.
    SameCopy,
}

impl Compiled {
    /// What a running SA told, to compare its next reading with.
    pub(super) const fn told(&self) -> Option<&Arc<SaFabric>> {
        match self {
            Self::New(new) => new.told.as_ref(),
            Self::AsBefore | Self::Copy(_) | Self::SameCopy => None,
        }
    }

    /// One line, for people.
    pub(super) fn summary(&self) -> String {
        match self {
            Self::AsBefore => "the fabric is as it was".to_owned(),
            Self::New(new) => new.findings.summary.clone(),
            Self::Copy(copy) => copy::summary(&copy.info()),
            Self::SameCopy => "the snapshot file holds what is in service".to_owned(),
        }
    }
}

/// A snapshot of the sources, with what the next change and the slow lane need of it.
pub(super) struct New {
    pub(super) snapshot: Snapshot,
    pub(super) parts: Arc<FabricState>,
    /// None where files hold the fabric.
    pub(super) told: Option<Arc<SaFabric>>,
    pub(super) findings: Findings,
}

/// What there is to say of a compilation. Nothing of it decides anything.
pub(super) struct Findings {
    /// What an operator should know.
    pub(super) warnings: Vec<Remark>,
    /// What changed since the compilation before, one sentence each.
    pub(super) changes: Vec<String>,
    /// Forwarding entries that are others than before.
    pub(super) entries_changed: u64,
    pub(super) timings: Timings,
    /// One line.
    pub(super) summary: String,
}

/// What is in service while the next snapshot is made.
#[derive(Clone, Copy)]
pub(super) struct Outlook {
    /// Of the next snapshot.
    pub(super) epoch: EpochId,
    /// Of the snapshot in service; none where there is none.
    pub(super) digest: Option<u64>,
}

/// How long a load waits for a dry run to end, where it needs the memory of that: one step of it,
/// mostly.
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// What is remembered between two compilations. Tables of an accepted fabric are shared with the
/// next one's, where they stay.
pub(super) struct Compiler {
    /// The last fabric that the engine routed: what the switches hold when it refuses the next.
    accepted: Option<Arc<FabricState>>,
    /// The same for dry runs, which only look.
    shown: Arc<Accepted>,
    /// Which give up where a load compiles.
    dry_runs: &'static Turn,
    /// By which they hear of it.
    watch: Watch,
    /// The last compilation failed: it is tried again even where an SA tells what it told before.
    is_refused: bool,
}

impl Compiler {
    /// Nothing is accepted yet.
    pub(super) fn new(shown: Arc<Accepted>, dry_runs: &'static Turn) -> Self {
        Self {
            accepted: None,
            shown,
            dry_runs,
            watch: dry_runs.loads(),
            is_refused: false,
        }
    }

    /// The last fabric that the engine routed.
    pub(super) fn accepted(&self) -> Option<&FabricState> {
        self.accepted.as_deref()
    }

    /// Dry runs may begin again.
    pub(super) fn load_ends(&self) {
        self.dry_runs.load_ends();
    }

    /// Whether a fabric is worth compiling that was told before.
    pub(super) const fn when(&self, due: Due) -> When {
        if self.is_refused {
            When::Always
        } else {
            due.when
        }
    }

    /// Compiles once. Errors: but for [`LoadError::Unsettled`].
    pub(super) fn attempt(
        &self,
        config: &Config,
        settled: Settled<'_>,
        epoch: EpochId,
    ) -> Result<Attempt, LoadError> {
        if trial::is_tight(config) {
            // A load is refused, or takes twice as long, for what a dry run has.
            self.dry_runs.make_room(LONGEST_WAIT);
        }
        let stamp = Stamp {
            epoch: Some(epoch),
            built_unix: pipeline::unix_time(),
        };
        let before = self.accepted.as_deref();
        let watch = self.watch;
        attempt(
            config,
            settled,
            Way {
                stamp,
                before,
                watch,
            },
        )
    }

    /// Takes the attempt whose sources stayed as they were, and what it means beside what is in
    /// service. The only place where something is remembered. Errors: those of the attempt.
    pub(super) fn judge(
        &mut self,
        attempt: Result<Attempt, LoadError>,
        due: Due,
        outlook: Outlook,
    ) -> Result<Compiled, LoadError> {
        match attempt {
            Ok(Attempt::Copy(copy)) => {
                // An order publishes the same bytes again, so that an operator who asked for it
                // sees an epoch.
                let is_new = outlook.digest != Some(copy.digest());
                Ok(if is_new || due.when == When::Always {
                    Compiled::Copy(copy)
                } else {
                    Compiled::SameCopy
                })
            }
            Ok(Attempt::AsBefore) => {
                self.is_refused = false;
                Ok(Compiled::AsBefore)
            }
            Ok(Attempt::Compiled(compiled)) => {
                self.is_refused = false;
                Ok(Compiled::New(Box::new(self.accept(*compiled))))
            }
            Err(error) => {
                self.is_refused = true;
                Err(error)
            }
        }
    }

    /// Takes a compilation as the one to go on from.
    fn accept(&mut self, compiled: pipeline::Compiled) -> New {
        let summary = compiled.summary();
        let parts = Arc::new(compiled.parts);
        // A fabric that the engine refused is served with the tables before, and they stay the ones
        // to go on from.
        if parts.refusal.is_none() {
            let planned = compiled.goes_on_from.map(|planned| Arc::new(*planned));
            self.accepted = Some(planned.unwrap_or_else(|| Arc::clone(&parts)));
            self.shown.store(self.accepted.clone());
        }
        New {
            snapshot: compiled.snapshot,
            parts,
            told: compiled.from_sa,
            findings: Findings {
                warnings: [compiled.warnings, compiled.arbitration].concat(),
                changes: compiled.changes,
                entries_changed: compiled
                    .entries_changed
                    .map_or(0, |changed| changed.entries),
                timings: compiled.timings,
                summary,
            },
        }
    }
}
