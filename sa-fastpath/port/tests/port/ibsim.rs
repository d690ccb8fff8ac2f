//! The native ibsim client against the real simulator.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use super::support::{Outcome, Responder, echo, request, skip, turn};
use sa_port::ibsim::{AttachError, Attachment, IbsimPort, Options, Role};
use sa_port::{
    AskError, ClientPort, Destination, MadPort, Patience, PortCounters, PortError, Reply,
    ReplyPort, Verdict, low_transaction,
};
use sa_rig::{Fabric, TWO_HOSTS, Torus, records, wait_for};
use sa_wire::Lid;
use sa_wire::mad::method;
use sa_wire::umad::Slot;

const PATIENCE: Duration = Duration::from_secs(60);

fn on(fabric: &Fabric, node: &str) -> Options {
    Options {
        base: fabric.base().to_owned(),
        ..Options::on(node)
    }
}

/// A configured fabric without an SM, and who is to answer in its place.
fn configured() -> Result<(Fabric, IbsimPort, Destination), Box<dyn std::error::Error>> {
    let fabric = Fabric::start(TWO_HOSTS)?;
    fabric.configure("H1", &[])?;
    let mut server = Attachment::new(&on(&fabric, "H1").manager())?;
    let facts = server.port()?;
    assert_eq!((facts.state, facts.lid), (4, facts.sm_lid), "{facts:?}");
    let port = server.serve()?;
    Ok((fabric, port, Destination::sa(facts.lid.ok_or("no LID")?)))
}

#[test]
fn a_missing_simulator_is_named() {
    let options = Options {
        base: "sapphire-nobody".to_owned(),
        ..Options::on("H1")
    };
    let error = Attachment::new(&options).unwrap_err();
    assert!(matches!(error, AttachError::NoServer { .. }), "{error:?}");
    assert!(
        error.to_string().contains("IBSIM_SOCKNAME=sapphire-nobody"),
        "{error}"
    );
}

#[test]
fn attachments_are_refused_with_a_reason_and_given_back() -> Outcome {
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    let fabric = Fabric::start(TWO_HOSTS)?;
    let unknown = Attachment::new(&on(&fabric, "nowhere")).unwrap_err();
    assert!(
        unknown.to_string().contains("no node of that id"),
        "{unknown}"
    );
    let long = Attachment::new(&on(&fabric, &"x".repeat(32))).unwrap_err();
    assert!(
        matches!(long, AttachError::TooLong { limit: 31, .. }),
        "{long}"
    );

    let manager = Attachment::new(&on(&fabric, "H1").manager())?;
    let second = Attachment::new(&on(&fabric, "H1").manager()).unwrap_err();
    assert!(second.to_string().contains("another manager"), "{second}");
    drop(manager);
    let mut again = Attachment::new(&on(&fabric, "H1").manager())?;
    assert_eq!(again.node(), "H1");
    assert_eq!(again.port()?.lid, None, "no SM was here yet");

    let more: Vec<_> = (0..9)
        .map(|_| Attachment::new(&on(&fabric, "H2")))
        .collect();
    assert!(more.iter().all(Result::is_ok), "ten clients fit: {more:?}");
    assert!(
        Attachment::new(&on(&fabric, "H2")).is_err(),
        "an eleventh does not"
    );
    drop(more);
    assert!(
        Attachment::new(&on(&fabric, "H2")).is_ok(),
        "the slots came back"
    );
    Ok(())
}

