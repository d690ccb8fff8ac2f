//! Those who connect and mean no good.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use super::bed::{Bed, PATIENCE, get};

const CONTROL: &str = "[control]\npath = \"control\"\n";

/// As in reliability tests of web servers.
const CROWD: usize = 1000;

/// What everybody else gets while the hostile are there.
const AT_MOST: Duration = Duration::from_secs(3);

#[test]
fn a_thousand_that_never_finish_their_request_keep_nobody_out() -> Result<()> {
    let _turn = sa_tests::turn::heavy();
    let mut bed = Bed::serving(CONTROL)?;
    let address = bed.http()?;
    let mut crowd = Vec::new();
    for nth in 0..CROWD {
        let mut stream = TcpStream::connect(address)?;
        // Those that were cut off already cannot be written to.
        let _ = stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\nX-a: ");
        crowd.push(stream);
        if nth % 250 == 249 {
            let start = Instant::now();
            ensure!(get(address, "/ready")?.0 == 200);
            ensure!(start.elapsed() < AT_MOST, "{:?}", start.elapsed());
        }
    }
    for stream in &mut crowd {
        let _ = stream.write_all(b"b");
    }
    ensure!(
        get(address, "/metrics")?
            .1
            .contains("sapphire_admin_connections_cut_total")
    );
    ensure!(bed.done("status")?["ready"] == true);
    ensure!(!bed.answers()?.is_empty());
    // They are let go after a while, all of them.
    for stream in crowd {
        stream.set_read_timeout(Some(PATIENCE))?;
        is_let_go(stream)?;
    }
    bed.ring.alive()
}

#[test]
fn requests_that_are_too_long_are_cut_off() -> Result<()> {
    let mut bed = Bed::serving("")?;
    let address = bed.http()?;
    for head in [
        format!("GET /{} HTTP/1.1\r\n\r\n", "a".repeat(1 << 20)),
        format!("GET / HTTP/1.1\r\n{}\r\n", "X-a: b\r\n".repeat(10_000)),
        "POST /metrics HTTP/1.1\r\nContent-Length: 1073741824\r\n\r\n".to_owned(),
        "\0\x01\x02garbage\r\n\r\n".to_owned(),
    ] {
        let mut stream = TcpStream::connect(address)?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let megabyte = vec![b'x'; 1 << 20];
        let mut sent = stream.write_all(head.as_bytes());
        // A body of a gigabyte, as far as it is taken.
        for _ in 0..1024 {
            sent = sent.and_then(|()| stream.write_all(&megabyte));
        }
        ensure!(sent.is_err(), "a gigabyte was taken");
    }
    ensure!(get(address, "/health")?.0 == 200);
    bed.ring.alive()
}

/// The reply to whatever this is; empty where there is none.
fn said(bed: &Bed, bytes: &[u8]) -> Result<String> {
    let mut stream = UnixStream::connect(bed.socket())?;
    stream.set_read_timeout(Some(PATIENCE))?;
    // The daemon may have hung up already.
    let _ = stream.write_all(bytes);
    let _ = stream.shutdown(std::net::Shutdown::Write);
    let mut line = String::new();
    let _ = BufReader::new(stream).read_line(&mut line);
    Ok(line)
}

#[test]
fn what_is_no_request_is_refused_and_harms_nobody() -> Result<()> {
    let mut bed = Bed::serving(CONTROL)?;
    for bytes in [
        b"\n".to_vec(),
        b"reload\n".to_vec(),
        b"{\"verb\":\"stop\"}\n".to_vec(),
        b"{\"verb\":\"status\",\"path\":\"/etc/shadow\"}\n".to_vec(),
        b"\xff\xfe\x00\x00\n".to_vec(),
        b"{\"verb\":\"status\"}".to_vec(),
        [vec![b'['; 4000], b"\n".to_vec()].concat(),
    ] {
        let reply = said(&bed, &bytes)?;
        ensure!(
            reply.starts_with("{\"ok\":false,\"code\":\"bad-request\""),
            "{bytes:02x?}: {reply}"
        );
    }
    // A line without end is hung up on; the reply may be lost with what was not read.
    let reply = said(&bed, &vec![b'x'; 16 << 20])?;
    ensure!(
        reply.is_empty() || reply.contains("more than 4096 bytes"),
        "{reply}"
    );
    // Several requests on one connection are fine.
    let mut stream = UnixStream::connect(bed.socket())?;
    stream.write_all(b"{\"verb\":\"status\"}\n{\"verb\":\"reload\"}\n{\"verb\":\"status\"}\n")?;
    let lines = BufReader::new(stream).lines().take(3);
    for line in lines {
        ensure!(line?.starts_with("{\"ok\":true"));
    }
    bed.ring.alive()
}

#[test]
fn a_thousand_idle_connections_keep_nobody_out() -> Result<()> {
    let _turn = sa_tests::turn::heavy();
    let mut bed = Bed::serving(CONTROL)?;
    let mut crowd = Vec::new();
    for nth in 0..CROWD {
        let mut stream = UnixStream::connect(bed.socket())?;
        let _ = stream.write_all(b"{\"verb\":");
        crowd.push(stream);
        if nth % 250 == 249 {
            let start = Instant::now();
            ensure!(bed.done("status")?["ready"] == true);
            ensure!(start.elapsed() < AT_MOST, "{:?}", start.elapsed());
        }
    }
    bed.done("reload")?;
    ensure!(!bed.answers()?.is_empty());
    for stream in crowd {
        stream.set_read_timeout(Some(PATIENCE))?;
        is_let_go(stream)?;
    }
    bed.ring.alive()
}

/// Errors: the other side did not hang up in time.
fn is_let_go(mut stream: impl Read) -> Result<()> {
    match stream.read_to_end(&mut Vec::new()) {
        Ok(_) => {}
        Err(error) => ensure!(
            error.kind() == std::io::ErrorKind::ConnectionReset,
            "{error}"
        ),
    }
    Ok(())
}
