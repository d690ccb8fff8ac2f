//! The worker's side of rings that other processes write into.
//!
//! Rings come and go through queues without locks; another thread maps and unmaps them. Requests
//! are copied out of a ring before anything looks at them, and replies back into it: the client may
//! change its memory at any time, and is cut off when its positions cannot be.

use core::sync::atomic::{AtomicBool, AtomicU16, AtomicU32, AtomicU64, Ordering};
use std::sync::Arc;
use std::time::Duration;

use crossbeam_queue::ArrayQueue;
use sa_wire::umad::{MAD_SIZE, Slot, UmadHeader};
use zerocopy::byteorder::big_endian::U32;

use crate::port::{MadPort, PortError, Verdict};
use sa_ring::layout::{MIN_REQUEST, state};
use sa_ring::{Memory, SHORT, SLOT_WORDS};

/// Requests lent at once. Fewer than [`crate::port::BATCH`]: the copies and what is looked up for
/// them share the first-level cache, and a batch that is never full never makes the worker ration
/// senders by LID. What waits in a ring is bounded by its slots, and rings are served in turn.
const LENT: usize = 32;

/// Between two looks of a worker that sleeps.
const NAP: Duration = Duration::from_micros(100);

/// One client's ring as its worker sees it.
#[derive(Debug)]
pub(super) struct Lane {
    /// Number of the client, never given twice.
    pub(super) id: u32,
    /// Its place among the clients, which another may have after it.
    place: u16,
    pub(super) memory: Arc<Memory>,
    /// May say which LID asks.
    pub(super) names_lids: bool,
    served: u64,
    /// Slots before this one were asked for.
    fetched: u64,
}

/// What the worker is to do.
#[derive(Debug)]
pub(super) enum Order {
    /// Serve this ring too.
    Attach(Lane),
    /// Give it back.
    Detach(u32),
}

/// A ring that is not served any more.
#[derive(Debug)]
pub(super) struct Returned {
    pub(super) lane: Lane,
    /// The worker itself cut it off: its positions could not be.
    pub(super) is_cut_off: bool,
}

/// Between the worker and the thread that keeps the clients.
#[derive(Debug)]
pub(super) struct Exchange {
    /// Something lies in `orders`.
    news: AtomicBool,
    orders: ArrayQueue<Order>,
    returned: ArrayQueue<Returned>,
    own_lid: AtomicU16,
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
        // Pairs with the `Acquire` in `ClientRings::obey`.
        self.news.store(true, Ordering::Release);
        is_in
    }

    pub(super) fn returned(&self) -> Option<Returned> {
        self.returned.pop()
    }

    pub(super) fn set_own_lid(&self, lid: u16) {
        // Relaxed: nothing else is read through it.
        self.own_lid.store(lid, Ordering::Relaxed);
    }
}

impl Lane {
    pub(super) const fn new(id: u32, place: u16, memory: Arc<Memory>, names_lids: bool) -> Self {
        Self {
            id,
            place,
            memory,
            names_lids,
            served: 0,
            fetched: 0,
        }
    }

    /// How many requests wait. None when the client's position cannot be.
    #[inline(always)]
    fn waiting(&self) -> Option<u64> {
        // Pairs with the client's `Release` store: the requests are there.
        let produced = self.memory.header().produced.0.load(Ordering::Acquire);
        let waiting = produced.wrapping_sub(self.served);
        (waiting <= self.memory.slots()).then_some(waiting)
    }

    /// Asks for the slots up to a position, each once.
    #[inline(always)]
    fn fetch(&mut self, until: u64) {
        for position in self.fetched..until {
            self.memory.prefetch(position);
        }
        self.fetched = until.max(self.fetched);
    }
}

/// Requests of one ring in a batch.
#[derive(Debug, Clone, Copy, Default)]
struct Part {
    lane: usize,
    count: usize,
}

/// The rings of all clients of one socket as a port.
pub struct ClientRings {
    exchange: Arc<Exchange>,
    lanes: Vec<Lane>,
    /// Which is looked at first.
    next: usize,
    copies: Box<[Slot; LENT]>,
    /// What of `copies` is lent.
    lent: usize,
    parts: [Part; LENT],
    in_parts: usize,
}

impl ClientRings {
    /// Allocates nothing afterwards.
    pub(super) fn new(exchange: Arc<Exchange>, clients: usize) -> Self {
        Self {
            exchange,
            lanes: Vec::with_capacity(clients),
            next: 0,
            copies: Box::new([const { unused() }; LENT]),
            lent: 0,
            parts: [Part::default(); LENT],
            in_parts: 0,
        }
    }

