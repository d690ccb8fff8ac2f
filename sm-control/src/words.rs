//! Lists for people.

/// Some names, and how many more there are.
pub fn first_few(names: &[String]) -> String {
    const SHOWN: usize = 8;
    let shown: Vec<&str> = names.iter().take(SHOWN).map(String::as_str).collect();
    let text = shown.join(", ");
    match names.len().saturating_sub(SHOWN) {
        0 => text,
        more => format!("{text} and {more} more"),
    }
}
