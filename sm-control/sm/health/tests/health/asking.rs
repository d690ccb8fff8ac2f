//! Which requests are sent, and when.

use std::time::Duration;

use sa_wire::mad::method;
use sa_wire::performance::{attribute, capability};
use sm_health::{Ask, Clear, Health, Options};

use crate::rig::{Bed, MINUTE, OPTIONS, end, star};

/// Requests to a LID.
fn to(bed: &Bed, lid: u16) -> usize {
    bed.log.iter().filter(|(_, to, ..)| *to == lid).count()
}

#[test]
fn each_port_is_read_once_a_period_and_evenly() {
    let mut bed = Bed::new(star(10), OPTIONS);
    bed.pass(MINUTE);
    // Ten ports of the switch, ten hosts, and what each of the eleven devices has.
    assert_eq!(bed.log.len(), 20 + 11, "{:?}", bed.log);
    assert_eq!(bed.report().read, 20);
    bed.log.clear();
    bed.pass(10 * MINUTE);
    assert_eq!(bed.log.len(), 200);
    assert_eq!((to(&bed, 1), to(&bed, 2)), (100, 10));
    let gaps = bed.log.windows(2).map(|two| two[1].0 - two[0].0);
    let gap = gaps.min().unwrap();
    assert!(gap > Duration::from_millis(2900), "all at once: {gap:?}");
    assert!(
        bed.log.iter().all(|(.., method, _)| *method == method::GET),
        "nothing is written"
    );
}

#[test]
fn the_rate_bounds_requests_and_rounds_get_longer() {
    let options = Options {
        period: Some(Duration::from_secs(1)),
        per_second: 5,
        ..OPTIONS
    };
    let mut bed = Bed::new(star(10), options);
    bed.pass(Duration::from_secs(60));
    for window in bed.log.windows(6) {
        let took = window[5].0 - window[0].0;
        assert!(took >= Duration::from_secs(1), "{took:?}");
    }
    assert!(bed.log.len() >= 290, "{}", bed.log.len());
    let report = bed.report();
    assert_eq!(report.read, 20, "nobody is left out");
    assert!(
        report.oldest < Some(Duration::from_secs(6)),
        "{:?}",
        report.oldest
    );
}

#[test]
fn a_device_has_one_request_at_a_time() {
    let options = Options {
        period: Some(Duration::from_secs(1)),
        ..OPTIONS
    };
    let mut bed = Bed::new(star(20), options);
    bed.takes = Duration::from_millis(400);
    bed.pass(Duration::from_secs(20));
    let mut last = None;
    for (at, ..) in bed.log.iter().filter(|(_, to, ..)| *to == 1) {
        assert!(
            last.is_none_or(|last| *at - last >= bed.takes),
            "two under way"
        );
        last = Some(*at);
    }
    // The switch is slow for its twenty ports, and hosts do not feel it.
    assert!(to(&bed, 2) >= 19, "{}", to(&bed, 2));
}

#[test]
fn a_mute_device_costs_little_and_delays_nobody() {
    let mut bed = Bed::new(star(10), OPTIONS);
    bed.mute.insert(1);
    bed.pass(60 * MINUTE);
    assert!(to(&bed, 1) <= 12, "{}", to(&bed, 1));
    assert_eq!(to(&bed, 2), 61, "a round each minute, and what it has");
    assert_eq!(bed.kinds(), ["mute"]);
    bed.mute.clear();
    bed.pass(20 * MINUTE);
    assert_eq!(bed.report().read, 20);
    assert!(bed.kinds().is_empty());
    assert_eq!(bed.news.len(), 2, "{:?}", bed.news);
    let asked = bed.report().asked;
    assert_eq!(
        asked.requests,
        asked.answered + asked.unanswered + asked.refused
    );
}

#[test]
fn what_a_device_has_decides_what_it_is_asked_for() {
    let attributes = |bed: &Bed| {
        let mut all: Vec<u16> = bed.log.iter().map(|(.., it)| *it).collect();
        all.sort_unstable();
        all.dedup();
        all
    };
    let (class, narrow, wide) = (
        attribute::CLASS_PORT_INFO,
        attribute::PORT_COUNTERS,
        attribute::PORT_COUNTERS_EXTENDED,
    );
    for (mask, mask2, expected) in [
        (0, 0, vec![class, narrow]),
        (capability::EXTENDED, 0, vec![class, narrow, wide]),
        (
            capability::EXTENDED_WITHOUT_CASTS,
            0,
            vec![class, narrow, wide],
        ),
        (
            capability::EXTENDED,
            capability::EXTENDED_ERRORS,
            vec![class, wide],
        ),
        // It cannot be: errors in an attribute that it has not.
        (0, capability::EXTENDED_ERRORS, vec![class, narrow]),
    ] {
        let mut bed = Bed::new(star(2), OPTIONS);
        bed.class = (mask, mask2);
        bed.pass(2 * MINUTE);
        assert_eq!(attributes(&bed), expected, "{mask:#x} {mask2:#x}");
        assert_eq!(bed.report().read, 4);
    }
}

