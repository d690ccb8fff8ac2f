//! What requests ask for, by attribute: a part of the overview.
//!
//! ```text
//!  worker     PathRecord Get    1,200,000 a second     from one batch in 64
//!  slow lane  NodeRecord                3 a second     from every request
//! ```
//!
//! Workers count by attribute only what they time, so their rates are estimates, and the page says
//! so; where they time nothing, it says which key makes them.

use core::num::NonZeroU32;

use maud::{Markup, html};

use crate::words::{count, rate};

/// Requests by attribute, of all ports.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Asked {
    /// Of how many batches workers count one; none: they count none.
    pub every: Option<NonZeroU32>,
    /// How far back rates look. Units: seconds.
    pub window: u64,
    /// Workers first; what nobody asked for is left out.
    pub kinds: Vec<Kind>,
}

/// Requests for one thing.
#[derive(Debug, Clone, PartialEq)]
pub struct Kind {
    /// Who answers: `worker` or `slow lane`.
    pub lane: &'static str,
    /// Name of the attribute, as the standard has it.
    pub attribute: &'static str,
    /// Likewise; empty where methods are not told apart.
    pub method: &'static str,
    /// A second; none where nothing is known of it: too few readings, or replies of which none was
    /// counted.
    pub rate: Option<f64>,
    /// Since the start: what was counted, not all there were.
    pub counted: u64,
}

/// The part of the page.
pub(crate) fn section(asked: &Asked) -> Markup {
    html! {
        h2 { "Requests by attribute" }
        @if asked.every.is_none() {
            p class="note" {
                "Workers do not count by attribute: " code { "[workers] sample_every" } " is not set. With " code { "sample_every = 1000" }
                " each counts the replies of one batch in 1,000, from the next start on. The slow lane counts every request."
            }
        }
        @if asked.kinds.is_empty() { p { "None has been counted yet." } }
        @else {
            div class="wide" role="region" aria-label="Requests by attribute" tabindex="0" {
                table class="numbers" {
                    caption { (basis(asked)) }
                    thead { tr { @for head in ["Attribute", "Method", "Answered by", "A second", "Counted"] { th scope="col" { (head) } } } }
                    tbody { @for it in &asked.kinds { (kind(it)) } }
                }
            }
        }
    }
}

/// What the numbers are made from.
fn basis(asked: &Asked) -> String {
    let over = format!("Over the last {} s.", asked.window);
    match asked.every.map(NonZeroU32::get) {
        None => format!("{over} The slow lane alone, each request"),
        Some(1) => {
            format!("{over} Workers: all replies. Slow lane: each request. Counted since the start")
        }
        Some(every) => format!(
            "{over} Workers: estimated from the replies of one batch in {} ([workers] sample_every). Slow lane: each request. \
             Counted since the start",
            count(u64::from(every))
        ),
    }
}

fn kind(it: &Kind) -> Markup {
    html! {
        tr {
            th scope="row" { (it.attribute) }
            td { (if it.method.is_empty() { "–" } else { it.method }) }
            td { (it.lane) }
            td { (rate(it.rate)) }
            td { (count(it.counted)) }
        }
    }
}
