//! Reports to the daemon.

use std::time::Duration;

use split_protocol::{Frame, HEADER_BYTES, SUBSCRIBER_QP};

use super::fake::{AGENT, FILE, OWN, agent, as_frame, opensm, packet, tid};
use crate::mad::{at, number, set_field};

/// With a timeout of 200 ms and three repetitions.
fn report(tid: u64, qpn: u32) -> Vec<u8> {
    let mut report = packet(0x06, tid, 9);
    set_field(&mut report, at::QPN, &qpn.to_be_bytes());
    set_field(&mut report, at::TIMEOUT, &200u32.to_ne_bytes());
    set_field(&mut report, at::RETRIES, &3u32.to_ne_bytes());
    report
}

fn answer(report: &[u8]) -> Vec<u8> {
    let mut answer = report.to_vec();
    answer[HEADER_BYTES + 3] = 0x86;
    answer
}

#[test]
fn a_report_is_handed_over_and_answered_once() {
    let split = opensm();
    split.attach();
    let report = report(0x02da_b001, SUBSCRIBER_QP);
    assert_eq!(split.writes(report.clone()), None);
    let heard = split.heard();
    let [Frame::Report(got)] = heard.as_slice() else {
        panic!("{heard:?}")
    };
    assert_eq!(got.mad, as_frame(&report).mad);
    assert!(split.tell(&as_frame(&answer(&report))));
    let read = split.reads().unwrap();
    assert_eq!((agent(&read), tid(&read)), (AGENT, 0x02da_b001));
    assert_eq!(read[HEADER_BYTES + 3], 0x86);
    // OpenSM would complain of a second.
    assert!(split.tell(&as_frame(&answer(&report))));
    split.pass(Duration::from_secs(100));
    assert_eq!(split.reads(), None);
}

#[test]
fn reports_to_others_go_out() {
    let split = opensm();
    split.attach();
    assert_eq!(split.writes(report(1, 1)), Some(OWN));
    split.detach();
    assert_eq!(
        split.writes(report(1, SUBSCRIBER_QP)),
        Some(OWN),
        "nobody is there"
    );
}

#[test]
fn a_report_that_is_not_answered_comes_back_as_from_the_kernel() {
    let split = opensm();
    split.attach();
    split.writes(report(5, SUBSCRIBER_QP));
    split.pass(Duration::from_millis(799));
    assert_eq!(split.reads(), None);
    assert_eq!(split.idle(false), Duration::from_millis(1));
    split.detach();
    split.pass(Duration::from_millis(1));
    let read = split.reads().unwrap();
    assert_eq!(read.len(), HEADER_BYTES + 24);
    assert_eq!(number(&read, at::STATUS), 110);
    assert_eq!((agent(&read), tid(&read)), (AGENT, 5));
    assert_eq!(split.reads(), None);
}

#[test]
fn very_many_reports_do_not_pile_up() {
    let split = opensm();
    split.attach();
    for tid in 0..3000 {
        split.writes(report(tid, SUBSCRIBER_QP));
        split.pass(Duration::ZERO);
    }
    let back = core::iter::from_fn(|| split.reads()).count();
    assert_eq!(back, 3000 - 1024);
    split.closes(FILE, None);
    split.pass(Duration::from_secs(100));
    assert!(!split.has_arrived());
}
