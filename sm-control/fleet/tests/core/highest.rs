//! What is remembered, and what is newer than it.

use proptest::prelude::*;
use proptest::sample::Index;
use sa_fleet::highest::{Damaged, Highest, RECORD_SIZE};
use sa_fleet::identity::{Digest, Issue, Position};
use sa_fleet::refusal::Refusal;

use super::made::{announcement, content, position};

proptest! {
    #[test]
    fn a_record_is_read_as_it_was_written_and_in_no_other_way(
        era: u32, numbers: [u64; 3], content: [u8; 32], is_contradicted: bool,
        place: Index, change in 1..=255_u8,
    ) {
        let [term, seq, beat] = numbers;
        let position = Position { issue: Issue { era, term, seq }, beat };
        let highest = Highest { position, content: Digest(content), is_contradicted };
        let mut record = highest.to_record();
        prop_assert_eq!(Highest::from_record(&record), Ok(highest));
        prop_assert_eq!(Highest::from_record(&record[..place.index(RECORD_SIZE)]), Err(Damaged));
        record[place.index(RECORD_SIZE)] ^= change;
        prop_assert_eq!(Highest::from_record(&record), Err(Damaged));
    }
}

#[test]
fn an_empty_or_zeroed_file_is_not_nothing_seen() {
    assert_eq!(Highest::from_record(&[]), Err(Damaged));
    assert_eq!(Highest::from_record(&[0; RECORD_SIZE]), Err(Damaged));
}

#[test]
fn only_what_is_newer_is_admitted() {
    let of = |term, seq, beat, number| announcement(position(term, seq, beat), content(number));
    let seen = Highest::of(&of(5, 5, 5, 1));
    let said = |term, seq, beat, number| seen.admit(&of(term, seq, beat, number)).err();
    assert_eq!(said(5, 5, 6, 1), None);
    assert_eq!(said(5, 6, 1, 1), None);
    assert_eq!(said(6, 1, 1, 2), None);
    assert_eq!(said(5, 5, 5, 1), Some(Refusal::OldBeat));
    assert_eq!(said(5, 5, 4, 1), Some(Refusal::OldBeat));
    assert_eq!(said(5, 4, 9, 1), Some(Refusal::OldIssue));
    assert_eq!(said(4, 9, 9, 1), Some(Refusal::OldTerm));
    // Whichever beat it has: two leaders use one term.
    for beat in [4, 5, 6] {
        assert_eq!(said(5, 5, beat, 2), Some(Refusal::Contradiction));
    }
}

#[test]
fn of_two_contents_of_one_issue_neither_is_admitted_again() {
    let of = |seq, beat, number| announcement(position(5, seq, beat), content(number));
    let seen = Highest {
        is_contradicted: true,
        ..Highest::of(&of(5, 5, 1))
    };
    for number in [1, 2] {
        assert_eq!(seen.admit(&of(5, 6, number)), Err(Refusal::Contradicted));
    }
    assert_eq!(seen.admit(&of(6, 1, 2)), Ok(()));
}

#[test]
fn what_counts_as_content_is_neither_the_beat_nor_its_time() {
    let first = announcement(position(1, 1, 1), content(1));
    let mut beat = announcement(position(1, 1, 2), content(1));
    beat.issued.0 += 10_000;
    assert_eq!(first.content_digest(), beat.content_digest());
    let drill = announcement(position(1, 1, 2), content(1).as_drill());
    assert_ne!(first.content_digest(), drill.content_digest());
}
