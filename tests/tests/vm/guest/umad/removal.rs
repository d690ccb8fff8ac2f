//! HCAs that are unplugged under running ports, and plugged in again.

use std::env;
use std::fs::File;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use sa_port::umad::{Trouble, Umad, UmadClient};
use sa_port::{ClientPort, Destination, Patience, PortError, Reply, ReplyPort};
use sa_wire::Lid;

use super::asker::path;
use super::at;
use super::daemon::one;
use super::ports::wait_until;
use super::responder::{Responder, Way, open, options};

/// One device for each way, and a client's.
pub(crate) fn run(devices: &[&str], client: &str) -> Result<()> {
    let places = devices.iter().map(|device| at(device));
    let places: Vec<Destination> = places.collect::<Result<_>>()?;
    let ports = || -> Result<Vec<(Umad, Responder)>> {
        let pairs = devices.iter().zip(Way::ALL).map(|(device, way)| {
            let umad = open(device)?;
            let responder = Responder::start(way.port(&umad)?)?;
            Ok((umad, responder))
        });
        pairs.collect()
    };
    let served = ports()?;
    let mut port = UmadClient::open(Some(client), Some(1))?;
    let from = Lid::raw(port.name().state().lid);
    for to in &places {
        one(&mut port, *to, &path(from, to.lid.get(), 1))?;
    }
    println!("ok   {} ways serve", served.len());

    let [first, ..] = devices else { return Ok(()) };
    let mut late = served.first().context("a port")?.0.reply_port();
    unplug()?;
    wait_until("the end of the responders", || {
        served.iter().all(|(_, responder)| responder.is_finished())
    })?;
    for ((_, responder), way) in served.into_iter().zip(Way::ALL) {
        let ended = responder.ended()?;
        ensure!(is_gone(&ended), "{}: {ended:?}", way.name());
        println!("ok   {}: {}", way.name(), ended.err().context("no error")?);
    }
    let to = places.first().context("a place")?;
    let asked = port.ask(
        to,
        &path(from, 1, 2),
        Patience::default(),
        &mut Reply::default(),
    );
    ensure!(asked.is_err(), "an answer without an HCA");
    let replied = late.reply(&sa_wire::umad::Slot::EMPTY, &[0; 256]);
    ensure!(is_gone(&replied), "{replied:?}");
    let absent = Umad::open(&options(first)).err();
    let absent = absent.context("a port without its HCA")?;
    ensure!(absent.trouble() == Trouble::Absent, "{absent}");
    println!("ok   client and slow lane are told too; meanwhile: {absent}");

    plug()?;
    wait_until("the HCAs", || {
        devices.iter().chain([&client]).all(|it| is_back(it))
    })?;
    let served = ports()?;
    let mut port = UmadClient::open(Some(client), Some(1))?;
    for to in &places {
        one(&mut port, *to, &path(from, to.lid.get(), 3))?;
    }
    for (_, responder) in served {
        responder.stop()?;
    }
    println!("ok   the same ports serve again");
    Ok(())
}

fn is_gone(outcome: &Result<(), PortError>) -> bool {
    matches!(outcome, Err(PortError::Gone { .. }))
}

fn is_back(device: &str) -> bool {
    let port = UmadClient::open(Some(device), Some(1));
    port.is_ok_and(|port| {
        let state = port.name().state();
        state.state == sa_port::umad::PortState::ACTIVE && state.lid.is_some()
    })
}

/// Ends what carries MADs between the HCAs and their fabric: they are gone with it.
fn unplug() -> Result<()> {
    let bridge = env::var("SOFTIB_BRIDGE_PID")?;
    let killed = Command::new("kill").arg(&bridge).status()?;
    ensure!(killed.success(), "no bridge");
    wait_until("the HCAs' end", || {
        !std::path::Path::new("/sys/class/infiniband/softib0").exists()
    })
}

fn plug() -> Result<()> {
    let build = env::var("SOFTIB_BUILD")?;
    let nodes = env::var("SOFTIB_NODES")?;
    let log = File::create("bridge2.log")?;
    Command::new(format!("{build}/softib_bridge"))
        .args(nodes.split(','))
        .env("IBSIM_SOCKNAME", "softib")
        .stdin(Stdio::null())
        .stderr(log.try_clone()?)
        .stdout(log)
        .spawn()?;
    Ok(())
}