    /// Rings served now.
    pub fn clients(&self) -> usize {
        self.lanes.len()
    }

    #[cold]
    #[inline(never)]
    fn obey(&mut self) {
        // Before looking: what comes meanwhile is news again. Pairs with `Exchange::order`.
        self.exchange.news.swap(false, Ordering::Acquire);
        while let Some(order) = self.exchange.orders.pop() {
            match order {
                Order::Attach(lane) => self.lanes.push(lane),
                Order::Detach(id) => {
                    if let Some(at) = self.lanes.iter().position(|lane| lane.id == id) {
                        self.give_back(at, false);
                    }
                }
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn give_back(&mut self, at: usize, is_cut_off: bool) {
        let lane = self.lanes.swap_remove(at);
        // There is room for every client.
        let _ = self.exchange.returned.push(Returned { lane, is_cut_off });
    }

    /// Copies requests of one ring behind those that are lent already. None when it must be cut
    /// off.
    #[inline(always)]
    fn take(&mut self, at: usize, own_lid: u16) -> Option<()> {
        let Some(lane) = self.lanes.get_mut(at) else {
            return Some(());
        };
        let waiting = lane.waiting()?;
        let room = (LENT - self.lent) as u64;
        let count = waiting.min(room);
        if count == 0 {
            return Some(());
        }
        lane.fetch(lane.served + count);
        let from = self.lent;
        let copies = self.copies.iter_mut().skip(from);
        for (position, copy) in (lane.served..lane.served + count).zip(copies) {
            let (length, lid) = copy_in(&lane.memory, position, &mut copy.mad);
            let lid = if lane.names_lids && lid != 0 {
                lid
            } else {
                own_lid
            };
            address(
                &mut copy.header,
                (lane.id, lane.place),
                position,
                length,
                lid,
            );
        }
        let count = usize::try_from(count).unwrap_or(0);
        self.lent += count;
        // They come while these are answered.
        lane.fetch(lane.served + waiting.min((count + LENT) as u64));
        if let Some(part) = self.parts.get_mut(self.in_parts) {
            *part = Part { lane: at, count };
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
        let mut bad = None;
        for _ in 0..self.lanes.len() {
            if at >= self.lanes.len() {
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
            let Some(lane) = self.lanes.get_mut(part.lane) else {
                continue;
            };
            for (copy, verdict) in done.by_ref().take(part.count) {
                copy_out(copy, *verdict, &lane.memory, lane.served);
                lane.served += 1;
            }
            // Pairs with the client's `Acquire` load: the replies are there.
            let served = &lane.memory.header().served.0;
            served.store(lane.served, Ordering::Release);
        }
        (self.lent, self.in_parts) = (0, 0);
        Ok(0)
    }
}

impl ClientRings {
    /// Lets go of a ring whose positions cannot be, and of what was taken for this batch: the
    /// places of the other rings change.
    #[cold]
    #[inline(never)]
    fn cut_off(&mut self, at: usize) {
        self.give_back(at, true);
        // Nothing was served yet, so that it is all found again in the next turn.
        (self.lent, self.in_parts) = (0, 0);
    }
}

/// A MAD with one record: what all but a few requests have. Units: bytes.
const COMMON: usize = 8 + SHORT;

/// Copies a request, zeros behind it. Gives its length, 0 for none that there can be, and the LID.
#[inline(always)]
fn copy_in(memory: &Memory, position: u64, mad: &mut [u8; MAD_SIZE]) -> (u16, u16) {
    let words = memory.slot(position);
    let [low, high, lid_low, lid_high, ..] = words[0].load(Ordering::Relaxed).to_ne_bytes();
    let length = u16::from_ne_bytes([low, high]);
    let lid = u16::from_ne_bytes([lid_low, lid_high]);
    if usize::from(length) == COMMON
        && let Some((first, rest)) = mad.split_first_chunk_mut::<8>()
        && let Some((short, rest)) = rest.split_first_chunk_mut::<SHORT>()
    {
        *first = words[1].load(Ordering::Relaxed).to_ne_bytes();
        memory.copy_in(position, short);
        rest.fill(0);
        return (length, lid);
    }
    let (places, _) = mad.as_chunks_mut::<8>();
    (copy_in_any(words, places, length), lid)
}

/// The same for any length.
#[cold]
#[inline(never)]
fn copy_in_any(words: &[AtomicU64; SLOT_WORDS], places: &mut [[u8; 8]], length: u16) -> u16 {
    let bytes = usize::from(length);
    let is_one = (MIN_REQUEST..=MAD_SIZE).contains(&bytes);
    let bytes = if is_one { bytes } else { 0 };
    let words = words.iter().skip(1);
    for (nth, (place, word)) in places.iter_mut().zip(words).enumerate() {
        *place = match bytes.saturating_sub(8 * nth) {
            0 => [0; 8],
            left => {
                let mut word = word.load(Ordering::Relaxed).to_ne_bytes();
                word.iter_mut().skip(left).for_each(|byte| *byte = 0);
                word
            }
        };
    }
    if is_one { length } else { 0 }
}

/// What `LateReplies` finds the request by, and what others look at in headers. Nobody writes to
/// the rest of it.
#[inline(always)]
fn address(
    header: &mut UmadHeader,
    (client, place): (u32, u16),
    position: u64,
    length: u16,
    lid: u16,
) {
    let [a, b, c, d, e, f, g, h] = position.to_ne_bytes();
    let [i, j] = place.to_ne_bytes();
    header.agent = client;
    header.length = HEADER + u32::from(length);
    header.lid = lid.into();
    header.gid = [a, b, c, d, e, f, g, h, i, j, 0, 0, 0, 0, 0, 0];
}

/// A copy before its first request.
const fn unused() -> Slot {
    let mut slot = Slot::EMPTY;
    slot.header.qpn = U32::new(1);
    slot
}

/// Client and position in a header.
pub(super) fn origin(header: &UmadHeader) -> (u32, u64) {
    let [a, b, c, d, e, f, g, h, ..] = header.gid;
    (header.agent, u64::from_ne_bytes([a, b, c, d, e, f, g, h]))
}

/// The client's place in a header.
pub(crate) const fn place_of(header: &UmadHeader) -> u16 {
    let [_, _, _, _, _, _, _, _, i, j, ..] = header.gid;
    u16::from_ne_bytes([i, j])
}

/// Units: bytes.
const HEADER: u32 = 64;

/// Copies a reply back, and says what became of the request.
#[inline(always)]
fn copy_out(copy: &Slot, verdict: Verdict, memory: &Memory, position: u64) {
    let words = memory.slot(position);
    let (length, state) = match verdict {
        Verdict::Reply(length) => (length, state::REPLY),
        Verdict::Silence => (0, state::NONE),
        Verdict::Punted => (0, state::LATER),
    };
    if usize::from(length) == COMMON
        && let Some((first, rest)) = copy.mad.split_first_chunk::<8>()
        && let Some(short) = rest.first_chunk::<SHORT>()
    {
        words[1].store(u64::from_ne_bytes(*first), Ordering::Relaxed);
        memory.copy_out(position, short);
    } else {
        copy_out_any(words, copy.mad.as_chunks::<8>().0, length);
    }
    let [low, high] = length.to_ne_bytes();
    let [lid_low, lid_high] = copy.header.lid.get().to_ne_bytes();
    let about = [low, high, lid_low, lid_high, state, 0, 0, 0];
    words[0].store(u64::from_ne_bytes(about), Ordering::Relaxed);
}

#[cold]
#[inline(never)]
fn copy_out_any(words: &[AtomicU64; SLOT_WORDS], places: &[[u8; 8]], length: u16) {
    let count = usize::from(length).div_ceil(8);
    for (place, word) in places.iter().take(count).zip(words.iter().skip(1)) {
        word.store(u64::from_ne_bytes(*place), Ordering::Relaxed);
    }
}

const _: () = assert!(HEADER as usize == size_of::<UmadHeader>() && LENT < crate::port::BATCH);

#[cfg(test)]
mod tests {
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
            let lane = Lane::new(id, place, Arc::clone(&memory), names_lids);
            assert!(exchange.order(Order::Attach(lane)));
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
            .map(|returned| (returned.lane.id, returned.is_cut_off))
            .collect();
        cut_off.sort_unstable();
        assert_eq!(cut_off, [(2, true), (3, true), (4, true)]);
        // Back is as impossible as far ahead.
        good.claim_to_have_sent(0);
        assert!(turn(&mut port).is_empty());
        assert!(exchange.returned().is_some_and(|lane| lane.is_cut_off));
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
        assert!(!returned.is_cut_off && returned.lane.id == 1);
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
