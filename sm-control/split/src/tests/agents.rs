//! Who has the reads.

use std::time::Duration;

use split_protocol::{BEAT_PATIENCE, Frame, Reads};

use super::fake::{FILE, READ_AGENT, READER, Tested, UMAD, open, opensm, packet};

const REFUSED: Reads = Reads::Refused(libc::EINVAL);

fn reads(frames: &[Frame]) -> Vec<Reads> {
    let reads = frames.iter().filter_map(|frame| match frame {
        Frame::Reads(reads) => Some(*reads),
        _ => None,
    });
    reads.collect()
}

#[test]
fn without_a_daemon_opensm_has_them() {
    let split = opensm();
    assert!(split.is_of(FILE) && !split.is_of(FILE + 1) && !split.is_of(-1));
    assert!(split.holds());
    let welcome = split.attach();
    assert_eq!((welcome.umad, welcome.reads), (UMAD, Reads::Held));
}

#[test]
fn lent_and_taken_back_they_are_registered_throughout() {
    let split = opensm();
    split.attach();
    for _ in 0..20 {
        split.lend();
        assert!(!split.holds() && split.is_registered());
        assert_eq!(split.lent_file(), Some(READER));
        split.lend();
        assert_eq!(
            split.heard(),
            [Frame::Lent(READ_AGENT), Frame::Lent(READ_AGENT)]
        );
        split.take_back();
        assert!(split.holds());
        split.take_back();
        assert_eq!(split.lent_file(), None);
        // Only how it stands now is said, if it was not heard before.
        assert_eq!(split.heard(), [Frame::Reads(Reads::Held)]);
    }
}

/// What comes while they change hands waits for whoever has them then.
#[test]
fn no_request_is_lost_between_two_owners() {
    let split = opensm();
    split.attach();
    split.is_asked(packet(0x01, 1, 4));
    split.lend();
    assert!(split.reads().is_none(), "it is the daemon's");
    split.take_back();
    assert!(split.reads().is_some(), "nobody else has taken it");
}

#[test]
fn a_daemon_that_stands_still_loses_them_and_gets_them_again() {
    let split = opensm();
    split.attach();
    split.lend();
    for number in 0..100 {
        split.pass(Duration::from_millis(100));
        split.beats(number);
        assert!(!split.holds());
    }
    assert_eq!(split.heard().len(), 101, "each beat is answered");
    assert!(split.idle(false) <= BEAT_PATIENCE);
    split.pass(BEAT_PATIENCE);
    assert!(split.holds());
    assert_eq!(split.heard(), [Frame::Reads(Reads::Held)]);
    // It lives again, and does not know yet.
    split.beats(7);
    assert_eq!(split.heard(), [], "that is no beat of one who has them");
    split.lend();
    assert_eq!(split.heard(), [Frame::Lent(READ_AGENT)]);
    split.pass(BEAT_PATIENCE - Duration::from_millis(1));
    assert!(!split.holds());
    split.pass(Duration::from_millis(1));
    assert!(split.holds());
}

#[test]
fn opensm_starts_while_another_has_them() {
    let split = Tested::new(super::fake::Fake::default());
    split.set_taken(true);
    open(&split);
    assert_eq!(split.attach().reads, REFUSED);
    assert!(split.idle(false) <= Duration::from_millis(2));
    for _ in 0..1000 {
        split.pass(Duration::from_millis(2));
    }
    assert!(
        split.idle(false) <= Duration::from_millis(20),
        "it never gives up"
    );
    assert_eq!(reads(&split.heard()), [], "it is not said again and again");
    split.lend();
    assert_eq!(
        split.heard(),
        [Frame::Reads(REFUSED)],
        "there is nothing to lend"
    );
    split.set_taken(false);
    split.pass(Duration::from_millis(20));
    assert!(split.holds());
    assert_eq!(reads(&split.heard()), [Reads::Held]);
    assert_eq!(split.idle(false), Duration::from_secs(1));
}

