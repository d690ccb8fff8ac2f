//! The loop on a terminal: what the daemon says, keys, and the picture of both.
//!
//! ```text
//!  ┌─> draw ─> key or a tenth of a second ─> all news ─> signal? ─┐
//!  └──────────────────────────────────────────────────────────────┘
//! ```

use std::io::{self, ErrorKind};
use std::sync::mpsc::{Receiver, TryRecvError};
use std::time::{Duration, Instant};

use ratatui::crossterm::event::{self, Event, KeyEventKind};

use super::asker::{Asker, News};
use super::draw::look::Look;
use super::draw::{Shown, draw};
use super::events::Events;
use super::model::Model;
use super::screen::{Screen, Signals};
use super::view::{Flow, View};
use crate::failure::{Failure, Outcome};

/// How long a key is waited for before news and signals are looked at. Ages on the screen are as
/// late at most.
const TICK: Duration = Duration::from_millis(100);

/// A picture without news is drawn again after so long, as ages go on.
const REDRAW: Duration = Duration::from_millis(500);

/// Until a key or a signal ends it. Errors: the terminal cannot be taken, or is gone.
pub(super) fn run(asker: Asker, every: Duration) -> Outcome {
    let model = Model::new(asker.place(), every, Events::default());
    let signals = Signals::note().map_err(Failure::failed)?;
    let news = asker.begin(every)?;
    let mut screen = Screen::take()
        .map_err(|error| Failure::failed(format!("the terminal cannot be used: {error}")))?;
    let mut top = Live {
        model,
        paused: None,
        view: View::default(),
        look: Look::of_environment(),
    };
    let ended = top.run(&mut screen, &news, &signals);
    // Before anything is printed, or the process ends.
    drop(screen);
    if let Some(signal) = signals.came() {
        Signals::end_by(signal);
    }
    ended.map_err(|error| Failure::failed(format!("the terminal is gone: {error}")))
}

/// What the loop has.
struct Live {
    model: Model,
    /// As it was when `p` was pressed; none while the picture moves.
    paused: Option<Model>,
    view: View,
    look: Look,
}

impl Live {
    /// Errors: the terminal's; the asking thread has ended.
    fn run(
        &mut self,
        screen: &mut Screen,
        news: &Receiver<News>,
        signals: &Signals,
    ) -> io::Result<()> {
        let mut drawn = self.draw(screen)?;
        while signals.came().is_none() {
            let mut is_due = drawn.elapsed() >= REDRAW;
            if let Some(event) = next(TICK)? {
                if self.hear(&event) == Flow::End {
                    return Ok(());
                }
                is_due = true;
            }
            is_due |= self.take(news)?;
            if is_due {
                drawn = self.draw(screen)?;
            }
        }
        Ok(())
    }

    /// A key, or a terminal of another size, which is drawn on anyway.
    fn hear(&mut self, event: &Event) -> Flow {
        let Event::Key(key) = event else {
            return Flow::GoOn;
        };
        if key.kind == KeyEventKind::Release {
            return Flow::GoOn;
        }
        let flow = self.view.press(*key);
        if flow == Flow::Pause {
            self.paused = self.view.is_paused.then(|| self.model.clone());
        }
        flow
    }

    /// All that has come. Returns whether there was any.
    fn take(&mut self, news: &Receiver<News>) -> io::Result<bool> {
        let mut is_new = false;
        loop {
            match news.try_recv() {
                Ok(told) => self.model.take(told, Instant::now()),
                Err(TryRecvError::Empty) => return Ok(is_new),
                // It ends by a panic alone, which has been told.
                Err(TryRecvError::Disconnected) => {
                    return Err(io::Error::other("nobody asks the daemon any more"));
                }
            }
            is_new = true;
        }
    }

    /// Returns when.
    fn draw(&mut self, screen: &mut Screen) -> io::Result<Instant> {
        let now = Instant::now();
        let mut bounds = Vec::new();
        let shown = Shown {
            model: self.paused.as_ref().unwrap_or(&self.model),
            view: &self.view,
            now,
            look: self.look,
        };
        screen.show(|frame| bounds = draw(&shown, frame.area(), frame.buffer_mut()))?;
        for (pane, most) in bounds {
            self.view.bound(pane, most);
        }
        Ok(now)
    }
}

/// What comes within so long; none also where a signal came in between.
fn next(patience: Duration) -> io::Result<Option<Event>> {
    let event = event::poll(patience).and_then(|is_there| is_there.then(event::read).transpose());
    match event {
        Err(error) if error.kind() == ErrorKind::Interrupted => Ok(None),
        other => other,
    }
}
