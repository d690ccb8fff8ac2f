//! Addresses of things that more than one page leads to.
//!
//! A switch goes by its GUID, as names may be the same, or empty.

use maud::{Markup, html};
use sa_wire::Guid;

use crate::words::{escaped, name_of};

/// To a switch's own page, under its name.
pub(crate) fn switch_link(guid: Guid, description: &str) -> Markup {
    html! { a href={ "/switch?name=" (escaped(&guid.to_string())) } { (name_of(description)) } }
}
