//! Parts that the runs of `tests/small.rs` would not find broken: what the oracle counts, and that
//! what changes is one thing.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use sa_fleet::identity::{Issue, Token};

use super::fabric::Size;
use super::leader::Published;
use super::oracle::{Judged, Oracle};
use super::policy;

const fn issue(seq: u64) -> Issue {
    Issue {
        era: 1,
        term: 1,
        seq,
    }
}

fn published(seq: u64, token: u64) -> Published {
    let words = format!(
        r#"{{"era":1,"term":1,"seq":{seq},"token":{token},"word_ns":0,"read_ms":0,"route_ms":0,"check_ms":0,
        "build_ms":0,"compare_ms":0,"compile_ms":0,"publish_ms":0,"snapshot_bytes":0,"patch_bytes":null}}"#
    );
    serde_json::from_str(&words).unwrap()
}

#[test]
fn the_oracle_counts_answers_of_what_is_not_the_newest_that_was_verified() {
    let oracle = Oracle::default();
    oracle.announced(&published(1, 71));
    let looks = [
        (issue(1), Some(Token(71))),
        (issue(1), None),
        // Answers of the old one after the new one was verified.
        (issue(2), Some(Token(71))),
        (issue(2), Some(Token(72))),
        // Answers though nothing was ever verified.
        (Issue::default(), Some(Token(71))),
        (Issue::default(), None),
    ];
    looks.into_iter().for_each(|look| oracle.saw(look));
    // Nobody has said yet what the second is.
    let first = Judged {
        samples: 4,
        silent: 2,
        violations: 1,
    };
    assert_eq!(oracle.judge(), first);
    oracle.announced(&published(2, 72));
    let both = Judged {
        samples: 6,
        silent: 2,
        violations: 2,
    };
    assert_eq!(oracle.judge(), both);
    assert_eq!(oracle.judge().since(&first).violations, 1);
}

#[test]
fn a_rule_that_changes_is_the_only_line_that_differs() {
    let guids: Vec<u64> = (1..400).map(|nth| nth * 16 + 1).collect();
    let (before, after) = (
        policy::text(90, &guids, None),
        policy::text(90, &guids, Some(7)),
    );
    let lines = before.lines().zip(after.lines());
    assert_eq!(lines.filter(|(one, other)| one != other).count(), 1);
    assert_eq!(before.lines().count(), after.lines().count());
}

#[test]
fn a_size_is_three_rings() {
    assert_eq!("16x3x4".parse(), Ok(Size([16, 3, 4])));
    for odd in ["16x16", "16x16x2", "16x16x16x2", "x", "300x3x3"] {
        assert!(odd.parse::<Size>().is_err(), "{odd}");
    }
}
