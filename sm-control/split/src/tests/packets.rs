//! What OpenSM reads and writes.

use std::time::Duration;

use split_protocol::{Frame, HEADER_BYTES};

use super::fake::{AGENT, OWN, READS, agent, as_frame, opensm, packet, response, tid};
use crate::mad::{PACKET_BYTES, at, number};
use crate::requests::MOST;
use crate::split::{Source, Target};

#[test]
fn packets_of_the_read_agent_are_opensms() {
    let split = opensm();
    for method in [0x01, 0x12, 0x14] {
        split.is_asked(packet(method, 8, 4));
        let read = split.reads().unwrap();
        assert_eq!(agent(&read), AGENT);
        assert_eq!(tid(&read), 8);
        // The agent that has the method answers.
        assert_eq!(split.writes(response(&read, &[7; 4000])), Some(READS));
    }
    // A long answer that nobody acknowledged comes back.
    let mut back = packet(0x92, 8, 4);
    back.truncate(HEADER_BYTES + 24);
    split.is_asked(back);
    assert_eq!(agent(&split.reads().unwrap()), AGENT);
}

#[test]
fn packets_of_others_stay_theirs() {
    let split = opensm();
    let mut smp = packet(0x01, 3, 0);
    smp[HEADER_BYTES + 1] = 0x81;
    split.comes(0, smp.clone());
    assert_eq!(agent(&split.reads().unwrap()), 0);
    assert_eq!(split.write(&smp), Target::Kernel);
    for method in [0x02, 0x15, 0x86] {
        split.comes(AGENT, packet(method, 3, 4));
        assert_eq!(agent(&split.reads().unwrap()), AGENT);
    }
    // OpenSM's own question and its answer, by an agent that only asks.
    split.comes(11, packet(0x81, 3, 4));
    assert_eq!(agent(&split.reads().unwrap()), 11);
    assert_eq!(split.writes(packet(0x01, 3, 4)), Some(OWN));
    assert_eq!(split.writes(packet(0x95, 3, 4)), Some(OWN));
    // Too short to be anything.
    let short = vec![3; 20];
    assert_eq!(split.write(&short), Target::Kernel);
}

#[test]
fn what_came_before_the_split_is_answered_after_it() {
    let split = opensm();
    split.is_asked(packet(0x01, 8, 4));
    split.is_asked(packet(0x01, 9, 4));
    let before = split.reads().unwrap();
    split.attach();
    split.lend();
    // By the same agent, which has the acknowledgements of a long answer.
    assert_eq!(split.writes(response(&before, &[9; 4000])), Some(READS));
    assert!(split.reads().is_none(), "the rest is the daemon's");
}

#[test]
fn opensm_reads_a_request_as_from_the_network() {
    let split = opensm();
    split.attach();
    let mut asked = packet(0x12, 0xfeed, 9);
    asked[..20].fill(0xee);
    asked[56] = 5;
    assert!(split.request(1, &as_frame(&asked)));
    assert_eq!(split.read(&mut [0; PACKET_BYTES - 1]), Source::TooSmall);
    let read = split.reads().unwrap();
    assert_eq!(agent(&read), AGENT);
    assert_eq!(number(&read, at::STATUS), 0);
    assert_eq!(number(&read, at::TIMEOUT), 0);
    assert_eq!(number(&read, at::LENGTH), 320);
    assert_eq!(
        read[20..72],
        asked[20..72],
        "address, P_Key index, beginning of the MAD"
    );
    assert_ne!(tid(&read), 0xfeed);
    assert_eq!(read[80..], asked[80..]);
    assert!(split.reads().is_none());
}

#[test]
fn replies_in_any_order_find_their_requests() {
    let split = opensm();
    split.attach();
    for number in 0..100u64 {
        let asked = packet(0x12, 0x10 + number, 9);
        assert!(split.request(1000 + number, &as_frame(&asked)));
    }
    let mut read: Vec<_> = core::iter::from_fn(|| split.reads()).collect();
    assert_eq!(read.len(), 100);
    read.reverse();
    read.swap(3, 70);
    for one in &read {
        assert_eq!(split.writes(response(one, &[1; 112])), None);
        assert_eq!(split.writes(response(one, &[1; 112])), None, "once more");
    }
    let heard = split.heard();
    assert_eq!(heard.len(), 100);
    let mut numbers = Vec::new();
    for frame in heard {
        let Frame::Reply(number, mad) = frame else {
            panic!("{frame:?}")
        };
        assert_eq!(mad.len(), 56 + 112);
        assert_eq!(mad[8..16], (number - 1000 + 0x10).to_be_bytes());
        numbers.push(number);
    }
    numbers.sort_unstable();
    assert_eq!(numbers, (1000..1100).collect::<Vec<_>>());
}

