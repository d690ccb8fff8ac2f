//! A fabric that is too large for one picture: a tile for each part, with a cell for each switch.
//!
//! ```text
//!  ┌ z=0 ─────────┐ ┌ z=1 ─────────┐
//!  │ ▪▪▪▪▪▪▪▪▪▪▪▪ │ │ ▪▪▪▪■▪▪▪▪▪▪▪ │     a cell that stands out has its colour; the rest is one area
//!  │ 256 switches │ │ 256, 1 fault │
//!  └──────────────┘ └──────────────┘
//! ```
//!
//! A tile leads to the picture of its part.

use maud::{Markup, html};
use routing::Topology;
use sa_layout::plan::Part;

use super::marks::{Mark, Marks};
use crate::words::{counted, name_of};

/// Cells in a row of a tile.
const ACROSS: usize = 32;
/// From cell to cell. Units: pixels.
const CELL: usize = 5;

/// All parts.
pub(super) fn tiles(whole: &Topology, marks: &Marks, parts: &[Part]) -> Markup {
    html! {
        ul class="tiles" {
            @for (number, part) in parts.iter().enumerate() { li { (tile(whole, marks, number, part)) } }
        }
    }
}

fn tile(whole: &Topology, marks: &Marks, number: usize, part: &Part) -> Markup {
    let worst = |ix: &_| marks.worst(whole.switch(*ix).guid);
    let cells: Vec<_> = part.switches.iter().map(worst).collect();
    let hosts: usize = part
        .switches
        .iter()
        .map(|ix| whole.hosts(*ix).count())
        .sum();
    let rows = cells.len().div_ceil(ACROSS).max(1);
    let of = |mark| cells.iter().filter(|it| **it == Some(mark)).count();
    let counts = Mark::ALL.map(|mark| (mark, of(mark)));
    html! {
        a href={ "/fabric?part=" (number) } {
            strong { (name_of(&part.name)) }
            svg viewBox={ "0 0 " (ACROSS * CELL) " " (rows * CELL) } aria-hidden="true" {
                path class="cells" d=(area(cells.len())) {}
                @for (nth, mark) in cells.iter().enumerate() {
                    @if let Some(mark) = mark {
                        rect class=(mark.class()) x=(nth % ACROSS * CELL) y=(nth / ACROSS * CELL) width=(CELL) height=(CELL) {}
                    }
                }
            }
            span { (counted(part.switches.len(), "switch")) ", " (counted(hosts, "host")) }
            @for (mark, count) in counts.iter().filter(|(_, count)| *count > 0) {
                span class={ "badge " (mark.class()) } { (count) " " (mark.word()) }
            }
        }
    }
}

/// The whole rows, and what is left of the last one.
fn area(cells: usize) -> String {
    let (rows, rest) = (cells / ACROSS, cells % ACROSS);
    let wide = ACROSS * CELL;
    format!(
        "M0 0h{wide}v{}h-{wide}zM0 {}h{}v{CELL}h-{}z",
        rows * CELL,
        rows * CELL,
        rest * CELL,
        rest * CELL
    )
}
