//! Text of TOML, for verbs that write configurations.

use std::fmt::Write;

/// A basic string of TOML.
pub(crate) fn quoted(value: &str) -> String {
    let mut text = String::from("\"");
    for letter in value.chars() {
        match letter {
            '"' | '\\' => text.extend(['\\', letter]),
            // TOML takes none of these as they are.
            letter if letter.is_control() => {
                let _ = write!(text, "\\u{:04X}", u32::from(letter));
            }
            letter => text.push(letter),
        }
    }
    text.push('"');
    text
}
