//! Replies that come apart from their slots: from the slow lane to the acceptor, which writes them in
//! parts as there is room.
//!
//! A reply of 1 MB, while the client reads: it does not fit the 256 KiB of room, so it waits in the
//! `Spool`, and goes out in parts as the client reads them.
//!
//! ```text
//!  slow lane ── LateQueue (256 replies, 4 MiB) ──> acceptor ── LateWriter ──> room in the ring
//!                                                     └ spool: at most 16 MiB a client, shares for all
//! ```
//!
//! What happens when there is no room, in this order: the slow lane waits a moment for the acceptor, which
//! waits for no client, so that one that asks for many tables takes no reply from another; a reply that
//! would go beyond what may be kept is replaced by "there will be none", which the client hears at once
//! instead of waiting; a client that lets thousands lie hears nothing more.

use core::sync::atomic::{AtomicUsize, Ordering};
use std::collections::VecDeque;
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use crossbeam_queue::ArrayQueue;
use sa_ring::Memory;
use sa_ring::layout::{LATE_HEADER, LATE_SIZE, LATE_UNIT, LatePart};
use sa_wire::umad::Slot;

use super::exchange::Exchange;
use super::origin::{origin, place_of};
use super::spool::Spool;
use crate::{PortError, ReplyPort};

/// Replies between the two threads.
const WAITING: usize = 256;

/// And their bytes, but for one reply that is longer.
const WAITING_BYTES: usize = 4 << 20;

/// How long the slow lane waits for room: the acceptor has its turn within, also where others keep all cores busy.
const LONGEST_WAIT: Duration = Duration::from_millis(200);

/// From look to look.
const PAUSE: Duration = Duration::from_micros(100);

/// A client that leaves more than this unread gets no more tables, but for one that is larger.
/// Units: bytes.
const UNREAD: usize = 16 << 20;

/// A client that leaves so many replies unread is told nothing more.
const MOST: usize = 4096;

/// What a reply takes beside its own bytes.
const ENTRY: usize = size_of::<Waiting>();

/// A reply on its way.
///
/// As it is handed over between the two threads: a copy, as the slow lane reuses its buffer.
#[derive(Debug)]
pub(super) struct Late {
    pub(super) client: u32,
    position: u64,
    /// Empty: there will be none.
    reply: Vec<u8>,
}

/// Replies on their way to the acceptor.
///
/// At most 256 replies and 4 MiB, but for one reply that is longer by itself.
#[derive(Debug)]
pub(super) struct LateQueue {
    replies: ArrayQueue<Late>,
    /// Of those in it.
    bytes: AtomicUsize,
}

impl LateQueue {
    /// Room for [`WAITING`] replies, taken now.
    fn new() -> Self {
        Self {
            replies: ArrayQueue::new(WAITING),
            bytes: AtomicUsize::new(0),
        }
    }

    /// Whether a reply of so many bytes has room now.
    fn has_room(&self, length: usize) -> bool {
        let before = self.bytes.load(Ordering::Relaxed);
        !self.replies.is_full() && (before == 0 || before + length <= WAITING_BYTES)
    }

    /// Silence when there is no room, as everywhere: requesters ask again. Where there is only none
    /// for its bytes, they are told that there will be no reply.
    fn push(&self, client: u32, position: u64, mut reply: &[u8]) {
        // Relaxed: one thread adds, and a reply more or less does not matter.
        let before = self.bytes.load(Ordering::Relaxed);
        if before > 0 && before + reply.len() > WAITING_BYTES {
            reply = &[];
        }
        // Counted before it is pushed: the acceptor may pop and subtract at once.
        self.bytes.fetch_add(reply.len(), Ordering::Relaxed);
        let late = Late {
            client,
            position,
            reply: reply.to_vec(),
        };
        if let Err(late) = self.replies.push(late) {
            self.bytes.fetch_sub(late.reply.len(), Ordering::Relaxed);
        }
    }

    /// The next reply to be written, if any.
    pub(super) fn pop(&self) -> Option<Late> {
        let late = self.replies.pop()?;
        self.bytes.fetch_sub(late.reply.len(), Ordering::Relaxed);
        Some(late)
    }
}

/// The slow lane's way to the clients of one socket.
///
/// Bounded in what it holds, and it never waits for a client: replies without room are given up.
pub struct LateReplies {
    queue: Arc<LateQueue>,
    /// A byte wakes the other thread.
    wake: UnixStream,
    exchange: Arc<Exchange>,
    /// It was waited for the other thread in vain, and there was no room since.
    is_stuck: bool,
}

