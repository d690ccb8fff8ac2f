//! The lane of a host that follows a fleet: what came to it while the gate was open, and is
//! answered when it is not.

use sa_fastpath::gate::ALWAYS;

use super::*;

pub(super) const OLD: u64 = 7;
const NEW: u64 = 8;

/// With the gate open for what is in service.
fn bed() -> (Bed, Arc<Gate>) {
    let gate = Arc::new(Gate::new());
    gate.set(ALWAYS, OLD);
    (Bed::behind(Some(Arc::clone(&gate))), gate)
}

/// One of the snapshot, one of the fabric, and one of what clients set.
const KINDS: [AttributeId; 3] = [
    AttributeId::PATH_RECORD,
    AttributeId::NODE_RECORD,
    AttributeId::SERVICE_RECORD,
];

impl Bed {
    fn is_silent(&mut self) -> bool {
        KINDS.into_iter().all(|attribute| {
            let request = asked(CLIENT, method::GET_TABLE, attribute, 0, &[]);
            // The request itself, and nothing else.
            self.exchange(&request).packets == 1
        })
    }

    fn answers(&mut self) -> bool {
        KINDS.into_iter().all(|it| !self.table(it).is_empty())
    }
}

#[test]
fn what_was_given_away_is_answered_only_while_the_gate_is_open() {
    let (mut bed, gate) = bed();
    assert!(bed.answers());
    gate.shut();
    assert!(bed.is_silent());
    gate.set(ALWAYS, NEW);
    assert!(bed.is_silent(), "another generation is announced");
    gate.set(1, OLD);
    assert!(bed.is_silent(), "its time is over");
    gate.set(ALWAYS, OLD);
    assert!(bed.answers());
}

#[test]
fn a_snapshot_that_is_not_announced_is_not_answered_from() {
    let (mut bed, gate) = bed();
    let snapshot = Snapshot::from_bytes(&compiled().1).unwrap();
    bed.publisher.publish_as(snapshot, NEW);
    assert!(bed.is_silent());
    gate.set(ALWAYS, NEW);
    let request = asked(CLIENT, method::GET_TABLE, AttributeId::PATH_RECORD, 0, &[]);
    assert!(bed.exchange(&request).reply.is_some());
}

#[test]
fn a_long_reply_is_not_finished_behind_a_shut_gate() {
    let (mut bed, gate) = bed();
    let request = asked(
        CLIENT,
        method::GET_TABLE,
        AttributeId::SERVICE_RECORD,
        0,
        &[],
    );
    for opens_again in [None, Some(NEW), Some(OLD)] {
        gate.set(ALWAYS, OLD);
        let mut exchange = Exchange::default();
        let first = bed.carry(&[request], &mut exchange);
        let [first] = &*first else {
            panic!("{} packets and not the first segment", first.len())
        };
        gate.shut();
        let acknowledged = bed.client_answers(first, &mut exchange).unwrap();
        assert!(bed.carry(&[acknowledged], &mut exchange).is_empty());
        if let Some(generation) = opens_again {
            gate.set(ALWAYS, generation);
        }
        // Past every timer of the transfer.
        bed.lane.started -= Duration::from_secs(3);
        assert!(bed.carry(&[acknowledged], &mut exchange).is_empty());
    }
    assert!(bed.answers(), "who asks again gets all of it");
}

#[test]
fn parts_are_not_acknowledged_behind_a_shut_gate() {
    let (mut bed, gate) = bed();
    let mut first = asked(CLIENT, method::GET_TABLE, AttributeId::NODE_RECORD, 0, &[]);
    SaMad::from_bytes_mut(&mut first.mad).rmpp =
        RmppHeader::data(flag::ACTIVE | flag::FIRST, 1, 240);
    gate.shut();
    assert_eq!(bed.exchange(&first).packets, 1);
    // Nor is one told later that was taken before.
    gate.set(ALWAYS, OLD);
    let mut exchange = Exchange::default();
    assert_eq!(bed.carry(&[first], &mut exchange).len(), 1);
    gate.shut();
    for _ in 0..40 {
        bed.lane.started -= Duration::from_secs(3);
        assert!(bed.carry(&[], &mut exchange).is_empty());
    }
}

#[test]
fn nobody_is_told_busy_behind_a_shut_gate() {
    let (mut bed, gate) = bed();
    bed.lane.rules.busy_reply = true;
    bed.lane.rules.oldest = Some(Duration::ZERO);
    let request = asked(CLIENT, method::GET_TABLE, AttributeId::NODE_RECORD, 0, &[]);
    let reply = bed.exchange(&request).reply.unwrap();
    assert_eq!(reply[4..6], Status::BUSY.get().to_be_bytes());
    gate.shut();
    assert_eq!(bed.exchange(&request).packets, 1);
}
