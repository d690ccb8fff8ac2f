//! The way from the workers to the slow lane: bounded queues without locks.
//!
//! Two of them, so that what a connection waits for does not wait behind tables. Of each a
//! requester takes no more than is left for the others, so that one that floods loses its own
//! requests alone; rings have a few places of their own besides, which are always there for them.
//!
//! What a worker does with a request that is not for it:
//!
//! ```text
//!  request ──> is it a table? ──no──> short queue ─┐
//!                             └─yes─> long queue ──┴─> slow lane takes the short ones first
//!      each queue:  [ places that all share: `capacity` ] [ 4 places for each ring ]
//! ```
//!
//! How much a requester may have of the shared places: as many as are free. One that floods an
//! empty queue of 64 so gets 32, as its requests then equal what is left; the next gets 16 of the
//! remaining 32, then 8, 4, 2. A fixed share would be too small for one busy host and too large for
//! a thousand. `a_lid_that_floods_takes_half_and_leaves_some_to_every_other` shows the figures.
//!
//! A request waits until the slow lane is *done* with it, not until it is taken: the lane sorts
//! what it took by requester, and that must count as well.
//!
//! Full queues lose requests. Their senders ask again, as they do when a MAD is lost on the fabric.

use core::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use std::time::Instant;

use crossbeam_queue::ArrayQueue;
use sa_answer::rmpp::is_part;
use sa_port::ring::place_of;
use sa_wire::mad::method;
use sa_wire::sa::SaMad;
use sa_wire::umad::Slot;

/// Places in each queue that a ring has for itself, so that no flood shuts a client out. They
/// cost memory for every ring there may be, so they are few.
pub const OWN_PLACES: usize = 4;

/// LIDs, and 0 for none.
const LIDS: usize = 1 << 16;

/// How the requesters of a port are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Requesters {
    /// By their LIDs, as on a fabric.
    Lids,
    /// By their rings, of which there are so many at most.
    Rings(usize),
}

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

/// Who sent a request: one that floods, or that others must not suffer from.
///
/// A key for the slow lane's turns, made by [`PuntReceiver::requester`] and never stored longer
/// than the requests it stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Requester {
    /// The port it came from.
    pub port: usize,
    /// Its LID, or the number of its ring, which no other ring ever has.
    pub who: u32,
}

/// One of the queues.
///
/// Made once with all its memory, so that a push allocates nothing: about 350 bytes a place, and a
/// counter for each requester that a port can have (512 KiB for a port with LIDs).
#[derive(Debug)]
struct Queue {
    requests: ArrayQueue<Punted>,
    /// How many of them are in places that all share. May be below zero for a moment, see
    /// [`Queue::admit`].
    shared: AtomicUsize,
    /// How many there may be in shared places; those of rings come on top.
    most: usize,
    /// How many each requester has waiting, by port.
    waiting: Box<[Waiting]>,
}

/// Requests of one port that wait, by requester.
#[derive(Debug)]
struct Waiting {
    /// By LID, or by the ring's place.
    counts: Box<[AtomicUsize]>,
    own_places: usize,
    by_lid: bool,
}

/// Both queues, and what waits in them.
#[derive(Debug)]
struct Queues {
    /// One record at most, changes, and parts of transfers that are under way.
    short: Queue,
    /// Tables, which may take long to make.
    long: Queue,
}

/// The worker's end of the queues, for one port.
#[derive(Clone)]
pub struct PuntSender {
    queues: Arc<Queues>,
    port: usize,
}

/// The slow lane's end of the queues of all ports.
#[derive(Clone)]
pub struct PuntReceiver {
    queues: Arc<Queues>,
}

/// Queues for this many requests each, allocated at once, of one port with LIDs.
pub fn punt_queue(capacity: usize) -> (PuntReceiver, impl Fn(usize) -> PuntSender) {
    punt_queue_of(capacity, &[Requesters::Lids])
}

/// The same for these ports, in the order of their numbers, and places that rings have for
/// themselves besides.
pub fn punt_queue_of(
    capacity: usize,
    ports: &[Requesters],
) -> (PuntReceiver, impl Fn(usize) -> PuntSender) {
    let queues = Arc::new(Queues {
        short: Queue::new(capacity.max(1), ports),
        long: Queue::new(capacity.max(1), ports),
    });
    let receiver = PuntReceiver {
        queues: Arc::clone(&queues),
    };
    (receiver, move |port| PuntSender {
        queues: Arc::clone(&queues),
        port,
    })
}

