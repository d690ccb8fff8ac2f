//! What is found, from when on, and until when.

use std::time::Duration;

use sa_wire::performance::capability;
use sm_health::{Kind, Severity};

use crate::rig::{Bed, MINUTE, OPTIONS, end, star};

/// Adds symbol errors at the switch's port 1, so many each minute.
fn symbols(bed: &mut Bed, each: u16, minutes: u32) {
    for _ in 0..minutes {
        let counters = &mut bed.port(1, 1).narrow;
        let before = counters.symbol_errors.get();
        counters.symbol_errors = before.saturating_add(each).into();
        bed.pass(MINUTE);
    }
}

#[test]
fn symbol_errors_are_judged_by_the_bits_that_passed() {
    // 4x QDR: 40 Gb/s, 2.4e12 bits a minute. Two errors a minute are 8e-13, which a link may have.
    let mut bed = Bed::new(star(2), OPTIONS);
    bed.pass(2 * MINUTE);
    symbols(&mut bed, 2, 40);
    assert!(bed.kinds().is_empty(), "{:?}", bed.news);
    // Twenty are 8e-12.
    symbols(&mut bed, 20, 10);
    let report = bed.report();
    assert_eq!(bed.kinds(), ["symbol_errors"]);
    let finding = &report.findings[0];
    let rate = finding.bit_error_rate.unwrap();
    assert!((1e-12..8e-12).contains(&rate), "{rate}");
    assert_eq!(
        finding.place.to_string(),
        "\"S\" port 1 (0x0000000000000001:1)"
    );
    assert_eq!(finding.peer.as_ref().unwrap().name.as_ref(), "H1");
    assert_eq!(report.faults(), 1);
    assert_eq!(report.totals[0], 40 * 2 + 10 * 20);
    // It is over within an hour after the last of them, and was told twice.
    bed.pass(61 * MINUTE);
    assert!(bed.kinds().is_empty());
    let told: Vec<bool> = bed.news.iter().map(|news| news.has_begun).collect();
    assert_eq!(told, [true, false], "{:?}", bed.news);
    assert_eq!(bed.news[0].words, bed.news[1].words);
    assert!(bed.news[0].words.contains("Remedy: "), "{:?}", bed.news);
}

#[test]
fn what_was_there_before_the_first_reading_is_nobodys() {
    let mut bed = Bed::new(star(2), OPTIONS);
    bed.port(1, 1).narrow.symbol_errors = 60_000.into();
    bed.port(1, 1).narrow.link_downed = 200;
    bed.pass(10 * MINUTE);
    assert!(bed.kinds().is_empty());
    assert_eq!(bed.report().totals[0], 0);
}

#[test]
fn a_rate_around_the_limit_is_told_once() {
    let mut bed = Bed::new(star(2), OPTIONS);
    bed.pass(2 * MINUTE);
    // Around 10 in an hour, for a day: some pieces of it have more, some have less.
    for hour in 0..24_u16 {
        for minute in 0..60_u16 {
            if minute % 6 == hour % 6 {
                let counters = &mut bed.port(2, 1).narrow;
                let before = counters.receive_errors.get();
                counters.receive_errors = (before + 1).into();
            }
            bed.pass(MINUTE);
        }
    }
    assert_eq!(bed.kinds(), ["receive_errors"]);
    assert_eq!(bed.news.len(), 1, "{:?}", bed.news);
}

#[test]
fn a_reset_by_others_hides_nothing_that_came_after() {
    let mut bed = Bed::new(star(2), OPTIONS);
    bed.port(1, 1).narrow.receive_errors = 5000.into();
    bed.pass(2 * MINUTE);
    bed.port(1, 1).narrow.receive_errors = 12.into();
    bed.pass(MINUTE);
    let report = bed.report();
    assert_eq!(report.resets, 1);
    assert_eq!(report.findings[0].count, Some(12));
    assert_eq!(report.totals[3], 12);
}

#[test]
fn a_full_counter_is_told_and_does_not_count_again() {
    let mut bed = Bed::new(star(2), OPTIONS);
    bed.pass(2 * MINUTE);
    bed.port(1, 1).narrow.integrity_and_overruns = 0xf0;
    bed.pass(5 * MINUTE);
    let report = bed.report();
    let found: Vec<Kind> = report.findings.iter().map(|it| it.kind).collect();
    assert_eq!(found, [Kind::IntegrityErrors, Kind::Full]);
    assert_eq!(report.findings[0].count, Some(15));
    assert_eq!(
        report.findings[1].what,
        "counters at their largest value: integrity_errors"
    );
    bed.pass(61 * MINUTE);
    assert_eq!(
        bed.kinds(),
        ["full"],
        "nothing was counted in the last hour"
    );
}

