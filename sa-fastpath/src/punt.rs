//! The way from the workers to the slow lane: bounded queues without locks.
//!
//! Two of them, so that what a connection waits for does not wait behind tables.

use std::sync::Arc;
use std::time::Instant;

use crossbeam_queue::ArrayQueue;
use sa_wire::mad::method;
use sa_wire::sa::SaMad;
use sa_wire::umad::Slot;

use crate::rmpp::is_part;

/// A request for the slow lane.
#[derive(Debug)]
pub struct Punted {
    /// The port it came from, as the server numbers them.
    pub port: usize,
    /// When the worker gave it away.
    pub at: Instant,
    /// The request, with its sender's address.
    pub request: Slot,
}

#[derive(Debug)]
struct Queues {
    /// One record at most, changes, and parts of transfers that are under way.
    short: ArrayQueue<Punted>,
    /// Tables.
    long: ArrayQueue<Punted>,
}

/// Worker's end.
#[derive(Clone)]
pub struct PuntSender {
    queues: Arc<Queues>,
    port: usize,
}

/// Slow lane's end.
#[derive(Clone)]
pub struct PuntReceiver {
    queues: Arc<Queues>,
}

/// Queues for this many requests each, allocated at once.
pub fn punt_queue(capacity: usize) -> (PuntReceiver, impl Fn(usize) -> PuntSender) {
    let queues = Arc::new(Queues {
        short: ArrayQueue::new(capacity.max(1)),
        long: ArrayQueue::new(capacity.max(1)),
    });
    let receiver = PuntReceiver {
        queues: Arc::clone(&queues),
    };
    (receiver, move |port| PuntSender {
        queues: Arc::clone(&queues),
        port,
    })
}

impl PuntSender {
    /// Copies the request into its queue; false when that is full.
    #[inline]
    pub(crate) fn push(&self, request: &Slot) -> bool {
        let queue = if is_short(request) {
            &self.queues.short
        } else {
            &self.queues.long
        };
        queue
            .push(Punted {
                port: self.port,
                at: Instant::now(),
                request: *request,
            })
            .is_ok()
    }
}

impl PuntReceiver {
    /// The oldest short request waiting, else the oldest long one.
    pub fn pop(&self) -> Option<Punted> {
        self.queues.short.pop().or_else(|| self.queues.long.pop())
    }

    /// How many wait.
    pub fn len(&self) -> usize {
        self.queues.short.len() + self.queues.long.len()
    }

    /// True when none waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

fn is_short(request: &Slot) -> bool {
    let mad = SaMad::from_bytes(&request.mad);
    let tables = [
        method::GET_TABLE,
        method::GET_MULTI,
        method::GET_TRACE_TABLE,
    ];
    !tables.contains(&mad.mad.method) || is_part(mad)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asking(asked: u8) -> Slot {
        let mut slot = Slot::EMPTY;
        slot.mad[3] = asked;
        slot
    }

    #[test]
    fn what_is_short_comes_first() {
        let (receiver, sender) = punt_queue(4);
        let sender = sender(0);
        for asked in [
            method::GET_TABLE,
            method::GET,
            method::GET_MULTI,
            method::SET,
        ] {
            assert!(sender.push(&asking(asked)));
        }
        let order: Vec<u8> = core::iter::from_fn(|| receiver.pop())
            .map(|punted| punted.request.mad[3])
            .collect();
        let short_first = [
            method::GET,
            method::SET,
            method::GET_TABLE,
            method::GET_MULTI,
        ];
        assert_eq!(order, short_first);
    }

    #[test]
    fn tables_leave_room_for_the_rest() {
        let (receiver, sender) = punt_queue(2);
        let sender = sender(0);
        let tables = (0..5).filter(|_| sender.push(&asking(method::GET_TABLE)));
        assert_eq!(tables.count(), 2);
        assert!(sender.push(&asking(method::GET)));
        assert_eq!(receiver.len(), 3);
    }
}
