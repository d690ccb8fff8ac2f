//! The way from the workers to the slow lane: a bounded queue without locks.

use std::sync::Arc;

use crossbeam_queue::ArrayQueue;
use sa_wire::umad::Slot;

/// A request for the slow lane.
#[derive(Debug)]
pub struct Punted {
    /// The port it came from, as the server numbers them.
    pub port: usize,
    /// The request, with its sender's address.
    pub request: Slot,
}

/// Worker's end.
#[derive(Clone)]
pub struct PuntSender {
    queue: Arc<ArrayQueue<Punted>>,
    port: usize,
}

/// Slow lane's end.
#[derive(Clone)]
pub struct PuntReceiver {
    queue: Arc<ArrayQueue<Punted>>,
}

/// A queue for this many requests, allocated at once.
pub fn punt_queue(capacity: usize) -> (PuntReceiver, impl Fn(usize) -> PuntSender) {
    let queue = Arc::new(ArrayQueue::new(capacity.max(1)));
    let receiver = PuntReceiver {
        queue: Arc::clone(&queue),
    };
    (receiver, move |port| PuntSender {
        queue: Arc::clone(&queue),
        port,
    })
}

impl PuntSender {
    /// Copies the request into the queue; false when it is full.
    #[inline]
    pub(crate) fn push(&self, request: &Slot) -> bool {
        self.queue
            .push(Punted {
                port: self.port,
                request: *request,
            })
            .is_ok()
    }
}

impl PuntReceiver {
    /// The oldest request waiting.
    pub fn pop(&self) -> Option<Punted> {
        self.queue.pop()
    }

    /// How many wait.
    pub fn len(&self) -> usize {
        self.queue.len()
    }

    /// True when none waits.
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }
}
