//! Lists and numbers for people.
//!
//! A fabric has thousands of ports, and what is wrong with one is often wrong with all. These keep
//! messages short: some names and a count of the rest ([`first_few`]), some lines and a count
//! ([`at_most`]), some remarks of each kind and a count ([`told`]).
//!
//! ```text
//! S1, S2, S3, S4, S5, S6, S7, S8 and 56 more
//! ```
//!
//! They are here and not in `sa-text` because their users are the crates from the fabric on; the
//! policy's parser has single places to name and needs none of it.

use std::collections::HashMap;
use std::fmt::Display;

use sa_text::Remark;

/// Lines of one message, or messages of one occasion, that people are shown: about what a terminal
/// shows beside the prompt.
pub const SHOWN: usize = 20;

/// Some names, and how many more there are. Shape: at most eight; the order is the caller's.
pub fn first_few(names: &[String]) -> String {
    first_few_of(names, names.len())
}

/// The same of a list of so many, of which `names` has the first.
pub fn first_few_of(names: &[String], all: usize) -> String {
    // Fewer than lines: all of them stand in one.
    const SHOWN: usize = 8;
    let shown: Vec<&str> = names.iter().take(SHOWN).map(String::as_str).collect();
    let text = shown.join(", ");
    match all.saturating_sub(shown.len()) {
        0 => text,
        more => format!("{text} and {more} more"),
    }
}

/// A number with its noun: `1 switch`, `2 switches`, `0 switches`. Words and not an added "s", as
/// nouns differ.
pub fn count(number: impl Display, one: &str, many: &str) -> String {
    // The text decides, so that numbers of any type will do.
    let number = number.to_string();
    let word = if number == "1" { one } else { many };
    format!("{number} {word}")
}

/// The first lines of a list that may be as long as a fabric is large, and one that counts the
/// rest as `more` of something. Shape: at most [`SHOWN`] lines and that one.
///
/// The rest is counted by going through it, so `lines` should be cheap to make.
pub fn at_most(lines: impl IntoIterator<Item = String>, one: &str, many: &str) -> Vec<String> {
    let mut lines = lines.into_iter();
    let mut shown: Vec<String> = lines.by_ref().take(SHOWN).collect();
    match lines.count() {
        0 => {}
        1 => shown.push(format!("and 1 more {one}")),
        more => shown.push(format!("and {more} more {many}")),
    }
    shown
}

/// Those of many remarks that people are told, in their order, and how many are left out.
///
/// Hundreds of one kind must not hide the one of another, so each kind gets its share.
/// Shape: at most [`SHOWN`] of them and one line.
///
/// With 8,000 "no LID" and one "QoS differs" the one is told: remarks are dealt out in rounds, the
/// first of each kind, then the second of each. Cost: O(n log n), for more than [`SHOWN`] only.
pub fn told(remarks: &[Remark]) -> Vec<String> {
    if remarks.len() <= SHOWN {
        return remarks.iter().map(Remark::to_string).collect();
    }
    // The nth of its kind goes into the nth round.
    let mut seen: HashMap<String, usize> = HashMap::new();
    let mut order: Vec<(usize, usize)> = (0..)
        .zip(remarks)
        .map(|(nth, remark)| {
            let round = seen.entry(kind(remark)).or_default();
            *round += 1;
            (*round, nth)
        })
        .collect();
    // By round, then by place: what is cut off are later ones of kinds that were told.
    order.sort_unstable();
    let mut chosen: Vec<usize> = order.into_iter().take(SHOWN).map(|(_, nth)| nth).collect();
    // Back into the order in which they were found, which is that of the files.
    chosen.sort_unstable();
    let chosen = chosen.iter().filter_map(|nth| remarks.get(*nth));
    let mut told: Vec<String> = chosen.map(Remark::to_string).collect();
    told.push(match remarks.len() - SHOWN {
        1 => "and 1 more warning like these".to_owned(),
        more => format!("and {more} more warnings like these"),
    });
    told
}

/// What remarks of one kind have in common: their code. Remarks of a policy's parser have none yet;
/// of those the plain words of the first line.
///
/// Words in small letters are the sentence without names, numbers and quotes, so that two remarks
/// of one check are of one kind whatever ports they name.
fn kind(remark: &Remark) -> String {
    if let Some(code) = &remark.code {
        return code.to_string();
    }
    let first = remark.message.lines().next().unwrap_or_default();
    let is_plain = |word: &&str| word.chars().all(|c| c.is_ascii_lowercase());
    let plain: Vec<&str> = first.split_whitespace().filter(is_plain).collect();
    plain.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_no_plural() {
        assert_eq!(count(1, "warning", "warnings"), "1 warning");
        assert_eq!(count(0_u64, "warning", "warnings"), "0 warnings");
        assert_eq!(count(21, "switch", "switches"), "21 switches");
    }

    #[test]
    fn long_lists_end_with_a_count() {
        let lines = |count: usize| (0..count).map(|nth| nth.to_string());
        assert_eq!(at_most(lines(20), "x", "xs").len(), 20);
        assert_eq!(
            at_most(lines(21), "x", "xs").last().unwrap(),
            "and 1 more x"
        );
        let many = at_most(lines(221_184), "reason", "reasons");
        assert_eq!(many.len(), 21);
        assert_eq!(many[20], "and 221164 more reasons");
    }

    #[test]
    fn many_of_one_kind_do_not_hide_one_of_another() {
        let without = |nth| format!("the LID file has no LID for H{nth}; one was assigned");
        let mut all: Vec<Remark> = (0..8000)
            .map(|nth| Remark::warning("lid-missing", without(nth)))
            .collect();
        let qos = "QoS is off here, and on there";
        all.insert(5000, Remark::warning("qos-differs", qos));
        all.push(Remark::warning("other", "the last is another"));
        let told = told(&all);
        assert_eq!(told.len(), SHOWN + 1);
        for one in ["QoS is off here, and on there", "the last is another"] {
            assert!(told.iter().any(|it| it == one), "{told:?}");
        }
        assert_eq!(told[SHOWN], "and 7982 more warnings like these");
        assert!(told[0].contains("H0;"));
        let few: Vec<String> = all[..20].iter().map(Remark::to_string).collect();
        assert_eq!(super::told(&all[..20]), few);
    }
}
