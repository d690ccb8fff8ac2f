//! How much a policy may hold. Beyond these a file is refused, so that a hostile one costs bounded memory and time.
//!
//! They are far beyond what people write, seldom more than a hundred rules, and low enough that
//! places fit their types and a compilation ends within seconds.

/// Most rules, those made of `qos-ulps` included.
/// Sets of rules are bits: 2 KiB for each class at most.
pub const MAX_RULES: usize = 16_384;
/// Most levels, those made of `qos-ulps` included.
/// What a [`super::LevelIx`] can count.
pub const MAX_LEVELS: usize = 65_535;
/// Most number ranges in all rules together, after merging.
/// A class may begin or end at each, in every criterion.
pub const MAX_RANGES: usize = 1 << 20;
/// Longest name of a group or level. Units: bytes.
pub const MAX_NAME_BYTES: usize = 255;
/// Longest `use:` text. Units: bytes.
pub const MAX_TEXT_BYTES: usize = 10_239;
