//! Where the threads of a measurement run, and why one has none to show.
//!
//! Client and worker each have a core of their own where the machine has two; with fewer they give
//! way to each other, because a thread that spins would keep the other from running at all.

use sa_fastpath::affinity;
use sa_fastpath::worker::Idle;
use sa_port::PortError;
use sa_wire::mad::DecodeError;
use thiserror::Error;

/// Why nothing was measured.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LineError {
    /// The publisher has no place left for a reader.
    #[error("no reader place")]
    NoReader,
    /// No memory for a histogram.
    #[error("no memory for a histogram")]
    NoHistogram,
    /// A thread panicked.
    #[error("a thread of the measurement panicked")]
    Panicked,
    /// The ring failed.
    #[error(transparent)]
    Port(#[from] PortError),
    /// A request could not be drawn.
    #[error(transparent)]
    Draw(#[from] DecodeError),
}

/// Does `work` on a thread on the client's core. Errors: it panicked.
pub(crate) fn on_client_core<T: Send>(work: impl FnOnce() -> T + Send) -> Result<T, LineError> {
    let core = affinity::cores().first().copied();
    std::thread::scope(|scope| {
        let working = scope.spawn(|| {
            // On the thread itself, since a core is a property of the thread that asks.
            core.map(affinity::pin);
            work()
        });
        working.join().map_err(|_| LineError::Panicked)
    })
}

/// With a core for each thread they spin; else they give way to each other.
pub(crate) fn idle(cores: &[usize], threads: usize) -> Idle {
    if cores.len() >= threads {
        Idle::Spin
    } else {
        Idle::YieldAfter(10)
    }
}

/// Slots of a ring that is measured: requests that may be in flight.
pub(crate) const SLOTS: usize = 1024;
