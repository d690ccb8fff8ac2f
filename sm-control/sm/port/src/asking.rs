//! One question over one port.
//!
//! ```text
//!  send ──> wait for an answer, 50 ms at most ──┬─ the answer ──> outcome
//!   ^                                           ├─ time is over ─> again, or Mute after the last try
//!   └───────────────────────────────────────────┴─ stop ─────────> none
//! ```
//!
//! For what is no sweep: a standby that looks whether the master is still there.

use std::time::Duration;

use sa_port::PortError;
use sa_sm::executor::{Executor, Limits, Outcome, Request};

use crate::{Answers, Packet, SmpPort, now};

/// Asks until there is an outcome, at most the time-out of `limits` once for each try. `None` where `is_over`, which is seen within
/// 100 ms. `transaction` is that of the last SMP before. Requests that come meanwhile are `other`'s to answer. Errors: the port is of no use any more.
pub fn ask(
    port: &mut dyn SmpPort,
    request: Request,
    limits: Limits,
    transaction: u32,
    is_over: &dyn Fn() -> bool,
    other: &mut Answers<'_>,
) -> Result<Option<Outcome>, PortError> {
    let mut executor = Executor::new(limits, transaction);
    executor.ask(request, ());
    // The same executor as a sweep's, so that tries, time-outs and answers to others mean the same.
    while !is_over() {
        if let Some(ended) = executor.expired(now()) {
            return Ok(Some(ended.outcome));
        }
        if let Some(smp) = executor.send(now()) {
            // Without room it is as lost: it is asked again.
            port.send(&Packet::directed(smp))?;
        }
        if let Some(packet) = port.receive()? {
            if let Some(ended) = executor.received(&packet.smp, now()) {
                return Ok(Some(ended.outcome));
            }
            if let Some(smp) = other(packet.lid, &packet.smp) {
                port.send(&Packet { smp, ..packet })?;
            }
            continue;
        }
        let ahead = executor.wakes_at().map(|at| at.saturating_sub(now()));
        port.wait(ahead.unwrap_or(LONGEST_NAP).min(LONGEST_NAP))?;
    }
    Ok(None)
}

/// A stop is seen within this and what one turn takes.
const LONGEST_NAP: Duration = Duration::from_millis(50);
