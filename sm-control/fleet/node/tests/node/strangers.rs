//! Who speaks no TLS, nothing at all, or half a handshake at a port for TLS.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use fleet_tls::Refusal;
use fleet_transfer::serve::Limits;

use crate::certificates::{Site, asked};
use crate::rig::{DEADLINE, serving, until};
use crate::secure::{ROOT, desk};

/// The beginning of a handshake that never goes on.
const HALF: [u8; 5] = [22, 3, 1, 2, 0];

#[test]
fn who_speaks_no_tls_gets_nothing_and_holds_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let site = Site::new();
    let tls = site.tls(&folder.path().join("tls"), "leader");
    let desk = desk(&folder.path().join("blobs"), Limits::default());
    let serving = serving(&desk, Some(&tls));
    let mut plain = TcpStream::connect(serving.address()).unwrap();
    plain.set_read_timeout(Some(DEADLINE)).unwrap();
    plain.write_all(ROOT.as_bytes()).unwrap();
    let mut answer = Vec::new();
    let _ = plain.read_to_end(&mut answer);
    assert!(answer.is_empty(), "{answer:?}");
    assert_eq!(tls.counts().clients.of(Refusal::NoTls), 1);
    until("it holds nothing", || {
        desk.counts.connections.load(Ordering::Relaxed) == 0
    });
}

/// Connections from another address of loopback.
fn strangers(address: SocketAddr, many: usize, say: &[u8]) -> Vec<TcpStream> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let mut all = Vec::new();
        for _ in 0..many {
            let socket = tokio::net::TcpSocket::new_v4().unwrap();
            socket.bind("127.0.0.2:0".parse().unwrap()).unwrap();
            let stream = socket.connect(address).await.unwrap().into_std().unwrap();
            stream.set_nonblocking(false).unwrap();
            (&stream).write_all(say).unwrap();
            all.push(stream);
        }
        all
    })
}

#[test]
fn silence_and_half_handshakes_keep_nobody_out_and_end() {
    let folder = tempfile::tempdir().unwrap();
    let site = Site::new();
    let tls = site.tls(&folder.path().join("tls"), "leader");
    let limits = Limits {
        handshakes: 4,
        handshakes_of_one: 3,
        handshake: Duration::from_secs(4),
        ..Limits::default()
    };
    let desk = desk(&folder.path().join("blobs"), limits);
    let serving = serving(&desk, Some(&tls));
    let shows = site.made("node");
    for say in [&HALF[..0], &HALF] {
        let slow = || tls.counts().clients.of(Refusal::Slow);
        let before = slow();
        let begun = Instant::now();
        let held = strangers(serving.address(), 30, say);
        until("they are there", || {
            desk.counts.connections.load(Ordering::Relaxed) == held.len()
        });
        let answer = asked(serving.address(), site.client(Some(&shows)), ROOT).unwrap();
        assert!(answer.contains("a root file"), "{answer}");
        // Before the first of the strangers had its time.
        assert!(begun.elapsed() < limits.handshake, "{:?}", begun.elapsed());
        until("some are cut off", || slow() > before);
        drop(held);
        until("nothing is held", || {
            desk.counts.connections.load(Ordering::Relaxed) == 0
        });
    }
}

#[test]
fn requests_in_one_piece_are_answered_one_after_the_other_under_tls() {
    let folder = tempfile::tempdir().unwrap();
    let site = Site::new();
    let tls = site.tls(&folder.path().join("tls"), "leader");
    let desk = desk(&folder.path().join("blobs"), Limits::default());
    let serving = serving(&desk, Some(&tls));
    let shows = site.made("node");
    let many = format!(
        "{}{ROOT}",
        ROOT.replace("connection: close\r\n", "").repeat(50)
    );
    let answer = asked(serving.address(), site.client(Some(&shows)), &many).unwrap();
    assert_eq!(answer.matches("a root file").count(), 51, "{answer}");
}
