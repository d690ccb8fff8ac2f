//! A server that segments by itself.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use sa_answer::rmpp::{
    Class, Generated, Lost, Poll, SenderLimits, Senders, Tally, Timing, classify, is_single,
};
use sa_port::umad::{Options, RawPort};
use sa_wire::mad::method;
use sa_wire::sa::SaMad;
use sa_wire::umad::Slot;

use super::records::{RECORD, asked_for, fill, reply_head};
use super::weather::{Way, Weather};

/// A responder for tables without the kernel's RMPP.
pub(super) struct Server {
    way: Way,
    /// Records from this number on cannot be had where more than these are asked for.
    pub(super) loses_from: Option<u32>,
}

impl Server {
    pub(super) fn open(device: &str, weather: Weather) -> Result<Self> {
        let port = RawPort::open(&Options {
            device: Some(device.to_owned()),
            port: Some(1),
            methods: vec![method::GET, method::GET_TABLE, method::GET_MULTI],
        })?;
        Ok(Self {
            way: Way::new(port, weather),
            loses_from: None,
        })
    }

    fn run(&mut self, seen: &Seen) -> Result<Tally> {
        let began = Instant::now();
        let mut senders = Senders::new(SenderLimits {
            timing: Timing {
                acknowledgement: ACKNOWLEDGEMENT,
                ..Timing::default()
            },
            ..SenderLimits::default()
        });
        let mut slot = Slot::EMPTY;
        while !seen.stop.load(Ordering::Relaxed) {
            while self.way.receive(&mut slot)? {
                self.take(&slot, &mut senders, began.elapsed(), seen);
            }
            let mut patience = PAUSE;
            for _ in 0..BURST {
                match senders.poll(began.elapsed(), &mut slot) {
                    Some(Poll::Send) => {
                        self.way.send_segment(&slot)?;
                        seen.sent.fetch_add(1, Ordering::Relaxed);
                        patience = Duration::ZERO;
                    }
                    Some(Poll::Wait(until)) => {
                        self.way.flush()?;
                        patience = until.saturating_sub(began.elapsed()).min(PAUSE);
                        break;
                    }
                    _ => {
                        self.way.flush()?;
                        patience = PAUSE;
                        break;
                    }
                }
            }
            seen.lost.store(self.way.lost, Ordering::Relaxed);
            let under_way = senders.under_way() > 0;
            seen.under_way.store(under_way, Ordering::Relaxed);
            self.way.wait(patience)?;
        }
        // What ended is counted when it is looked at.
        while senders.poll(began.elapsed(), &mut slot) == Some(Poll::Send) {
            self.way.send_segment(&slot)?;
        }
        Ok(senders.tally())
    }

    fn take(&self, slot: &Slot, senders: &mut Senders<Records>, now: Duration, seen: &Seen) {
        let mad = SaMad::from_bytes(&slot.mad);
        if classify(mad) == Class::Control {
            senders.receive(slot, now);
        } else if classify(mad) == Class::Plain || is_single(mad) {
            if mad.mad.is_response() {
                return;
            }
            if senders.resume(slot) {
                seen.resumed.fetch_add(1, Ordering::Relaxed);
                return;
            }
            let count = asked_for(mad);
            let source = self.source(count);
            let head = reply_head(&slot.mad);
            let begun = senders.start(slot, SaMad::from_bytes(&head), source, now);
            seen.under_way.store(true, Ordering::Relaxed);
            if begun.is_err() {
                println!("FAIL a transfer of {count} records was not begun");
            }
        }
    }

    fn source(&self, count: u32) -> Records {
        let loses_from = self.loses_from.filter(|from| *from < count);
        let make = move |first, out: &mut [u8]| {
            for (number, place) in (first..).zip(out.chunks_exact_mut(RECORD)) {
                if loses_from.is_some_and(|from| number >= from) {
                    return Err(Lost);
                }
                fill(number, place);
            }
            Ok(())
        };
        Generated::new(RECORD, count, Box::new(make))
    }
}

/// Made as they are sent.
type Records = Generated<Box<dyn FnMut(u32, &mut [u8]) -> Result<(), Lost>>>;

/// A server on a thread of its own.
pub(super) struct Service {
    seen: Arc<Seen>,
    thread: JoinHandle<Result<Tally>>,
}

#[derive(Default)]
struct Seen {
    stop: AtomicBool,
    sent: AtomicU64,
    lost: AtomicU64,
    resumed: AtomicU64,
    under_way: AtomicBool,
}

impl Service {
    pub(super) fn start(mut server: Server) -> Result<Self> {
        let seen = Arc::new(Seen::default());
        let its = Arc::clone(&seen);
        let thread = std::thread::Builder::new().name("server".to_owned());
        let thread = thread.spawn(move || server.run(&its))?;
        Ok(Self { seen, thread })
    }

    pub(super) fn sent(&self) -> u64 {
        self.seen.sent.load(Ordering::Relaxed)
    }

    pub(super) fn lost(&self) -> u64 {
        self.seen.lost.load(Ordering::Relaxed)
    }

    pub(super) fn resumed(&self) -> u64 {
        self.seen.resumed.load(Ordering::Relaxed)
    }

    /// Waits until nothing is under way, but not for ever.
    pub(super) fn settle(&self) {
        let deadline = Instant::now() + Duration::from_secs(20);
        while self.seen.under_way.load(Ordering::Relaxed) && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    pub(super) fn stop(self) -> Result<Tally> {
        self.seen.stop.store(true, Ordering::Relaxed);
        let ended = self.thread.join();
        ended.ok().context("the server's thread panicked")?
    }
}

/// A tenth of a second is long on this way.
const ACKNOWLEDGEMENT: Duration = Duration::from_millis(250);
/// Segments between two looks at what came in.
const BURST: usize = 64;
const PAUSE: Duration = Duration::from_millis(20);
