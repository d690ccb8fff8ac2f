//! Orders of few switches, one after the other.

use super::super::cables::Hop;
use super::*;

/// Both sent a LID to a host behind A; its cable is pulled in the middle, and the new way leads into nothing behind B. B must not send
/// back to A any more when A begins to send to B.
#[test]
fn ways_that_lead_nowhere_are_written_in_order_too() {
    let (a, b) = (0, 1);
    let cables = Cables::of(vec![
        vec![Hop::End, Hop::Switch(b), Hop::End],
        vec![Hop::End, Hop::Switch(a), Hop::Nothing],
    ]);
    let entry = |port| {
        let mut data = [NO_PATH; LIDS];
        data[5] = port;
        data
    };
    let [old, new] = [[entry(2), entry(1)], [entry(1), entry(2)]];
    let held: Rows = old.iter().copied().map(Some).collect();
    let changes = (0..)
        .zip(old.iter().zip(new))
        .map(|(switch, (held, wanted))| {
            let held = Some(*held);
            (switch, Change { held, wanted })
        });
    let changes = changes.collect();
    let mut order = Order::new(&cables, &held, &changes, u64::MAX, false);
    let mut sent = Vec::new();
    while let Some((switch, data)) = order.next() {
        assert_eq!(order.next(), None, "one after the other");
        order.answered(switch, Some(&data));
        sent.push(switch);
    }
    assert_eq!(sent, [b, a]);
    assert!(order.is_over() && order.stuck().is_empty());
}
