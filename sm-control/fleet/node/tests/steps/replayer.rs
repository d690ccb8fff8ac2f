//! Somebody who says again what was said before.

use std::io::{Read, Write};
use std::net::TcpListener;

use crate::leading::TTL;

/// Answers every poll with what was announced once, the oldest after the newest.
pub(crate) struct Replayer {
    pub(crate) url: String,
}

impl Replayer {
    pub(crate) fn start(said: Vec<Vec<u8>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        assert!(!said.is_empty());
        std::thread::spawn(move || {
            for (stream, bytes) in listener.incoming().zip(said.iter().cycle()) {
                let Ok(mut stream) = stream else { return };
                let mut asked = [0; 4096];
                let _ = stream.read(&mut asked);
                let head = format!(
                    "HTTP/1.1 200 OK\r\ncontent-length: {}\r\nsapphire-held: 0\r\nsapphire-remaining: {}\r\n\
                     sapphire-spread: 0\r\nconnection: close\r\n\r\n",
                    bytes.len(),
                    TTL.as_millis()
                );
                let _ = stream.write_all(&[head.as_bytes(), bytes].concat());
            }
        });
        let url = format!("http://{address}");
        Self { url }
    }
}
