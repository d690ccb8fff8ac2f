//! One sweep over one port, in real time.
//!
//! ```text
//!  wake ──> send some ──> receive some ──┬─ something moved ──> again
//!                                        └─ nothing ──> sleep until an answer, a time-out, the watcher or 50 ms
//! ```
//!
//! Sends and receives take turns in small portions, because simulators hold few packets for a client: who only sends
//! fills their queues until answers are dropped.

use std::fmt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use sa_port::PortError;
use sa_sm::plan::Plan;
use sa_sm::sweep::{Progress, Sweep};

use crate::{Packet, SmpPort, Watch};

/// Why [`run`] came back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The sweep is over.
    Over,
    /// The stop flag was set. The same sweep can be run on.
    Stopped,
}

/// The port failed in the middle of a sweep.
#[derive(Debug)]
pub struct RunError {
    /// What failed.
    pub cause: PortError,
    /// How far the sweep was.
    pub progress: Box<Progress>,
}

/// Time as all sweeps of this process count it: since the first call.
pub fn now() -> Duration {
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed()
}

/// Runs a sweep until it is over, or until `stop` is set, which is seen within 100 ms.
///
/// Progress is told to `watch`. What finds no room is tried again before anything else. After an error or a stop the
/// sweep is as it was: what was asked and not answered is asked again when it is run on, over this port or another.
/// Errors: the port failed; [`RunError`] says what to do.
pub fn run<P: Plan>(
    sweep: &mut Sweep<P>,
    port: &mut dyn SmpPort,
    stop: &AtomicBool,
    watch: &mut Watch<'_>,
) -> Result<End, RunError> {
    let mut turns = Turns {
        sweep,
        port,
        held: None,
    };
    let outcome = turns.until_over(stop, watch);
    outcome.map_err(|cause| RunError {
        cause,
        progress: Box::new(sweep.progress()),
    })
}

struct Turns<'a, P> {
    sweep: &'a mut Sweep<P>,
    port: &'a mut dyn SmpPort,
    /// It found no room, since then.
    held: Option<(Packet, Duration)>,
}

impl<P: Plan> Turns<'_, P> {
    fn until_over(&mut self, stop: &AtomicBool, watch: &mut Watch<'_>) -> Result<End, PortError> {
        loop {
            // Relaxed: nothing else is read through the flag.
            if stop.load(Ordering::Relaxed) {
                return Ok(End::Stopped);
            }
            self.sweep.wake(now());
            let has_sent = self.send_some()?;
            let has_received = self.receive_some()?;
            if self.sweep.is_over() {
                return Ok(End::Over);
            }
            watch.look(|| self.sweep.progress(), self.port.hidden());
            if !has_sent && !has_received {
                self.port.wait(self.nap(watch))?;
            }
        }
    }

    /// At most [`PORTION`] SMPs. True where one went out.
    fn send_some(&mut self) -> Result<bool, PortError> {
        for sent in 0..PORTION {
            let next = || Some((Packet::directed(self.sweep.send(now())?), now()));
            let Some((packet, since)) = self.held.take().or_else(next) else {
                return Ok(sent > 0);
            };
            if !self.port.send(&packet)? {
                // Given up after that, as lost: the sweep counts its tries by what it hands out.
                let is_fresh = now().saturating_sub(since) < LONGEST_HELD;
                self.held = is_fresh.then_some((packet, since));
                return Ok(sent > 0);
            }
        }
        Ok(true)
    }

    /// At most [`PORTION`] SMPs twice, so that a flood keeps nobody from the stop flag. True where one came.
    fn receive_some(&mut self) -> Result<bool, PortError> {
        for received in 0..2 * PORTION {
            match self.port.receive()? {
                Some(packet) => self.sweep.received(&packet.smp, now()),
                None => return Ok(received > 0),
            }
        }
        Ok(true)
    }

    /// How long nothing needs to be done unless something comes.
    fn nap(&self, watch: &Watch<'_>) -> Duration {
        let wakes = self.sweep.wakes_at();
        let ahead = wakes.map_or(LONGEST_NAP, |at| at.saturating_sub(now()));
        let most = match self.held {
            Some(_) => NO_ROOM_NAP,
            None => LONGEST_NAP,
        };
        ahead.min(watch.due_in()).min(most)
    }
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Progress { nodes, open, .. } = *self.progress;
        write!(
            f,
            "the SM's port failed after {nodes} nodes, with {open} requests open: {}; ",
            self.cause
        )?;
        f.write_str(match self.cause.is_gone() {
            true => "attach the port again and run the same sweep on: it asks again what was not answered",
            false => "see to the cause, then run the same sweep on: it asks again what was not answered",
        })
    }
}

impl core::error::Error for RunError {}

/// SMPs sent before answers are taken. ibsim holds ten packets for a client.
const PORTION: usize = 8;
/// A stop is seen within this and what one turn takes.
const LONGEST_NAP: Duration = Duration::from_millis(50);
/// How long an SMP that finds no room is kept.
const LONGEST_HELD: Duration = Duration::from_millis(50);
/// Between two tries of an SMP that finds no room, if nothing comes meanwhile.
const NO_ROOM_NAP: Duration = Duration::from_millis(1);
