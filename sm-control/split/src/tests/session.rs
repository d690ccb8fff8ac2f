//! A daemon's connection.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use split_protocol::{Frame, Reads, VERSION};

use super::fake::{Tested, as_frame, opensm, packet, response};
use crate::session::{Over, Reason, Session};

fn pair() -> (Session, UnixStream) {
    let (near, far) = UnixStream::pair().unwrap();
    near.set_nonblocking(true).unwrap();
    (Session::new(near, Duration::ZERO), far)
}

fn greeted(split: &Tested) -> (Session, UnixStream) {
    let (mut session, mut far) = pair();
    Frame::Hello(VERSION).send(&mut far).unwrap();
    session.receive(split).unwrap();
    assert!(matches!(Frame::receive(&mut far), Ok(Frame::Welcome(_))));
    (session, far)
}

#[test]
fn frames_in_any_pieces() {
    let split = opensm();
    let (mut session, mut far) = greeted(&split);
    let mut wire = Frame::Beat(5).bytes().unwrap();
    let asked = as_frame(&packet(0x12, 5, 9));
    wire.extend(Frame::Request(77, asked).bytes().unwrap());
    wire.extend(Frame::TakeBack.bytes().unwrap());
    for byte in wire {
        far.write_all(&[byte]).unwrap();
        session.receive(&split).unwrap();
        session.send(&split).unwrap();
    }
    assert_eq!(Frame::receive(&mut far).unwrap(), Frame::Reads(Reads::Held));
    assert!(split.reads().is_some());
}

#[test]
fn a_table_of_100000_records_to_a_slow_daemon() {
    let split = opensm();
    let (mut session, mut far) = greeted(&split);
    let asked = as_frame(&packet(0x12, 5, 9));
    Frame::Request(77, asked).send(&mut far).unwrap();
    session.receive(&split).unwrap();
    let read = split.reads().unwrap();
    let records: Vec<u8> = (0..100_000u32)
        .flat_map(|n| [n.to_be_bytes(); 28].concat())
        .collect();
    assert_eq!(split.writes(response(&read, &records)), None);
    let slow = std::thread::spawn(move || {
        let mut all = Vec::new();
        let mut piece = vec![0; 10_000];
        while all.len() < 4 + 9 + 56 + 11_200_000 {
            let got = far.read(&mut piece).unwrap();
            assert!(got > 0);
            all.extend(&piece[..got]);
        }
        Frame::receive(&mut all.as_slice()).unwrap()
    });
    session.send(&split).unwrap();
    while session.is_sending() {
        session.send(&split).unwrap();
        std::thread::yield_now();
    }
    let Frame::Reply(77, mad) = slow.join().unwrap() else {
        panic!("no reply")
    };
    assert_eq!(mad[56..], records);
}

#[test]
fn garbage_is_hung_up_on() {
    let split = opensm();
    let asked = as_frame(&packet(0x12, 5, 9));
    let mut smp = asked.clone();
    smp.mad[1] = 0x81;
    let mut answer = asked;
    answer.mad[3] = 0x92;
    for garbage in [
        vec![0; 4],
        vec![0xff; 64],
        b"GET / HTTP/1.1\r\n\r\n".to_vec(),
        vec![1, 0, 0, 0, 99],
        Frame::Busy.bytes().unwrap(),
        Frame::Hello(VERSION).bytes().unwrap(),
        Frame::Reply(1, vec![0; 400]).bytes().unwrap(),
        Frame::Request(1, smp.clone()).bytes().unwrap(),
        Frame::Request(1, answer).bytes().unwrap(),
        Frame::Tell(smp).bytes().unwrap(),
    ] {
        let (mut session, mut far) = greeted(&split);
        far.write_all(&garbage).unwrap();
        let outcome = session.receive(&split);
        assert!(
            matches!(outcome, Err(Over::Because(_))),
            "{garbage:?}: {outcome:?}"
        );
        split.detach();
        assert!(split.reads().is_none());
        assert!(split.holds());
    }
}

#[test]
fn a_daemon_says_hello_first_and_soon() {
    let split = opensm();
    let (mut session, mut far) = pair();
    session.check(Duration::from_millis(999)).unwrap();
    assert!(session.check(Duration::from_secs(1)).is_err());
    Frame::Lend.send(&mut far).unwrap();
    assert!(session.receive(&split).is_err());
    assert!(split.holds());
    let (mut session, mut far) = pair();
    Frame::Hello(VERSION + 1).send(&mut far).unwrap();
    let other = Over::Because(Reason::Version(VERSION + 1));
    assert_eq!(session.receive(&split), Err(other));
    assert!(
        matches!(Frame::receive(&mut far), Ok(Frame::Welcome(welcome)) if welcome.version == VERSION)
    );
}

#[test]
fn the_end_is_seen() {
    let split = opensm();
    let (mut session, far) = greeted(&split);
    assert_eq!(session.receive(&split), Ok(()), "nothing there");
    drop(far);
    assert_eq!(session.receive(&split), Err(Over::Gone));
    split.detach();
    let (mut session, _far) = greeted(&split);
    split.closes(super::fake::FILE, None);
    assert_eq!(session.send(&split), Err(Over::Said));
}
