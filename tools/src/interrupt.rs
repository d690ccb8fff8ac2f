//! Ctrl-C, and the other signals by which a program is told to end.
//!
//! ```text
//!  signal ──> handler: CAME, SIGNAL ──> thread: nobody attends ──> half files go ──> exit 128 + signal
//!    │                                          somebody attends ─> the verb sees `stop`, prints what
//!    └─ a second one: exit at once                                  it measured, ends with that status
//! ```
//!
//! A verb that computes or writes is ended from outside, as an engine may be minutes away from the
//! next place where it could look: what it was writing has no name yet and is removed
//! (`sa_fabric::outlet::unfinished`), what it had for itself alone as well (`scratch`). A verb that
//! measures attends to the signal itself ([`attend`]), as only it knows what it has seen so far.
//! One that sees result after result between long waits has the thread print those ([`telling`]),
//! and ends at once as well.
//!
//! `sapphire top` has the terminal in its hands and sees to signals itself (`top::screen`).

use std::fs;
use std::mem;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

use sa_fabric::outlet::unfinished;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::{flag, low_level};

use crate::failure::{Failure, Outcome};
use crate::{output, scratch};

/// By which a program is told to end. A terminal that goes away says SIGHUP.
const ENDS: [i32; 3] = [SIGHUP, SIGINT, SIGTERM];

/// One of them has come.
static CAME: AtomicBool = AtomicBool::new(false);

/// Which; 0 for none.
static SIGNAL: AtomicUsize = AtomicUsize::new(0);

/// A verb sees to it that it ends.
static ATTENDED: AtomicBool = AtomicBool::new(false);

/// Prints what a verb has seen so far.
type Print = Box<dyn FnOnce() -> Outcome + Send>;

/// Of the verb at work, if it has such. Whoever takes it ends the program: the signals' thread or
/// the verb.
static SO_FAR: Mutex<Option<Print>> = Mutex::new(None);

/// How long whoever reads may take for what was seen so far.
const READER: Duration = Duration::from_secs(2);

/// Sees to signals from now on.
pub(crate) fn watch() {
    // What was ignored at the start stays ignored: a shell asks for that with `&` and nohup.
    let ignored = ignored();
    let signals = ENDS.into_iter().filter(|signal| !has(ignored, *signal));
    let signals: Vec<i32> = signals.collect();
    for signal in &signals {
        let signal = *signal;
        // In this order: the first signal finds no flag set, the second one ends the program. And
        // before the thread is told, which looks at what is set here.
        let _ = flag::register_conditional_shutdown(signal, 128 + signal, &CAME);
        let number = usize::try_from(signal).unwrap_or(0);
        let _ = flag::register_usize(signal, &SIGNAL, number);
        let _ = flag::register(signal, &CAME);
    }
    // Without the thread the first signal only sets the flag, and the second one ends the program.
    let Ok(mut coming) = Signals::new(&signals) else {
        return;
    };
    let thread = thread::Builder::new().name("signals".to_owned());
    let _ = thread.spawn(move || {
        for _ in coming.forever() {
            if !ATTENDED.load(Ordering::SeqCst) {
                end();
            }
        }
    });
}

/// Has `work` see to signals itself, by [`stop`]: it ends soon after one, with what it has so far.
/// Errors: those of `work`; that a signal came, which is then the exit status.
pub(crate) fn attend(work: impl FnOnce() -> Outcome) -> Outcome {
    ATTENDED.store(true, Ordering::SeqCst);
    let ended = work();
    // First this and then the look at the flag: whichever thread is later sees what the other did.
    ATTENDED.store(false, Ordering::SeqCst);
    ended?;
    match came() {
        true => Err(failure()),
        false => Ok(()),
    }
}

/// What a verb has seen so far.
pub(crate) struct Seen<S>(Arc<Mutex<S>>);

impl<S> Seen<S> {
    /// Adds to it, or prints of it. Waits for ever once it is printed for the last time.
    pub(crate) fn with<T>(&self, change: impl FnOnce(&mut S) -> T) -> T {
        change(&mut locked(&self.0))
    }
}

/// Does `work`, and gives what was seen. Has `print` say what was seen until then if a signal ends
/// it in the middle, which it does at once, wherever that is. Errors: those of `work`. Those of
/// `print` are the exit status, in place of the signal's.
pub(crate) fn telling<S: Default + Send + 'static>(
    print: impl FnOnce(&S) -> Outcome + Send + 'static,
    work: impl FnOnce(&Seen<S>) -> Outcome,
) -> Outcome<S> {
    let seen = Seen(Arc::new(Mutex::new(S::default())));
    let theirs = Arc::clone(&seen.0);
    let print = move || {
        let seen = locked(&theirs);
        let printed = print(&seen);
        // Never given back: what the verb would still print would come behind the end.
        mem::forget(seen);
        printed
    };
    *locked(&SO_FAR) = Some(Box::new(print));
    let ended = work(&seen);
    if locked(&SO_FAR).take().is_none() {
        // It is printed just now, and the program ends there.
        loop {
            thread::park();
        }
    }
    ended?;
    Ok(seen.with(mem::take))
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Set once a signal has come: for loops that measure.
pub(crate) fn stop() -> &'static AtomicBool {
    &CAME
}

/// Whether a signal has come.
pub(crate) fn came() -> bool {
    CAME.load(Ordering::SeqCst)
}

/// That the work was cut short.
pub(crate) fn failure() -> Failure {
    Failure::interrupted(status(), "interrupted")
}

/// As shells have it for a program that a signal has ended.
fn status() -> u8 {
    let signal = SIGNAL.load(Ordering::SeqCst);
    u8::try_from(128 + signal).unwrap_or(u8::MAX)
}

/// Ends the program in the middle of its work.
fn end() {
    // Before anything goes that the verb is at work with: what it then finds wrong is nobody's concern.
    let so_far = locked(&SO_FAR).take();
    // To the end of the process: nobody makes a file or gives one its name any more.
    let abandoned = unfinished::abandon();
    scratch::remove_all();
    // After that, as whoever reads may be slow.
    let printed = so_far.map_or(Ok(()), printed);
    let failure = printed.err().unwrap_or_else(failure);
    match abandoned.removed {
        0 => output::last_words(format_args!("{failure}")),
        1 => output::last_words(format_args!(
            "{failure}; a file that was not whole is removed"
        )),
        some => output::last_words(format_args!(
            "{failure}; {some} files that were not whole are removed"
        )),
    }
    // Not by way of destructors: the thread with the work goes on meanwhile.
    low_level::exit(i32::from(output::status(failure.exit_code())));
}

/// Prints what was seen, in a thread of its own: where nobody reads any more the program ends
/// without.
fn printed(print: Print) -> Outcome {
    let (tell, told) = mpsc::channel();
    let thread = thread::Builder::new().name("so-far".to_owned());
    let _ = thread.spawn(move || {
        let printed = print();
        output::show();
        // Nobody waits any more: it took too long.
        let _ = tell.send(printed);
    });
    told.recv_timeout(READER).unwrap_or(Ok(()))
}

/// Signals that are ignored, a bit each. Source: proc(5), SigIgn.
fn ignored() -> u64 {
    let text = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = text.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .unwrap_or(0)
}

/// Whether a signal is in a mask, whose lowest bit is signal 1.
const fn has(mask: u64, signal: i32) -> bool {
    mask >> (signal - 1) & 1 == 1
}
