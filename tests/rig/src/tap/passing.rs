//! The packets of one client.

use std::collections::HashMap;
use std::io;
use std::net::Shutdown;
use std::os::unix::net::UnixDatagram;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use super::packet::{Key, LENGTH, Packet};
use super::{PATIENCE, Shared, TICK, TRIES, lock};

/// Passes a client's packets until it is dropped.
#[derive(Debug)]
pub(super) struct Passing {
    number: u32,
    both: Arc<Both>,
    threads: Vec<JoinHandle<()>>,
}

/// What the threads of one client share.
#[derive(Debug)]
struct Both {
    /// To the client.
    near: UnixDatagram,
    /// To the simulator.
    far: UnixDatagram,
    /// Requests that nobody has answered yet.
    asked: Mutex<HashMap<Key, Asked>>,
    over: Mutex<bool>,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Asked {
    packet: Packet,
    at: Instant,
    tries: u32,
}

impl Passing {
    /// Over sockets that are connected, `near` to the client and `far` to the simulator.
    pub(super) fn start(
        number: u32,
        near: UnixDatagram,
        far: UnixDatagram,
        shared: Arc<Shared>,
    ) -> io::Result<Self> {
        near.set_read_timeout(Some(TICK))?;
        far.set_read_timeout(Some(TICK))?;
        let both = Arc::new(Both {
            near,
            far,
            asked: Mutex::default(),
            over: Mutex::new(false),
            shared,
        });
        let (to_client, packets) = channel();
        let start = |run: fn(&Both, Sender<Packet>)| {
            let (both, to_client) = (Arc::clone(&both), to_client.clone());
            thread::spawn(move || run(&both, to_client))
        };
        let mut threads = vec![
            start(|both, _| both.requests()),
            start(|both, to_client| both.answers(&to_client)),
            start(|both, to_client| both.repeat(&to_client)),
        ];
        drop(to_client);
        let deliverer = Arc::clone(&both);
        threads.push(thread::spawn(move || deliverer.deliver(&packets)));
        Ok(Self {
            number,
            both,
            threads,
        })
    }

    /// That of the simulator's for this client.
    pub(super) const fn number(&self) -> u32 {
        self.number
    }
}

impl Drop for Passing {
    fn drop(&mut self) {
        *lock(&self.both.over) = true;
        // A client that reads no more would be waited for.
        let _ = self.both.near.shutdown(Shutdown::Both);
        let _ = self.both.far.shutdown(Shutdown::Both);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

impl Both {
    fn is_over(&self) -> bool {
        *lock(&self.over) || self.shared.is_over()
    }

    /// The next packet; none where none came for a while, or one of another length.
    fn receive(socket: &UnixDatagram) -> Option<Packet> {
        let mut bytes = [0; LENGTH + 1];
        match socket.recv(&mut bytes) {
            Ok(length) => Packet::of(bytes.get(..length)?),
            Err(error) => {
                // One that is at its end gives errors without end.
                if error.kind() != io::ErrorKind::WouldBlock {
                    thread::sleep(TICK);
                }
                None
            }
        }
    }

    /// From the client to the simulator.
    fn requests(&self) {
        while !self.is_over() {
            let Some(packet) = Self::receive(&self.near) else {
                continue;
            };
            if packet.is_request() {
                let asked = Asked {
                    packet,
                    at: Instant::now(),
                    tries: 1,
                };
                // Before it is sent: the answer may come before this returns.
                lock(&self.asked).insert(packet.key(), asked);
                if self.shared.loses() {
                    continue;
                }
            }
            let _ = self.far.send(&packet.0);
        }
    }

    /// From the simulator to the client.
    fn answers(&self, to_client: &Sender<Packet>) {
        while !self.is_over() {
            let Some(packet) = Self::receive(&self.far) else {
                continue;
            };
            if packet.is_answer() {
                let Some(asked) = lock(&self.asked).remove(&packet.key()) else {
                    // The second answer to a request that was sent twice.
                    continue;
                };
                if asked.packet.is_set() && !packet.is_returned() {
                    self.shared.wrote(&asked.packet);
                }
            }
            let changes = self.shared.are_able.load(Ordering::Relaxed)
                && packet.is_answer()
                && packet.is_port_info();
            let _ = to_client.send(match changes {
                true => packet.of_able_port(),
                false => packet,
            });
        }
    }

    /// Sends requests again that nobody has answered, and hands them back in the end.
    fn repeat(&self, to_client: &Sender<Packet>) {
        while !self.is_over() {
            thread::sleep(TICK);
            let mut again = Vec::new();
            lock(&self.asked).retain(|_, asked| {
                if asked.at.elapsed() < PATIENCE {
                    return true;
                }
                if asked.tries == TRIES {
                    let _ = to_client.send(asked.packet.returned());
                    return false;
                }
                (asked.at, asked.tries) = (Instant::now(), asked.tries + 1);
                again.push(asked.packet);
                true
            });
            for packet in again {
                let count = &self.shared.repeated;
                count.fetch_add(1, Ordering::Relaxed);
                let _ = self.far.send(&packet.0);
            }
        }
    }

    /// Hands packets to the client, which may be slow.
    fn deliver(&self, packets: &Receiver<Packet>) {
        while !self.is_over() {
            if let Ok(packet) = packets.recv_timeout(TICK) {
                let _ = self.near.send(&packet.0);
            }
        }
    }
}
