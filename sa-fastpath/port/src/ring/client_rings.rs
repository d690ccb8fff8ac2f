//! The worker's side of rings that other processes write into.
//!
//! Rings come and go through queues without locks; another thread maps and unmaps them. Requests
//! are copied out of a ring before anything looks at them, and replies back into it: the client may
//! change its memory at any time, and is cut off when it writes a position that is out of range.
//!
//! A turn over three rings A, B and C, where A has 40 requests and C two: 32 of A are lent and
//! `next` is B; then two of C and 8 of A. So nobody waits for more than one batch of each other.
//!
//! Copies are where answers are made; a position of the ring and the client's number travel in the
//! header (`origin`). What a client's memory says after that is not read again.

use core::sync::atomic::Ordering;
use std::sync::Arc;
use std::time::Duration;

use sa_wire::umad::Slot;
use zerocopy::byteorder::big_endian::U32;

use super::client_ring::{ClientRing, copy_in, copy_out};
use super::exchange::{Exchange, Order, Returned};
use super::origin::address;
use crate::{BATCH, MadPort, PortError, Verdict};

/// Requests lent at once. Fewer than [`BATCH`]: the copies and what is looked up for
/// them share the first-level cache, and a batch that is never full never makes the worker ration
/// senders by LID. What waits in a ring is bounded by its slots, and rings are served in turn.
const LENT: usize = 32;

/// Between two looks of a worker that sleeps.
const NAP: Duration = Duration::from_micros(100);

/// Requests of one ring in a batch.
#[derive(Debug, Clone, Copy, Default)]
struct Part {
    /// Its place among the rings of this turn.
    ring: usize,
    /// So many of `copies`, behind those of the parts before.
    count: usize,
}

/// The rings of all clients of one socket as a port.
///
/// One for each socket. A turn costs a load for each ring, and the copies of at most 32 requests;
/// rings without requests cost their load only.
pub struct ClientRings {
    /// Where rings come from and go to.
    exchange: Arc<Exchange>,
    /// In no order: one that goes is replaced by the last.
    rings: Vec<ClientRing>,
    /// The ring that the next turn looks at first.
    next: usize,
    /// Requests as the worker sees them, and its answers.
    copies: Box<[Slot; LENT]>,
    /// So many of `copies` are lent.
    lent: usize,
    /// Whose requests `copies` are, in their order: the first `in_parts` count.
    parts: [Part; LENT],
    in_parts: usize,
}

impl ClientRings {
    /// Room for this many clients, all of it taken now: the worker allocates nothing afterwards.
    pub(super) fn new(exchange: Arc<Exchange>, clients: usize) -> Self {
        Self {
            exchange,
            rings: Vec::with_capacity(clients),
            next: 0,
            // A queue pair that is never 0, as of any requester on a fabric.
            copies: Box::new([const { unused() }; LENT]),
            lent: 0,
            parts: [Part::default(); LENT],
            in_parts: 0,
        }
    }

    /// How many rings are served now.
    pub fn clients(&self) -> usize {
        self.rings.len()
    }

    /// Does what the acceptor has ordered: rings come and go between two batches, never within one.
    #[cold]
    #[inline(never)]
    fn obey(&mut self) {
        // Before looking: what comes meanwhile is news again. Pairs with `Exchange::order`.
        self.exchange.news.swap(false, Ordering::Acquire);
        while let Some(order) = self.exchange.orders.pop() {
            match order {
                Order::Attach(ring) => self.rings.push(ring),
                Order::Detach(id) => {
                    if let Some(at) = self.rings.iter().position(|ring| ring.id == id) {
                        self.give_back(at, false);
                    }
                }
            }
        }
    }

    /// Hands a ring back to the acceptor, which unmaps it.
    #[cold]
    #[inline(never)]
    fn give_back(&mut self, at: usize, is_cut_off: bool) {
        let ring = self.rings.swap_remove(at);
        // There is room for every client.
        let _ = self.exchange.returned.push(Returned { ring, is_cut_off });
    }

    /// Copies requests of one ring behind those that are lent already. None when the ring must be
    /// cut off.
    #[inline(always)]
    fn take(&mut self, at: usize, own_lid: u16) -> Option<()> {
        let Some(ring) = self.rings.get_mut(at) else {
            return Some(());
        };
        let waiting = ring.waiting()?;
        let room = (LENT - self.lent) as u64;
        let count = waiting.min(room);
        if count == 0 {
            return Some(());
        }
        // What the turn before has not asked for yet.
        ring.fetch(ring.served + count);
        let from = self.lent;
        let copies = self.copies.iter_mut().skip(from);
        for (position, copy) in (ring.served..ring.served + count).zip(copies) {
            let (length, lid) = copy_in(&ring.memory, position, &mut copy.mad);
            let lid = if ring.names_lids && lid != 0 {
                lid
            } else {
                own_lid
            };
            address(
                &mut copy.header,
                (ring.id, ring.place),
                position,
                length,
                lid,
            );
        }
        let count = usize::try_from(count).unwrap_or(0);
        self.lent += count;
        // They come while these are answered.
        ring.fetch(ring.served + waiting.min((count + LENT) as u64));
        if let Some(part) = self.parts.get_mut(self.in_parts) {
            *part = Part { ring: at, count };
            self.in_parts += 1;
        }
        Some(())
    }
}

