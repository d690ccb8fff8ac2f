//! What nodes answer OpenSM's SMPs, kept for the daemon until it reads.
//!
//! OpenSM learns the fabric, and confirms what it writes, by SMPs that come back on its umad file. A
//! copy of each lets the daemon know what OpenSM knows without asking it for a table. The library
//! only cuts them out and counts; what they mean is the daemon's matter.
//!
//! OpenSM's thread copies 156 bytes under a lock that is held for a copy at most, and never waits for
//! the daemon. Where the daemon is late the newest are dropped and counted, and the count goes with
//! the next that are told: the daemon is never left with the belief that it has seen all.
//!
//! ```text
//!  OpenSM reads 320 bytes ──> class 0x01 or 0x81, a response or handed back? ──> queue (bounded)
//!                                               5 ms later, or half full ──> Overheard(lost, words)
//! ```

use core::sync::atomic::{AtomicBool, Ordering};
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use split_protocol::{Frame, Word};

use crate::mad::{RESPONSE, SMP_CLASSES, at, class, head, method, number};

/// Words that wait for the daemon at most: 2.5 MB, and what OpenSM reads in a tenth of a second at its
/// fastest.
const MOST: usize = 16_384;
/// Words of one frame at most, so that one is 80 KB.
const AT_ONCE: usize = 512;
/// So many are told without waiting for more.
const MANY: usize = MOST / 8;
/// Words that come within this time are one frame: a sweep has hundreds of thousands of them.
const TOGETHER: Duration = Duration::from_millis(5);

/// The queue. OpenSM's threads put in, the serving thread takes out.
#[derive(Debug)]
pub(crate) struct Overheard {
    /// A daemon is there. Without one nothing is kept.
    has_listener: AtomicBool,
    queue: Mutex<Queue>,
}

#[derive(Debug)]
struct Queue {
    words: VecDeque<Word>,
    /// Words that found no room since the daemon came.
    lost: u64,
    /// Of those, what the daemon was told.
    told: u64,
    /// When words were last told.
    at: Duration,
}

impl Overheard {
    /// Nobody listens, and no memory is taken.
    pub(crate) const fn new() -> Self {
        Self {
            has_listener: AtomicBool::new(false),
            queue: Mutex::new(Queue {
                words: VecDeque::new(),
                lost: 0,
                told: 0,
                at: Duration::ZERO,
            }),
        }
    }

    /// A daemon has come. What was kept for the one before is gone.
    pub(crate) fn begin(&self) {
        let mut queue = self.queue();
        *queue = Queue {
            // Here and not when words come: OpenSM's threads are not to wait for memory.
            words: VecDeque::with_capacity(MOST),
            lost: 0,
            told: 0,
            at: Duration::ZERO,
        };
        self.has_listener.store(true, Ordering::Release);
    }

    /// It has gone.
    pub(crate) fn end(&self) {
        self.has_listener.store(false, Ordering::Release);
        let mut queue = self.queue();
        queue.words = VecDeque::new();
        queue.told = queue.lost;
    }

    /// OpenSM has read this packet. True where the serving thread is to be woken.
    pub(crate) fn hear(&self, packet: &[u8]) -> bool {
        if !self.has_listener.load(Ordering::Acquire) || !is_told(packet) {
            return false;
        }
        let Some(word) = Word::of(packet) else {
            return false;
        };
        let mut queue = self.queue();
        if queue.words.len() >= MOST.min(queue.words.capacity()) {
            queue.lost = queue.lost.saturating_add(1);
            return false;
        }
        queue.words.push_back(word);
        matches!(queue.words.len(), 1 | MANY)
    }

    /// The next frame for the daemon, if one is due.
    pub(crate) fn next(&self, now: Duration) -> Option<Frame> {
        let mut queue = self.queue();
        if queue.due(now)? > Duration::ZERO {
            return None;
        }
        let some = queue.words.len().min(AT_ONCE);
        let words: Vec<Word> = queue.words.drain(..some).collect();
        queue.told = queue.lost;
        // What is left goes at once, the next that come together.
        if queue.words.is_empty() {
            queue.at = now;
        }
        Some(Frame::Overheard(queue.lost, words))
    }

    /// How long until a frame is due; none: nothing waits.
    pub(crate) fn due(&self, now: Duration) -> Option<Duration> {
        self.queue().due(now)
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        // As for the state of the split: whoever panicked, OpenSM is to go on.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Queue {
    fn due(&self, now: Duration) -> Option<Duration> {
        if self.words.is_empty() && self.told == self.lost {
            return None;
        }
        if self.words.len() >= MANY {
            return Some(Duration::ZERO);
        }
        Some(TOGETHER.saturating_sub(now.saturating_sub(self.at)))
    }
}

/// An SMP that a node has answered, or that the kernel hands back as unanswered. Traps and requests
/// of other SMs are none.
fn is_told(packet: &[u8]) -> bool {
    let is_smp = |head| {
        SMP_CLASSES.contains(&class(head))
            && (method(head) & RESPONSE != 0 || number(packet, at::STATUS) != 0)
    };
    head(packet).is_some_and(is_smp)
}
