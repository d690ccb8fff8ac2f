//! Who has the reads.

use std::time::Duration;

use split_protocol::{Frame, Reads};

use super::fake::{FILE, Tested, UMAD, open, opensm, packet};

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
    assert!(split.reader().is_some());
    let welcome = split.attach();
    assert_eq!((welcome.umad, welcome.reads), (UMAD, Reads::Held));
}

#[test]
fn given_free_and_taken_back() {
    let split = opensm();
    split.attach();
    split.give_free();
    assert_eq!(split.reader(), None);
    split.give_free();
    split.take_back();
    assert!(split.reader().is_some());
    split.take_back();
    // Only how it stands now is said, if it was not heard before.
    assert_eq!(split.heard(), [Frame::Reads(Reads::Held)]);
}

#[test]
fn opensm_starts_while_another_has_them() {
    let split = Tested::new(super::fake::Fake::default());
    split.set_taken(true);
    open(&split);
    assert_eq!(split.attach().reads, REFUSED);
    assert!(split.idle() <= Duration::from_millis(2));
    for _ in 0..1000 {
        split.pass(Duration::from_millis(2));
    }
    assert!(
        split.idle() <= Duration::from_millis(20),
        "it never gives up"
    );
    assert_eq!(reads(&split.heard()), [], "it is not said again and again");
    split.set_taken(false);
    split.pass(Duration::from_millis(20));
    assert!(split.reader().is_some());
    assert_eq!(reads(&split.heard()), [Reads::Held]);
    assert_eq!(split.idle(), Duration::from_secs(1));
}

#[test]
fn the_daemon_may_ask_for_what_it_has_already() {
    let split = Tested::new(super::fake::Fake::default());
    split.set_taken(true);
    open(&split);
    split.attach();
    split.give_free();
    assert_eq!(reads(&split.heard()), [Reads::Free]);
    assert_eq!(split.idle(), Duration::from_secs(1), "no attempts any more");
}

#[test]
fn a_daemon_that_dies_loses_them_in_every_state() {
    for (gives_free, taken, asks) in
        (0..8).map(|bits| (bits & 1 != 0, bits & 2 != 0, bits & 4 != 0))
    {
        let split = opensm();
        split.attach();
        if gives_free {
            split.give_free();
            split.set_taken(taken);
        }
        if asks {
            let asked = super::fake::as_frame(&packet(0x12, 5, 9));
            assert!(split.request(1, &asked));
        }
        split.detach();
        // Its file closes after its socket.
        assert_eq!(split.reader().is_none(), gives_free && taken);
        split.set_taken(false);
        split.pass(Duration::from_millis(2));
        assert!(split.reader().is_some());
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
fn taking_back_what_is_still_held_by_another() {
    let split = opensm();
    split.attach();
    split.give_free();
    split.set_taken(true);
    split.heard();
    split.take_back();
    assert_eq!(reads(&split.heard()), [REFUSED]);
    split.pass(Duration::from_millis(2));
    split.set_taken(false);
    split.pass(Duration::from_millis(2));
    assert_eq!(reads(&split.heard()), [Reads::Held]);
}

#[test]
fn opensm_closes_and_opens_again() {
    let split = opensm();
    split.attach();
    split.closes(FILE + 1, None);
    split.closes(FILE, Some(super::fake::AGENT + 9));
    assert!(split.reader().is_some(), "that was another's");
    split.closes(FILE, None);
    assert!(!split.is_of(FILE));
    assert_eq!(split.reader(), None);
    assert!(split.next().is_err(), "the daemon is hung up on");
    split.detach();
    let welcome = split.attach();
    assert_eq!(
        (welcome.umad, welcome.reads),
        (u32::MAX, Reads::Refused(libc::ENODEV))
    );
    split.give_free();
    assert_eq!(reads(&split.heard()), [Reads::Refused(libc::ENODEV)]);
    open(&split);
    assert!(
        split.next().is_err(),
        "it learns of the port by connecting again"
    );
    assert!(split.reader().is_some());
    split.closes(FILE, Some(super::fake::AGENT));
    assert_eq!(split.reader(), None);
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
    assert!(split.is_of(20) && !split.is_number_of(FILE) && split.reader().is_some());
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
                2 if attached => split.give_free(),
                3 if attached => split.take_back(),
                // Another can only take what is free.
                4 if split.reader().is_none() => split.set_taken(true),
                5 => split.set_taken(false),
                6 => split.pass(Duration::from_millis(dice(3))),
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
            let held = split.reader().is_some();
            let taken = split.kernel().inside.borrow().taken;
            assert!(!(held && taken));
            assert!(attached || held || taken, "a Get would be lost");
        }
    }
}
