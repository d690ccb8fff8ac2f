//! How a generation comes from what is in force on one host to the gate of another.

use std::time::Instant;

use fleet_node::leading::Order;
use sa_fleet::verdict::{Reason, Verdict};

use crate::made::{Keys, snapshot};
use crate::rig::{Leader, Node, TTL, until};

#[test]
fn what_is_in_force_at_the_leader_is_answered_from_and_what_follows_comes_as_a_patch() {
    let folder = tempfile::tempdir().unwrap();
    let keys = Keys::new();
    let leader = Leader::start(&keys, &folder.path().join("leader"), keys.held(), &[]);
    let follower = Node::follower(
        keys.held(),
        &folder.path().join("follower"),
        &[leader.url()],
    );
    assert_eq!(follower.stand.answers(), None, "nothing is announced");
    leader.in_force.set(snapshot(9, 1));
    follower.comes_to(9);
    leader.in_force.set(snapshot(10, 2));
    follower.comes_to(10);
    let counts = follower.running.said.read().counts;
    assert_eq!((counts.wholes, counts.patches), (1, 1), "{counts:?}");
    // The leader sees who follows.
    let children = leader.desk.children.of(0xfe80_0000_0000_0000);
    assert_eq!(children.len(), 1);
    assert_eq!(children[0].0, "n1");
}

#[test]
fn the_same_answers_compiled_at_another_time_stop_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let keys = Keys::new();
    let leader = Leader::start(&keys, &folder.path().join("leader"), keys.held(), &[]);
    let follower = Node::follower(
        keys.held(),
        &folder.path().join("follower"),
        &[leader.url()],
    );
    leader.in_force.set(snapshot(9, 1));
    follower.comes_to(9);
    leader.in_force.set(snapshot(9, 2));
    until(
        "the other file is in service, and nobody was silent",
        || {
            assert_eq!(follower.stand.answers(), Some(9));
            follower.stand.0.lock().unwrap().swaps == 2
        },
    );
}

#[test]
fn a_host_that_hears_nothing_ends_by_itself_and_goes_on_with_the_next_beat() {
    let folder = tempfile::tempdir().unwrap();
    let keys = Keys::new();
    let leader = Leader::start(&keys, &folder.path().join("leader"), keys.held(), &[]);
    let (relay, follower) = (folder.path().join("relay"), folder.path().join("follower"));
    let relay = Node::relay(keys.held(), &relay, &[leader.url()]);
    let follower = Node::follower(keys.held(), &follower, &[relay.url()]);
    leader.in_force.set(snapshot(9, 1));
    follower.comes_to(9);
    drop(leader);
    let over = Instant::now();
    until("the follower of a relay ends, too", || {
        follower.stand.answers().is_none() && relay.stand.answers().is_none()
    });
    assert!(over.elapsed() <= TTL, "{:?}", over.elapsed());
    until("it says why", || {
        follower.running.said.read().verdict == Some(Verdict::Stop(Reason::StaleLease))
    });
}

#[test]
fn a_host_that_was_restarted_waits_for_a_beat_and_fetches_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let keys = Keys::new();
    let leader = Leader::start(&keys, &folder.path().join("leader"), keys.held(), &[]);
    let path = folder.path().join("follower");
    let follower = Node::follower(keys.held(), &path, &[leader.url()]);
    leader.in_force.set(snapshot(9, 1));
    follower.comes_to(9);
    drop(follower);
    let follower = Node::follower(keys.held(), &path, &[leader.url()]);
    follower.comes_to(9);
    let counts = follower.running.said.read().counts;
    assert_eq!((counts.wholes, counts.patches, counts.loads), (0, 0, 1));
}

#[test]
fn a_leader_that_is_in_doubt_or_withdraws_silences_all() {
    let folder = tempfile::tempdir().unwrap();
    let keys = Keys::new();
    let leader = Leader::start(&keys, &folder.path().join("leader"), keys.held(), &[]);
    let follower = Node::follower(
        keys.held(),
        &folder.path().join("follower"),
        &[leader.url()],
    );
    leader.in_force.set(snapshot(9, 1));
    follower.comes_to(9);
    leader.in_force.doubt(true);
    let over = Instant::now();
    until("silence", || follower.stand.answers().is_none());
    assert!(over.elapsed() < TTL / 2, "it was told, and did not wait");
    leader.in_force.doubt(false);
    follower.comes_to(9);
    assert!(leader.running.order(Order::Withdraw));
    until("withdrawn", || {
        follower.running.said.read().verdict == Some(Verdict::Stop(Reason::Withdrawn))
    });
    assert_eq!(follower.stand.answers(), None);
    // Another snapshot ends it.
    leader.in_force.set(snapshot(11, 3));
    follower.comes_to(11);
}

#[test]
fn a_promotion_is_a_later_term_and_the_other_leader_steps_down() {
    let folder = tempfile::tempdir().unwrap();
    let keys = Keys::new();
    let start = |name: &str, peers: &[String]| {
        Leader::start(&keys, &folder.path().join(name), keys.held(), peers)
    };
    let later = start("later", &[]);
    let first = start("first", &[later.url()]);
    let from = [first.url(), later.url()];
    let follower = Node::follower(keys.held(), &folder.path().join("follower"), &from);
    first.in_force.set(snapshot(9, 1));
    follower.comes_to(9);
    assert!(later.running.order(Order::Promote { above: 40 }));
    until("a later term", || later.running.said.read().term > Some(40));
    assert!(first.running.said.read().term < Some(40));
    later.in_force.set(snapshot(12, 5));
    until("who hears of it leads no longer", || {
        first.running.said.read().term.is_none()
    });
    follower.comes_to(12);
}
