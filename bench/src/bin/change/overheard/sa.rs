//! The SA of a fabric in memory, and the ear at its SM.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use sa_compiler::pipeline::Compiled;
use sa_service::dispatch;
use sa_source::written::Written;
use sa_source::{Ask, AskError};
use sa_wire::Lid;
use sa_wire::umad::{MAD_SIZE, Slot};

/// The SA of a fabric in memory, which is overheard.
///
/// It answers from the healthy fabric only: whoever asks after the change gets the old one, and
/// shows by it that it asked.
pub(super) struct InMemory {
    served: Arc<Compiled>,
    pub(super) written: Arc<Mutex<Written>>,
    pub(super) asked: Arc<Mutex<Asked>>,
}

/// What it was asked for.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Asked {
    pub(super) questions: u64,
    pub(super) bytes: usize,
    pub(super) busy: Duration,
}

impl Ask for InMemory {
    fn ask(&mut self, request: &[u8; MAD_SIZE]) -> Result<Vec<u8>, AskError> {
        let begun = Instant::now();
        let mut slot = Slot::EMPTY;
        slot.mad = *request;
        // As from a client at the SA's own port.
        slot.header.lid = Lid::raw(self.lid()).into();
        let (parts, snapshot) = (&self.served.parts, &self.served.snapshot);
        let reply = dispatch::respond_with(snapshot, Some(parts), &slot);
        let mut asked = lock(&self.asked);
        asked.questions += 1;
        asked.bytes += reply.as_ref().map_or(0, Vec::len);
        asked.busy += begun.elapsed();
        drop(asked);
        reply.ok_or_else(|| AskError::Unanswered("silence".to_owned()))
    }

    fn lid(&self) -> Option<Lid> {
        let subnet = &self.served.parts.subnet;
        subnet.end_ports().get(subnet.sm()).map(|end| end.lid)
    }

    fn whom(&self) -> String {
        "a fabric in memory".to_owned()
    }

    fn overheard(&self) -> Option<Arc<Mutex<Written>>> {
        Some(Arc::clone(&self.written))
    }
}

/// Nothing heard and nothing asked yet.
pub(super) fn in_memory(served: &Arc<Compiled>) -> InMemory {
    InMemory {
        served: Arc::clone(served),
        written: Arc::default(),
        asked: Arc::default(),
    }
}

/// Nobody panics with it locked.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
