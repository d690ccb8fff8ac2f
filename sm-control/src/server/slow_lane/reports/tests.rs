use sa_wire::mad::method;
use sa_wire::umad::MAD_SIZE;

use super::*;

const SECOND: Duration = Duration::from_secs(1);

fn reports() -> Reports {
    Reports::new(Patience::opensm(200))
}

fn report(port: usize) -> Report {
    Report {
        port,
        to: Slot::EMPTY.header,
        mad: Box::new([0; MAD_SIZE]),
    }
}

fn transaction(slot: &Slot) -> u64 {
    SaMad::from_bytes(&slot.mad).mad.transaction_id.get()
}

fn response(to: &Slot) -> Slot {
    let mut slot = *to;
    let mad = SaMad::from_bytes_mut(&mut slot.mad);
    mad.mad.method = method::REPORT_RESP;
    // As transports mark it.
    mad.mad.transaction_id = (0xabcd_0000_0000_0000 | transaction(to)).into();
    slot
}

#[test]
fn a_report_is_sent_until_it_is_answered() {
    let mut reports = reports();
    reports.push(report(1), false);
    let (port, sent) = reports.due(SECOND).unwrap();
    assert_eq!(port, 1);
    assert_eq!((sent.header.timeout_ms, sent.header.retries), (200, 3));
    assert!(reports.due(SECOND + Duration::from_millis(199)).is_none());
    let (_, again) = reports.due(SECOND + Duration::from_millis(200)).unwrap();
    assert_eq!(transaction(&again), transaction(&sent));
    assert!(reports.acknowledge(&response(&sent)));
    assert!(!reports.acknowledge(&response(&sent)));
    assert!(reports.due(10 * SECOND).is_none());
    assert_eq!(reports.tally().acknowledged, 1);
}

#[test]
fn a_report_without_response_is_given_up() {
    let mut reports = reports();
    reports.push(report(0), false);
    let mut sent = 0;
    for step in 0..100 {
        sent += u32::from(reports.due(step * Duration::from_millis(50)).is_some());
    }
    assert_eq!(sent, 4, "once, and three times more");
    assert_eq!(reports.tally().given_up, 1);
    assert!(reports.waiting.is_empty() && reports.alarms.is_empty());
}

#[test]
fn a_transport_that_repeats_is_left_to_it() {
    let mut reports = reports();
    reports.push(report(0), true);
    let (_, sent) = reports.due(Duration::ZERO).unwrap();
    assert!(reports.due(Duration::from_millis(800)).is_none());
    assert!(reports.acknowledge(&response(&sent)));
    reports.push(report(0), true);
    assert!(reports.due(SECOND).is_some());
    assert!(reports.due(2 * SECOND).is_none());
    assert_eq!(reports.tally().given_up, 1);
}

#[test]
fn what_is_under_way_is_bounded() {
    let mut reports = reports();
    for _ in 0..QUEUE + 5 {
        reports.push(report(0), false);
    }
    assert_eq!(reports.tally().dropped, 5);
    let mut all = Vec::new();
    while let Some((_, slot)) = reports.due(Duration::ZERO) {
        all.push(slot);
    }
    assert_eq!(all.len(), WINDOW);
    let mut seen: Vec<_> = all.iter().map(transaction).collect();
    seen.dedup();
    assert_eq!(seen.len(), WINDOW, "each has a transaction of its own");
    assert!(reports.acknowledge(&response(&all[9])));
    assert!(reports.due(Duration::ZERO).is_some());
    assert!(reports.due(Duration::ZERO).is_none());
}

#[test]
fn transactions_are_never_zero() {
    let mut reports = reports();
    reports.last = u32::MAX - 1;
    for expected in [u32::MAX, 1] {
        reports.push(report(0), false);
        let (_, slot) = reports.due(Duration::ZERO).unwrap();
        assert_eq!(transaction(&slot), u64::from(expected));
    }
}
