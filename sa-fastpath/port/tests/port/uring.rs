//! The io_uring port over a packet socket; skipped where the kernel refuses io_uring.
#![cfg(feature = "uring")]

use std::collections::VecDeque;
use std::fs::File;
use std::io::{Read, Write};
use std::time::{Duration, Instant};

use super::support::{Outcome, Responder, echo, request, skip, turn};
use sa_port::umad::packet_pair;
use sa_port::uring::{Submit, UringError, UringPort};
use sa_port::{MadPort, Verdict, low_transaction};
use sa_wire::mad::method;
use sa_wire::umad::Slot;
use zerocopy::IntoBytes;

/// The port and its far end, or why there is none.
fn pair(submit: Submit) -> Result<Result<(UringPort, File), String>, Box<dyn std::error::Error>> {
    let (near, far) = packet_pair()?;
    match UringPort::over_packets_by(near, submit) {
        Ok(port) => Ok(Ok((port, File::from(far)))),
        Err(error @ UringError::Ring { .. }) => Ok(Err(format!("skipped: {error}"))),
        Err(error) => Err(error.into()),
    }
}

fn packet(transaction: u64) -> Vec<u8> {
    let mut slot = Slot::EMPTY;
    slot.header.lid = 5.into();
    slot.mad = request(method::GET, transaction);
    slot.as_bytes().to_vec()
}

#[test]
fn requests_come_in_order_and_replies_go_back() -> Outcome {
    requests_come_in_order_and_replies_go_back_by(Submit::Worker)?;
    requests_come_in_order_and_replies_go_back_by(Submit::Kernel)
}

fn requests_come_in_order_and_replies_go_back_by(submit: Submit) -> Outcome {
    let (mut port, mut far) = match pair(submit)? {
        Ok(both) => both,
        Err(why) => return skip(&why),
    };
    assert_eq!(port.recv()?.len(), 0, "nothing waits");
    let mut seen = Vec::new();
    let mut waiting = VecDeque::new();
    for transaction in 0..200u32 {
        far.write_all(&packet(u64::from(transaction)))?;
        waiting.push_back(transaction);
        // Bursts of one, two, three and so on.
        if waiting.len() < usize::try_from(transaction % 9)? {
            continue;
        }
        assert!(port.wait_readable(Duration::from_secs(5))?);
        while !waiting.is_empty() {
            turn(&mut port, &mut |slot| {
                seen.extend(low_transaction(&slot.mad));
                waiting.pop_front();
                echo(slot)
            })?;
        }
    }
    assert_eq!(seen, (0..200).collect::<Vec<u32>>());
    let mut buffer = [0; 512];
    for transaction in 0..200u32 {
        assert_eq!(far.read(&mut buffer)?, 64 + 120);
        assert_eq!(low_transaction(&buffer[64..]), Some(transaction));
        assert_eq!(buffer[64 + 3], method::GET_RESP);
        assert_eq!(buffer[28..30], [0, 5]);
    }
    assert_eq!((port.counters().received, port.counters().sent), (200, 200));
    Ok(())
}

#[test]
fn silence_and_punts_send_nothing() -> Outcome {
    silence_and_punts_send_nothing_by(Submit::Worker)?;
    silence_and_punts_send_nothing_by(Submit::Kernel)
}

fn silence_and_punts_send_nothing_by(submit: Submit) -> Outcome {
    let (mut port, mut far) = match pair(submit)? {
        Ok(both) => both,
        Err(why) => return skip(&why),
    };
    for transaction in 0..3 {
        far.write_all(&packet(transaction))?;
    }
    let mut verdicts = [Verdict::Reply(256), Verdict::Punted, Verdict::Silence].into_iter();
    let mut served = 0;
    while served < 3 {
        served += turn(&mut port, &mut |_| {
            verdicts.next().unwrap_or(Verdict::Silence)
        })?;
    }
    let mut buffer = [0; 512];
    assert_eq!(far.read(&mut buffer)?, 320);
    assert_eq!((port.counters().received, port.counters().sent), (3, 1));
    Ok(())
}

#[test]
fn ten_thousand_closed_loop_from_another_thread() -> Outcome {
    ten_thousand_closed_loop_from_another_thread_by(Submit::Worker)?;
    ten_thousand_closed_loop_from_another_thread_by(Submit::Kernel)
}

fn ten_thousand_closed_loop_from_another_thread_by(submit: Submit) -> Outcome {
    let (port, mut far) = match pair(submit)? {
        Ok(both) => both,
        Err(why) => return skip(&why),
    };
    let responder = Responder::start(port, echo);
    let mut buffer = [0; 512];
    let (total, window) = (10_000u32, 16);
    let (mut sent, mut got) = (0, 0);
    while got < total {
        while sent < total && sent - got < window {
            far.write_all(&packet(u64::from(sent)))?;
            sent += 1;
        }
        assert_eq!(far.read(&mut buffer)?, 64 + 120);
        assert_eq!(low_transaction(&buffer[64..]), Some(got));
        got += 1;
    }
    let counters = responder.stop()?.counters();
    assert_eq!(
        (counters.received, counters.sent, counters.unsent),
        (10_000, 10_000, 0)
    );
    Ok(())
}

#[test]
fn a_closed_far_end_closes_the_port() -> Outcome {
    a_closed_far_end_closes_the_port_by(Submit::Worker)?;
    a_closed_far_end_closes_the_port_by(Submit::Kernel)
}

fn a_closed_far_end_closes_the_port_by(submit: Submit) -> Outcome {
    let (mut port, far) = match pair(submit)? {
        Ok(both) => both,
        Err(why) => return skip(&why),
    };
    assert_eq!(port.recv()?.len(), 0);
    drop(far);
    let deadline = Instant::now() + Duration::from_secs(5);
    let error = loop {
        match port.recv() {
            Ok(_) => assert!(Instant::now() < deadline, "it is not noticed"),
            Err(error) => break error,
        }
    };
    assert!(error.is_gone(), "{error}");
    Ok(())
}