impl MadPort for ClientRings {
    #[inline]
    fn recv(&mut self) -> Result<&mut [Slot], PortError> {
        // Relaxed: `obey` synchronises.
        if self.exchange.news.load(Ordering::Relaxed) {
            self.obey();
        }
        (self.lent, self.in_parts) = (0, 0);
        let own_lid = self.exchange.own_lid.load(Ordering::Relaxed);
        let mut at = self.next;
        // Only the last of several is kept: the others are found again in the next turn.
        let mut bad = None;
        for _ in 0..self.rings.len() {
            if at >= self.rings.len() {
                at = 0;
            }
            if self.take(at, own_lid).is_none() {
                bad = Some(at);
            }
            at += 1;
            if self.lent == LENT {
                break;
            }
        }
        // Whoever came last in this batch comes last in the next.
        self.next = at;
        if let Some(bad) = bad {
            self.cut_off(bad);
        }
        Ok(self.copies.get_mut(..self.lent).unwrap_or_default())
    }

    /// Nothing tells of a request but its ring: sleeps for a moment.
    fn wait(&mut self, most: Duration) -> Result<(), PortError> {
        std::thread::sleep(most.min(NAP));
        Ok(())
    }

    #[inline]
    fn send(&mut self, verdicts: &[Verdict]) -> Result<usize, PortError> {
        let mut done = self.copies.iter().zip(verdicts);
        for part in self.parts.iter().take(self.in_parts) {
            let Some(ring) = self.rings.get_mut(part.ring) else {
                continue;
            };
            for (copy, verdict) in done.by_ref().take(part.count) {
                copy_out(copy, *verdict, &ring.memory, ring.served);
                ring.served += 1;
            }
            // Pairs with the client's `Acquire` load: the replies are there.
            let served = &ring.memory.header().served.0;
            served.store(ring.served, Ordering::Release);
        }
        (self.lent, self.in_parts) = (0, 0);
        // Nothing is ever without room: the reply goes where the request was.
        Ok(0)
    }
}

impl ClientRings {
    /// Lets go of a ring with a position that is out of range, and of what was taken for this batch: the
    /// places of the other rings change.
    #[cold]
    #[inline(never)]
    fn cut_off(&mut self, at: usize) {
        self.give_back(at, true);
        // Nothing was served yet, so that it is all found again in the next turn.
        (self.lent, self.in_parts) = (0, 0);
    }
}

/// A copy before its first request.
const fn unused() -> Slot {
    let mut slot = Slot::EMPTY;
    slot.header.qpn = U32::new(1);
    slot
}

const _: () = assert!(LENT < BATCH);

#[cfg(test)]
mod tests {
    use core::sync::atomic::{AtomicBool, AtomicU64};

    use sa_ring::layout::state;
    use sa_ring::{Memory, SLOT_WORDS};

    use super::super::socket::new_memory;
    use super::*;

    /// A client that may write anything.
    struct Stranger {
        memory: Arc<Memory>,
        produced: u64,
    }

    impl Stranger {
        fn attached(exchange: &Exchange, id: u32, names_lids: bool) -> Self {
            let memory = Arc::new(new_memory(64).unwrap().0);
            let place = u16::try_from(id).unwrap() - 1;
            let ring = ClientRing::new(id, place, Arc::clone(&memory), names_lids);
            assert!(exchange.order(Order::Attach(ring)));
            Self {
                memory,
                produced: 0,
            }
        }

        /// Writes a request whose bytes are all `byte`.
        fn ask(&mut self, length: u16, lid: u16, byte: u8) {
            let slot = self.memory.slot(self.produced);
            let [a, b] = length.to_ne_bytes();
            let [c, d] = lid.to_ne_bytes();
            let about = u64::from_ne_bytes([a, b, c, d, 0, 0, 0, 0]);
            slot[0].store(about, Ordering::Relaxed);
            for word in &slot[1..33] {
                word.store(u64::from_ne_bytes([byte; 8]), Ordering::Relaxed);
            }
            self.produced += 1;
            self.claim_to_have_sent(self.produced);
        }

