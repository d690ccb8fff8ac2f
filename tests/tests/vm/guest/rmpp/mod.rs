//! Our RMPP against the kernel's, both ways, also where the way between them is bad.

pub(super) mod kernel;
mod receive;
pub(super) mod records;
mod serve;
mod weather;

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use sa_port::Destination;
use sa_port::umad::UmadClient;
use sa_wire::mad::method;

use records::{expect_records, request};
use serve::{Server, Service};
use weather::Weather;

/// Serves on one device and asks from another.
pub(super) fn run(server: &str, client: &str) -> Result<()> {
    let to = at(server)?;
    for (name, weather, count) in SENDING {
        let service = Service::start(Server::open(server, weather)?)?;
        let (seconds, lost) = ask_kernel(client, to, count, &service)?;
        service.stop()?;
        println!(
            "ok   our sender, the kernel's receiver, {name}: {count} records, {seconds:.2} s, {lost} segments lost"
        );
    }
    requester_asks_again(server, client, to)?;
    sender_gives_up(server, client, to)?;
    requester_goes_away(server, client, to)?;
    kernel::sends_to_us(server, client, to)?;
    receive::from_opensm(client)
}

/// The place of a device's port.
fn at(device: &str) -> Result<Destination> {
    let port = UmadClient::open(Some(device), Some(1))?;
    Ok(Destination::sa(port.name().state().lid.context("no LID")?))
}

/// One table by the kernel's receiver. Gives the time that it took, and what was lost on the way.
fn ask_kernel(device: &str, to: Destination, count: u32, service: &Service) -> Result<(f32, u64)> {
    let began = Instant::now();
    let reply = kernel::ask(device, to, &request(count, 1), Duration::from_secs(60), 0)?;
    let reply = reply.with_context(|| format!("no table of {count} records"))?;
    expect_records(&reply, count)?;
    let seconds = began.elapsed().as_secs_f32();
    Ok((seconds, service.lost()))
}

/// A requester that is less patient than a table takes: the same request comes again and again.
fn requester_asks_again(server: &str, client: &str, to: Destination) -> Result<()> {
    let weather = Weather {
        hold_acknowledgements: Duration::from_millis(80),
        ..Weather::FINE
    };
    let service = Service::start(Server::open(server, weather)?)?;
    let mad = request(MANY, 1);
    let reply = kernel::ask(client, to, &mad, Duration::from_millis(300), 60)?;
    expect_records(&reply.context("no table for the impatient")?, MANY)?;
    let again = service.resumed();
    service.stop()?;
    ensure!(again > 0, "nothing was asked again");
    println!("ok   a requester asks {again} times more while it is answered");
    Ok(())
}

/// The records cannot be had any more: an ABORT goes out, and the next request is served.
fn sender_gives_up(server: &str, client: &str, to: Destination) -> Result<()> {
    let mut our_server = Server::open(server, Weather::FINE)?;
    our_server.loses_from = Some(MANY / 2);
    let service = Service::start(our_server)?;
    let reply = kernel::ask(client, to, &request(MANY, 1), Duration::from_secs(2), 0)?;
    ensure!(reply.is_none(), "a table that was given up came");
    let few = kernel::ask(
        client,
        to,
        &request(MANY / 4, 1),
        Duration::from_secs(20),
        0,
    )?;
    expect_records(
        &few.context("no table after one that was given up")?,
        MANY / 4,
    )?;
    service.settle();
    let tally = service.stop()?;
    ensure!(
        (tally.aborted, tally.delivered) == (1, 1),
        "after an ABORT of ours: {tally:?}"
    );
    println!("ok   our sender gives up, and serves the next");
    Ok(())
}

/// Nobody acknowledges any more.
fn requester_goes_away(server: &str, client: &str, to: Destination) -> Result<()> {
    let weather = Weather {
        hold_acknowledgements: Duration::from_millis(50),
        ..Weather::FINE
    };
    let service = Service::start(Server::open(server, weather)?)?;
    kernel::ask_and_leave(client, to, &request(MANY, 1), || service.sent() > 100)?;
    service.settle();
    let tally = service.stop()?;
    ensure!(
        tally.aborted == 1,
        "after a requester that went away: {tally:?}"
    );
    println!("ok   our sender gives up on who went away");
    Ok(())
}

/// Ways on which our sender's segments go to the kernel's receiver, and how many records.
const SENDING: [(&str, Weather, u32); 5] = [
    ("a large table", Weather::FINE, 140_000),
    ("one record", Weather::FINE, 1),
    (
        "segments lost",
        Weather {
            lose: 97,
            ..Weather::FINE
        },
        MANY,
    ),
    (
        "segments doubled and overtaken",
        Weather {
            double: 5,
            overtake: 7,
            ..Weather::FINE
        },
        MANY,
    ),
    (
        "slow acknowledgements",
        Weather {
            hold_acknowledgements: Duration::from_millis(150),
            ..Weather::FINE
        },
        640,
    ),
];

/// 960 segments.
const MANY: u32 = 3000;
/// What is asked for here.
const METHOD: u8 = method::GET_TABLE;
