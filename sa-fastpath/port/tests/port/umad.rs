//! The umad code: over a packet socket, and under the simulator's preload library.
//!
//! The preload replaces libc's calls for a whole process, so those tests start this very binary
//! again, with a role in its environment.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use super::support::{Outcome, echo, request, skip, turn};
use sa_port::ibsim::{Attachment, Options};
use sa_port::umad::{Options as UmadOptions, Umad, UmadClient, UmadError, packet_pair};
use sa_port::{
    BATCH, ClientPort, Destination, MadPort, Patience, PortError, Reply, ReplyPort, Verdict,
    low_transaction,
};
use sa_rig::{Fabric, Process, TWO_HOSTS, records, wait_for};
use sa_wire::Lid;
use sa_wire::mad::method;
use sa_wire::umad::{QP1_QKEY, Slot, UmadHeader};
use zerocopy::{FromBytes, IntoBytes};

/// A port on a packet socket, and the far end, where a kernel would be.
fn pair() -> Result<(Umad, File), Box<dyn std::error::Error>> {
    let (near, far): (OwnedFd, OwnedFd) = packet_pair()?;
    Ok((Umad::over_packets(near)?, File::from(far)))
}

fn packet(header: impl FnOnce(&mut UmadHeader), mad: &[u8]) -> Vec<u8> {
    let mut slot = Slot::EMPTY;
    slot.header.lid = 5.into();
    slot.header.qpn = 1.into();
    slot.header.sl = 3;
    slot.header.pkey_index = 2;
    header(&mut slot.header);
    [slot.header.as_bytes(), mad].concat()
}

fn read_packet(far: &mut File) -> Result<(UmadHeader, Vec<u8>), Box<dyn std::error::Error>> {
    let mut buffer = vec![0; 65536];
    let got = far.read(&mut buffer)?;
    let (header, mad) =
        UmadHeader::read_from_prefix(&buffer[..got]).map_err(|_| "a packet without header")?;
    Ok((header, mad.to_vec()))
}

#[test]
fn a_reply_goes_to_where_the_request_came_from() -> Outcome {
    let (umad, mut far) = pair()?;
    let mut port = umad.worker()?;
    let with_grh = |header: &mut UmadHeader| {
        header.grh_present = 1;
        header.gid = [7; 16];
    };
    far.write_all(&packet(with_grh, &request(method::GET, 0xfeed_0000_0001)))?;
    assert!(port.wait_readable(Duration::from_secs(1))?);
    assert_eq!(turn(&mut port, &mut echo)?, 1);

    let (header, mad) = read_packet(&mut far)?;
    assert_eq!(
        (
            header.lid.get(),
            header.qpn.get(),
            header.sl,
            header.pkey_index
        ),
        (5, 1, 3, 2)
    );
    assert_eq!(
        (header.qkey.get(), header.timeout_ms, header.retries),
        (QP1_QKEY, 0, 0)
    );
    assert_eq!(
        (header.grh_present, header.gid, header.hop_limit),
        (1, [7; 16], 64)
    );
    assert_eq!(
        (mad.len(), mad[3]),
        (120, method::GET_RESP),
        "header and one record"
    );
    assert_eq!(mad[8..16], 0xfeed_0000_0001u64.to_be_bytes());
    Ok(())
}

#[test]
fn what_is_no_request_is_dropped_and_counted() -> Outcome {
    let (umad, mut far) = pair()?;
    let mut port = umad.worker()?;
    let mut trap = request(method::GET, 1);
    trap[1] = 0x81;
    far.write_all(&packet(|_| {}, &trap))?;
    far.write_all(&packet(|_| {}, &request(method::GET_RESP, 2)))?;
    far.write_all(&packet(
        |header| header.status = 110,
        &request(method::GET_RESP, 3)[..24],
    ))?;
    far.write_all(&packet(|_| {}, &[1, 3, 2]))?;
    far.write_all(&packet(|_| {}, &request(method::GET, 4)))?;
    assert_eq!(turn(&mut port, &mut |_| Verdict::Silence)?, 1);
    let counters = port.counters();
    assert_eq!((counters.received, counters.foreign), (1, 2));
    assert_eq!(
        (counters.returned, counters.malformed, counters.sent),
        (1, 1, 0)
    );
    Ok(())
}

/// A Report goes out with the kernel's patience, from the agent that the workers read; its response
/// is lent as a request is.
#[test]
fn the_response_to_a_report_is_lent() -> Outcome {
    let (umad, mut far) = pair()?;
    let mut port = umad.worker()?;
    let mut replies = umad.reply_port();
    assert!(replies.repeats());
    let mut report = Slot::EMPTY;
    report.header.lid = 5.into();
    report.header.qpn = 7.into();
    report.header.timeout_ms = 200;
    report.header.retries = 3;
    report.mad = request(method::REPORT, 0x99);
    replies.report(&report)?;
    let (header, mad) = read_packet(&mut far)?;
    assert_eq!((header.lid.get(), header.qpn.get()), (5, 7));
    assert_eq!((header.timeout_ms, header.retries), (200, 3));
    assert_eq!(header.qkey.get(), QP1_QKEY);
    assert_eq!(mad, report.mad);
    far.write_all(&packet(|_| {}, &request(method::REPORT_RESP, 0x99)))?;
    let mut seen = 0;
    let lent = turn(&mut port, &mut |slot| {
        seen = slot.mad[3];
        Verdict::Punted
    })?;
    assert_eq!((lent, seen), (1, method::REPORT_RESP));
    assert_eq!(port.counters().foreign, 0);
    Ok(())
}