#[test]
fn a_refusal_is_no_end() {
    let mut bed = Bed::new(star(2), OPTIONS);
    bed.class = (capability::EXTENDED, 0);
    bed.refused = [
        attribute::CLASS_PORT_INFO,
        attribute::PORT_COUNTERS_EXTENDED,
    ]
    .into();
    bed.pass(2 * MINUTE);
    assert_eq!(bed.report().read, 4, "PortCounters are there");
    bed.refused = [attribute::PORT_COUNTERS].into();
    bed.pass(10 * MINUTE);
    assert_eq!(bed.kinds(), ["mute"; 3], "{:?}", bed.news);
    bed.refused.clear();
    bed.pass(40 * MINUTE);
    assert!(bed.kinds().is_empty());
    // After an hour it is asked again what it has, and tells more.
    bed.log.clear();
    bed.pass(70 * MINUTE);
    assert!(
        bed.log
            .iter()
            .any(|(.., it)| *it == attribute::PORT_COUNTERS_EXTENDED)
    );
}

#[test]
fn counters_are_written_only_where_that_is_asked_for_and_only_full_ones() {
    for clear in [Clear::Never, Clear::Full] {
        let mut bed = Bed::new(star(2), Options { clear, ..OPTIONS });
        bed.port(1, 2).narrow.symbol_errors = u16::MAX.into();
        bed.port(1, 2).narrow.receive_errors = 7.into();
        bed.port(1, 2).narrow.xmit_data = u32::MAX.into();
        bed.pass(3 * MINUTE);
        let sets: Vec<_> = bed
            .sets
            .iter()
            .map(|set| (set.port_select, set.counter_select.get()))
            .collect();
        match clear {
            Clear::Never => {
                assert!(sets.is_empty());
                assert_eq!(bed.kinds(), ["full"]);
            }
            Clear::Full => {
                assert_eq!(sets, [(2, 1)]);
                assert_eq!(bed.report().asked.cleared, 1);
                assert!(bed.kinds().is_empty());
            }
        }
    }
}

/// Takes the next request, at whatever time it comes.
fn next(health: &mut Health, now: &mut Duration) -> Ask {
    loop {
        if let Some(ask) = health.send(*now) {
            return ask;
        }
        *now += Duration::from_millis(1);
    }
}

#[test]
fn only_who_was_asked_can_answer_and_nonsense_harms_nobody() {
    let mut health = Health::new(OPTIONS, 0);
    let mut now = Duration::ZERO;
    health.follow(std::sync::Arc::new(star(1)), now);
    let ask = next(&mut health, &mut now);
    let mut answer = ask.mad;
    answer[3] = method::GET_RESP;
    let mut other = answer;
    other[15] ^= 1;
    let mut attribute = answer;
    attribute[17] = 0x12;
    for (lid, mad) in [
        (9, answer),
        (ask.lid, other),
        (ask.lid, attribute),
        (ask.lid, ask.mad),
        (ask.lid, [0xff; 256]),
    ] {
        health.received(lid, &mad, now);
        assert_eq!(health.report(now).asked.answered, 0);
    }
    health.received(ask.lid, &answer[..100], now);
    health.received(ask.lid, &answer, now);
    health.received(ask.lid, &answer, now);
    assert_eq!(health.report(now).asked.answered, 1, "once");
    // Counters of another port than the one that was asked about are no reading.
    let ask = next(&mut health, &mut now);
    let mut answer = ask.mad;
    (answer[3], answer[65]) = (method::GET_RESP, 77);
    health.received(ask.lid, &answer, now);
    let report = health.report(now);
    assert_eq!((report.read, report.asked.refused), (0, 1));
}

#[test]
fn without_a_period_nobody_is_asked_and_links_are_judged() {
    let mut seen = star(2);
    seen.devices[0].ports[0].end = end(1, 4, 0);
    seen.devices[1].ports[0].end = end(1, 4, 0);
    let mut bed = Bed::new(
        seen,
        Options {
            period: None,
            ..OPTIONS
        },
    );
    bed.pass(10 * MINUTE);
    assert!(bed.log.is_empty());
    assert_eq!(bed.kinds(), ["width"]);
}

#[test]
fn a_port_without_a_lid_waits_for_one() {
    let mut seen = star(2);
    seen.devices[1].ports[0].lid = 0;
    let mut bed = Bed::new(seen, OPTIONS);
    bed.pass(2 * MINUTE);
    assert_eq!((to(&bed, 0), bed.report().read), (0, 3));
    bed.follow(star(2));
    bed.pass(2 * MINUTE);
    assert_eq!(bed.report().read, 4);
}