/// As when it is the daemon itself, to which the OpenSM before lent them.
#[test]
fn what_was_lent_by_the_opensm_before_is_returned() {
    let split = Tested::new(super::fake::Fake::default());
    split.set_taken(true);
    open(&split);
    split.attach();
    split.kernel().inside.borrow_mut().open.push(55);
    assert!(split.returned(55, 3));
    assert_eq!(reads(&split.heard()), [Reads::Lent]);
    assert_eq!(split.idle(false), BEAT_PATIENCE, "no attempts any more");
    split.detach();
    assert_eq!(split.kernel().inside.borrow().through, Some(55));
    // Another one is of no use.
    split.attach();
    split.kernel().inside.borrow_mut().open.push(56);
    assert!(split.returned(56, 3));
    assert_eq!(split.kernel().inside.borrow().open, [55]);
}

#[test]
fn a_daemon_that_dies_loses_them_in_every_state() {
    for (lends, asks) in (0..4).map(|bits| (bits & 1 != 0, bits & 2 != 0)) {
        let split = opensm();
        split.attach();
        if lends {
            split.lend();
        }
        if asks {
            let asked = super::fake::as_frame(&packet(0x12, 5, 9));
            assert!(split.request(1, &asked));
        }
        split.detach();
        assert!(split.holds());
        if asks {
            let read = split.reads().unwrap();
            let answer = super::fake::response(&read, &[]);
            assert_eq!(
                split.writes(answer),
                None,
                "an answer for the dead goes nowhere"
            );
        }
        assert_eq!(split.attach().reads, Reads::Held);
        assert_eq!(split.heard(), []);
    }
}

#[test]
fn opensm_closes_and_opens_again() {
    let split = opensm();
    split.attach();
    split.closes(FILE + 1, None);
    split.closes(FILE, Some(super::fake::AGENT + 9));
    assert!(split.holds(), "that was another's");
    split.closes(FILE, None);
    assert!(!split.is_of(FILE));
    assert!(!split.is_registered() && split.kernel().inside.borrow().open.is_empty());
    assert!(split.next().is_err(), "the daemon is hung up on");
    split.detach();
    let welcome = split.attach();
    assert_eq!(
        (welcome.umad, welcome.reads),
        (u32::MAX, Reads::Refused(libc::ENODEV))
    );
    split.lend();
    assert_eq!(reads(&split.heard()), [Reads::Refused(libc::ENODEV)]);
    open(&split);
    assert!(
        split.next().is_err(),
        "it learns of the port by connecting again"
    );
    assert!(split.holds());
    split.closes(FILE, Some(super::fake::AGENT));
    assert!(!split.holds());
}

#[test]
fn a_file_lives_on_under_its_other_numbers() {
    let split = opensm();
    split.duplicated(FILE, 20);
    split.duplicated(20, 21);
    split.duplicated(9, 22);
    assert!(split.is_number_of(20) && split.is_number_of(21) && !split.is_number_of(22));
    split.closes(21, None);
    assert!(!split.is_number_of(21) && split.is_of(FILE));
    split.closes(FILE, None);
    assert!(split.is_of(20) && !split.is_number_of(FILE) && split.holds());
    split.closes(20, None);
    assert!(!split.is_taken() && !split.is_registered());
}

/// Whatever happens, OpenSM has the reads soon after nobody else is to have them.
#[test]
fn any_order_of_events_ends_well() {
    let mut seed = 1u64;
    let mut dice = move |sides: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 33) % sides
    };
    for _ in 0..300 {
        let split = opensm();
        let mut attached = false;
        for _ in 0..40 {
            match dice(9) {
                0 if !attached => {
                    split.attach();
                    attached = true;
                }
                1 => {
                    split.detach();
                    attached = false;
                }
                2 if attached => split.lend(),
                3 if attached => split.take_back(),
                4 if attached => split.beats(dice(3)),
                5 => split.reader_fails(libc::EIO),
                6 => split.pass(Duration::from_millis(dice(900))),
                7 if attached => {
                    let asked = super::fake::as_frame(&packet(0x12, dice(9), 9));
                    assert!(split.request(dice(100), &asked));
                }
                8 => {
                    if let Some(read) = split.reads() {
                        split.writes(super::fake::response(&read, &[1; 300]));
                    }
                }
                _ => {}
            }
            split.work();
            assert!(split.is_registered(), "the kernel would refuse a Get");
            assert!(attached || split.holds(), "a Get would be lost");
        }
    }
}
