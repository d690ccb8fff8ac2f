//! What the worker and the acceptor tell each other: rings that come and go, and who has which place.
//!
//! ```text
//!  acceptor ── orders: attach, detach ──> worker          (news: look into the queue)
//!  acceptor <── returned: ring, cut off or not ── worker
//!  slow lane ── has_place? ──> places                     (is anybody waiting for this reply?)
//! ```
//!
//! Queues are bounded by the number of clients, so that none is ever full: a client has at most one
//! order to come and one to go.

use core::sync::atomic::{AtomicBool, AtomicU16, AtomicU32, Ordering};

use crossbeam_queue::ArrayQueue;

use super::client_ring::ClientRing;

/// What the worker is to do.
#[derive(Debug)]
pub(super) enum Order {
    /// Serve this ring too.
    Attach(ClientRing),
    /// Give this client's ring back.
    Detach(u32),
}

/// A ring that is not served any more.
#[derive(Debug)]
pub(super) struct Returned {
    pub(super) ring: ClientRing,
    /// The worker itself cut it off: the client wrote a position that is out of range.
    pub(super) is_cut_off: bool,
}

/// Between the worker and the acceptor.
///
/// Made once for a socket and shared by its three threads; nothing here waits.
#[derive(Debug)]
pub(super) struct Exchange {
    /// Something lies in `orders`.
    pub(super) news: AtomicBool,
    /// From the acceptor to the worker.
    pub(super) orders: ArrayQueue<Order>,
    /// From the worker to the acceptor.
    pub(super) returned: ArrayQueue<Returned>,
    /// Of requesters that do not say theirs, or may not; 0 for none.
    pub(super) own_lid: AtomicU16,
    /// Which client has a place, 0 for none: to tell whether anybody waits for a reply.
    places: Box<[AtomicU32]>,
}

impl Exchange {
    /// Shape: `clients` at least 1.
    pub(super) fn new(clients: usize) -> Self {
        Self {
            news: AtomicBool::new(false),
            // Each client comes and goes once before its place is free again.
            orders: ArrayQueue::new(2 * clients),
            returned: ArrayQueue::new(clients),
            own_lid: AtomicU16::new(0),
            places: (0..clients).map(|_| AtomicU32::new(0)).collect(),
        }
    }

    /// Gives a client a place; 0 for who leaves it. Relaxed: nothing else is read through it.
    pub(super) fn set_place(&self, place: u16, client: u32) {
        if let Some(holder) = self.places.get(usize::from(place)) {
            holder.store(client, Ordering::Relaxed);
        }
    }

    /// True while this client has this place: somebody waits for its replies.
    pub(super) fn has_place(&self, place: u16, client: u32) -> bool {
        let holder = self.places.get(usize::from(place));
        holder.is_some_and(|holder| holder.load(Ordering::Relaxed) == client)
    }

    /// The first place that nobody has.
    pub(super) fn free_place(&self) -> Option<u16> {
        let is_free = |holder: &AtomicU32| holder.load(Ordering::Relaxed) == 0;
        let first = self.places.iter().position(is_free)?;
        u16::try_from(first).ok()
    }

    /// False when there is no room, which there always is for clients within the limit.
    pub(super) fn order(&self, order: Order) -> bool {
        let is_in = self.orders.push(order).is_ok();
        // Behind the push: who sees the news finds the order.
        // Pairs with the `Acquire` in `ClientRings::obey`.
        self.news.store(true, Ordering::Release);
        is_in
    }

    /// The next ring that the worker has given back.
    pub(super) fn returned(&self) -> Option<Returned> {
        self.returned.pop()
    }

    /// Sets the LID of requesters that do not say theirs; 0 for none.
    pub(super) fn set_own_lid(&self, lid: u16) {
        // Relaxed: nothing else is read through it.
        self.own_lid.store(lid, Ordering::Relaxed);
    }
}
