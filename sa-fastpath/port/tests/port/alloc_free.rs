//! No port allocates or frees while it serves: counted by the allocator itself.

use std::fs::File;
use std::io::{Read, Write};
use std::time::{Duration, Instant};

use super::support::{Outcome, echo, request, skip, turn};
use sa_port::ibsim::{Attachment, Options};
use sa_port::umad::{Umad, packet_pair};
use sa_port::{BATCH, ClientPort, Destination, MadPort, Patience, Reply};
use sa_rig::counting::{Counting, calls};
use sa_rig::{Fabric, TWO_HOSTS};
use sa_wire::mad::method;
use sa_wire::umad::Slot;
use zerocopy::IntoBytes;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Serves `total` requests; gives the allocator calls that turns made, and the turns.
fn serve(port: &mut impl MadPort, total: usize) -> Result<(u64, u64), Box<dyn std::error::Error>> {
    let end = Instant::now() + Duration::from_secs(20);
    let (mut served, mut turns, before) = (0, 0, calls());
    while served < total && Instant::now() < end {
        served += turn(port, &mut echo)?;
        turns += 1;
    }
    let made = calls() - before;
    assert_eq!(served, total, "requests were lost");
    Ok((made, turns))
}

/// Sends `total` packets and reads as many, in bursts.
fn far_end(mut far: File, total: usize) -> std::io::Result<()> {
    let mut slot = Slot::EMPTY;
    slot.mad = request(method::GET, 1);
    let mut buffer = [0; 512];
    for burst in (1..=BATCH).cycle().scan(0, |sent, size| {
        let size = size.min(total - *sent);
        *sent += size;
        (size > 0).then_some(size)
    }) {
        for _ in 0..burst {
            far.write_all(slot.as_bytes())?;
        }
        for _ in 0..burst {
            assert_eq!(far.read(&mut buffer)?, 64 + 120);
        }
    }
    Ok(())
}

#[test]
fn the_counter_counts() {
    let before = calls();
    drop(std::hint::black_box(Box::new(1)));
    assert_eq!(calls() - before, 2);
}

#[test]
fn umad_calls_do_not_allocate() -> Outcome {
    let (near, far) = packet_pair()?;
    let mut port = Umad::over_packets(near)?.worker()?;
    let far = File::from(far);
    let other = std::thread::spawn(move || far_end(far, 5000));
    let (made, turns) = serve(&mut port, 5000)?;
    other.join().map_err(|_| "the far end panicked")??;
    assert_eq!(made, 0, "in {turns} turns");
    Ok(())
}

#[cfg(feature = "uring")]
#[test]
fn uring_calls_do_not_allocate() -> Outcome {
    use sa_port::uring::UringPort;

    let (near, far) = packet_pair()?;
    let mut port = match UringPort::over_packets(near) {
        Ok(port) => port,
        Err(error) => return skip(&format!("skipped: {error}")),
    };
    let far = File::from(far);
    let other = std::thread::spawn(move || far_end(far, 5000));
    let (made, turns) = serve(&mut port, 5000)?;
    other.join().map_err(|_| "the far end panicked")??;
    assert_eq!(made, 0, "in {turns} turns");
    Ok(())
}

#[test]
fn ibsim_calls_do_not_allocate() -> Outcome {
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    let fabric = Fabric::start(TWO_HOSTS)?;
    fabric.configure("H1", &[])?;
    let on = |node: &str| Options {
        base: fabric.base().to_owned(),
        ..Options::on(node)
    };
    let mut server = Attachment::new(&on("H1").manager())?;
    let sa = Destination::sa(server.port()?.lid.ok_or("no LID")?);
    let mut port = server.serve()?;
    let options = on("H2");
    let other = std::thread::spawn(move || client(&options, sa, 5000));
    let (made, turns) = serve(&mut port, 5000)?;
    other
        .join()
        .map_err(|_| "the client panicked")?
        .map_err(|what| what.to_string())?;
    assert_eq!(made, 0, "in {turns} turns");
    Ok(())
}

/// A closed loop with 32 in flight.
fn client(
    options: &Options,
    sa: Destination,
    total: usize,
) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let attachment = Attachment::new(options).map_err(|error| error.to_string())?;
    let mut client = attachment.client().map_err(|error| error.to_string())?;
    let mut reply = Reply::default();
    let (mut sent, mut got) = (0, 0);
    let mad = request(method::GET, 1);
    let end = Instant::now() + Duration::from_secs(20);
    while got < total && Instant::now() < end {
        if sent < total && sent - got < 32 && client.submit(&sa, &mad, Patience::default())? {
            sent += 1;
        }
        while client.take(&mut reply)? {
            got += 1;
        }
    }
    if got == total {
        Ok(())
    } else {
        Err("replies were lost".into())
    }
}