impl Waiting {
    /// Counters for all requesters that the port can have, taken now.
    fn new(of: Requesters) -> Self {
        let (count, own_places) = match of {
            Requesters::Lids => (LIDS, 0),
            Requesters::Rings(most) => (most, OWN_PLACES),
        };
        Self {
            counts: (0..count).map(|_| AtomicUsize::new(0)).collect(),
            own_places,
            by_lid: of == Requesters::Lids,
        }
    }

    /// The counter of whoever sent a request; none for what no requester of this port can be.
    fn count(&self, request: &Slot) -> Option<&AtomicUsize> {
        let place = match self.by_lid {
            true => request.header.lid.get(),
            false => place_of(&request.header),
        };
        self.counts.get(usize::from(place))
    }
}

impl Queue {
    /// Room for `most` requests that all share, and for those in places of a ring's own.
    fn new(most: usize, ports: &[Requesters]) -> Self {
        let waiting: Box<[Waiting]> = ports.iter().map(|of| Waiting::new(*of)).collect();
        let own = waiting
            .iter()
            .map(|port| port.counts.len() * port.own_places);
        // Room for everything that `admit` lets in, so that `push` fails only when counts and queue
        // disagree for a moment.
        Self {
            requests: ArrayQueue::new(most + own.sum::<usize>()),
            shared: AtomicUsize::new(0),
            most,
            waiting,
        }
    }

    /// Whose count a request is in, and how many places it has for itself.
    fn count(&self, port: usize, request: &Slot) -> Option<(&AtomicUsize, usize)> {
        let waiting = self.waiting.get(port)?;
        Some((waiting.count(request)?, waiting.own_places))
    }

    /// False when its sender has as many waiting as are left for others.
    ///
    /// Relaxed throughout: the counts guard nothing but themselves. Each step of a requester's
    /// count over its own places, up or down, is one of the shared count, so the two agree; when a
    /// step down is counted before its step up, the shared count is below zero for a moment, and
    /// counts as none.
    fn admit(&self, port: usize, request: &Slot) -> bool {
        // A sender that no counter stands for, as a ring's place out of range, is not held back
        // here: the queue itself is the bound.
        let Some((count, own_places)) = self.count(port, request) else {
            return true;
        };
        // First counted, then judged: two workers that judge first could both take the last place.
        let before = count.fetch_add(1, Ordering::Relaxed);
        let Some(in_shared) = before.checked_sub(own_places) else {
            return true;
        };
        let shared = self.shared.fetch_add(1, Ordering::Relaxed);
        // Below zero is near `usize::MAX`: see above.
        let shared = if shared > usize::MAX / 2 { 0 } else { shared };
        if in_shared < self.most.saturating_sub(shared) {
            return true;
        }
        self.leave(port, request);
        false
    }