        fn claim_to_have_sent(&self, produced: u64) {
            let at = &self.memory.header().produced.0;
            at.store(produced, Ordering::Release);
        }

        fn served(&self) -> u64 {
            self.memory.header().served.0.load(Ordering::Acquire)
        }

        /// Length, state, and first byte of a slot.
        fn found(&self, position: u64) -> (u16, u8, u8) {
            let slot = self.memory.slot(position);
            let about = slot[0].load(Ordering::Relaxed).to_ne_bytes();
            let length = u16::from_ne_bytes([about[0], about[1]]);
            (
                length,
                about[4],
                slot[1].load(Ordering::Relaxed).to_ne_bytes()[0],
            )
        }
    }

    fn port(clients: usize) -> (Arc<Exchange>, ClientRings) {
        let exchange = Arc::new(Exchange::new(clients));
        exchange.set_own_lid(7);
        let port = ClientRings::new(Arc::clone(&exchange), clients);
        (exchange, port)
    }

    /// A turn that answers by the request's first byte plus one.
    fn turn(port: &mut ClientRings) -> Vec<(u32, u16, u8)> {
        let slots = port.recv().unwrap();
        let asked = slots.iter_mut().map(|slot| {
            let first = slot.mad[0];
            slot.mad.fill(first + 1);
            (slot.header.agent, slot.header.lid.get(), first)
        });
        let asked: Vec<_> = asked.collect();
        let verdicts = vec![Verdict::Reply(120); asked.len()];
        assert_eq!(port.send(&verdicts).unwrap(), 0);
        asked
    }

    #[test]
    fn requests_are_copied_answered_and_copied_back() {
        let (exchange, mut port) = port(2);
        let mut client = Stranger::attached(&exchange, 1, true);
        client.ask(120, 9, 3);
        client.ask(120, 0, 4);
        assert_eq!(turn(&mut port), [(1, 9, 3), (1, 7, 4)]);
        assert_eq!(client.served(), 2);
        assert_eq!(client.found(0), (120, state::REPLY, 4));
        assert_eq!(client.found(1), (120, state::REPLY, 5));
        assert!(turn(&mut port).is_empty());
    }

    #[test]
    fn others_than_root_and_the_daemon_ask_for_its_own_port() {
        let (exchange, mut port) = port(1);
        let mut client = Stranger::attached(&exchange, 1, false);
        client.ask(120, 9, 3);
        assert_eq!(turn(&mut port), [(1, 7, 3)]);
    }

    #[test]
    fn beyond_its_length_a_request_is_zeros_whatever_was_there() {
        let (exchange, mut port) = port(1);
        let mut client = Stranger::attached(&exchange, 1, true);
        for length in [256, 120, 24, 255, 121, 120, 60] {
            client.ask(length, 1, 0xee);
            let slots = port.recv().unwrap();
            let (there, rest) = slots[0].mad.split_at(usize::from(length));
            assert!(there.iter().all(|byte| *byte == 0xee), "{length}");
            assert!(rest.iter().all(|byte| *byte == 0), "{length}");
            assert_eq!(slots[0].header.length, 64 + u32::from(length));
            slots[0].mad.fill(0xff);
            port.send(&[Verdict::Silence]).unwrap();
            let position = client.produced - 1;
            assert_eq!(client.found(position), (0, state::NONE, 0xee));
        }
    }

    #[test]
    fn impossible_lengths_are_empty_requests() {
        let (exchange, mut port) = port(1);
        let mut client = Stranger::attached(&exchange, 1, true);
        for length in [0, 23, 257, 384, u16::MAX] {
            client.ask(length, 1, 0xee);
            let slots = port.recv().unwrap();
            assert!(slots[0].mad.iter().all(|byte| *byte == 0), "{length}");
            port.send(&[Verdict::Punted]).unwrap();
            let position = client.produced - 1;
            assert_eq!(client.found(position).1, state::LATER);
        }
    }

    #[test]
    fn replies_of_any_length_come_back() {
        let (exchange, mut port) = port(1);
        let mut client = Stranger::attached(&exchange, 1, true);
        for length in [24, 56, 120, 184, 256] {
            client.ask(120, 1, 1);
            port.recv().unwrap()[0].mad.fill(0xaa);
            port.send(&[Verdict::Reply(length)]).unwrap();
            let slot = client.memory.slot(client.produced - 1);
            let count = usize::from(length) / 8;
            let is_new = |word: &AtomicU64| word.load(Ordering::Relaxed) == u64::MAX / 3 * 2;
            assert!(slot[1..=count].iter().all(is_new), "{length}");
            assert!(!slot[count + 1..].iter().any(is_new), "{length}");
        }
    }

