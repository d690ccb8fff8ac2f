//! How much a policy may hold. Beyond these a file is refused, so that a hostile one costs bounded memory and time.

/// Most rules, those made of `qos-ulps` included.
pub const MAX_RULES: usize = 16_384;
/// Most levels, those made of `qos-ulps` included.
pub const MAX_LEVELS: usize = 65_535;
/// Most number ranges in all rules together, after merging.
pub const MAX_RANGES: usize = 1 << 20;
/// Longest name of a group or level. Units: bytes.
pub const MAX_NAME_BYTES: usize = 255;
/// Longest `use:` text. Units: bytes.
pub const MAX_TEXT_BYTES: usize = 10_239;
