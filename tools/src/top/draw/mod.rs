//! The picture in cells: head, rows of panes, keys.
//!
//! ```text
//!  LIVE /run/sapphire/control.sock, every 1s          head: is it there, of when are the figures
//!  daemon 0.1.0, process 812, ..                            who
//!  ready, epoch 41, 2 h 5 min old; ..                       what it serves
//!  -- Workers -----------------------------           rows, each a list of lines that is cut and scrolled;
//!  -- Answers ---------- -- Attributes ----           two beside each other where there is width
//!  -- Subnet ------------------------------
//!  -- Findings 1-4 of 9 -------------------
//!  -- Events ------------------------------
//!  q quit  Tab pane  ..                               keys
//! ```
//!
//! Nothing here fails or panics, however small the screen is: what has no room is left out, the
//! head last. Words that come from devices lose their control characters, as ratatui takes none
//! into a cell.

mod counts;
mod fleet;
mod head;
mod lists;
pub(super) mod look;
mod room;
mod subnet;
mod words;
mod workers;

#[cfg(test)]
mod tests;

use std::time::Instant;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

use self::look::{Look, Tone};
use self::room::{Wish, shares};
use super::model::{Model, Standing};
use super::view::{Pane, View};

/// What is drawn, and how.
pub(super) struct Shown<'a> {
    pub(super) model: &'a Model,
    pub(super) view: &'a View,
    /// Ages are of this moment.
    pub(super) now: Instant,
    pub(super) look: Look,
}

impl Shown<'_> {
    /// True where the figures are of now.
    fn is_current(&self) -> bool {
        self.model.standing(self.now) == Standing::Live && !self.view.is_paused
    }

    /// The tone of a figure: dim where it is of before, also what was good or bad then.
    fn tone(&self, tone: Tone) -> Tone {
        match self.is_current() {
            true => tone,
            false => Tone::Dim,
        }
    }
}

/// From this width on two panes stand beside each other.
const TWO: u16 = 72;

/// What panes usually need, their titles included. Shape: by [`Pane`].
const USUAL: [u16; Pane::ALL.len()] = [4, 5, 5, 4, 5, 4];

/// Which pane is shown first where there is no room for all. Shape: by [`Pane`].
const RANK: [u8; Pane::ALL.len()] = [1, 3, 4, 5, 2, 6];

