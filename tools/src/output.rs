//! The one way to standard output and standard error, either of which may be closed or full.
//!
//! Whoever reads may stop at any time (`| head -1`): what would come then is dropped, and the verb
//! goes on, so that it writes its files and ends as it would have ended. Where standard output
//! fails otherwise (a full disk) the verb goes on as well, and `sapphire` says why and ends with
//! exit status 1. What standard error does not take is lost: there is nobody left to tell.
//!
//! The state is some statics: the first fault, whether anything was answered, and the bar of long
//! work ([`bar`]). They are statics and not values that are handed along because the macros are
//! used in some hundred places, and because a process has one standard output anyway.
//!
//! ```text
//! outln! -> out()    -> stdout, line by line          fault noted, later lines dropped
//! stream -> Watched  -> stdout, by a buffer           fault noted, the work ends early
//! end()  -> flush    -> exit status of the verb, or 1 where a fault is not a closed pipe
//! ```

#![expect(
    clippy::disallowed_methods,
    reason = "the one place where the streams of the process are taken"
)]

pub(crate) mod bar;

use std::fmt::Arguments;
use std::io::{self, BufWriter, ErrorKind, IsTerminal, Stdout, StdoutLock, Write};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{LazyLock, OnceLock};

use crate::failure::{Failure, Outcome};

/// A line on standard output.
macro_rules! outln {
    () => { $crate::output::out(format_args!("\n")) };
    ($($words:tt)*) => { $crate::output::out(format_args!("{}\n", format_args!($($words)*))) };
}

/// Text on standard output, without an end of line of its own.
macro_rules! out {
    ($($words:tt)*) => { $crate::output::out(format_args!($($words)*)) };
}

/// A line on standard error.
macro_rules! errln {
    ($($words:tt)*) => { $crate::output::err(format_args!("{}\n", format_args!($($words)*))) };
}

/// Text on standard error, without an end of line of its own.
macro_rules! err {
    ($($words:tt)*) => { $crate::output::err(format_args!($($words)*)) };
}

/// Why standard output takes no more: the first failure.
static FAULT: OnceLock<Fault> = OnceLock::new();

/// What was asked for has been printed, at least in part.
static ANSWERED: AtomicBool = AtomicBool::new(false);

#[derive(Debug)]
enum Fault {
    /// Nobody reads any more.
    Closed,
    /// It cannot be written.
    Failed(io::Error),
}

/// Writes to standard output as long as it takes something.
///
/// Does nothing after the first fault, so that a loop over ten thousand lines needs no check.
pub(crate) fn out(words: Arguments<'_>) {
    if is_wanted() {
        let mut stdout = io::stdout().lock();
        // Only on a terminal may the bar be in the way, and a pipe may hold this up for long.
        let _away = IS_TERMINAL.then(bar::away);
        note(stdout.write_fmt(words));
    }
}

/// What [`out()`] has written shows now, be the line at its end or not.
pub(crate) fn show() {
    if is_wanted() {
        note(io::stdout().flush());
    }
}

/// Writes to standard error, which may be gone.
pub(crate) fn err(words: Arguments<'_>) {
    let _away = bar::away();
    let _ = io::stderr().lock().write_fmt(words);
}

/// The last line on standard error, of a process that is ended: it waits for nobody for long.
pub(crate) fn last_words(words: Arguments<'_>) {
    let _away = bar::away_soon();
    let _ = io::stderr().write_fmt(format_args!("{words}\n"));
}

/// False once standard output takes no more: work that only makes lines may stop.
pub(crate) fn is_wanted() -> bool {
    FAULT.get().is_none()
}

/// Whether a person sees standard output.
///
/// Progress and colours are for people only.
pub(crate) fn is_terminal() -> bool {
    *IS_TERMINAL
}

static IS_TERMINAL: LazyLock<bool> = LazyLock::new(|| io::stdout().is_terminal());

/// Standard output as a screen, on which pictures are drawn.
///
/// For `sapphire top`, which writes to a terminal alone: what comes between its pictures and the
/// terminal would be no use to it, and it ends when the terminal does.
pub(crate) fn screen() -> Screen {
    io::stdout()
}

/// What [`screen`] gives.
pub(crate) type Screen = Stdout;

/// From now on an error has no need of an object of its own on standard output.
///
/// Called by `json::print` and by streams before their first byte.
pub(crate) fn answered() {
    ANSWERED.store(true, Ordering::Relaxed);
}

/// Whether [`answered`] was said.
pub(crate) fn is_answered() -> bool {
    ANSWERED.load(Ordering::Relaxed)
}

/// Has a stream of bytes or lines written, which ends early when nobody reads it.
/// Errors: those of the work that are not standard output's.
pub(crate) fn stream(work: impl FnOnce(&mut Stream) -> io::Result<()>) -> Outcome {
    // Locked for the whole stream: lines of others would fall into the middle of one.
    let mut stream = BufWriter::new(Watched(io::stdout().lock()));
    match work(&mut stream).and_then(|()| stream.flush()) {
        // Told at the end.
        Err(_) if !is_wanted() => {
            // What is left in the buffer would be tried again.
            drop(stream.into_parts());
            Ok(())
        }
        other => other.map_err(Failure::failed),
    }
}

/// What [`stream`] writes to.
pub(crate) type Stream = BufWriter<Watched>;

/// Standard output, of which failures are noted.
#[derive(Debug)]
pub(crate) struct Watched(StdoutLock<'static>);

impl Write for Watched {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !is_wanted() {
            return Err(ErrorKind::BrokenPipe.into());
        }
        answered();
        let written = self.0.write(bytes);
        noted(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = self.0.flush();
        noted(flushed)
    }
}

/// Notes a fault of the stream. An interrupted write is none: `write_all` tries again.
fn noted<T>(result: io::Result<T>) -> io::Result<T> {
    match result {
        // A signal came in between: nothing is lost.
        Err(error) if error.kind() == ErrorKind::Interrupted => Err(error),
        Err(error) => {
            let kind = error.kind();
            note(Err(error));
            Err(kind.into())
        }
        written => written,
    }
}

/// Keeps the first failure, which is the cause; those after it follow from it.
fn note(result: io::Result<()>) {
    if let Err(error) = result {
        let fault = match error.kind() {
            // Rust's runtime ignores SIGPIPE, so that a closed pipe is an error of the write and
            // not a death.
            ErrorKind::BrokenPipe => Fault::Closed,
            _ => Fault::Failed(error),
        };
        // The first one counts.
        let _ = FAULT.set(fault);
    }
}

/// The exit status of a process that would end with `own`: 1 where standard output lost something
/// that somebody still wants.
pub(crate) fn end(own: u8) -> ExitCode {
    bar::clear();
    show();
    ExitCode::from(status(own))
}

/// The same as a number, for a process that a signal ends.
pub(crate) fn status(own: u8) -> u8 {
    match FAULT.get() {
        Some(Fault::Failed(why)) => {
            errln!(
                "sapphire: standard output cannot be written: {why}; what was printed is not whole"
            );
            1
        }
        Some(Fault::Closed) | None => own,
    }
}