#[test]
fn a_thousand_requests_are_answered_without_loss() -> Outcome {
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    let (fabric, port, sa) = configured()?;
    let responder = Responder::start(port, echo);
    let attachment = Attachment::new(&on(&fabric, "H2"))?;
    let mut client = attachment.client()?;

    let (total, window) = (1000u32, 32);
    let (mut sent, mut answered) = (0, vec![false; 1000]);
    let mut reply = Reply::default();
    let deadline = Instant::now() + Duration::from_secs(20);
    while answered.contains(&false) && Instant::now() < deadline {
        let open = usize::try_from(sent)? - answered.iter().filter(|done| **done).count();
        if sent < total && open < window {
            let mad = request(method::GET, 0x1234_5678_0000_0000 | u64::from(sent));
            sent += u32::from(client.submit(&sa, &mad, Patience::default())?);
        }
        while client.take(&mut reply)? {
            assert_eq!(
                (reply.header.status, reply.header.lid.get()),
                (0, sa.lid.get())
            );
            let transaction = low_transaction(&reply.mad).unwrap();
            let mut expected = request(method::GET_RESP, u64::from(transaction));
            // The simulator's part of the transaction id; the middle one is the client's own.
            expected[8..12].copy_from_slice(&reply.mad[8..12]);
            assert_eq!(
                reply.mad[10..12],
                [0x56, 0x78],
                "the responder copies all 64 bits"
            );
            assert_eq!(
                reply.mad,
                expected[..120],
                "56 bytes of headers and a record"
            );
            let first = !std::mem::replace(&mut answered[usize::try_from(transaction)?], true);
            assert!(first, "one reply each");
        }
    }
    assert!(!answered.contains(&false), "lost some of {sent}");
    let counters = responder.stop()?.counters();
    assert_eq!(
        (counters.received, counters.sent, counters.unsent),
        (1000, 1000, 0)
    );
    Ok(())
}

#[test]
fn the_slow_lane_answers_what_a_worker_punts() -> Outcome {
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    let fabric = Fabric::start(TWO_HOSTS)?;
    fabric.configure("H1", &[])?;
    let mut server = Attachment::new(&on(&fabric, "H1").manager())?;
    let sa = Destination::sa(server.port()?.lid.ok_or("no LID")?);
    let (punt, punted) = std::sync::mpsc::channel::<Slot>();
    let responder = Responder::start(server.serve()?, move |slot| {
        punt.send(*slot)
            .map_or(Verdict::Silence, |()| Verdict::Punted)
    });
    let mut slow = server.reply_port()?;
    let lane = std::thread::spawn(move || -> Result<(), PortError> {
        for mut slot in punted {
            let Verdict::Reply(length) = echo(&mut slot) else {
                continue;
            };
            assert!(!slow.can_segment());
            assert!(matches!(
                slow.reply(&slot, &[0; 257]),
                Err(PortError::TooLong)
            ));
            slow.reply(&slot, &slot.mad[..usize::from(length)])?;
        }
        Ok(())
    });
    let attachment = Attachment::new(&on(&fabric, "H2"))?;
    let mut client = attachment.client()?;
    let mut reply = Reply::default();
    client.ask(
        &sa,
        &request(method::GET, 7),
        Patience::default(),
        &mut reply,
    )?;
    assert_eq!((reply.mad[3], reply.mad.len()), (method::GET_RESP, 120));
    let port = responder.stop()?;
    assert_eq!((port.counters().received, port.counters().sent), (1, 0));
    lane.join().map_err(|_| "the slow lane panicked")??;
    Ok(())
}

#[test]
fn silence_is_asked_again_and_no_route_is_said_at_once() -> Outcome {
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    let (fabric, port, sa) = configured()?;
    let seen = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&seen);
    let responder = Responder::start(port, move |_| {
        counted.fetch_add(1, Ordering::Relaxed);
        Verdict::Silence
    });
    let attachment = Attachment::new(&on(&fabric, "H2"))?;
    let mut client = attachment.client()?;
    let patience = Patience {
        timeout: Duration::from_millis(50),
        retries: 2,
    };
    let mut reply = Reply::default();

    let error = client
        .ask(&sa, &request(method::GET, 1), patience, &mut reply)
        .unwrap_err();
    assert!(matches!(error, AskError::TimedOut { .. }), "{error}");
    let nobody = Destination::sa(Lid::new(77)?);
    let error = client
        .ask(&nobody, &request(method::GET, 2), patience, &mut reply)
        .unwrap_err();
    assert!(matches!(error, AskError::Undeliverable { .. }), "{error}");
    let long = client
        .ask(&sa, &[0; 257], patience, &mut reply)
        .unwrap_err();
    assert!(matches!(long, AskError::Port(PortError::TooLong)), "{long}");

    wait_for("one request and two repeats", PATIENCE, || {
        Ok(seen.load(Ordering::Relaxed) == 3)
    })?;
    assert_eq!(responder.stop()?.counters().sent, 0);
    Ok(())
}

