//! The pages of a daemon that listens where there was room.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use anyhow::{Context, Result};

use crate::daemon::PATIENCE;

/// Where the pages are, by what the daemon has logged.
pub fn address(logged: &str) -> Result<SocketAddr> {
    let after = logged.split_once("metrics, health and ready are here");
    let after = after.and_then(|(_, rest)| rest.split_once("address="));
    let word = after.and_then(|(_, rest)| rest.split_whitespace().next());
    Ok(word.context("an address")?.parse()?)
}

/// Status and body of a page.
pub fn get(address: SocketAddr, path: &str) -> Result<(u16, String)> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes())?;
    let mut reply = String::new();
    stream.read_to_string(&mut reply)?;
    let status = reply.get(9..12).context("a status")?.parse()?;
    let body = reply.split_once("\r\n\r\n").context("a body")?.1;
    Ok((status, body.to_owned()))
}
