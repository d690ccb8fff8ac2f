//! How this side waits for the daemon, as nothing wakes anybody.
//!
//! ```text
//!  2,000 looks           some microseconds, all of a core: most answers come here
//!  then yields           to 0.5 ms: gives the core to others between looks
//!  then naps of 50 us    each with a look whether the daemon lives
//! ```

use std::time::{Duration, Instant};

/// Looks before a waiting call gives the core to others.
const SPINS: u32 = 2_000;
/// After that long it sleeps between looks.
const AWAKE: Duration = Duration::from_micros(500);
/// How long it sleeps between two looks then.
const NAP: Duration = Duration::from_micros(50);

/// Where one wait stands. A fresh one for each wait, as what came once may go on coming fast.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    looks: u32,
    /// When the spinning ended.
    began: Option<Instant>,
}

impl Pace {
    /// True while looks are so cheap that the clock and the daemon's life are not asked about.
    pub(crate) const fn is_spinning(&self) -> bool {
        self.looks < SPINS
    }

    /// After a look that found nothing.
    pub(crate) fn pause(&mut self) {
        if self.is_spinning() {
            self.looks += 1;
            core::hint::spin_loop();
            return;
        }
        if self.began.get_or_insert_with(Instant::now).elapsed() < AWAKE {
            std::thread::yield_now();
        } else {
            std::thread::sleep(NAP);
        }
    }
}
