//! Signals as a channel, so that one thread waits for everything.
//!
//! SIGTERM and SIGINT end the daemon, SIGHUP reads all sources, SIGUSR1 logs the counters. Signals
//! of one kind that come faster than they are taken are one, as the kernel has it.
//!
//! | signal | means | then |
//! |---|---|---|
//! | SIGTERM, SIGINT | end | `services::stop`, within a second |
//! | SIGHUP | read all sources, held or not | the loader, when it is done with what it does |
//! | SIGUSR1 | counters into the log | at once |

use crossbeam_channel::Receiver;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1};
use signal_hook::iterator::Signals;

use super::ServerError;

/// Takes over the signals that the daemon knows. Errors: [`ServerError::Os`].
pub(super) fn channel() -> Result<Receiver<i32>, ServerError> {
    let os = |what| move |source| ServerError::Os { what, source };
    let mut signals =
        Signals::new([SIGHUP, SIGINT, SIGTERM, SIGUSR1]).map_err(os("set up signal handling"))?;
    // A thread and not a handler: nothing may be done in a handler but set a flag, which
    // signal-hook does.
    let (sender, receiver) = crossbeam_channel::bounded(16);
    std::thread::Builder::new()
        .name("sa-signals".into())
        .spawn(move || {
            for signal in &mut signals {
                if sender.send(signal).is_err() {
                    break;
                }
            }
        })
        .map_err(os("start the signal thread"))?;
    Ok(receiver)
}
