//! Replies that come apart from their slots: from the slow lane to the thread that keeps the
//! clients, which writes them in parts as there is room.

use core::sync::atomic::Ordering;
use std::collections::VecDeque;
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use crossbeam_queue::ArrayQueue;
use sa_wire::umad::Slot;

use super::layout::{LATE_HEADER, LATE_SIZE, LATE_UNIT, LatePart};
use super::memory::Memory;
use super::rings::origin;
use crate::port::{PortError, ReplyPort};

/// Replies between the two threads.
const WAITING: usize = 256;

/// A client that leaves more than this unread gets no more tables, but for one that is larger.
/// Units: bytes.
const UNREAD: usize = 16 << 20;

/// A client that leaves so many replies unread is told nothing more.
const MOST: usize = 4096;

/// A reply on its way.
#[derive(Debug)]
pub(super) struct Late {
    pub(super) client: u32,
    position: u64,
    /// Empty: there will be none.
    reply: Vec<u8>,
}

/// Replies for the thread that keeps the clients.
pub(super) type LateQueue = ArrayQueue<Late>;

/// The slow lane's way to the clients of one socket.
pub struct LateReplies {
    queue: Arc<LateQueue>,
    /// A byte wakes the other thread.
    wake: UnixStream,
}

impl LateReplies {
    pub(super) fn new(wake: UnixStream) -> (Self, Arc<LateQueue>) {
        let queue = Arc::new(LateQueue::new(WAITING));
        let here = Arc::clone(&queue);
        (Self { queue, wake }, here)
    }
}

impl ReplyPort for LateReplies {
    fn reply(&mut self, request: &Slot, reply: &[u8]) -> Result<(), PortError> {
        let (client, position) = origin(&request.header);
        u32::try_from(reply.len()).map_err(|_| PortError::TooLong)?;
        let late = Late {
            client,
            position,
            reply: reply.to_vec(),
        };
        // Silence when there is no room, as everywhere: requesters ask again.
        let _ = self.queue.push(late);
        // Full of bytes, it is awake.
        let _ = self.wake.write(&[0]);
        Ok(())
    }

    fn can_segment(&self) -> bool {
        true
    }

    /// Nobody is told: subscribers are reached through the fabric.
    fn report(&mut self, _: &Slot) -> Result<(), PortError> {
        Ok(())
    }
}

/// What waits for one client, and how far it was written.
#[derive(Debug, Default)]
pub(super) struct LateWriter {
    waiting: VecDeque<Late>,
    /// Of those that wait. Units: bytes.
    unread: usize,
    /// Of the first of them. Units: bytes.
    done: usize,
    /// Units: bytes since the beginning.
    written: u64,
}

impl LateWriter {
    pub(super) fn push(&mut self, mut late: Late) {
        if self.waiting.len() >= MOST {
            return;
        }
        if self.unread > 0 && self.unread + late.reply.len() > UNREAD {
            late.reply = Vec::new();
        }
        self.unread += late.reply.len();
        self.waiting.push_back(late);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Writes what there is room for. None when the client's position cannot be.
    pub(super) fn pump(&mut self, memory: &Memory) -> Option<()> {
        let header = memory.header();
        while let Some(late) = self.waiting.front() {
            // Pairs with the client's `Release` store: it has read what is written over.
            let read = header.late_read.0.load(Ordering::Acquire);
            let used = self.written.wrapping_sub(read);
            let size = LATE_SIZE as u64;
            if used > size || !used.is_multiple_of(LATE_UNIT as u64) {
                return None;
            }
            let until_end = size - self.written % size;
            let room = usize::try_from(until_end.min(size - used)).unwrap_or(0);
            if room < LATE_UNIT {
                return Some(());
            }
            let length = (late.reply.len() - self.done).min(room - LATE_HEADER);
            let number = |size| u32::try_from(size).unwrap_or(u32::MAX);
            let part = LatePart {
                position: late.position,
                total: number(late.reply.len()),
                offset: number(self.done),
                length: number(length),
            };
            let bytes = late.reply.get(self.done..self.done + length);
            self.written = write(memory, self.written, part, bytes.unwrap_or_default());
            // Pairs with the client's `Acquire` load: the part is there.
            header.late_written.0.store(self.written, Ordering::Release);
            self.done += length;
            if self.done == late.reply.len() {
                self.unread -= self.done;
                self.done = 0;
                self.waiting.pop_front();
            }
        }
        Some(())
    }
}

/// Writes one part, which does not go around the end. Gives where the next begins.
fn write(memory: &Memory, at: u64, part: LatePart, bytes: &[u8]) -> u64 {
    let data = bytes.chunks(8).map(|chunk| {
        let mut word = [0; 8];
        for (place, byte) in word.iter_mut().zip(chunk) {
            *place = *byte;
        }
        u64::from_ne_bytes(word)
    });
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
            writer.push(late(position, length));
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
        let mut writer = LateWriter::default();
        // One may be of any length.
        writer.push(late(0, UNREAD + 1));
        for position in 1..1000 {
            writer.push(late(position, 1 << 16));
        }
        assert_eq!(writer.unread, UNREAD + 1);
        for position in 1000..10_000 {
            writer.push(late(position, 0));
        }
        assert_eq!(writer.waiting.len(), MOST);
        assert!(
            writer
                .waiting
                .iter()
                .skip(1)
                .all(|late| late.reply.is_empty())
        );
    }

    #[test]
    fn impossible_positions_of_the_reader_are_noticed() {
        for read in [64, u64::MAX, 1 << 40, 8] {
            let memory = new_memory(2).unwrap().0;
            let mut writer = LateWriter::default();
            memory.header().late_read.0.store(read, Ordering::Relaxed);
            writer.push(late(0, 2 * LATE_SIZE));
            assert!(writer.pump(&memory).is_none(), "{read}");
        }
    }
}
