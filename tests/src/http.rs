//! The pages of a daemon that listens where there was room.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use anyhow::{Context, Result};

use crate::daemon::PATIENCE;
use crate::metrics;

/// Where the pages are, by what the daemon has logged.
pub fn address(logged: &str) -> Result<SocketAddr> {
    let after = logged.split_once("metrics, health and ready are here");
    let after = after.and_then(|(_, rest)| rest.split_once("address="));
    let word = after.and_then(|(_, rest)| rest.split_whitespace().next());
    Ok(word.context("an address")?.parse()?)
}

/// Status and body of a page. Metrics are judged by their names.
pub fn get(address: SocketAddr, path: &str) -> Result<(u16, String)> {
    get_as(address, path, "*/*").map(|reply| (reply.status, reply.body))
}

/// What came back.
#[derive(Debug)]
pub struct Reply {
    /// Of HTTP.
    pub status: u16,
    /// In lower case, with their values, as lines.
    pub head: String,
    /// Of the page.
    pub body: String,
}

/// A page for who takes these formats.
pub fn get_as(address: SocketAddr, path: &str, accept: &str) -> Result<Reply> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nAccept: {accept}\r\n\r\n");
    stream.write_all(request.as_bytes())?;
    let mut reply = String::new();
    stream.read_to_string(&mut reply)?;
    let status = reply.get(9..12).context("a status")?.parse()?;
    let (head, body) = reply.split_once("\r\n\r\n").context("a body")?;
    if path == "/metrics" && status == 200 {
        metrics::judge(body)?;
    }
    Ok(Reply {
        status,
        head: head.to_ascii_lowercase(),
        body: body.to_owned(),
    })
}