impl LateReplies {
    /// Both ends: the slow lane's handle, and the acceptor's queue.
    pub(super) fn new(wake: UnixStream, exchange: Arc<Exchange>) -> (Self, Arc<LateQueue>) {
        let queue = Arc::new(LateQueue::new());
        let here = Arc::clone(&queue);
        let replies = Self {
            queue,
            wake,
            exchange,
            is_stuck: false,
        };
        (replies, here)
    }

    /// Waits until the other thread has taken enough for so many bytes, unless it takes nothing at all: that costs the lane one wait.
    fn wait_for_room(&mut self, length: usize) {
        let ends = Instant::now() + LONGEST_WAIT;
        while !self.queue.has_room(length) {
            if self.is_stuck || Instant::now() >= ends {
                self.is_stuck = true;
                return;
            }
            thread::sleep(PAUSE);
        }
        self.is_stuck = false;
    }
}

impl ReplyPort for LateReplies {
    fn reply(&mut self, request: &Slot, reply: &[u8]) -> Result<(), PortError> {
        let (client, position) = origin(&request.header);
        u32::try_from(reply.len()).map_err(|_| PortError::TooLong)?;
        self.wait_for_room(reply.len());
        self.queue.push(client, position, reply);
        // Full of bytes, it is awake.
        let _ = self.wake.write(&[0]);
        Ok(())
    }

    fn can_segment(&self) -> bool {
        true
    }

    /// False once the client has left.
    fn is_wanted(&self, request: &Slot) -> bool {
        let (client, _) = origin(&request.header);
        self.exchange.has_place(place_of(&request.header), client)
    }

    /// Nobody is told: subscribers are reached through the fabric.
    fn report(&mut self, _: &Slot) -> Result<(), PortError> {
        Ok(())
    }
}

/// A reply that waits for room.
#[derive(Debug)]
struct Waiting {
    position: u64,
    length: usize,
}

/// What waits for one client, and how far it was written.
///
/// Belongs to one client and lives with its ring. What it keeps is counted against the client's
/// user ([`super::shares`]).
#[derive(Debug, Default)]
pub(super) struct LateWriter {
    waiting: VecDeque<Waiting>,
    /// Their bytes, but for what was written of the first of them.
    spool: Spool,
    /// Of those that wait, whole. Units: bytes.
    unread: usize,
    /// Of the first of them. Units: bytes.
    done: usize,
    /// Units: bytes since the beginning.
    written: u64,
}

impl LateWriter {
    /// Writes a reply, or keeps it until there is room, if `may_keep` allows so many bytes; else the
    /// client is told that there will be none. None as [`Self::pump`].
    pub(super) fn push(
        &mut self,
        late: &Late,
        memory: &Memory,
        may_keep: impl Fn(usize) -> bool,
    ) -> Option<()> {
        let mut length = late.reply.len();
        // Only where nothing waits: replies keep their order.
        if self.waiting.is_empty() {
            let size = parts(self.written, length);
            if size <= self.room(memory)? {
                return self.write_at_once(late, memory);
            }
        }
        if self.waiting.len() >= MOST || !may_keep(ENTRY) {
            return Some(());
        }
        let is_beyond = self.unread > 0 && self.unread + length > UNREAD;
        if is_beyond || !may_keep(ENTRY + length) || self.spool.push(&late.reply).is_err() {
            length = 0;
        }
        self.unread += length;
        let position = late.position;
        self.waiting.push_back(Waiting { position, length });
        self.pump(memory)
    }

    /// A reply that fits, straight into the ring: most do, and are copied once.
    fn write_at_once(&mut self, late: &Late, memory: &Memory) -> Option<()> {
        let total = late.reply.len();
        let mut done = 0;
        loop {
            let position = late.position;
            let words = words_of(late.reply.get(done..).unwrap_or_default());
            done += self.write_part(memory, position, (done, total), words)?;
            if done >= total {
                return Some(());
            }
        }
    }

    /// True when nothing waits for room.
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// What is kept here. Units: bytes.
    pub(super) fn kept(&self) -> usize {
        self.unread + ENTRY * self.waiting.len()
    }

    /// What may be written now. None when the client's position cannot be. Units: bytes.
    fn room(&self, memory: &Memory) -> Option<u64> {
        // Pairs with the client's `Release` store: it has read what is written over.
        let read = memory.header().late_read.0.load(Ordering::Acquire);
        let used = self.written.wrapping_sub(read);
        let size = LATE_SIZE as u64;
        (used <= size && used.is_multiple_of(LATE_UNIT as u64)).then(|| size - used)
    }

