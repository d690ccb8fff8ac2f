//! Whether the SM holds the forwarding tables that it was heard to write: some switches at a time.
//!
//! A table that differs may be one that the SM is about to write, or waits to hear of: OpenSM takes the
//! new table for its own before the switch has answered, and repeats an SMP that is lost for 800 ms. So a
//! difference is believed when it is still there after [`PATIENCE`] in which nothing was heard, or
//! after [`MOST_PATIENCE`] whatever was heard.
//!
//! It reads and never writes: what to do about a table that differs is the caller's, which reads the fabric anew.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use super::client::Hurried;
use super::query::Querier;
use super::written::{Written, lock};
use super::{Ask, SaReadError, records};

/// How much of the SM's time a look at its tables takes. A table is at most 54 KB, and an SM answers it in
/// a fraction of this.
const LOOK: Duration = Duration::from_millis(20);

/// For all answers of a look; an SM at rest needs a fraction of it.
const ANSWERED: Duration = Duration::from_millis(250);

/// Words are told within some milliseconds.
const ON_THEIR_WAY: Duration = Duration::from_millis(100);

/// Longer than an SM waits for an answer, with all its retries.
const PATIENCE: Duration = Duration::from_secs(2);

/// A fabric of which something is heard all the time must not hide a word that was lost.
const MOST_PATIENCE: Duration = Duration::from_secs(30);

/// What is looked at next.
///
/// One for a source; it goes round all switches, however many looks that takes.
#[derive(Debug, Default)]
pub(super) struct Look {
    /// The switch whose table was compared last.
    last: u16,
    /// None while tables agree, or before any was compared.
    suspect: Option<Suspect>,
}

/// A switch whose table differs.
#[derive(Debug, Clone, Copy)]
struct Suspect {
    lid: u16,
    /// State of what was heard, and since when it is that.
    version: u64,
    still: Instant,
    /// Since when it differs.
    since: Instant,
}

impl Look {
    /// Compares the tables of some switches with what the SA tells. False where one differs, and has
    /// for long enough; true where the SA is silent, which says nothing. Errors: as [`super::read`].
    ///
    /// Two clocks run for it: since it differs, and since nothing was heard.
    pub(super) fn agrees(
        &mut self,
        ask: &mut dyn Ask,
        written: &Mutex<Written>,
    ) -> Result<bool, SaReadError> {
        match self.look(ask, written) {
            // It may write tables right now, and nobody may wait for it here: it is asked with the next look.
            Err(error) if error.is_silence() => Ok(true),
            other => other,
        }
    }

    /// One look: the suspect first, then as many switches as its time allows, from where the last one ended.
    fn look(&mut self, ask: &mut dyn Ask, written: &Mutex<Written>) -> Result<bool, SaReadError> {
        let begun = Instant::now();
        let mut ask = Hurried::new(ask, ANSWERED);
        let mut querier = Querier::new(&mut ask);
        if let Some(suspect) = self.suspect {
            let agrees = same(&mut querier, written, suspect.lid)?;
            self.suspect = None;
            if !agrees {
                return Ok(self.still(suspect, lock(written).version(), begun));
            }
            lock(written).counted(|counts| counts.compared += 1);
        }
        let switches = lock(written).switches();
        let first = switches.partition_point(|lid| *lid <= self.last);
        let (before, after) = switches.split_at(first.min(switches.len()));
        for lid in after.iter().chain(before) {
            if begun.elapsed() >= LOOK {
                break;
            }
            self.last = *lid;
            if !same(&mut querier, written, *lid)? {
                self.suspect = Some(Suspect {
                    lid: *lid,
                    version: lock(written).version(),
                    still: begun,
                    since: begun,
                });
                break;
            }
            lock(written).counted(|counts| counts.compared += 1);
        }
        Ok(true)
    }

    /// A table that differs again. True: it is to be looked at once more.
    fn still(&mut self, suspect: Suspect, version: u64, now: Instant) -> bool {
        let still = match version == suspect.version {
            true => suspect.still,
            false => now,
        };
        let waits = now - still < PATIENCE && now - suspect.since < MOST_PATIENCE;
        self.suspect = waits.then_some(Suspect {
            version,
            still,
            ..suspect
        });
        waits
    }
}

/// Whether the SA tells the table of a switch as it was heard. Asked a second time where it does not:
/// words may be on their way. Errors: as [`super::read`].
///
/// Cost: a table, twice where it differs.
fn same(
    querier: &mut Querier<'_>,
    written: &Mutex<Written>,
    lid: u16,
) -> Result<bool, SaReadError> {
    for pause in [ON_THEIR_WAY, Duration::ZERO] {
        let blocks = records::lft(querier, lid)?;
        // A switch that has gone has no table to compare.
        if blocks.is_empty() || lock(written).agrees(lid, &blocks) {
            return Ok(true);
        }
        std::thread::sleep(pause);
    }
    Ok(false)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
mod tests {
    use super::*;

    /// A look so many seconds after the difference was seen first, and the state that was heard then.
    fn waits(look: &mut Look, begun: Instant, seconds: u64, version: u64) -> bool {
        let suspect = look.suspect.take().unwrap();
        look.still(suspect, version, begun + Duration::from_secs(seconds))
    }

    fn suspecting(begun: Instant) -> Look {
        let suspect = Suspect {
            lid: 7,
            version: 1,
            still: begun,
            since: begun,
        };
        Look {
            last: 0,
            suspect: Some(suspect),
        }
    }

    #[test]
    fn a_difference_counts_after_silence() {
        let begun = Instant::now();
        let mut look = suspecting(begun);
        assert!(waits(&mut look, begun, 1, 1));
        assert!(!waits(&mut look, begun, 2, 1));
        assert!(look.suspect.is_none());
    }

    #[test]
    fn what_is_heard_delays_it_but_not_for_ever() {
        let begun = Instant::now();
        let mut look = suspecting(begun);
        for second in 1..30 {
            assert!(waits(&mut look, begun, second, second), "{second}");
        }
        assert!(!waits(&mut look, begun, 30, 30));
    }
}
