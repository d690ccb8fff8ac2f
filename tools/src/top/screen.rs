//! The terminal: taken, and given back on every way out.
//!
//! Taken means: each key comes at once and unseen (raw mode), the picture is on a screen of its own
//! (the alternate one), the cursor is hidden. Whoever types next in that shell must have it as
//! before, however this ends:
//!
//! ```text
//!  q, an error   Screen is dropped         a panic    the hook, before its words are printed
//!  SIGTERM, SIGINT, SIGHUP, SIGQUIT        noted by `Signals`; the loop ends, Screen is dropped, then the signal does what it does else
//! ```
//!
//! Only SIGKILL leaves it as it is: `reset` helps then.
//!
//! A picture is a synchronized update (DEC mode 2026): it takes several writes, and a terminal that
//! knows the mode shows it when it is whole. One that does not know it passes the marks over.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::{Hide, Show};
use ratatui::crossterm::terminal::{
    BeginSynchronizedUpdate, EndSynchronizedUpdate, EnterAlternateScreen, LeaveAlternateScreen,
    disable_raw_mode, enable_raw_mode,
};
use ratatui::crossterm::{execute, queue};
use ratatui::{Frame, Terminal};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::{flag, low_level};

use crate::output::{self, Screen as Output};

/// Whether the terminal is taken now: two ways out may meet, and it is given back once.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// A terminal that is taken. Dropping it gives it back.
pub(super) struct Screen {
    terminal: Terminal<CrosstermBackend<Output>>,
}

impl Screen {
    /// Takes the terminal. Errors: the system's, as where standard output is one and there is none
    /// to read keys from; then nothing is taken.
    pub(super) fn take() -> io::Result<Self> {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            // First, or its words would be lost with the other screen.
            give_back();
            before(panic);
        }));
        enable_raw_mode()?;
        TAKEN.store(true, Ordering::SeqCst);
        let taken = execute!(output::screen(), EnterAlternateScreen, Hide)
            .and_then(|()| Terminal::new(CrosstermBackend::new(output::screen())));
        match taken {
            Ok(terminal) => Ok(Self { terminal }),
            Err(error) => {
                give_back();
                Err(error)
            }
        }
    }

    /// Shows another picture. Errors: the terminal's.
    pub(super) fn show(&mut self, draw: impl FnOnce(&mut Frame<'_>)) -> io::Result<()> {
        show(&mut self.terminal, draw)
    }
}

/// A picture, between the marks of one update.
fn show<W: Write>(
    terminal: &mut Terminal<CrosstermBackend<W>>,
    draw: impl FnOnce(&mut Frame<'_>),
) -> io::Result<()> {
    queue!(terminal.backend_mut(), BeginSynchronizedUpdate)?;
    terminal.draw(draw)?;
    execute!(terminal.backend_mut(), EndSynchronizedUpdate)
}

impl Drop for Screen {
    fn drop(&mut self) {
        give_back();
    }
}

/// The terminal as it was. A terminal that is gone needs nothing, so that failures are passed over.
fn give_back() {
    if !TAKEN.swap(false, Ordering::SeqCst) {
        return;
    }
    let mut screen = output::screen();
    let _ = leave(&mut screen);
    let _ = disable_raw_mode();
}

/// What undoes [`Screen::take`] on the screen's side, also in the middle of a picture.
fn leave(screen: &mut impl Write) -> io::Result<()> {
    execute!(screen, EndSynchronizedUpdate, LeaveAlternateScreen, Show)
}

/// Signals that end a program, noted in place of ending it.
#[derive(Debug)]
pub(super) struct Signals(Arc<AtomicUsize>);

/// Those that somebody, or the system, ends a program on a terminal with.
const ENDS: [i32; 4] = [SIGHUP, SIGINT, SIGQUIT, SIGTERM];

impl Signals {
    /// From now on they are noted. Errors: the system's.
    pub(super) fn note() -> io::Result<Self> {
        let noted = Arc::new(AtomicUsize::new(0));
        for signal in ENDS {
            // Positive, as all numbers of signals.
            flag::register_usize(signal, Arc::clone(&noted), signal.unsigned_abs() as usize)?;
        }
        Ok(Self(noted))
    }

    /// The last one that came.
    pub(super) fn came(&self) -> Option<i32> {
        let noted = self.0.load(Ordering::SeqCst);
        i32::try_from(noted).ok().filter(|signal| *signal != 0)
    }

    /// Ends the process as the signal would have, so that whoever sent it sees that. Returns only
    /// where that cannot be.
    pub(super) fn end_by(signal: i32) {
        let _ = low_level::emulate_default_handler(signal);
    }
}

#[cfg(test)]
mod tests {
    use ratatui::layout::Rect;
    use ratatui::text::Text;
    use ratatui::{TerminalOptions, Viewport};

    use super::*;

    #[test]
    fn a_picture_is_between_the_marks_of_one_update() {
        let mut written = Vec::new();
        let options = TerminalOptions {
            viewport: Viewport::Fixed(Rect::new(0, 0, 80, 24)),
        };
        let backend = CrosstermBackend::new(&mut written);
        let mut terminal = Terminal::with_options(backend, options).unwrap();
        for letter in ["a", "b"] {
            let lines = vec![letter.repeat(80); 24].join("\n");
            show(&mut terminal, |frame| {
                frame.render_widget(Text::raw(lines), frame.area())
            })
            .unwrap();
        }
        drop(terminal);
        let written = String::from_utf8(written).unwrap();
        let pictures: Vec<&str> = written.split("\u{1b}[?2026l").collect();
        assert_eq!(pictures.len(), 3, "{written:?}");
        for (picture, letter) in pictures.iter().zip(["a", "b"]) {
            let update = picture.strip_prefix("\u{1b}[?2026h").unwrap();
            assert_eq!(update.matches(letter).count(), 80 * 24, "{picture:?}");
        }
    }

    #[test]
    fn leaving_shows_the_cursor_on_the_screen_of_before() {
        let mut written = Vec::new();
        leave(&mut written).unwrap();
        let written = String::from_utf8(written).unwrap();
        assert!(
            written.starts_with("\u{1b}[?2026l")
                && written.contains("\u{1b}[?1049l")
                && written.contains("\u{1b}[?25h"),
            "{written:?}"
        );
    }

    #[test]
    fn what_is_not_taken_is_not_given_back() {
        assert!(!TAKEN.load(Ordering::SeqCst));
        give_back();
        assert!(!TAKEN.load(Ordering::SeqCst));
    }
}
