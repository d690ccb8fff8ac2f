//! What makes a generation another one, and what does not.

use fleet_node::generation;
use sa_snapshot::Snapshot;

use crate::made::{keyed, snapshot};

fn tokens(one: &Snapshot, other: &Snapshot) -> (u64, u64) {
    let token = |it| generation::of(it).unwrap().token().0;
    (token(one), token(other))
}

#[test]
fn time_and_key_make_no_other_generation_and_hosts_do() {
    let (one, other) = tokens(&snapshot(9, 1), &snapshot(9, 2));
    assert_eq!(one, other, "compiled at another time");
    let (one, other) = tokens(&keyed(9, 7), &keyed(9, 8));
    assert_eq!(one, other, "of another key");
    let secret = keyed(9, 7);
    let (one, other) = tokens(&secret, &secret.without_key().unwrap());
    assert_eq!(one, other, "the public copy");
    let (one, other) = tokens(&snapshot(9, 1), &snapshot(10, 1));
    assert_ne!(one, other, "a host more");
    assert_ne!(one, 0);
}
