//! The snapshot in force and what it was compiled from, for whoever tells operators of it: the
//! page, the control socket.
//!
//! ```text
//!  publisher ──> Reader ──> (epoch 8, snapshot) ─┬─ the same epoch ──> Force
//!  loader ─────> state slot (epoch 8, parts) ────┘  another, none ──> Unknown
//! ```
//!
//! Both share one reader, behind a lock that is held for a moment. It looks each second
//! ([`follow`]), so that it keeps no old snapshot alive where nobody asks.

use core::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use sa_fastpath::publish::{Published, Reader};

use crate::server::state::{State, StateInService};

/// From look to look.
const EVERY: Duration = Duration::from_secs(1);

/// What operators see of what workers answer from.
pub(in crate::server) struct InForce {
    reader: Mutex<Reader>,
    state: Arc<StateInService>,
}

/// A snapshot in force, and what it was compiled from; they are of one epoch.
pub(in crate::server) struct Force {
    pub(in crate::server) published: Arc<Published>,
    pub(in crate::server) state: Arc<State>,
}

/// Why there is nothing to tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::server) enum Unknown {
    /// Before the first.
    NoSnapshot,
    /// A snapshot without the state that it came from.
    Elsewhere,
    /// The state of the next one is here already: it is published in a moment.
    Soon,
}

impl Unknown {
    /// For people.
    pub(super) const fn words(self) -> &'static str {
        match self {
            Self::NoSnapshot => "There is no snapshot yet.",
            Self::Elsewhere => {
                "What the snapshot in force was compiled from is not here: it was compiled elsewhere or by an earlier run."
            }
            Self::Soon => "The next snapshot is about to come into force; ask again.",
        }
    }
}

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.words())
    }
}

impl InForce {
    /// By a reader that nobody else has.
    pub(in crate::server) fn new(reader: Reader, state: Arc<StateInService>) -> Self {
        let reader = Mutex::new(reader);
        Self { reader, state }
    }

    /// The snapshot; none before the first.
    pub(in crate::server) fn published(&self) -> Option<Arc<Published>> {
        let mut reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
        reader.refresh_shared().cloned()
    }

    /// The same with its state. Errors: [`Unknown`].
    pub(in crate::server) fn force(&self) -> Result<Force, Unknown> {
        let published = self.published().ok_or(Unknown::NoSnapshot)?;
        let state = self.state.load_full().ok_or(Unknown::Elsewhere)?;
        match state.epoch == published.epoch {
            true => Ok(Force { published, state }),
            // The slot is filled before the snapshot is published.
            false => Err(Unknown::Soon),
        }
    }
}

/// Looks for ever.
pub(super) async fn follow(in_force: Arc<InForce>) {
    loop {
        drop(in_force.published());
        tokio::time::sleep(EVERY).await;
    }
}
