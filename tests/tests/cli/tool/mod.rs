//! The operator's tool as a whole: what holds for every verb that it has, be it the newest, and how
//! it speaks to people.

mod control;
mod errors;
mod hosts;
mod lists;
mod mistakes;
mod options;
mod room;
pub(crate) mod run;
mod streams;
pub(crate) mod verbs;
mod wording;
