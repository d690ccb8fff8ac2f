//! The bar by which long work shows itself on a terminal, on standard error.
//!
//! Whoever writes a line takes it away first and keeps it away meanwhile ([`away`]); `progress`
//! draws it anew a moment later. So a line never stands in the middle of a bar, and what programs
//! read never has one: where standard error is no terminal there is none.

use std::env;
use std::io::{self, IsTerminal};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// The one that is drawn, if any.
static BAR: Mutex<Option<ProgressBar>> = Mutex::new(None);

/// A person sees standard error, on something that can draw.
static IS_POSSIBLE: LazyLock<bool> = LazyLock::new(|| {
    let is_dumb = env::var_os("TERM").is_some_and(|term| term == "dumb");
    io::stderr().is_terminal() && !is_dumb
});

/// Whether a bar can be drawn.
pub(crate) fn is_possible() -> bool {
    *IS_POSSIBLE
}

/// Draws the bar: words, and behind how much of the work is done where that is known. Units: of
/// `part` per mille.
pub(crate) fn draw(words: String, part: Option<u64>) {
    let mut bar = BAR.lock().unwrap_or_else(PoisonError::into_inner);
    let bar = bar.get_or_insert_with(|| {
        ProgressBar::with_draw_target(Some(1000), ProgressDrawTarget::stderr())
    });
    bar.set_style(style(part.is_some()));
    bar.set_position(part.unwrap_or(0));
    bar.set_message(words);
    bar.tick();
}

/// No bar stands on the terminal from now on.
pub(crate) fn clear() {
    if is_possible() {
        drop(away());
    }
}

/// Takes the bar away as long as what this gives is held; nothing where there cannot be one.
pub(super) fn away() -> Option<MutexGuard<'static, Option<ProgressBar>>> {
    is_possible().then(|| taken(BAR.lock().unwrap_or_else(PoisonError::into_inner)))
}

/// The same for a thread that must not wait for long: another may be held up by whoever reads its
/// lines, with the bar in its hands.
pub(super) fn away_soon() -> Option<MutexGuard<'static, Option<ProgressBar>>> {
    let deadline = Instant::now() + Duration::from_millis(200);
    while is_possible() && Instant::now() < deadline {
        match BAR.try_lock() {
            Ok(bar) => return Some(taken(bar)),
            Err(TryLockError::Poisoned(bar)) => return Some(taken(bar.into_inner())),
            Err(TryLockError::WouldBlock) => std::thread::yield_now(),
        }
    }
    None
}

fn taken(
    mut bar: MutexGuard<'static, Option<ProgressBar>>,
) -> MutexGuard<'static, Option<ProgressBar>> {
    if let Some(bar) = bar.take() {
        bar.finish_and_clear();
    }
    bar
}

/// In ASCII, as a serial console shows it. Words last, cut where the terminal ends.
fn style(has_part: bool) -> ProgressStyle {
    let template = match has_part {
        true => "{spinner} [{bar:20}] {percent:>3} % {wide_msg}",
        false => "{spinner} {wide_msg}",
    };
    let style = ProgressStyle::with_template(template);
    let style = style.unwrap_or_else(|_| ProgressStyle::default_spinner());
    style.tick_chars("-\\|/ ").progress_chars("=> ")
}