#[test]
fn a_short_request_leaves_nothing_of_its_predecessor() -> Outcome {
    let (umad, mut far) = pair()?;
    let mut port = umad.worker()?;
    far.write_all(&packet(|_| {}, &request(method::GET, 0xff)))?;
    turn(&mut port, &mut |_| Verdict::Silence)?;
    // As the kernel trims a reassembled request.
    far.write_all(&packet(|_| {}, &request(method::GET_MULTI, 0xff)[..96]))?;
    let slots = port.recv()?;
    assert_eq!(slots.len(), 1);
    assert_eq!(slots[0].mad[95..98], [0xff, 0, 0]);
    Ok(())
}

#[test]
fn a_flood_comes_in_batches_and_in_order() -> Outcome {
    let (umad, mut far) = pair()?;
    let mut port = umad.worker()?;
    let count = BATCH + 10;
    for transaction in 0..count {
        far.write_all(&packet(
            |_| {},
            &request(method::GET, u64::try_from(transaction)?),
        ))?;
    }
    let mut seen = Vec::new();
    let mut note = |slot: &mut Slot| {
        seen.extend(low_transaction(&slot.mad));
        Verdict::Silence
    };
    assert_eq!(turn(&mut port, &mut note)?, BATCH);
    assert_eq!(turn(&mut port, &mut note)?, 10);
    assert_eq!(turn(&mut port, &mut note)?, 0);
    assert_eq!(seen, (0..u32::try_from(count)?).collect::<Vec<_>>());
    Ok(())
}

#[test]
fn the_slow_lane_hands_the_kernel_whole_tables() -> Outcome {
    let (umad, mut far) = pair()?;
    let mut slow = umad.reply_port();
    assert!(slow.can_segment());
    let mut asked = Slot::EMPTY;
    asked.header.lid = 5.into();
    // Ten records: one write, RMPP active, everything else left to the kernel.
    let mut table = request(method::GET_TABLE_RESP, 1)[..56].to_vec();
    table.resize(56 + 640, 0xaa);
    slow.reply(&asked, &table)?;
    let (header, mad) = read_packet(&mut far)?;
    assert_eq!((header.lid.get(), header.retries, mad.len()), (5, 3, 696));
    assert_eq!(mad[24..28], [1, 1, 1, 0]);
    // None: 56 bytes, under RMPP as well.
    slow.reply(&asked, &table[..56])?;
    let (_, mad) = read_packet(&mut far)?;
    assert_eq!((mad.len(), mad[26] & 1), (56, 1));
    // An error is a plain MAD.
    let mut refusal = request(method::GET_TABLE_RESP, 1);
    refusal[4] = 2;
    slow.reply(&asked, &refusal)?;
    let (_, mad) = read_packet(&mut far)?;
    assert_eq!((mad.len(), mad[26]), (256, 0));
    Ok(())
}

#[test]
fn a_vanished_device_is_an_error() -> Outcome {
    let (umad, mut far) = pair()?;
    let mut port = umad.worker()?;
    far.write_all(&packet(|_| {}, &request(method::GET, 1)))?;
    assert_eq!(port.recv()?.len(), 1);
    drop(far);
    let outcome = port.send(&[Verdict::Reply(256)]);
    assert!(
        matches!(outcome, Err(PortError::Gone { .. })),
        "{outcome:?}"
    );
    for _ in 0..3 {
        let outcome = port.recv().map(|lent| lent.len());
        assert!(
            outcome.as_ref().is_err_and(PortError::is_gone),
            "{outcome:?}"
        );
    }
    Ok(())
}

/// What came is still served; then the worker ends.
#[test]
fn released_methods_end_the_worker() -> Outcome {
    let (umad, mut far) = pair()?;
    let mut port = umad.worker()?;
    far.write_all(&packet(|_| {}, &request(method::GET, 1)))?;
    umad.release();
    assert_eq!(turn(&mut port, &mut echo)?, 1);
    assert!(port.recv().is_err_and(|error| error.is_gone()));
    Ok(())
}

#[test]
fn what_a_port_hides_is_seen_from_outside() -> Outcome {
    let (umad, mut far) = pair()?;
    let mut port = umad.worker()?;
    let seen = port.stats().ok_or("a umad port counts")?;
    far.write_all(&packet(|_| {}, &request(method::GET, 1)))?;
    far.write_all(&packet(|_| {}, &request(method::GET_RESP, 2)))?;
    turn(&mut port, &mut echo)?;
    let seen = seen.snapshot();
    assert_eq!((seen.received, seen.sent, seen.foreign), (1, 1, 1));
    Ok(())
}

