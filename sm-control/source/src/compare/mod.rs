//! What a running SA answers beside what a snapshot answers, before a cut-over or in the shadow of
//! another SA.
//!
//! One question at a time: [`Questions`] makes requests as clients make them, [`ask_and_compare`]
//! has the SA and the snapshot answer the same bytes, [`Difference`] says in which fields the two
//! replies are not equal, [`Tally`] counts. Who drives it decides the pace: the shadow role spreads
//! questions over minutes, the tool asks as fast as it gets answers.
//!
//! ```text
//!  Question ──> ask (the SA) ────────────> theirs ─┐
//!      └──────> whole::respond(snapshot) ─> ours ──┴─> Difference, or none
//! ```
//!
//! The snapshot answers through the same function as the daemon's lanes, as the requester whose LID
//! stands in the slot. So a difference is what a client of this port would see after the cut-over,
//! no more and no less.
//!
//! Unlike [`compare_paths`](crate::compare_paths) it takes silence of the SA for an answer, and it
//! needs no subnet and no policy: a snapshot file is enough.

mod difference;
mod questions;

use sa_snapshot::Snapshot;
use sa_wire::umad::MAD_SIZE;

use sa_answer::{asks_for_unknown_sl, whole};

pub use difference::{Difference, FieldDifference};
pub use questions::{Question, Questions, service_ids};

/// What asking comes to: the reply, headers included; none when nobody answered in time.
pub type Reply = Option<Vec<u8>>;

/// Counts of a comparison.
///
/// They only grow; a report over an hour is the difference of two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// Questions.
    pub asked: u64,
    /// Those that the SA answered, be it with a status.
    pub answered: u64,
    /// Those where its answer and the snapshot's are not the same; silence of one of them counts.
    pub different: u64,
}

impl Tally {
    /// Counts one question.
    pub fn count(&mut self, outcome: &Asked) {
        self.asked += 1;
        self.answered += u64::from(outcome.is_answered);
        self.different += u64::from(outcome.difference.is_some());
    }
}

/// What became of a question.
///
/// Both are told, since a question may be unanswered and no difference: where the snapshot is
/// silent as well.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// The SA answered.
    pub is_answered: bool,
    /// Where its answer is not the snapshot's.
    pub difference: Option<Difference>,
}

/// Asks a question as its requester and compares. The SA's silence is a difference where the
/// snapshot answers. Errors: those of `ask`, which are about the way and not about the answer.
pub fn ask_and_compare<E>(
    snapshot: &Snapshot,
    question: &Question,
    ask: impl FnOnce(&[u8; MAD_SIZE]) -> Result<Reply, E>,
) -> Result<Asked, E> {
    // The SA first: what it is asked must not depend on what we would say.
    let theirs = ask(&question.slot.mad)?;
    let ours = whole::respond(snapshot, &question.slot);
    // Of a path whose SL is not known the snapshot says nothing that could differ.
    let difference = match asks_for_unknown_sl(snapshot, &question.slot) {
        true => None,
        false => Difference::between(question, theirs.as_deref(), ours.as_deref()),
    };
    Ok(Asked {
        is_answered: theirs.is_some(),
        difference,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use sa_compiler::pipeline::{self, Inputs, Stamp};
    use sa_wire::Lid;

    const FABRIC: &str = "switchguid=0x200000\nSwitch 8 \"S1\"\n[1] \"H1\"[1]\n[2] \"H2\"[1]\n\n\
                          caguid=0x100000\nHca 1 \"H1\"\n[1] \"S1\"[1]\n\n\
                          caguid=0x100010\nHca 1 \"H2\"\n[1] \"S1\"[2]\n\n";

    fn compiled(life: u8) -> pipeline::Compiled {
        let directory = tempfile::tempdir().unwrap();
        let place = |name: &str, text: &str| {
            let path = directory.path().join(name);
            std::fs::write(&path, text).unwrap();
            path
        };
        let policy = format!(
            "qos-levels\n qos-level\n  name: DEFAULT\n  sl: 0\n  packet-life: {life}\n \
             end-qos-level\nend-qos-levels\nqos-match-rules\n qos-match-rule\n  service-id: \
             0x10-0x20\n  qos-level-name: DEFAULT\n end-qos-match-rule\nend-qos-match-rules\n"
        );
        let inputs = Inputs {
            fabric: place("net", FABRIC),
            policy: Some(place("policy.conf", &policy)),
            ..Inputs::default()
        };
        pipeline::compile(&inputs, Stamp::default()).unwrap()
    }

    fn compare(ours: &Snapshot, theirs: &Snapshot) -> (Tally, Vec<Difference>) {
        let mut questions = Questions::new(ours, Lid::new(1).ok(), vec![0x10], 7).unwrap();
        let (mut tally, mut differences) = (Tally::default(), Vec::new());
        for _ in 0..50 {
            let question = questions.next_question();
            let slot = question.slot;
            let asked = ask_and_compare(ours, &question, |_| {
                Ok::<_, ()>(whole::respond(theirs, &slot))
            });
            let asked = asked.unwrap();
            tally.count(&asked);
            differences.extend(asked.difference);
        }
        (tally, differences)
    }

    #[test]
    fn the_same_policy_gives_no_difference_and_another_exactly_its_own() {
        let (one, other) = (compiled(15), compiled(16));
        assert_eq!(service_ids(one.parts.policy.as_ref()), [0x10, 0x20]);
        let (tally, none) = compare(&one.snapshot, &one.snapshot);
        assert_eq!((tally.asked, tally.answered, tally.different), (50, 50, 0));
        assert_eq!(none, []);
        let (tally, all) = compare(&one.snapshot, &other.snapshot);
        assert_eq!(usize::try_from(tally.different), Ok(all.len()));
        // A port's path to itself has no life time.
        assert!((20..40).contains(&all.len()), "{}", all.len());
        for difference in all {
            let [field] = &difference.fields[..] else {
                panic!("{difference}");
            };
            assert_eq!(field.name, "pkt_life", "{difference}");
            assert_eq!((field.theirs.as_str(), field.ours.as_str()), ("16", "15"));
        }
    }

    #[test]
    fn silence_is_a_difference() {
        let ours = compiled(15).snapshot;
        let mut questions = Questions::new(&ours, Lid::new(1).ok(), Vec::new(), 1).unwrap();
        let question = questions.next_question();
        let asked = ask_and_compare(&ours, &question, |_| Ok::<_, ()>(None)).unwrap();
        assert!(!asked.is_answered);
        let difference = asked.difference.unwrap();
        assert_eq!(difference.fields[0].theirs, "no answer");
    }
}