    #[test]
    fn impossible_positions_cut_off_that_client_alone() {
        let (exchange, mut port) = port(4);
        let mut good = Stranger::attached(&exchange, 1, true);
        let bad: Vec<_> = (2..5)
            .map(|id| Stranger::attached(&exchange, id, true))
            .collect();
        bad[0].claim_to_have_sent(65);
        bad[1].claim_to_have_sent(u64::MAX);
        bad[2].claim_to_have_sent(1 << 63);
        good.ask(120, 1, 1);
        let mut seen = Vec::new();
        for _ in 0..5 {
            seen.extend(turn(&mut port));
        }
        assert_eq!(seen, [(1, 1, 1)]);
        assert_eq!((port.clients(), good.served()), (1, 1));
        let mut cut_off: Vec<_> = core::iter::from_fn(|| exchange.returned())
            .map(|returned| (returned.ring.id, returned.is_cut_off))
            .collect();
        cut_off.sort_unstable();
        assert_eq!(cut_off, [(2, true), (3, true), (4, true)]);
        // Back is as impossible as far ahead.
        good.claim_to_have_sent(0);
        assert!(turn(&mut port).is_empty());
        assert!(exchange.returned().is_some_and(|ring| ring.is_cut_off));
    }

    #[test]
    fn a_greedy_client_leaves_each_turn_to_the_others_first() {
        let (exchange, mut port) = port(8);
        let mut greedy = Stranger::attached(&exchange, 1, true);
        let mut modest: Vec<_> = (2..6)
            .map(|id| Stranger::attached(&exchange, id, true))
            .collect();
        for round in 0..20u8 {
            while greedy.produced - greedy.served() < 64 {
                greedy.ask(120, 1, round);
            }
            for client in &mut modest {
                client.ask(120, 1, round);
            }
            // A turn for what was there before, at most, and the next has them all.
            let mut seen = turn(&mut port);
            seen.extend(turn(&mut port));
            for id in 2..6 {
                let got = seen.iter().filter(|(client, ..)| *client == id).count();
                assert_eq!(got, 1, "client {id} in round {round}");
            }
            assert!(seen.len() > 40, "{}", seen.len());
        }
    }

    #[test]
    fn a_ring_that_is_taken_away_is_given_back_and_forgotten() {
        let (exchange, mut port) = port(2);
        let mut client = Stranger::attached(&exchange, 1, true);
        client.ask(120, 1, 1);
        turn(&mut port);
        exchange.order(Order::Detach(1));
        exchange.order(Order::Detach(99));
        client.ask(120, 1, 1);
        assert!(turn(&mut port).is_empty());
        let returned = exchange.returned().unwrap();
        assert!(!returned.is_cut_off && returned.ring.id == 1);
        drop(returned);
        assert_eq!(Arc::strong_count(&client.memory), 1);
    }

    #[test]
    fn a_client_that_scribbles_while_it_is_served_harms_itself_alone() {
        let (exchange, mut port) = port(2);
        let mut good = Stranger::attached(&exchange, 1, true);
        let bad = Stranger::attached(&exchange, 2, true);
        let memory = Arc::clone(&bad.memory);
        let stop = Arc::new(AtomicBool::new(false));
        let scribbler = {
            let stop = Arc::clone(&stop);
            std::thread::spawn(move || {
                let mut random = 0x5eed_u64;
                while !stop.load(Ordering::Relaxed) {
                    random = random
                        .wrapping_mul(6_364_136_223_846_793_005)
                        .wrapping_add(1);
                    let slot = memory.slot(random >> 40);
                    slot[(random >> 33) as usize % SLOT_WORDS].store(random, Ordering::Relaxed);
                    let produced = &memory.header().produced.0;
                    let served = memory.header().served.0.load(Ordering::Acquire);
                    produced.store(served + random % 64, Ordering::Release);
                    memory.header().slots.store(u32::MAX, Ordering::Relaxed);
                }
            })
        };
        for round in 0..20_000u32 {
            good.ask(120, 5, u8::try_from(round % 200).unwrap());
            while good.served() < good.produced {
                let slots = port.recv().unwrap();
                for slot in slots.iter_mut() {
                    assert!(slot.header.length <= 64 + 256);
                    let next = slot.mad[0].wrapping_add(1);
                    slot.mad.fill(next);
                }
                let verdicts = vec![Verdict::Reply(120); slots.len()];
                port.send(&verdicts).unwrap();
            }
            let expected = u8::try_from(round % 200).unwrap() + 1;
            assert_eq!(good.found(good.produced - 1), (120, state::REPLY, expected));
        }
        stop.store(true, Ordering::Relaxed);
        scribbler.join().unwrap();
    }
}