    /// Writes what there is room for. None when the client's position cannot be.
    pub(super) fn pump(&mut self, memory: &Memory) -> Option<()> {
        while let Some(Waiting { position, length }) = self.waiting.front() {
            let (position, total, begun) = (*position, *length, self.done);
            if self.room(memory)? < LATE_UNIT as u64 {
                return Some(());
            }
            // Taken out, as writing needs the rest of `self`.
            let spool = core::mem::take(&mut self.spool);
            let written = self.write_part(memory, position, (begun, total), spool.words());
            self.spool = spool;
            self.done += written?;
            self.spool.release(self.done - begun);
            if self.done == total {
                self.unread -= self.done;
                self.done = 0;
                self.waiting.pop_front();
            }
        }
        // A queue that was long does not keep its memory.
        self.waiting.shrink_to(0);
        Some(())
    }

    /// Writes the next part of a reply, as much as there is room for before the end of the memory.
    /// Gives how many bytes of it. None when the client's position cannot be.
    fn write_part(
        &mut self,
        memory: &Memory,
        position: u64,
        (done, total): (usize, usize),
        words: impl Iterator<Item = u64>,
    ) -> Option<usize> {
        let room = self.room(memory)?.min(until_end(self.written));
        let room = usize::try_from(room).unwrap_or(0);
        let length = (total - done).min(room.checked_sub(LATE_HEADER)?);
        let number = |size| u32::try_from(size).unwrap_or(u32::MAX);
        let part = LatePart {
            position,
            total: number(total),
            offset: number(done),
            length: number(length),
        };
        // The words first, then the position with `Release`: the client reads no further.
        self.written = write(memory, self.written, part, words.take(length.div_ceil(8)));
        // Pairs with the client's `Acquire` load: the part is there.
        let header = memory.header();
        header.late_written.0.store(self.written, Ordering::Release);
        Some(length)
    }
}

/// Until the room for late replies begins anew. Units: bytes.
const fn until_end(written: u64) -> u64 {
    LATE_SIZE as u64 - written % LATE_SIZE as u64
}

/// What a reply takes with the headers of its parts, written from here on. Units: bytes.
fn parts(written: u64, length: usize) -> u64 {
    let rounded = |length: usize| (LATE_HEADER + length).next_multiple_of(LATE_UNIT) as u64;
    let first = until_end(written);
    let one = rounded(length);
    if one <= first {
        return one;
    }
    let in_first = usize::try_from(first).unwrap_or(0) - LATE_HEADER;
    // Longer than the room, it needs more parts, and does not fit in any case.
    first + rounded(length - in_first)
}

/// Bytes as words, zeros behind them.
fn words_of(bytes: &[u8]) -> impl Iterator<Item = u64> {
    bytes.chunks(8).map(|chunk| {
        let mut word = [0; 8];
        for (place, byte) in word.iter_mut().zip(chunk) {
            *place = *byte;
        }
        u64::from_ne_bytes(word)
    })
}

/// Writes one part, which does not go around the end. Gives where the next begins.
fn write(memory: &Memory, at: u64, part: LatePart, data: impl Iterator<Item = u64>) -> u64 {
    let words = part.words().into_iter().chain(data);
    for (place, word) in (at..).step_by(8).zip(words) {
        memory.late_word(place).store(word, Ordering::Relaxed);
    }
    at + part.room() as u64
}

#[cfg(test)]
mod tests {
    use super::super::socket::new_memory;
    use super::*;

    fn late(position: u64, length: usize) -> Late {
        let bytes = (0..length).map(|at| u8::try_from(at % 251).unwrap());
        Late {
            client: 1,
            position,
            reply: bytes.collect(),
        }
    }

    /// What a client reads, part by part.
    struct Reader {
        read: u64,
        whole: Vec<u8>,
    }

    impl Reader {
        /// The next part; the reply when it is the last.
        fn part(&mut self, memory: &Memory) -> Option<Option<(u64, Vec<u8>)>> {
            let header = memory.header();
            if header.late_written.0.load(Ordering::Acquire) == self.read {
                return None;
            }
            let word = |at| memory.late_word(at).load(Ordering::Relaxed);
            let words = [0, 8, 16, 24].map(|at| word(self.read + at));
            let part = LatePart::of_words(words);
            assert_eq!(part.offset as usize, self.whole.len());
            let data = (self.read + 32..).step_by(8).map(word);
            let bytes = data.flat_map(u64::to_ne_bytes);
            self.whole.extend(bytes.take(part.length as usize));
            self.read += part.room() as u64;
            header.late_read.0.store(self.read, Ordering::Release);
            let is_whole = part.offset + part.length == part.total;
            Some(is_whole.then(|| (part.position, core::mem::take(&mut self.whole))))
        }
    }

