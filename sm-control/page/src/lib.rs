//! What operators see of the daemon in a browser: values in, HTML and SVG out.
//!
//! ```text
//!  the daemon: status, fabric state, account, events ──values──> overview | fabric | switch | path | snapshots | fleet | events
//!                                                                      └── shell: head, navigation, state ──> a document
//! ```
//!
//! Documents are whole without a script: what is asked for is in the address, and forms send it
//! there. One small script of our own adds what comes later (`assets/page.js`). Nothing is loaded
//! from elsewhere, and no style or script stands in a document, so that the browser can be told to
//! refuse all of that (`Content-Security-Policy`): whatever a NodeDescription says, it is text.
//!
//! What it does not do: no socket, no clock, no file, no decision. Times come in as numbers. Forms
//! that are sent by POST are two: a policy that is tried ([`policy`]), and a rollback, with a token
//! ([`rollback`]).

#![forbid(unsafe_code)]

pub mod asked;
pub mod events;
pub mod fabric;
pub mod fleet;
mod links;
pub mod overview;
pub mod path;
pub mod policy;
pub mod rollback;
mod shell;
pub mod snapshots;
pub mod switch;
mod words;

pub use shell::{Here, Shell, message};
pub use words::{age, escaped, name_of, unix};

/// The style sheet. Shape: CSS, for light and dark.
pub const STYLE: &str = include_str!("../assets/page.css");

/// The script that adds what happens while a page is open.
pub const SCRIPT: &str = include_str!("../assets/page.js");

/// The icon. Shape: SVG.
pub const ICON: &str = include_str!("../assets/page.svg");