#[test]
fn other_classes_and_stray_responses_are_dropped_and_counted() -> Outcome {
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    let fabric = Fabric::start(TWO_HOSTS)?;
    fabric.configure("H1", &[])?;
    let mut server = Attachment::new(&on(&fabric, "H1").manager())?;
    let sa = Destination::sa(server.port()?.lid.ok_or("no LID")?);
    let mut port = server.serve()?;
    // The capability change makes the simulator send trap 144 to the SM's LID, which is ours.
    server.set_role(Role::Plain)?;
    server.set_role(Role::Manager)?;
    let attachment = Attachment::new(&on(&fabric, "H2"))?;
    let mut client = attachment.client()?;
    // A response is delivered by the client number in its transaction, asked for or not.
    let stray = u64::from(server.number()) << 48;
    client.submit(&sa, &request(method::GET_RESP, stray), Patience::default())?;
    // RMPP's acknowledgements are no responses, and are lent.
    let mut ack = request(method::GET_TABLE, 9);
    ack[24..27].copy_from_slice(&[1, 2, 1]);
    client.submit(&sa, &ack, Patience::default())?;

    let mut lent = 0;
    wait_for("the packets", PATIENCE, || {
        lent += port
            .recv()
            .map_err(|error| std::io::Error::other(error.to_string()))?
            .len();
        Ok(lent > 0)
    })?;
    let PortCounters {
        received, foreign, ..
    } = port.counters();
    assert_eq!((received, lent), (1, 1));
    assert_eq!(foreign, 2, "a trap and a response");
    Ok(())
}

#[test]
fn saquery_sees_as_many_records_as_the_length_says() -> Outcome {
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    let (fabric, port, sa) = configured()?;
    let responder = Responder::start(port, |slot| {
        // saquery sets no preference: take the number of records from the destination LID.
        slot.mad[56 + 57] = slot.mad[56 + 41];
        echo(slot)
    });
    for count in 0..=2 {
        let dlid = count.to_string();
        let printed = fabric.saquery("H2", &["PR", "--slid", "9", "--dlid", &dlid])?;
        // LID 0 sets no component, but the request still goes out.
        let records = records(&printed);
        assert_eq!(records.len(), count, "{printed}");
        assert!(
            records.iter().all(|record| record.get("slid") == Some("9")),
            "{printed}"
        );
    }
    let counters = responder.stop()?.counters();
    assert_eq!((counters.received, counters.foreign), (3, 0));
    assert!(sa.lid.get() > 0);
    Ok(())
}

#[test]
fn a_gone_simulator_closes_the_port() -> Outcome {
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    let mut fabric = Fabric::start(TWO_HOSTS)?;
    let mut attachment = Attachment::new(&on(&fabric, "H1"))?;
    let mut client = attachment.client()?;
    fabric.ibsim().stop();
    let to = Destination::sa(Lid::new(1)?);
    let outcome = client.submit(&to, &request(method::GET, 1), Patience::default());
    assert!(
        matches!(outcome, Err(PortError::Gone { .. })),
        "{outcome:?}"
    );
    assert!(matches!(
        attachment.port(),
        Err(AttachError::NoServer { .. })
    ));
    Ok(())
}

