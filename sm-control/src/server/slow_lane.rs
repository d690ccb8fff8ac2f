//! The thread that answers what workers give away.

use core::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use sa_fastpath::port::{PortError, ReplyPort};
use sa_fastpath::publish::Reader;
use sa_fastpath::punt::{PuntReceiver, Punted};
use sa_wire::umad::MAD_SIZE;
use tracing::warn;

use super::ServerError;
use crate::slow_sa;

/// Pause between looks at an empty queue. Workers cannot wake this thread: that would be a system
/// call.
const PAUSE: Duration = Duration::from_micros(200);

/// Starts the thread. `replies` are in the order of the ports' numbers.
pub(super) fn spawn(
    punted: PuntReceiver,
    reader: Reader,
    replies: Vec<Box<dyn ReplyPort>>,
    stop: Arc<AtomicBool>,
) -> Result<JoinHandle<()>, ServerError> {
    let mut lane = SlowLane {
        punted,
        reader,
        replies,
        failing: false,
    };
    std::thread::Builder::new()
        .name("sa-slow".into())
        .spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                if !lane.turn() {
                    std::thread::sleep(PAUSE);
                }
            }
        })
        .map_err(|source| ServerError::Os {
            what: "start the slow lane",
            source,
        })
}

struct SlowLane {
    punted: PuntReceiver,
    reader: Reader,
    replies: Vec<Box<dyn ReplyPort>>,
    /// The last reply could not be sent; said once until one can.
    failing: bool,
}

impl SlowLane {
    /// Answers one request. False when none waited.
    fn turn(&mut self) -> bool {
        // On every turn: an idle lane must not keep an old snapshot from being freed.
        let published = self.reader.refresh();
        let Some(Punted { port, request }) = self.punted.pop() else {
            return false;
        };
        let (Some(published), Some(out)) = (published, self.replies.get_mut(port)) else {
            return true;
        };
        let Some(mut reply) = slow_sa::punted(&published.snapshot, &request) else {
            return true;
        };
        if reply.len() > MAD_SIZE && !out.can_segment() {
            reply = slow_sa::too_long(&request);
        }
        let sent = out.reply(&request, &reply);
        self.note(sent);
        true
    }

    fn note(&mut self, sent: Result<(), PortError>) {
        match sent {
            Ok(()) => self.failing = false,
            Err(error) if !self.failing => {
                warn!("a reply of the slow lane could not be sent: {error}");
                self.failing = true;
            }
            Err(_) => {}
        }
    }
}