    /// A request that was admitted waits no more.
    fn leave(&self, port: usize, request: &Slot) {
        let Some((count, own_places)) = self.count(port, request) else {
            return;
        };
        let before = count.fetch_sub(1, Ordering::Relaxed);
        if before > own_places {
            self.shared.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl PuntSender {
    /// Copies the request into its queue; false when that has no room for it.
    #[inline]
    pub(crate) fn push(&self, request: &Slot) -> bool {
        let queue = self.queues.of(request);
        if !queue.admit(self.port, request) {
            return false;
        }
        let punted = Punted {
            port: self.port,
            // The slow lane tells by it how long the request waited.
            at: Instant::now(),
            request: *request,
        };
        let pushed = queue.requests.push(punted);
        if pushed.is_err() {
            queue.leave(self.port, request);
        }
        pushed.is_ok()
    }
}

impl Queues {
    /// The queue that a request belongs in.
    fn of(&self, request: &Slot) -> &Queue {
        match is_short(request) {
            true => &self.short,
            false => &self.long,
        }
    }
}

impl PuntReceiver {
    /// The oldest short request waiting, else the oldest long one.
    pub fn pop(&self) -> Option<Punted> {
        let punted = self.take()?;
        self.done(&punted);
        Some(punted)
    }

    /// The same, but it goes on counting among those that wait until it is [`Self::done`]: for who
    /// keeps them in an order of its own.
    pub fn take(&self) -> Option<Punted> {
        // Somebody waits for a short one to go on; a table takes its time in any case.
        let Queues { short, long } = &*self.queues;
        short.requests.pop().or_else(|| long.requests.pop())
    }

    /// A request that was taken waits no more.
    pub fn done(&self, punted: &Punted) {
        self.queues
            .of(&punted.request)
            .leave(punted.port, &punted.request);
    }

    /// How many wait in the queues.
    pub fn len(&self) -> usize {
        self.queues.short.requests.len() + self.queues.long.requests.len()
    }

    /// True when none does.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Who sent a request.
    pub fn requester(&self, punted: &Punted) -> Requester {
        let header = &punted.request.header;
        let waiting = self.queues.short.waiting.get(punted.port);
        let by_lid = waiting.is_none_or(|waiting| waiting.by_lid);
        Requester {
            port: punted.port,
            who: match by_lid {
                true => header.lid.get().into(),
                false => header.agent,
            },
        }
    }
}

/// One record at most, a change, or a part of a transfer that is under way; no table.
pub fn is_short(request: &Slot) -> bool {
    let mad = SaMad::from_bytes(&request.mad);
    // Acknowledgements carry the method of the table they belong to. Behind other tables they would
    // come after the transfer has timed out.
    let is_table = matches!(
        mad.mad.method,
        method::GET_TABLE | method::GET_MULTI | method::GET_TRACE_TABLE
    );
    !is_table || is_part(mad)
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
        assert_eq!(receiver.len(), 4);
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
        let (receiver, sender) = punt_queue(4);
        let sender = sender(0);
        let tables = (0..5).filter(|_| sender.push(&asking(method::GET_TABLE)));
        assert_eq!(tables.count(), 2);
        assert!(sender.push(&asking(method::GET)));
        assert_eq!(receiver.len(), 3);
    }

    fn from_lid(lid: u16) -> Slot {
        let mut slot = asking(method::GET_TABLE);
        slot.header.lid = lid.into();
        slot
    }

    fn from_ring(place: u16) -> Slot {
        let mut slot = asking(method::GET_TABLE);
        slot.header.agent = u32::from(place) + 1000;
        slot.header.gid[8..10].copy_from_slice(&place.to_ne_bytes());
        slot
    }

    /// How many of these requests of one sender find room.
    fn admitted(sender: &PuntSender, request: &Slot, count: usize) -> usize {
        (0..count).filter(|_| sender.push(request)).count()
    }

    #[test]
    fn a_lid_that_floods_takes_half_and_leaves_some_to_every_other() {
        let (receiver, sender) = punt_queue(64);
        let sender = sender(0);
        for (lid, found) in [(7, 32), (8, 16), (9, 8), (10, 4), (7, 0), (11, 2)] {
            assert_eq!(admitted(&sender, &from_lid(lid), 1000), found, "LID {lid}");
        }
        // What is taken out makes room again, for whoever comes.
        while receiver.pop().is_some() {}
        assert_eq!(admitted(&sender, &from_lid(7), 1000), 32);
    }

    #[test]
    fn every_ring_has_places_that_no_flood_takes() {
        let rings = 100;
        let ports = [Requesters::Lids, Requesters::Rings(rings)];
        let (receiver, sender) = punt_queue_of(8, &ports);
        let (lids, sender) = (sender(0), sender(1));
        for ring in 0..u16::try_from(rings).unwrap() - 1 {
            let found = admitted(&sender, &from_ring(ring), 1000);
            assert!(found >= OWN_PLACES, "ring {ring}: {found}");
        }
        let found = admitted(&lids, &from_lid(1), 1000);
        assert!(found <= 1, "{found}");
        assert_eq!(admitted(&sender, &from_ring(99), 4), 4);
        // Requests that are taken, and not done with, still wait.
        let taken: Vec<Punted> = core::iter::from_fn(|| receiver.take()).collect();
        assert_eq!(admitted(&sender, &from_ring(99), 4), 0);
        for punted in &taken {
            receiver.done(punted);
        }
        assert_eq!(admitted(&sender, &from_ring(99), 1000), OWN_PLACES + 4);
        let who = receiver.requester(taken.last().unwrap());
        assert_eq!(who, Requester { port: 1, who: 1099 });
    }

    #[test]
    fn counts_stay_true_while_one_side_adds_and_the_other_takes() {
        let ports = [Requesters::Rings(2)];
        let (receiver, sender) = punt_queue_of(4, &ports);
        let sender = sender(0);
        let adds = std::thread::spawn(move || {
            let found =
                (0..200_000u32).map(|nth| admitted(&sender, &from_ring((nth % 2) as u16), 1));
            (found.sum::<usize>(), sender)
        });
        let mut taken = 0;
        while !adds.is_finished() {
            taken += usize::from(receiver.pop().is_some());
        }
        let (added, sender) = adds.join().unwrap();
        taken += core::iter::from_fn(|| receiver.pop()).count();
        assert_eq!(
            (added, receiver.queues.long.shared.load(Ordering::Relaxed)),
            (taken, 0)
        );
        assert_eq!(admitted(&sender, &from_ring(0), 1000), OWN_PLACES + 2);
    }
}