/// A worker that only listens finds out by itself, whichever way it waits, and a new one serves.
#[test]
fn a_simulator_that_returns_is_attached_anew() -> Outcome {
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    let mut fabric = Fabric::start(TWO_HOSTS)?;
    let server = Attachment::new(&on(&fabric, "H1").manager())?;
    let (mut spinning, mut waiting) = (server.serve()?, server.serve()?);
    let (facts, _) = (
        spinning.recv()?.len(),
        waiting.wait(Duration::from_millis(1))?,
    );
    assert_eq!(facts, 0);
    fabric.ibsim().stop();
    let deadline = Instant::now() + Duration::from_secs(20);
    let spun = loop {
        match spinning.recv() {
            Ok(_) => assert!(Instant::now() < deadline, "it is not noticed"),
            Err(error) => break error,
        }
    };
    let waited = loop {
        match waiting.wait(Duration::from_millis(50)) {
            Ok(()) => assert!(Instant::now() < deadline, "it is not noticed"),
            Err(error) => break error,
        }
    };
    assert!(spun.is_gone() && waited.is_gone(), "{spun}; {waited}");
    let absent = Attachment::new(&on(&fabric, "H1").manager());
    assert!(matches!(absent, Err(AttachError::NoServer { .. })));

    fabric.restart()?;
    fabric.configure("H1", &[])?;
    let server = Attachment::new(&on(&fabric, "H1").manager())?;
    let responder = Responder::start(server.serve()?, echo);
    let mut client = Attachment::new(&on(&fabric, "H2"))?.client()?;
    let to = Destination::sa(Lid::new(1)?);
    let mad = request(method::GET, 1);
    client.ask(&to, &mad, Patience::default(), &mut Reply::default())?;
    assert_eq!(responder.stop()?.counters().sent, 1);
    Ok(())
}

/// The way to run beside a stock SM: attached first, the native client gets the SA's requests,
/// while OpenSM, second on the same node, brings the subnet up and keeps it.
#[test]
fn attached_before_the_sm_it_gets_the_requests_to_the_sms_lid() -> Outcome {
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    let fabric = Fabric::start(TWO_HOSTS)?;
    let mut server = Attachment::new(&on(&fabric, "H1").manager())?;
    let responder = Responder::start(server.serve()?, |slot| {
        slot.mad[56 + 57] = 1;
        echo(slot)
    });
    let opensm = fabric.opensm("H1", &[])?;
    let facts = server.port()?;
    assert_eq!((facts.state, facts.lid), (4, facts.sm_lid));
    for _ in 0..10 {
        let printed = fabric.saquery("H2", &["PR", "--slid", "1", "--dlid", "0x1234"])?;
        let answers = records(&printed);
        let dlids: Vec<_> = answers.iter().map(|record| record.get("dlid")).collect();
        assert_eq!(dlids, [Some("4660")], "only an echo says so: {printed}");
    }
    drop(opensm);
    let mut port = responder.stop()?;
    assert_eq!(turn(&mut port, &mut echo)?, 0);
    assert_eq!((port.counters().received, port.counters().sent), (10, 10));
    Ok(())
}

/// The same on a torus of 125 switches, routed by torus-2QoS with QoS on.
#[test]
fn attached_before_the_sm_of_a_torus() -> Outcome {
    if let Some(why) = Fabric::unavailable().or_else(Torus::unavailable) {
        return skip(&why);
    }
    let torus = Torus::generate(&["--dims", "5,5,5"])?;
    let fabric = Fabric::start(&torus.net)?;
    let conf = fabric.dir().join("torus-2QoS.conf");
    std::fs::write(&conf, &torus.conf)?;
    let mut server = Attachment::new(&on(&fabric, "H0_0_0_0").manager())?;
    let responder = Responder::start(server.serve()?, |slot| {
        slot.mad[56 + 57] = 1;
        echo(slot)
    });
    let conf = conf.to_str().ok_or("a path without text")?;
    let options = ["-R", "torus-2QoS,no_fallback", "-Q", "--torus_config", conf];
    let mut opensm = fabric.opensm("H0_0_0_0", &options)?;
    let facts = server.port()?;
    assert_eq!((facts.state, facts.lid), (4, facts.sm_lid));
    let printed = fabric.saquery("H4_4_4_0", &["PR", "--slid", "1", "--dlid", "0x1234"])?;
    let answers = records(&printed);
    assert_eq!(answers.len(), 1, "{printed}");
    assert_eq!(answers[0].get("dlid"), Some("4660"), "only an echo says so");
    opensm.check()?;
    assert_eq!(responder.stop()?.counters().received, 1);
    Ok(())
}
