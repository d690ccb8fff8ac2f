//! Disks that refuse, files that are not what was announced, hosts in another fabric.

use std::path::Path;
use std::sync::Arc;

use fleet_node::serving::Serving;
use fleet_transfer::serve::{Desk, Limits};
use fleet_transfer::shelf::Shelf;

use crate::made::{Keys, snapshot};
use crate::rig::{Leader, Node, serving, until};

const PREFIX: u64 = 0xfe80_0000_0000_0000;

#[test]
fn a_host_whose_disk_takes_nothing_answers_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let keys = Keys::new();
    let leader = Leader::start(&keys, &folder.path().join("leader"), keys.held(), &[]);
    let path = folder.path().join("follower");
    let follower = Node::follower(keys.held(), &path, &[leader.url()]);
    // Its descriptor leads to a directory that is gone: no file can be made there.
    std::fs::remove_dir_all(&path).unwrap();
    leader.in_force.set(snapshot(9, 1));
    until("the record cannot be stored", || {
        follower.running.said.read().counts.failed_stores > 0
    });
    assert_eq!(follower.stand.answers(), None);
}

#[test]
fn a_leader_whose_engine_writes_nothing_tells_a_person_why() {
    let folder = tempfile::tempdir().unwrap();
    let keys = Keys::new();
    let path = folder.path().join("leader");
    let leader = Leader::start(&keys, &path, keys.held(), &[]);
    let said = || leader.running.said.read();
    until("it leads", || said().term.is_some());
    std::fs::remove_dir_all(path.join("engine")).unwrap();
    leader.in_force.set(snapshot(9, 1));
    until("a person is told", || {
        let alert = said().alert.map(|(_, words)| words).unwrap_or_default();
        alert.starts_with("the engine does not say who leads: ")
    });
    assert_eq!(leader.desk.announced(PREFIX), None);
}

#[test]
fn wrong_bytes_are_not_loaded_and_another_upstream_has_the_right_ones() {
    let folder = tempfile::tempdir().unwrap();
    let keys = Keys::new();
    let leader = Leader::start(&keys, &folder.path().join("leader"), keys.held(), &[]);
    leader.in_force.set(snapshot(9, 1));
    until("it is published", || {
        leader.desk.announced(PREFIX).is_some()
    });
    let liar = Liar::start(&folder.path().join("liar"), &leader);
    let path = folder.path().join("one");
    let follower = Node::follower(keys.held(), &path, &[liar.url()]);
    until("a person is told of wrong bytes", || {
        liar.hands_on(&leader);
        let alert = follower.running.said.read().alert;
        alert.is_some_and(|(_, words)| words.contains("other bytes"))
    });
    assert_eq!(follower.stand.0.lock().unwrap().swaps, 0);
    assert_eq!(follower.stand.answers(), None);
    // The first one lies, the second does not.
    let path = folder.path().join("two");
    let follower = Node::follower(keys.held(), &path, &[liar.url(), leader.url()]);
    until("the right bytes", || {
        liar.hands_on(&leader);
        follower.stand.answers() == Some(9)
    });
    assert!(follower.running.said.read().counts.failed_fetches > 0);
}

#[test]
fn a_snapshot_of_another_fabric_is_refused_before_it_is_in_service() {
    let folder = tempfile::tempdir().unwrap();
    let keys = Keys::new();
    let leader = Leader::start(&keys, &folder.path().join("leader"), keys.held(), &[]);
    let path = folder.path().join("follower");
    let follower = Node::follower(keys.held(), &path, &[leader.url()]);
    follower.stand.0.lock().unwrap().refuses = true;
    leader.in_force.set(snapshot(9, 1));
    until("it is unfit, and a person is told", || {
        follower.running.said.read().alert.is_some()
    });
    assert_eq!(follower.stand.0.lock().unwrap().swaps, 0);
}

#[test]
fn a_host_whose_port_changed_is_silent_until_it_is_confirmed() {
    let folder = tempfile::tempdir().unwrap();
    let keys = Keys::new();
    let leader = Leader::start(&keys, &folder.path().join("leader"), keys.held(), &[]);
    let path = folder.path().join("follower");
    let follower = Node::follower(keys.held(), &path, &[leader.url()]);
    leader.in_force.set(snapshot(9, 1));
    follower.comes_to(9);
    follower.stand.0.lock().unwrap().has_other_ports = true;
    until("silence", || follower.stand.answers().is_none());
    follower.stand.0.lock().unwrap().has_other_ports = false;
    follower.comes_to(9);
}

/// Hands on what a leader announces, and other bytes under the names of its files.
struct Liar {
    serving: Serving,
    desk: Arc<Desk>,
}

impl Liar {
    fn start(directory: &Path, leader: &Leader) -> Self {
        let shelf = Shelf::open(directory).unwrap();
        for item in Shelf::open(&leader.shelf).unwrap().items().unwrap() {
            shelf.put(item, b"something else").unwrap();
        }
        let desk = Arc::new(Desk::new(Arc::new(shelf), Limits::default()));
        let serving = serving(&desk, None);
        Self { serving, desk }
    }

    fn url(&self) -> String {
        format!("http://{}", self.serving.address())
    }

    fn hands_on(&self, leader: &Leader) {
        let offer = leader.desk.announced(PREFIX);
        if offer.is_some() && offer != self.desk.announced(PREFIX) {
            self.desk.announce(PREFIX, offer);
        }
    }
}
