//! Documents as scripts: what stands in their blocks of commands, word by word.

pub mod blocks;
pub mod script;

/// What is run before every document's script.
pub const PRELUDE: &str = include_str!("prelude.sh");
