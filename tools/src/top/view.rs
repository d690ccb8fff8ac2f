//! What keys change: the pane that has them, how far each is scrolled, whether the picture stands
//! still, and the help.
//!
//! ```text
//!  Tab, right   next pane          up, down        a line        p   pause and go on
//!  BackTab, left  the one before   PgUp, PgDn      ten           ?   help, until the next key
//!                                  Home, End       either end    q, Esc, Ctrl-C   end
//! ```

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// A part of the picture, in the order of Tab.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pane {
    Workers,
    Answers,
    Attributes,
    Subnet,
    Findings,
    Events,
}

impl Pane {
    pub(super) const ALL: [Self; 6] = [
        Self::Workers,
        Self::Answers,
        Self::Attributes,
        Self::Subnet,
        Self::Findings,
        Self::Events,
    ];

    /// What stands above it.
    pub(super) const fn title(self) -> &'static str {
        match self {
            Self::Workers => "Workers",
            Self::Answers => "Answers",
            Self::Attributes => "Attributes",
            Self::Subnet => "Subnet",
            Self::Findings => "Findings",
            Self::Events => "Events",
        }
    }
}

/// What a key has come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flow {
    GoOn,
    /// The picture stands still from now on, or moves again.
    Pause,
    End,
}

/// Where one looks.
#[derive(Debug, Clone, Default)]
pub(super) struct View {
    /// As a place of [`Pane::ALL`].
    focus: usize,
    /// Lines above each pane's first. Drawing bounds them, as it knows how many there are.
    scrolled: [usize; Pane::ALL.len()],
    pub(super) has_help: bool,
    pub(super) is_paused: bool,
}

impl View {
    /// The pane that has the keys.
    pub(super) fn focus(&self) -> Pane {
        Pane::ALL.get(self.focus).copied().unwrap_or(Pane::Workers)
    }

    /// Lines that are scrolled away above.
    pub(super) fn scrolled(&self, pane: Pane) -> usize {
        self.scrolled.get(pane as usize).copied().unwrap_or(0)
    }

    /// There are no more lines above than this, or one would have to scroll back what never was.
    pub(super) fn bound(&mut self, pane: Pane, most: usize) {
        if let Some(scrolled) = self.scrolled.get_mut(pane as usize) {
            *scrolled = (*scrolled).min(most);
        }
    }

    /// A key was pressed.
    pub(super) fn press(&mut self, key: KeyEvent) -> Flow {
        let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
        if is_control && matches!(key.code, KeyCode::Char('c' | 'C')) {
            return Flow::End;
        }
        // Any key ends the help, and does nothing else.
        if core::mem::take(&mut self.has_help) {
            return Flow::GoOn;
        }
        match key.code {
            KeyCode::Char('q' | 'Q') | KeyCode::Esc => return Flow::End,
            KeyCode::Char('p' | 'P') => {
                self.is_paused = !self.is_paused;
                return Flow::Pause;
            }
            KeyCode::Char('?' | 'h') => self.has_help = true,
            KeyCode::Tab | KeyCode::Right => self.turn(1),
            KeyCode::BackTab | KeyCode::Left => self.turn(Pane::ALL.len() - 1),
            KeyCode::Up | KeyCode::Char('k') => self.scroll(|lines| lines.saturating_sub(1)),
            KeyCode::Down | KeyCode::Char('j') => self.scroll(|lines| lines.saturating_add(1)),
            KeyCode::PageUp => self.scroll(|lines| lines.saturating_sub(10)),
            KeyCode::PageDown => self.scroll(|lines| lines.saturating_add(10)),
            KeyCode::Home => self.scroll(|_| 0),
            KeyCode::End => self.scroll(|_| usize::MAX),
            _ => {}
        }
        Flow::GoOn
    }

    /// So many panes on, around the end.
    const fn turn(&mut self, on: usize) {
        self.focus = (self.focus + on) % Pane::ALL.len();
    }

    fn scroll(&mut self, to: impl Fn(usize) -> usize) {
        if let Some(scrolled) = self.scrolled.get_mut(self.focus) {
            *scrolled = to(*scrolled);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn press(view: &mut View, code: KeyCode) -> Flow {
        view.press(KeyEvent::new(code, KeyModifiers::NONE))
    }

    #[test]
    fn there_are_three_ways_out() {
        let mut view = View::default();
        for code in [KeyCode::Char('q'), KeyCode::Esc] {
            assert_eq!(press(&mut view, code), Flow::End);
        }
        let interrupt = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
        assert_eq!(view.press(interrupt), Flow::End);
        assert_eq!(press(&mut view, KeyCode::Char('c')), Flow::GoOn);
        // Out of the help one comes by any key, out of the program by Ctrl-C alone.
        view.has_help = true;
        assert_eq!(view.press(interrupt), Flow::End);
        assert_eq!(press(&mut view, KeyCode::Char('q')), Flow::GoOn);
        assert!(!view.has_help);
    }

    #[test]
    fn tab_goes_round_and_arrows_scroll_what_has_the_keys() {
        let mut view = View::default();
        let mut seen = Vec::new();
        for _ in Pane::ALL {
            seen.push(view.focus());
            press(&mut view, KeyCode::Tab);
        }
        assert_eq!(
            (seen.as_slice(), view.focus()),
            (&Pane::ALL[..], Pane::Workers)
        );
        press(&mut view, KeyCode::BackTab);
        press(&mut view, KeyCode::End);
        view.bound(Pane::Events, 30);
        press(&mut view, KeyCode::PageUp);
        press(&mut view, KeyCode::Up);
        assert_eq!(
            (view.scrolled(Pane::Events), view.scrolled(Pane::Workers)),
            (19, 0)
        );
    }

    #[test]
    fn p_pauses_and_goes_on() {
        let mut view = View::default();
        assert_eq!(press(&mut view, KeyCode::Char('p')), Flow::Pause);
        assert!(view.is_paused);
        press(&mut view, KeyCode::Char('p'));
        assert!(!view.is_paused);
    }
}