#[test]
fn the_network_and_the_daemon_take_turns() {
    let split = opensm();
    split.attach();
    for tid in 0..10 {
        split.is_asked(packet(0x01, tid, 4));
        assert!(split.request(tid, &as_frame(&packet(0x12, tid, 9))));
    }
    let methods: Vec<u8> = core::iter::from_fn(|| split.reads())
        .map(|read| read[HEADER_BYTES + 3])
        .collect();
    assert_eq!(methods.len(), 20);
    assert!(
        methods.windows(2).all(|two| two[0] != two[1]),
        "{methods:?}"
    );
}

#[test]
fn the_networks_transaction_ids_are_never_taken_for_ours() {
    let split = opensm();
    split.attach();
    assert!(split.request(1, &as_frame(&packet(0x12, 5, 9))));
    let ours = split.reads().unwrap();
    // Somebody else with the same id.
    let foreign = response(&packet(0x12, 5, 4), &[]);
    assert_eq!(split.writes(foreign), Some(READS));
    // Somebody who guesses it.
    let guessed = response(&packet(0x12, tid(&ours), 4), &[]);
    assert_eq!(split.writes(guessed), None);
    assert_eq!(split.heard(), []);
    assert_eq!(split.writes(response(&ours, &[])), None);
    assert_eq!(split.heard().len(), 1);
}

#[test]
fn what_opensm_never_answers_is_forgotten() {
    let split = opensm();
    split.attach();
    let mut first = None;
    let most = u64::try_from(MOST).unwrap();
    for number in 0..3 * most {
        assert!(split.request(number, &as_frame(&packet(0x12, number, 9))));
        let read = split.reads();
        first = first.or(read);
    }
    let last = packet(0x12, 1, 9);
    assert!(split.request(77, &as_frame(&last)));
    let last = split.reads().unwrap();
    assert_eq!(split.writes(response(&first.unwrap(), &[])), None);
    assert_eq!(split.heard(), []);
    assert_eq!(split.writes(response(&last, &[])), None);
    assert_eq!(split.heard().len(), 1);
}

#[test]
fn more_than_opensm_reads_is_dropped() {
    let split = opensm();
    split.attach();
    for number in 0..20_000 {
        assert!(split.request(number, &as_frame(&packet(0x12, number, 9))));
    }
    let read = core::iter::from_fn(|| split.reads()).count();
    assert_eq!(read, 4096);
}

#[test]
fn a_daemon_that_does_not_listen_is_hung_up_on() {
    let split = opensm();
    split.attach();
    let table = vec![0; 64 << 20];
    let mut written = 0;
    while split.is_listening() {
        assert!(split.request(1, &as_frame(&packet(0x12, 1, 9))));
        let read = split.reads().unwrap();
        assert_eq!(split.writes(response(&read, &table)), None);
        written += 1;
        assert!(written < 10);
    }
    assert_eq!(written, 4, "256 MiB");
    assert_eq!(split.kernel().inside.borrow().said.len(), 1);
}

#[test]
fn what_opensm_programs_is_told_in_few_frames() {
    let split = opensm();
    split.attach();
    let mut smp = packet(0x02, 3, 0);
    smp[HEADER_BYTES + 1] = 0x81;
    split.pass(Duration::from_secs(1));
    assert_eq!(split.heard(), []);
    for step in 0..1000u32 {
        assert_eq!(split.writes(smp.clone()), Some(OWN));
        if step % 10 == 0 {
            assert!(split.idle(false) <= Duration::from_millis(5));
            split.pass(Duration::from_millis(1));
        }
    }
    split.pass(Duration::from_millis(5));
    let heard = split.heard();
    assert!((15..30).contains(&heard.len()), "{}", heard.len());
    assert_eq!(heard.last(), Some(&Frame::Programmed(1000)));
    smp[HEADER_BYTES + 3] = 0x01;
    split.writes(smp);
    split.pass(Duration::from_secs(1));
    assert_eq!(split.heard(), []);
}
