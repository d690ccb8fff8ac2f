//! The kernel's own client of the SA: rdma_cm resolves a route from one device to another.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use sa_port::umad::list;

/// Prints what the kernel was told of a path to a port of RDMA_PS_TCP, or why it was not.
pub(super) fn run(from: &str, to: &str, port: u16) -> Result<()> {
    let (route, took) = resolve((gid(from)?, gid(to)?), port)?;
    let took = took.as_millis();
    match route {
        Ok(path) => {
            let word = |at: usize| u16::from_be_bytes([path[at], path[at + 1]]);
            let (dlid, slid, sl) = (word(40), word(42), sl(&path));
            println!("route dlid={dlid} slid={slid} sl={sl} ms={took}");
        }
        Err((event, status)) => {
            println!("route failed event={event} status={status} ms={took}");
        }
    }
    Ok(())
}

/// Resolves so many routes one after the other, and prints how long one took.
pub(super) fn many(from: &str, to: &str, count: u32) -> Result<()> {
    let ends = (gid(from)?, gid(to)?);
    let mut times = Vec::new();
    for _ in 0..count {
        let (route, took) = resolve(ends, PORT)?;
        ensure!(route.is_ok(), "{route:?}");
        times.push(took);
    }
    times.sort_unstable();
    let at = |share: usize| {
        times
            .get(times.len() * share / 100)
            .copied()
            .unwrap_or_default()
    };
    let (median, high) = (at(50).as_micros(), at(99).as_micros());
    println!("routes {count} median_us={median} p99_us={high}");
    Ok(())
}

/// The SL of a PathRecord as the kernel gives it.
pub(super) const fn sl(path: &[u8; 64]) -> u8 {
    path[53] & 15
}

/// The path, or the kernel's event and status; and how long it took.
type Resolved = (Result<[u8; 64], (u32, i32)>, Duration);

fn resolve(ends: ([u8; 16], [u8; 16]), port: u16) -> Result<Resolved> {
    Manager::open()?.resolve(ends, port)
}

/// Where no other is said.
pub(super) const PORT: u16 = 0x1234;

/// An identifier of the kernel's connection manager. Source: Linux `rdma_user_cm.h`.
pub(super) struct Manager {
    file: File,
    id: u32,
    /// The kernel writes here what it answers.
    answer: Box<[u8]>,
}

