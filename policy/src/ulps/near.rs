//! Which name was likely meant.

/// The name with the fewest changes, if they are few for its length.
pub(super) fn nearest<'a>(wrong: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let wrong: Vec<char> = wrong.chars().take(LONGEST).collect();
    let wrong: Vec<char> = wrong.iter().map(char::to_ascii_lowercase).collect();
    let judged = names.map(|name| (changes(&wrong, name), name));
    let best = judged.min_by_key(|(changes, _)| *changes);
    let few = |name: &str| if name.len() < 5 { 1 } else { 2 };
    best.filter(|(changes, name)| *changes <= few(name))
        .map(|(_, name)| name)
}

/// Longer words are nobody's misspelling.
const LONGEST: usize = 40;

/// Characters put in, taken out or replaced (Levenshtein's distance).
fn changes(one: &[char], other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (at, left) in one.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = at + 1;
        for (to, right) in other.iter().enumerate() {
            let replaced = diagonal + usize::from(left != right);
            diagonal = row[to + 1];
            row[to + 1] = replaced.min(diagonal + 1).min(row[to] + 1);
        }
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_changes_are_forgiven() {
        let names = || ["nfs", "nvmeof", "lustre", "tcp"].into_iter();
        assert_eq!(nearest("NFSS", names()), Some("nfs"));
        assert_eq!(nearest("nvmof", names()), Some("nvmeof"));
        assert_eq!(nearest("lusrte", names()), Some("lustre"));
        assert_eq!(nearest("udp", names()), None);
        assert_eq!(nearest("gpfs", names()), None);
    }
}
