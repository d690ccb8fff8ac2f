//! A connection of the kernel's connection manager from one device to another: REQ, REP and RTU over queue pair 1.
//!
//! The software HCAs have no RC queue pairs, so nothing is sent over the connection; that the program brings the queue pair is
//! what programs of user space do anyway.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use super::route::{self, Manager};

/// Connects to a port of RDMA_PS_TCP and prints the SL by which the request says that packets go: it is that of the path that
/// the SA gave.
pub(super) fn run(from: &str, to: &str, port: u16) -> Result<()> {
    let began = Instant::now();
    let (from, to) = (route::gid(from)?, route::gid(to)?);
    let mut server = Manager::open()?;
    server.listen(to, port)?;
    let mut client = Manager::open()?;
    let (path, _) = client.resolve((from, to), port)?;
    ensure!(path.is_ok(), "{path:?}");
    client.connect()?;
    expect(&mut server, CONNECT_REQUEST)?;
    let accepted = server.of_event()?;
    server.answer(accepted)?;
    expect(&mut client, CONNECT_RESPONSE)?;
    client.confirm()?;
    expect(&mut server, ESTABLISHED)?;
    let path = server.path_of(accepted)?;
    let (sl, took) = (route::sl(&path), began.elapsed().as_millis());
    println!("connected sl={sl} ms={took}");
    Ok(())
}

/// The next event is this one. Errors: another came, or none.
fn expect(manager: &mut Manager, expected: u32) -> Result<()> {
    let (event, status) = manager.event(Duration::from_secs(10))?;
    ensure!(
        (event, status) == (expected, 0),
        "event {event}, status {status}; {expected} was to come"
    );
    Ok(())
}

const CONNECT_REQUEST: u32 = 4;
const CONNECT_RESPONSE: u32 = 5;
const ESTABLISHED: u32 = 9;