impl Manager {
    pub(super) fn open() -> Result<Self> {
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).open(FILE).context(FILE)?;
        let mut all = Self {
            file,
            id: 0,
            answer: vec![0; 1024].into(),
        };
        let mut body = 1u64.to_ne_bytes().to_vec();
        body.extend(all.place());
        // IPoIB's port space, UD.
        body.extend([0x06, 0x01, 2, 0, 0, 0, 0, 0]);
        all.command(CREATE, 64, &body)?;
        all.id = all.word(0)?;
        Ok(all)
    }

    fn resolve_address(&mut self, from: [u8; 16], to: [u8; 16], port: u16) -> Result<()> {
        let from = address(from, 0x0106_0000, 0xffff_ffff_ffff_0000);
        let to = address(to, 0x0106_0000 | u64::from(port), u64::MAX);
        let length = u32::from(ADDRESS);
        // Twice 16 bits of length, and 32 reserved.
        let mut body = words(&[self.id, 2000, length << 16 | length, 0]);
        for mut address in [from, to] {
            address.resize(128, 0);
            body.extend(address);
        }
        self.command(RESOLVE_ADDRESS, 0, &body)
    }

    /// An address first; then the path, and how long that took.
    pub(super) fn resolve(
        &mut self,
        (from, to): ([u8; 16], [u8; 16]),
        port: u16,
    ) -> Result<Resolved> {
        self.resolve_address(from, to, port)?;
        let (event, status) = self.event(Duration::from_secs(3))?;
        ensure!(event == ADDRESS_RESOLVED, "event {event}, status {status}");
        let began = Instant::now();
        self.command(RESOLVE_ROUTE, 0, &words(&[self.id, 4000]))?;
        let (event, status) = self.event(Duration::from_secs(6))?;
        let took = began.elapsed();
        match event {
            ROUTE_RESOLVED => Ok((Ok(self.path()?), took)),
            _ => Ok((Err((event, status)), took)),
        }
    }

    /// Waits for connections at a device's GID.
    pub(super) fn listen(&mut self, at: [u8; 16], port: u16) -> Result<()> {
        let mut address = address(at, 0x0106_0000 | u64::from(port), u64::MAX);
        address.resize(128, 0);
        let mut body = words(&[self.id, u32::from(ADDRESS)]);
        body.extend(address);
        self.command(BIND, 0, &body)?;
        self.command(LISTEN, 0, &words(&[self.id, 1]))
    }

    /// Sends REQ.
    pub(super) fn connect(&mut self) -> Result<()> {
        let mut body = parameters(0x11);
        body.extend(words(&[self.id, 0, 0, 0]));
        self.command(CONNECT, 0, &body)
    }

    /// Answers a REQ by REP. `id` is that of its event.
    pub(super) fn answer(&mut self, id: u32) -> Result<()> {
        self.accept(id, &parameters(0x22))
    }

    /// Answers a REP by RTU.
    pub(super) fn confirm(&mut self) -> Result<()> {
        self.accept(self.id, &[0; PARAMETERS])
    }

    fn accept(&mut self, id: u32, parameters: &[u8]) -> Result<()> {
        let mut body = 2u64.to_ne_bytes().to_vec();
        body.extend(parameters);
        body.extend(words(&[id, 0, 0, 0]));
        self.command(ACCEPT, 0, &body)
    }

    /// Whom the last event is about.
    pub(super) fn of_event(&self) -> Result<u32> {
        self.word(8)
    }

    /// The path that the kernel got from the SA.
    fn path(&mut self) -> Result<[u8; 64]> {
        self.path_of(self.id)
    }

    /// The path of a connection.
    pub(super) fn path_of(&mut self, id: u32) -> Result<[u8; 64]> {
        let mut body = self.place().to_vec();
        body.extend(words(&[id, 1]));
        self.command(QUERY, 1024, &body)?;
        ensure!(self.word(0)? > 0, "no path");
        let path = self
            .answer
            .get(16..80)
            .and_then(|path| path.try_into().ok());
        path.context("a path")
    }

    /// The next event and its status.
    pub(super) fn event(&mut self, most: Duration) -> Result<(u32, i32)> {
        let mut entry = libc::pollfd {
            fd: self.file.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        };
        let patience = i32::try_from(most.as_millis())?;
        // SAFETY: one entry.
        let ready = unsafe { libc::poll(&raw mut entry, 1, patience) };
        ensure!(ready == 1, "no event within {most:?}");
        let body = self.place();
        self.command(GET_EVENT, 1024, &body)?;
        Ok((self.word(12)?, self.word(16)?.cast_signed()))
    }

    /// Where the answer is to go.
    fn place(&mut self) -> [u8; 8] {
        (self.answer.as_mut_ptr().expose_provenance() as u64).to_ne_bytes()
    }

    fn word(&self, at: usize) -> Result<u32> {
        let bytes = std::hint::black_box(&self.answer).get(at..at + 4);
        let bytes = bytes.and_then(<[u8]>::first_chunk).context("an answer")?;
        Ok(u32::from_ne_bytes(*bytes))
    }

    fn command(&mut self, number: u32, answer: u16, body: &[u8]) -> Result<()> {
        let mut all = number.to_ne_bytes().to_vec();
        all.extend(u16::try_from(body.len())?.to_ne_bytes());
        all.extend(answer.to_ne_bytes());
        all.extend(body);
        self.file
            .write_all(&all)
            .context(format!("command {number}"))
    }
}

/// A `sockaddr_ib`.
fn address(gid: [u8; 16], service: u64, mask: u64) -> Vec<u8> {
    let mut all = 27u16.to_ne_bytes().to_vec();
    all.extend([0xff, 0xff, 0, 0, 0, 0]);
    all.extend(gid);
    all.extend(service.to_be_bytes());
    all.extend(mask.to_be_bytes());
    all.extend([0; 8]);
    all
}

/// What a connection is to be like: a queue pair of that number, which need not be there.
fn parameters(queue_pair: u32) -> Vec<u8> {
    let mut all = words(&[queue_pair]);
    all.resize(PARAMETERS - 4, 0);
    // No flow control, seven tries, and again seven; all of it counts.
    all.extend([0, 7, 7, 1]);
    all
}

fn words(all: &[u32]) -> Vec<u8> {
    all.iter().flat_map(|word| word.to_ne_bytes()).collect()
}

pub(super) fn gid(device: &str) -> Result<[u8; 16]> {
    ensure!(
        list()?.iter().any(|port| port.device == device),
        "no device {device}"
    );
    let file = format!("/sys/class/infiniband/{device}/ports/1/gids/0");
    let text: String = std::fs::read_to_string(file)?.trim().replace(':', "");
    Ok(u128::from_str_radix(&text, 16)?.to_be_bytes())
}

const FILE: &str = "/dev/infiniband/rdma_cm";
/// Units: bytes of an address.
const ADDRESS: u8 = 48;
/// Of `struct rdma_ucm_conn_param`. Units: bytes.
const PARAMETERS: usize = 272;
const CREATE: u32 = 0;
const RESOLVE_ROUTE: u32 = 4;
const CONNECT: u32 = 6;
const LISTEN: u32 = 7;
const ACCEPT: u32 = 8;
const GET_EVENT: u32 = 12;
const QUERY: u32 = 19;
const BIND: u32 = 20;
const RESOLVE_ADDRESS: u32 = 21;
const ADDRESS_RESOLVED: u32 = 0;
const ROUTE_RESOLVED: u32 = 2;