/// A row of the picture: its panes with their lines and widths.
type Row = Vec<(Pane, Rect, Vec<Line<'static>>)>;

/// Draws everything into `area`. Returns how far each pane can be scrolled, for [`View::bound`].
pub(super) fn draw(shown: &Shown<'_>, area: Rect, cells: &mut Buffer) -> Vec<(Pane, usize)> {
    let area = area.intersection(cells.area);
    if area.is_empty() {
        return Vec::new();
    }
    if shown.view.has_help {
        let lines = lists::HELP.map(|text| shown.look.line(Tone::Plain, text));
        put(&lines, area, cells);
        return Vec::new();
    }
    let mut head = head::lines(shown, area.width.into());
    // On a small screen the pane that has the keys is worth more than who the daemon is.
    head.truncate(usize::from((area.height / 3).max(1)));
    let [above, rest] = cut(area, lines_of(&head));
    put(&head, above, cells);
    let keys = u16::from(rest.height > 4);
    let [body, below] = cut(rest, rest.height - keys);
    put(&[keys_line(shown)], below, cells);
    body_of(shown, body, cells)
}

/// How many lines it takes to show all, in a width.
pub(super) fn height_of_all(shown: &Shown<'_>, width: u16) -> u16 {
    let head = lines_of(&head::lines(shown, width.into()));
    let rows = rows(shown, Rect::new(0, 0, width, u16::MAX));
    let rows = rows.iter().map(|row| wish(shown, row).all);
    rows.fold(head, u16::saturating_add)
}

/// The rows of panes.
fn body_of(shown: &Shown<'_>, body: Rect, cells: &mut Buffer) -> Vec<(Pane, usize)> {
    let rows = rows(shown, body);
    let wishes: Vec<Wish> = rows.iter().map(|row| wish(shown, row)).collect();
    let mut left = body;
    let mut most = Vec::new();
    for (row, share) in rows.iter().zip(shares(body.height, &wishes)) {
        let [own, rest] = cut(left, share);
        left = rest;
        for (pane, place, lines) in row {
            let place = Rect {
                y: own.y,
                height: own.height,
                ..*place
            };
            most.push((*pane, of_pane(shown, *pane, lines, place, cells)));
        }
    }
    most
}

/// Panes that have something to show, beside each other where there is width.
fn rows(shown: &Shown<'_>, body: Rect) -> Vec<Row> {
    let half = body.width / 2;
    let whole = |pane: Pane| vec![(pane, body, lines(shown, pane, body.width))];
    let middle: Vec<Row> = match body.width >= TWO {
        true => {
            let left = Rect {
                width: half.saturating_sub(1),
                ..body
            };
            let right = Rect {
                x: body.x + half,
                width: body.width - half,
                ..body
            };
            let pair = [(Pane::Answers, left), (Pane::Attributes, right)];
            vec![
                pair.map(|(pane, place)| (pane, place, lines(shown, pane, place.width)))
                    .into(),
            ]
        }
        false => vec![whole(Pane::Answers), whole(Pane::Attributes)],
    };
    let mut rows = vec![whole(Pane::Workers)];
    rows.extend(middle);
    rows.extend([Pane::Subnet, Pane::Findings, Pane::Events].map(whole));
    // Without a reading there is nothing but the head and what has happened.
    rows.retain(|row| row.iter().any(|(_, _, lines)| !lines.is_empty()));
    rows
}

/// The lines of a pane.
fn lines(shown: &Shown<'_>, pane: Pane, width: u16) -> Vec<Line<'static>> {
    let width = width.into();
    match pane {
        Pane::Workers => workers::workers(shown, width),
        Pane::Answers => counts::answers(shown, width),
        Pane::Attributes => counts::attributes(shown, width),
        Pane::Subnet => subnet::subnet(shown, width),
        Pane::Findings => lists::findings(shown, width),
        Pane::Events => lists::events(shown, width),
    }
}

/// Of a row: as much as the longer of its panes.
fn wish(shown: &Shown<'_>, row: &Row) -> Wish {
    let of = |table: [u8; Pane::ALL.len()], pane: Pane| table.get(pane as usize).copied();
    let usual = row
        .iter()
        .filter_map(|(pane, ..)| USUAL.get(*pane as usize).copied())
        .max();
    let rank = row.iter().filter_map(|(pane, ..)| of(RANK, *pane)).min();
    let has_keys = row.iter().any(|(pane, ..)| *pane == shown.view.focus());
    let all = row
        .iter()
        .map(|(_, _, lines)| lines_of(lines).saturating_add(1))
        .max();
    Wish {
        usual: usual.unwrap_or(0),
        all: all.unwrap_or(0),
        rank: if has_keys { 0 } else { rank.unwrap_or(u8::MAX) },
    }
}

/// A title, and as many lines as there is room for. Returns how many may be scrolled away.
fn of_pane(
    shown: &Shown<'_>,
    pane: Pane,
    lines: &[Line<'static>],
    place: Rect,
    cells: &mut Buffer,
) -> usize {
    let [above, below] = cut(place, 1);
    let room = usize::from(below.height);
    let most = lines.len().saturating_sub(room);
    let first = shown.view.scrolled(pane).min(most);
    let part = match lines.len() > room {
        true => format!(" {}-{} of {}", first + 1, first + room, lines.len()),
        false => String::new(),
    };
    let tone = if shown.view.focus() == pane {
        Tone::Focus
    } else {
        Tone::Title
    };
    let name = format!(" {}{part} ", pane.title());
    let rule = "-".repeat(usize::from(place.width).saturating_sub(name.len() + 2));
    let title = Line::from(vec![
        shown.look.span(Tone::Dim, "--"),
        shown.look.span(tone, name),
        shown.look.span(Tone::Dim, rule),
    ]);
    put(&[title], above, cells);
    put(lines.get(first..).unwrap_or_default(), below, cells);
    most
}

/// What keys do, in a line.
fn keys_line(shown: &Shown<'_>) -> Line<'static> {
    let pause = if shown.view.is_paused {
        "p go on"
    } else {
        "p pause"
    };
    let text = format!("q quit   Tab pane   up/down scroll   {pause}   ? help");
    shown.look.line(Tone::Dim, text)
}

/// Lines into cells, one below the other, cut at the right and below.
fn put(lines: &[Line<'static>], place: Rect, cells: &mut Buffer) {
    for (line, y) in lines.iter().zip(place.y..place.bottom()) {
        cells.set_line(place.x, y, line, place.width);
    }
}

/// The first so many lines of a place, and the rest.
fn cut(place: Rect, lines: u16) -> [Rect; 2] {
    let height = lines.min(place.height);
    let above = Rect { height, ..place };
    let below = Rect {
        y: place.y + height,
        height: place.height - height,
        ..place
    };
    [above, below]
}

/// As many as a screen could have at most.
fn lines_of(lines: &[Line<'static>]) -> u16 {
    u16::try_from(lines.len()).unwrap_or(u16::MAX)
}