#[test]
fn both_ends_that_show_the_same_are_told_together() {
    let mut bed = Bed::new(star(2), OPTIONS);
    bed.pass(2 * MINUTE);
    bed.port(1, 2).narrow.link_recoveries = 5;
    bed.port(3, 1).narrow.link_recoveries = 4;
    bed.pass(3 * MINUTE);
    let report = bed.report();
    let counts: Vec<_> = report
        .findings
        .iter()
        .map(|it| (it.count, it.peer_count))
        .collect();
    assert_eq!(counts, [(Some(5), Some(4)), (Some(4), Some(5))]);
    assert_eq!(
        report.findings[0].what,
        "5 recoveries of the link in the last hour; at the far end 4"
    );
}

#[test]
fn a_link_that_comes_and_goes_is_found_by_counters_and_by_sweeps() {
    let without = || {
        let mut seen = star(2);
        seen.devices[0].ports.remove(1);
        seen.devices.remove(2);
        seen
    };
    let mut bed = Bed::new(star(2), OPTIONS);
    bed.pass(MINUTE);
    for _ in 0..3 {
        assert!(bed.kinds().is_empty());
        bed.follow(without());
        bed.pass(MINUTE);
        bed.follow(star(2));
        bed.pass(MINUTE);
    }
    assert_eq!(bed.kinds(), ["flapping"; 2], "each end");
    assert_eq!(bed.report().findings[0].count, Some(3));
    // The host stays away: what it did is told for an hour.
    bed.follow(without());
    bed.pass(30 * MINUTE);
    assert_eq!(bed.kinds().len(), 2);
    bed.pass(40 * MINUTE);
    assert!(bed.kinds().is_empty());

    let mut bed = Bed::new(star(2), OPTIONS);
    bed.pass(2 * MINUTE);
    bed.port(1, 1).narrow.link_downed = 3;
    bed.pass(MINUTE);
    assert_eq!(bed.kinds(), ["flapping"]);
}

#[test]
fn a_link_that_was_down_for_less_than_a_sweep_was_down() {
    let mut back = star(2);
    back.devices[0].ports[1].came_up = true;
    let mut bed = Bed::new(back.clone(), OPTIONS);
    // Seen for the first time: nobody knows what was before.
    bed.pass(MINUTE);
    for _ in 0..3 {
        assert!(bed.kinds().is_empty());
        bed.follow(back.clone());
        bed.pass(MINUTE);
    }
    assert_eq!(bed.kinds(), ["flapping"]);
}

#[test]
fn packets_dropped_where_a_link_went_down_are_not_those_that_nobody_took() {
    let mut bed = Bed::new(star(2), OPTIONS);
    bed.pass(2 * MINUTE);
    // Down is known after they were read, and more are dropped until it is back.
    bed.port(1, 2).narrow.xmit_discards = 300.into();
    bed.pass(MINUTE);
    let mut without = star(2);
    without.devices[0].ports.remove(1);
    bed.follow(without);
    bed.port(1, 2).narrow.xmit_discards = 600.into();
    bed.pass(MINUTE);
    bed.follow(star(2));
    bed.pass(3 * MINUTE);
    assert!(bed.kinds().is_empty());
    // A port that counts itself how often its link went down.
    bed.port(1, 1).narrow.xmit_discards = 300.into();
    bed.port(1, 1).narrow.link_downed = 1;
    bed.pass(3 * MINUTE);
    assert!(bed.kinds().is_empty());
    // With the link up all the time they are of somebody who takes none.
    bed.port(1, 2).narrow.xmit_discards = 700.into();
    bed.pass(MINUTE);
    assert!(bed.kinds().is_empty(), "the link may be found down yet");
    bed.pass(MINUTE);
    assert_eq!(bed.kinds(), ["xmit_discards"]);
}