#[test]
fn a_host_without_umad_is_told_what_to_load() -> Outcome {
    if std::path::Path::new("/sys/class/infiniband_mad/abi_version").exists() {
        return skip("skipped: this host has umad");
    }
    let error = Umad::open(&UmadOptions::default()).unwrap_err();
    assert!(matches!(error, UmadError::NoUmad { .. }), "{error}");
    assert!(error.to_string().contains("modprobe ib_umad"), "{error}");
    Ok(())
}

#[test]
fn under_the_preload_it_answers_saquery_and_native_clients() -> Outcome {
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    let fabric = Fabric::start(TWO_HOSTS)?;
    fabric.configure("H1", &[])?;
    let mut responder = play("serve", &fabric, "H1")?;
    wait_for("the responder", Duration::from_secs(10), || {
        responder.check()?;
        Ok(responder.printed().contains("serving ibsim0/1"))
    })?;
    let printed = fabric.saquery("H2", &["PR", "--slid", "9", "--dlid", "77"])?;
    let answers = records(&printed);
    assert_eq!(answers.len(), 1, "{printed}");
    assert_eq!(
        (answers[0].get("slid"), answers[0].get("dlid")),
        (Some("9"), Some("77"))
    );

    let options = Options {
        base: fabric.base().to_owned(),
        ..Options::on("H2")
    };
    let attachment = Attachment::new(&options)?;
    let mut client = attachment.client()?;
    let sa = Destination::sa(Lid::new(1)?);
    let mut reply = Reply::default();
    for transaction in 0..100 {
        let mad = request(method::GET, transaction);
        client.ask(&sa, &mad, Patience::default(), &mut reply)?;
        assert_eq!((reply.mad[3], reply.mad.len()), (method::GET_RESP, 120));
        assert_eq!(reply.mad[56..120], mad[56..120]);
    }
    responder.check()?;
    Ok(())
}

#[test]
fn under_the_preload_it_asks_opensm() -> Outcome {
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    let fabric = Fabric::start(TWO_HOSTS)?;
    let opensm = fabric.opensm("H1", &[])?;
    let mut asker = play("ask", &fabric, "H2")?;
    asker.wait(Duration::from_secs(20))?;
    let printed = asker.printed();
    assert!(
        printed.contains("asking ibsim0/1, SA at LID 1"),
        "{printed}"
    );
    assert!(
        printed.contains("answer 0x81 status 0 of 120 bytes, dlid 1"),
        "{printed}"
    );
    drop(opensm);
    Ok(())
}

/// What the preloaded process does; nothing unless it is one.
#[test]
fn role() -> Outcome {
    match std::env::var(ROLE).as_deref() {
        Ok("serve") => serve(),
        Ok("ask") => ask(),
        _ => Ok(()),
    }
}

fn serve() -> Outcome {
    let umad = Umad::open(&UmadOptions::default())?;
    assert!(umad.is_simulated());
    let mut port = umad.worker()?;
    let _flag = umad.announce_sm()?;
    assert!(!umad.reply_port().can_segment());
    writeln!(std::io::stdout(), "serving {}", umad.name())?;
    let end = Instant::now() + Duration::from_secs(60);
    while Instant::now() < end {
        if turn(&mut port, &mut |slot| {
            slot.mad[56 + 57] = 1;
            let verdict = echo(slot);
            slot.mad[56 + 57] = slot.mad[12 + 3];
            verdict
        })? == 0
        {
            umad.wait_readable(Duration::from_millis(100))?;
        }
    }
    Ok(())
}

fn ask() -> Outcome {
    let mut client = UmadClient::open(None, None)?;
    let sa = client.sa().ok_or("the port has no SM LID")?;
    writeln!(
        std::io::stdout(),
        "asking {}, SA at LID {}",
        client.name(),
        sa.lid
    )?;
    let mut mad = request(method::GET, 42);
    mad[56..].fill(0);
    mad[48..56].copy_from_slice(&0x30u64.to_be_bytes());
    mad[56 + 40..56 + 44].copy_from_slice(&[0, 1, 0, 2]);
    let mut reply = Reply::default();
    client.ask(&sa, &mad, Patience::default(), &mut reply)?;
    let status = u16::from_be_bytes([reply.mad[4], reply.mad[5]]);
    let dlid = u16::from_be_bytes([reply.mad[96], reply.mad[97]]);
    let length = reply.mad.len();
    writeln!(
        std::io::stdout(),
        "answer 0x{:02x} status {status} of {length} bytes, dlid {dlid}",
        reply.mad[3]
    )?;
    Ok(())
}

fn play(role: &str, fabric: &Fabric, node: &str) -> std::io::Result<Process> {
    let mut command = fabric.preloaded(&std::env::current_exe()?, node)?;
    command.args([
        "--exact",
        "umad::role",
        "--nocapture",
        "--test-threads",
        "1",
    ]);
    command.env(ROLE, role);
    Process::spawn("preloaded", &mut command, fabric.dir())
}

const ROLE: &str = "SAPPHIRE_TEST_ROLE";
