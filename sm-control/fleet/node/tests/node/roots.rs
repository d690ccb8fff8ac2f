//! Root files that follow one another while hosts run.

use fleet_node::roots::Held;

use crate::made::{Keys, snapshot};
use crate::rig::{Leader, Node, until};

#[test]
fn a_newer_root_file_comes_by_itself_and_is_there_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let keys = Keys::new();
    let newer = keys.held().succeeded_by(keys.root_file(2, 2)).unwrap();
    let leader = Leader::start(&keys, &folder.path().join("leader"), newer, &[]);
    let installed = folder.path().join("root");
    let file = keys.root_file(1, 1);
    std::fs::write(&installed, &file.text).unwrap();
    std::fs::write(
        folder.path().join("root.alice.minisig"),
        &file.signatures[0],
    )
    .unwrap();
    let path = folder.path().join("follower");
    let (held, odd) = Held::open(&installed, &path).unwrap();
    assert!(odd.is_none());
    assert_eq!(held.root.version(), 1);
    let follower = Node::follower(held, &path, &[leader.url()]);
    leader.in_force.set(snapshot(9, 1));
    // Of an era that it does not know yet: it asks for the root file.
    follower.comes_to(9);
    assert_eq!(follower.running.said.read().root_version, 2);
    drop(follower);
    assert_eq!(Held::open(&installed, &path).unwrap().0.root.version(), 2);
}

#[test]
fn a_root_file_of_others_is_not_taken() {
    let folder = tempfile::tempdir().unwrap();
    let (keys, others) = (Keys::new(), Keys::new());
    let theirs = fleet_node::roots::installed(others.root_file(2, 1)).unwrap();
    let leader = Leader::start(&others, &folder.path().join("leader"), theirs, &[]);
    let path = folder.path().join("follower");
    let follower = Node::follower(keys.held(), &path, &[leader.url()]);
    leader.in_force.set(snapshot(9, 1));
    until("it was refused", || {
        !follower.running.said.read().refused.is_empty()
    });
    let said = follower.running.said.read();
    assert_eq!(said.root_version, 1);
    assert_eq!(follower.stand.answers(), None);
}