#[test]
fn another_master_is_no_lost_link() {
    let mut bed = Bed::new(star(2), OPTIONS);
    bed.pass(MINUTE);
    for _ in 0..4 {
        bed.health.rest(bed.now);
        bed.pass(MINUTE);
        bed.follow(star(2));
        bed.pass(MINUTE);
    }
    assert!(bed.kinds().is_empty());
    bed.health.rest(bed.now);
    bed.log.clear();
    bed.pass(10 * MINUTE);
    assert!(bed.log.is_empty(), "it asks nobody");
}

#[test]
fn a_link_below_what_both_ends_can_is_one_finding() {
    let mut seen = star(3);
    for (device, port) in [(0, 0), (1, 0)] {
        seen.devices[device].ports[port].end = end(1, 4, 0);
    }
    for (device, port) in [(0, 1), (2, 0)] {
        seen.devices[device].ports[port].end = end(2, 1, 0);
    }
    // The third host may not use more than one lane.
    let narrow = sm_health::link::End {
        enabled: end(1, 4, 0).enabled,
        ..end(1, 4, 0)
    };
    let mut limited = sa_wire::records::PortInfoRecord::default();
    (
        limited.link_width_active,
        limited.link_width_supported,
        limited.link_width_enabled,
    ) = (1, 3, 1);
    (
        limited.speed_active_and_enabled,
        limited.speed_supported_and_state,
    ) = (0x47, 0x74);
    seen.devices[0].ports[2].end = narrow;
    seen.devices[3].ports[0].end = sm_health::link::End::of(&limited);
    let mut bed = Bed::new(seen.clone(), OPTIONS);
    let told: Vec<(&str, String)> = bed
        .report()
        .findings
        .iter()
        .map(|it| (it.kind.name(), it.what.clone()))
        .collect();
    assert_eq!(
        told,
        [
            (
                "width",
                "runs at 1x QDR, and both ends can and may 4x".to_owned()
            ),
            (
                "speed",
                "runs at 4x SDR, and both ends can and may QDR".to_owned()
            ),
            (
                "limited",
                "runs at 1x QDR, and both ends could 4x".to_owned()
            ),
        ]
    );
    assert_eq!(bed.report().faults(), 2, "what was configured so is a hint");
    bed.follow(seen);
    assert_eq!(bed.news.len(), 3, "once: {:?}", bed.news);
    bed.follow(star(3));
    assert!(bed.kinds().is_empty());
    assert_eq!(bed.news.len(), 6);
}

#[test]
fn congestion_is_a_hint_by_the_share_of_time() {
    let mut bed = Bed::new(star(2), OPTIONS);
    bed.class = (capability::EXTENDED, capability::EXTENDED_ERRORS);
    bed.pass(2 * MINUTE);
    // 4x QDR carries 1e9 words a second.
    let waits = |bed: &mut Bed, share: f64| {
        let before = bed.port(1, 1).wide.xmit_wait.get();
        let more = Duration::from_secs(60).mul_f64(share).as_nanos() as u64;
        bed.port(1, 1).wide.xmit_wait = (before + more).into();
        bed.pass(MINUTE);
    };
    waits(&mut bed, 0.05);
    assert!(bed.kinds().is_empty());
    waits(&mut bed, 0.25);
    let finding = bed.report().findings[0].clone();
    assert_eq!(finding.kind.severity(), Severity::Hint);
    assert!(finding.what.contains(" 25 % "), "{}", finding.what);
    waits(&mut bed, 0.07);
    assert_eq!(bed.kinds(), ["xmit_wait"], "not below half of the limit");
    waits(&mut bed, 0.01);
    assert!(bed.kinds().is_empty());
    assert_eq!(bed.news.len(), 2);
}

#[test]
fn the_worst_comes_first() {
    let mut bed = Bed::new(star(4), OPTIONS);
    bed.pass(2 * MINUTE);
    bed.port(1, 1).narrow.switch_relay_errors = 500.into();
    bed.port(1, 2).narrow.receive_errors = 20.into();
    bed.port(1, 3).narrow.receive_errors = 90.into();
    bed.port(1, 4).narrow.link_downed = 9;
    bed.pass(MINUTE);
    let places: Vec<_> = bed
        .report()
        .findings
        .iter()
        .map(|it| it.place.port.unwrap())
        .collect();
    assert_eq!(places, [4, 3, 2, 1]);
    let ports = bed.health.ports_of("0x1", bed.now);
    assert_eq!(ports.len(), 4);
    assert_eq!(bed.health.ports_of("H2", bed.now).len(), 1);
    assert!(bed.health.ports_of("0xzz", bed.now).is_empty());
}
