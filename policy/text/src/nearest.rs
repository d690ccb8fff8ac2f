//! Which name was likely meant.
//!
//! A wrong name is mostly a slip of the fingers, and the message that names the right one saves a search.

/// The first of the names that differ least from `wrong`, if it does in no more places than
/// `forgiven` says for it. Letter case of `wrong` does not matter; a place is a character put in, taken out
/// or replaced.
pub fn nearest<'a>(
    wrong: &str,
    names: impl IntoIterator<Item = &'a str>,
    forgiven: impl Fn(&str) -> usize,
) -> Option<&'a str> {
    // Distances take the product of both lengths, and a hostile word may be megabytes long.
    let wrong: String = wrong.chars().take(LONGEST).collect();
    let wrong = wrong.to_ascii_lowercase();
    let judged = names
        .into_iter()
        .map(|name| (strsim::levenshtein(&wrong, name), name));
    // The first of equals, so that a message is the same each time.
    let (changes, name) = judged.min_by_key(|(changes, _)| *changes)?;
    (changes <= forgiven(name)).then_some(name)
}

/// Longer words are nobody's misspelling. Units: characters.
const LONGEST: usize = 40;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_changes_are_forgiven() {
        let forgiven = |name: &str| if name.len() < 5 { 1 } else { 2 };
        let found = |wrong| nearest(wrong, ["nfs", "nvmeof", "lustre", "tcp"], forgiven);
        assert_eq!(found("NFSS"), Some("nfs"));
        assert_eq!(found("nvmof"), Some("nvmeof"));
        assert_eq!(found("lusrte"), Some("lustre"));
        assert_eq!(found("udp"), None);
        assert_eq!(found("gpfs"), None);
    }
}