    #[test]
    fn replies_longer_than_the_room_come_in_parts() {
        let memory = new_memory(2).unwrap().0;
        let mut writer = LateWriter::default();
        let lengths = [1, 56, 256, 3 * LATE_SIZE + 17, 0, LATE_SIZE, 12_345, 64, 32];
        for (position, length) in (10..).zip(lengths) {
            writer
                .push(&late(position, length), &memory, |_| true)
                .unwrap();
        }
        let mut reader = Reader {
            read: 0,
            whole: Vec::new(),
        };
        let mut got = Vec::new();
        while got.len() < lengths.len() {
            writer.pump(&memory).unwrap();
            got.extend(reader.part(&memory).unwrap());
        }
        assert!(writer.is_empty() && writer.unread == 0);
        for ((position, length), got) in (10..).zip(lengths).zip(got) {
            assert_eq!(got, (position, late(position, length).reply));
        }
    }

    #[test]
    fn whoever_reads_nothing_gets_no_more_than_so_much() {
        let memory = new_memory(2).unwrap().0;
        let mut writer = LateWriter::default();
        let mut push = |late| writer.push(&late, &memory, |_| true).unwrap();
        // One may be of any length.
        push(late(0, UNREAD + LATE_SIZE));
        for position in 1..1000 {
            push(late(position, 1 << 16));
        }
        for position in 1000..10_000 {
            push(late(position, 0));
        }
        assert_eq!(writer.unread, UNREAD + LATE_SIZE);
        assert_eq!(writer.waiting.len(), MOST);
        assert!(writer.waiting.iter().skip(1).all(|late| late.length == 0));
    }

    #[test]
    fn what_may_not_be_kept_is_told_to_be_none() {
        let memory = new_memory(2).unwrap().0;
        let mut writer = LateWriter::default();
        // What fits is written, whatever may be kept.
        writer.push(&late(0, 100), &memory, |_| false).unwrap();
        assert!(writer.is_empty() && writer.kept() == 0);
        let at_most = |most: usize| move |bytes: usize| bytes <= most;
        writer
            .push(&late(1, LATE_SIZE), &memory, at_most(1000))
            .unwrap();
        assert!(writer.is_empty(), "its part that says so fits");
        writer
            .push(&late(2, LATE_SIZE), &memory, at_most(LATE_SIZE + ENTRY))
            .unwrap();
        let kept = writer.kept();
        assert_eq!(kept, LATE_SIZE + ENTRY);
        writer.push(&late(3, 5), &memory, |_| false).unwrap();
        assert_eq!(writer.kept(), kept);
        let mut reader = Reader {
            read: 0,
            whole: Vec::new(),
        };
        let mut got = Vec::new();
        while let Some(part) = reader.part(&memory) {
            got.extend(part.map(|(position, reply)| (position, reply.len())));
            writer.pump(&memory).unwrap();
        }
        assert_eq!(got, [(0, 100), (1, 0), (2, LATE_SIZE)]);
        assert_eq!(writer.kept(), 0);
    }

    /// Both ends of the way, and a request to answer.
    fn way() -> (LateReplies, Arc<LateQueue>, Slot) {
        let (_, wake) = UnixStream::pair().unwrap();
        let (replies, queue) = LateReplies::new(wake, Arc::new(Exchange::new(1)));
        (replies, queue, Slot::EMPTY)
    }

    #[test]
    fn a_reply_waits_for_the_other_thread_and_is_not_given_up() {
        let (mut replies, queue, request) = way();
        let (half, many) = (vec![7; WAITING_BYTES / 2 + 1], 2 * WAITING);
        let taker = thread::spawn(move || {
            let mut taken = Vec::new();
            while taken.len() < many {
                // As where it gets its turn late.
                thread::sleep(Duration::from_micros(200));
                taken.extend(queue.pop().map(|late| late.reply.len()));
            }
            taken
        });
        for _ in 0..many {
            replies.reply(&request, &half).unwrap();
        }
        let taken = taker.join().unwrap();
        assert!(taken.iter().all(|length| *length == half.len()));
    }

    #[test]
    fn a_thread_that_takes_nothing_costs_one_wait() {
        let (mut replies, queue, request) = way();
        let half = vec![7; WAITING_BYTES / 2 + 1];
        let begun = Instant::now();
        for _ in 0..WAITING {
            replies.reply(&request, &half).unwrap();
        }
        assert!(begun.elapsed() < 10 * LONGEST_WAIT);
        assert!(replies.is_stuck && queue.replies.len() == WAITING);
        assert_eq!(queue.pop().unwrap().reply.len(), half.len());
        // There is room again, for one.
        replies.reply(&request, &half).unwrap();
        assert!(!replies.is_stuck);
    }

    #[test]
    fn impossible_positions_of_the_reader_are_noticed() {
        for read in [64, u64::MAX, 1 << 40, 8] {
            let memory = new_memory(2).unwrap().0;
            let mut writer = LateWriter::default();
            memory.header().late_read.0.store(read, Ordering::Relaxed);
            let pushed = writer.push(&late(0, 2 * LATE_SIZE), &memory, |_| true);
            assert!(pushed.is_none(), "{read}");
        }
    }
}
