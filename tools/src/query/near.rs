//! Names that may have been meant.

use std::collections::BTreeSet;

/// So many are told at most.
const MOST: usize = 3;

/// Characters that are compared: distances take the product of both lengths.
const COMPARED: usize = 64;

/// The names that differ least from `wrong`, the nearest first, without regard to case; none that
/// differ in more than a third of it.
///
/// Cost: that of a comparison with each name.
pub(super) fn nearest<'a>(wrong: &str, names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let folded = |text: &str| -> String { text.to_lowercase().chars().take(COMPARED).collect() };
    let wrong = folded(wrong);
    let forgiven = (wrong.chars().count() / 3).max(1);
    // A set, since nodes may have one name, and a message is to be the same each time.
    let mut near: BTreeSet<(usize, &str)> = BTreeSet::new();
    for name in names {
        let changes = strsim::levenshtein(&wrong, &folded(name));
        if changes <= forgiven {
            near.insert((changes, name));
        }
        while near.len() > MOST {
            near.pop_last();
        }
    }
    near.into_iter().map(|(_, name)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn the_nearest_come_first_and_strangers_not_at_all() {
        let names = ["node-10", "node-1", "gpu-3", "NODE-11", "node-1", "node-12"];
        let near = |wrong| nearest(wrong, names.into_iter());
        assert_eq!(near("nodee-1"), ["node-1", "NODE-11", "node-10"]);
        assert_eq!(near("storage"), [""; 0]);
        assert_eq!(near(""), [""; 0]);
        assert_eq!(near(&"x".repeat(10_000)), [""; 0]);
    }
}
