//! How words look: few tones, each with a colour and with a way without colours.

use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};

/// What a piece of text means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    Plain,
    /// Names of columns and what stands beside.
    Dim,
    Title,
    /// The pane that has the keys.
    Focus,
    Good,
    /// Somebody should know.
    Warn,
    /// Somebody has to act.
    Bad,
}

/// Whether there are colours. Without, as with `NO_COLOR`, what matters is bold or reversed: all
/// words that carry a meaning are in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Look {
    Coloured,
    Plain,
}

impl Look {
    /// As the environment has it: `NO_COLOR` that is not empty forbids colours
    /// (<https://no-color.org>).
    pub(crate) fn of_environment() -> Self {
        match std::env::var_os("NO_COLOR") {
            Some(value) if !value.is_empty() => Self::Plain,
            _ => Self::Coloured,
        }
    }

    /// The style of a tone.
    pub(crate) fn style(self, tone: Tone) -> Style {
        let plain = Style::new();
        let (colour, modifier) = match tone {
            Tone::Plain => return plain,
            Tone::Dim => (None, Modifier::DIM),
            Tone::Title => (Some(Color::Cyan), Modifier::BOLD),
            Tone::Focus => (Some(Color::Cyan), Modifier::REVERSED),
            Tone::Good => (Some(Color::Green), Modifier::BOLD),
            Tone::Warn => (Some(Color::Yellow), Modifier::BOLD),
            Tone::Bad => (Some(Color::Red), Modifier::REVERSED),
        };
        let styled = plain.add_modifier(modifier);
        match colour {
            Some(colour) if self == Self::Coloured => styled.fg(colour),
            _ => styled,
        }
    }

    /// A piece of text.
    pub(crate) fn span(self, tone: Tone, text: impl Into<String>) -> Span<'static> {
        Span::styled(text.into(), self.style(tone))
    }

    /// A line of one tone.
    pub(crate) fn line(self, tone: Tone, text: impl Into<String>) -> Line<'static> {
        Line::from(self.span(tone, text))
    }
}
