//! Answering what others ask of this Subnet Manager.
//!
//! ```text
//!  port: receive ──> answer(SMP) ──┬─ an answer ──> send, to the LID that it came from and along its own route
//!     ^                            └─ none ──────> dropped
//!     └── nothing has come: wait, at most 50 ms, then look whether it is over
//! ```
//!
//! One SMP at a time, and no memory of any: what one costs is what `answer` costs, however many come.

use std::time::Duration;

use sa_port::PortError;

use crate::{Packet, SmpPort};

/// What goes back to an SMP that came from this LID; `None`: nothing.
pub type Answers<'a> = dyn FnMut(u16, &[u8; 256]) -> Option<[u8; 256]> + 'a;

/// Answers what comes to `port` by `answer`, which gets the LID of the sender and the SMP, until `is_over`, which is seen within 100 ms.
/// What it gives no answer to is dropped, and so is an answer that finds no room: who asked asks again.
///
/// For a thread and a port of its own, so that nobody who asks waits for a sweep. Errors: the port is of no use any more.
pub fn serve(
    port: &mut dyn SmpPort,
    is_over: &dyn Fn() -> bool,
    answer: &mut Answers<'_>,
) -> Result<(), PortError> {
    while !is_over() {
        match port.receive()? {
            Some(Packet { lid, smp }) => {
                if let Some(smp) = answer(lid, &smp) {
                    port.send(&Packet { lid, smp })?;
                }
            }
            // A flood keeps nobody from the end: each turn looks for it.
            None => {
                port.wait(LOOKS_EVERY)?;
            }
        }
    }
    Ok(())
}

/// Whether it is over.
const LOOKS_EVERY: Duration = Duration::from_millis(50);
