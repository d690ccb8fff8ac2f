//! Two leaders with valid keys by mistake, each with an engine of its own.

use fleet_node::leading::Order;
use sa_fleet::refusal::Refusal;
use sa_fleet::verdict::{Reason, Verdict};

use crate::made::{Keys, snapshot};
use crate::rig::{Leader, Node, until};

const PREFIX: u64 = 0xfe80_0000_0000_0000;

#[test]
fn of_two_contents_of_one_term_neither_counts_until_a_later_term() {
    let folder = tempfile::tempdir().unwrap();
    let keys = Keys::new();
    let start = |name: &str| Leader::start(&keys, &folder.path().join(name), keys.held(), &[]);
    // Neither hears of the other, and both begin with term 1.
    let (one, other) = (start("one"), start("other"));
    one.in_force.set(snapshot(9, 1));
    let from = [one.url(), other.url()];
    let follower = Node::follower(keys.held(), &folder.path().join("follower"), &from);
    follower.comes_to(9);
    other.in_force.set(snapshot(10, 1));
    until("both lead in one term", || {
        let term = |leader: &Leader| leader.running.said.read().term;
        term(&one) == Some(1) && term(&other) == Some(1)
    });
    // The second is asked, and heard once it has said more beats than the first.
    drop(one);
    until("two contents were heard", || {
        follower.running.said.read().verdict == Some(Verdict::Stop(Reason::Contradicted))
    });
    is_told(&follower);
    // Not its next beats either, nor after a restart.
    let beats = || other.desk.announced(PREFIX).map(|it| it.position);
    let before = beats();
    until("two beats more", || {
        assert_eq!(follower.stand.answers(), None);
        let both = beats().zip(before);
        both.is_some_and(|(now, before)| now.beat > before.beat + 1)
    });
    drop(follower);
    let from = [other.url()];
    let follower = Node::follower(keys.held(), &folder.path().join("follower"), &from);
    until("it is refused again", || {
        let refused = follower.running.said.read().refused;
        refused.iter().any(|(why, _)| *why == Refusal::Contradicted)
    });
    assert_eq!(follower.stand.answers(), None);
    assert!(other.running.order(Order::Promote { above: 1 }));
    follower.comes_to(10);
}

/// It answers nothing, and says why to a person and in its counts.
fn is_told(follower: &Node) {
    assert_eq!(follower.stand.answers(), None);
    let said = follower.running.said.read();
    let alert = said.alert.map(|(_, words)| words).unwrap_or_default();
    assert!(
        alert.contains("two contents of announcement 1.1.1."),
        "{alert}"
    );
    assert!(
        said.refused
            .iter()
            .any(|(why, _)| *why == Refusal::Contradiction)
    );
}

#[test]
fn who_hears_of_its_own_term_from_another_steps_down_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let keys = Keys::new();
    let start = |name: &str, peers: &[String]| {
        Leader::start(&keys, &folder.path().join(name), keys.held(), peers)
    };
    let one = start("one", &[]);
    let other = start("other", &[one.url()]);
    one.in_force.set(snapshot(9, 1));
    other.in_force.set(snapshot(10, 1));
    until("it leads no longer", || {
        let said = other.running.said.read();
        let alert = said.alert.map(|(_, words)| words).unwrap_or_default();
        said.term.is_none() && alert.contains("in the same term")
    });
    // Who has not heard of it goes on.
    assert_eq!(one.running.said.read().term, Some(1));
}

#[test]
fn a_later_era_counts_more_than_any_term() {
    let folder = tempfile::tempdir().unwrap();
    let keys = Keys::new();
    let path = |name: &str| folder.path().join(name);
    let held = |version, era| fleet_node::roots::installed(keys.root_file(version, era)).unwrap();
    let old = Leader::start(&keys, &path("old"), held(1, 1), &[]);
    assert!(old.running.order(Order::Promote { above: 40 }));
    old.in_force.set(snapshot(9, 1));
    let new = Leader::start(&keys, &path("new"), held(2, 2), &[]);
    new.in_force.set(snapshot(10, 1));
    let from = [old.url(), new.url()];
    let follower = Node::follower(held(2, 2), &path("follower"), &from);
    follower.comes_to(10);
    let said = follower.running.said.read();
    assert_eq!((said.position.issue.era, said.position.issue.term), (2, 1));
    assert!(said.refused.iter().any(|(why, _)| *why == Refusal::EraOver));
}
