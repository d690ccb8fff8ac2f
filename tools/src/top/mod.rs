//! `sapphire top`: a running daemon, live on a terminal.
//!
//! A thread asks the daemon for its status over the control socket, as `sapphire status` does, and
//! the [`model`] keeps the last answer and what two of them differ by. All that is shown comes from
//! these answers; nothing is measured here.
//!
//! ```text
//!  asker ──Reading, or why there is none──> Model ──> draw ──> cells ─┬─> screen   a terminal, until q
//!   status each --every, health each 5 s      rates, events           └─> once     lines of text, or a picture
//! ```
//!
//! | file | what |
//! |---|---|
//! | `asker.rs` | asks, in a thread of its own, so that keys work while nobody answers |
//! | `reading.rs` | an answer, and the counters in it |
//! | `rates.rs` | what two readings differ by, a second |
//! | `events.rs` | the same in words: what has happened between them |
//! | `findings.rs` | what somebody has to mend, with its remedy |
//! | `model.rs` | the above, and whether the daemon is there |
//! | `view.rs` | what keys change |
//! | `draw/` | cells of it |
//! | `live.rs`, `screen.rs`, `once.rs`, `svg.rs` | the loop on a terminal, how it is taken and given back, and the frame as text or as a picture |
//!
//! Figures of a daemon that is gone are never shown as if they were of now: they have their age
//! beside them, and no rates. A daemon that was started again counts from 0, so that the first
//! reading of it has no rates either.

mod asker;
mod draw;
mod events;
mod findings;
mod live;
mod model;
mod once;
mod rates;
mod reading;
mod screen;
mod svg;
mod view;

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use crate::control;
use crate::failure::{Failure, Outcome};
use crate::output;
use crate::time;
use crate::wrong::Wrong;

/// `sapphire top`
#[derive(Debug, Args)]
pub(crate) struct Top {
    /// Control socket of the daemon: path of its `[control]` section
    #[arg(long, value_name = "PATH", default_value = control::DEFAULT)]
    control: PathBuf,
    /// Read the figures so often, such as 500ms, 2s or 1m; rates are over that time
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = every)]
    every: Duration,
    /// Wait so long for an answer before the daemon counts as lost; a number alone counts seconds
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = time::seconds)]
    timeout: Duration,
    /// Print one frame as text, of two readings, and end: needs no terminal. Programs read
    /// `sapphire status` with --json
    #[arg(long)]
    once: bool,
    /// Write that frame as a picture (SVG), with colours, in place of text
    #[arg(long, value_name = "FILE", requires = "once")]
    svg: Option<PathBuf>,
}

/// Errors: standard output is no terminal (exit 2); with `--once` nobody answers (exit 4); the
/// terminal is gone (exit 1). A daemon that is not there is no error on a terminal: it is waited
/// for.
pub(crate) fn run(verb: &Top) -> Outcome {
    let asker = asker::Asker::new(&verb.control, verb.timeout);
    if verb.once {
        return once::run(asker, verb.every, verb.svg.as_deref());
    }
    if !output::is_terminal() {
        return Err(Failure::usage(
            "standard output is no terminal: `sapphire top --once` prints one frame as text, and `sapphire status --json` is \
             for programs",
        ));
    }
    live::run(asker, verb.every)
}

/// 100 ms to an hour.
fn every(text: &str) -> Result<Duration, Wrong> {
    let bounds = Duration::from_millis(100)..=Duration::from_secs(3600);
    time::within(text, None, bounds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units_and_bounds() {
        assert_eq!(every("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(every("2s"), Ok(Duration::from_secs(2)));
        assert_eq!(every("1h"), Ok(Duration::from_secs(3600)));
        for wrong in [
            "",
            "s",
            "1",
            "99ms",
            "2h",
            "1.5s",
            "-1s",
            "1 s",
            "99999999999999999999s",
        ] {
            assert!(every(wrong).is_err(), "{wrong}");
        }
    }
}
