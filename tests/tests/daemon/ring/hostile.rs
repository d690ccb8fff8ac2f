//! Clients that do what none should, each a process of its own: this test's program, told by its
//! environment to be one.

#![allow(unsafe_code)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a process that cannot do its harm fails the test"
)]

use std::fs;
use std::io;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use sa_client::{Client, Options, request};

/// What it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Harm {
    /// Says it has sent more than there is room for.
    FarAhead,
    /// Says it has sent less than was served.
    Back,
    /// Says it has read late replies that nobody wrote.
    LateAhead,
    /// Gives lengths that no MAD has.
    Lengths,
    /// Writes anything anywhere while it is served.
    Scribble,
    /// Dies with requests in flight, and with a table half read.
    Death,
    /// Asks for tables and reads none.
    Hoard,
    /// Asks for all it can all the time.
    Greed,
}

impl Harm {
    pub(crate) const ALL: [Self; 8] = [
        Self::FarAhead,
        Self::Back,
        Self::LateAhead,
        Self::Lengths,
        Self::Scribble,
        Self::Death,
        Self::Hoard,
        Self::Greed,
    ];

    pub(crate) fn ends_well(self) -> bool {
        self != Self::Death
    }

    pub(crate) fn is_logged_as(self) -> Option<&'static str> {
        match self {
            Self::FarAhead | Self::Back => Some("it wrote request positions that are out of range"),
            Self::LateAhead => Some("it wrote a position of late replies that is out of range"),
            _ => None,
        }
    }
}

const HARM: &str = "RING_CLIENTS_HARM";
const RING: &str = "RING_CLIENTS_RING";
const PATIENCE: Duration = Duration::from_secs(45);

/// Starts one.
pub(crate) fn start(harm: Harm, ring: &Path) -> Result<Child> {
    let mut command = Command::new(std::env::current_exe()?);
    command
        .args(["--exact", "ring::hostile_process", "--nocapture"])
        .env(HARM, format!("{harm:?}"))
        .env(RING, ring)
        .stdout(Stdio::null());
    Ok(command.spawn()?)
}

/// Is one, if this process was told to.
pub(crate) fn act_if_told() {
    let (Ok(harm), Ok(ring)) = (std::env::var(HARM), std::env::var(RING)) else {
        return;
    };
    let harm = Harm::ALL.into_iter().find(|one| format!("{one:?}") == harm);
    if let Some(harm) = harm {
        act(harm, Path::new(&ring)).unwrap();
    }
}

/// The shared memory, to do anything to.
struct Bytes {
    base: *mut u8,
    size: usize,
}

impl Bytes {
    /// Of the only ring that this process has.
    fn find() -> Result<Self> {
        let maps = fs::read_to_string("/proc/self/maps")?;
        let line = maps
            .lines()
            .find(|line| line.contains("memfd:sapphire-ring"));
        let (from, to) = line
            .and_then(|line| line.split_once(' ')?.0.split_once('-'))
            .context("a ring in this process")?;
        let (from, to) = (
            usize::from_str_radix(from, 16)?,
            usize::from_str_radix(to, 16)?,
        );
        Ok(Self {
            base: std::ptr::with_exposed_provenance_mut(from),
            size: to - from,
        })
    }

    fn write<T>(&self, at: usize, value: T) {
        assert!(at + size_of::<T>() <= self.size);
        // SAFETY: inside the mapping, which the client keeps for as long as it lives.
        // WHY: what is tested is a client that writes there by itself.
        unsafe { self.base.add(at).cast::<T>().write_volatile(value) }
    }

    fn read(&self, at: usize) -> u64 {
        // SAFETY: as above.
        // WHY: as above.
        unsafe { self.base.add(at).cast::<u64>().read_volatile() }
    }
}

const PRODUCED: usize = 128;
const SERVED: usize = 256;
const LATE_WRITTEN: usize = 384;
const LATE_READ: usize = 512;
const SLOTS: usize = 4096;
const SLOT: usize = 384;

fn act(harm: Harm, ring: &Path) -> Result<()> {
    let options = Options {
        timeout: PATIENCE,
        ..Options::default()
    };
    let mut client = Client::connect_with(ring, options)?;
    client.path_record_by_lid(1, 2)?;
    let bytes = Bytes::find()?;
    let ends = Instant::now() + Duration::from_millis(500);
    match harm {
        Harm::FarAhead => {
            bytes.write(PRODUCED, bytes.read(SERVED) + client.slots() + 1);
            is_cut_off_while(&mut client, |_| ())
        }
        Harm::Back => {
            bytes.write(PRODUCED, 0_u64);
            is_cut_off_while(&mut client, |_| ())
        }
        Harm::LateAhead => {
            bytes.write(LATE_READ, 1_u64 << 40);
            // Noticed at a late reply; where others flood, not every table has one.
            is_cut_off_while(&mut client, send_table)
        }
        Harm::Lengths => lengths(&mut client, &bytes),
        Harm::Scribble => {
            scribble(&client, &bytes, ends);
            Ok(())
        }
        Harm::Death => {
            for _ in 0..100 {
                send_table(&mut client);
            }
            let deadline = Instant::now() + PATIENCE;
            while bytes.read(LATE_WRITTEN) == 0 && Instant::now() < deadline {
                std::thread::yield_now();
            }
            std::process::abort()
        }
        Harm::Hoard => {
            while Instant::now() < ends {
                send_table(&mut client);
                let count = client.replies().len();
                client.release(count);
                std::thread::yield_now();
            }
            Ok(client.check()?)
        }
        Harm::Greed => {
            while Instant::now() < ends {
                let slots = client.claim(1024);
                for slot in &mut *slots {
                    slot.put(0, &request::path_by_lids(1, 3));
                }
                let count = slots.len();
                client.publish(count);
                let count = client.replies().len();
                client.release(count);
            }
            Ok(client.check()?)
        }
    }
}

/// Waits for it, and does something now and then.
fn is_cut_off_while(client: &mut Client, again: fn(&mut Client)) -> Result<()> {
    let deadline = Instant::now() + PATIENCE;
    let mut last: Option<Instant> = None;
    while client.check().is_ok() {
        ensure!(Instant::now() < deadline, "it is still served");
        if last.is_none_or(|last| last.elapsed() > Duration::from_millis(100)) {
            again(client);
            last = Some(Instant::now());
        }
        std::thread::yield_now();
    }
    let why = client.check().map_err(|error| error.to_string());
    let said = why.expect_err("it was cut off");
    ensure!(
        said.contains("cut this client off") || said.contains("gone"),
        "{said}"
    );
    Ok(())
}

/// GetTable of all NodeRecords.
fn send_table(client: &mut Client) {
    use sa_wire::mad::method;
    use sa_wire::path_record::{PathCompMask, PathRecord};
    let record = PathRecord::default();
    let mut mad = request::path(method::GET_TABLE, PathCompMask(0), &record);
    mad[16..18].copy_from_slice(&0x11_u16.to_be_bytes());
    if let [slot, ..] = client.claim(1) {
        slot.put(0, &mad);
        client.publish(1);
    }
}

/// Requests of every wrong length; afterwards it is served as before.
fn lengths(client: &mut Client, bytes: &Bytes) -> Result<()> {
    for (nth, length) in [0_u16, 1, 23, 257, 384, 9_999, u16::MAX]
        .into_iter()
        .enumerate()
    {
        let position = client.publish(0);
        let slot = usize::try_from(position % client.slots())?;
        let [_one, ..] = client.claim(1) else {
            anyhow::bail!("no slot for the {nth}th");
        };
        bytes.write(SLOTS + slot * SLOT, length);
        client.publish(1);
        let deadline = Instant::now() + PATIENCE;
        while client.replies().is_empty() {
            ensure!(Instant::now() < deadline, "length {length} never came back");
            std::thread::yield_now();
        }
        ensure!(
            client.replies()[0].reply().is_none(),
            "an answer to {length}"
        );
        client.release(1);
    }
    client.path_record_by_lid(1, 2)?;
    Ok(())
}

/// Anything anywhere, but for positions that would end it at once, until the end; then those.
fn scribble(client: &Client, bytes: &Bytes, ends: Instant) {
    let mut random = u64::from(std::process::id()) | 1;
    let mut served = bytes.read(SERVED);
    while Instant::now() < ends {
        for _ in 0..1000 {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let at = usize::try_from(random >> 20).unwrap_or(0) % (bytes.size / 8) * 8;
            if !(PRODUCED..PRODUCED + 8).contains(&at) && !(LATE_READ..LATE_READ + 8).contains(&at)
            {
                bytes.write(at, random);
            }
        }
        served = served.max(bytes.read(SERVED).min(served + client.slots()));
        bytes.write(PRODUCED, served + client.slots() / 2);
    }
    for at in (0..bytes.size).step_by(8) {
        bytes.write(at, u64::MAX);
    }
}

/// Rings that a process has mapped.
pub(crate) fn mappings_of(pid: u32) -> io::Result<usize> {
    let maps = fs::read_to_string(format!("/proc/{pid}/maps"))?;
    Ok(maps.matches("memfd:sapphire-ring").count())
}

/// Greets as a client of another version. Gives what the daemon says.
pub(crate) fn greet(ring: &Path, version: u32) -> Result<String> {
    use std::os::unix::ffi::OsStrExt;
    let mut hello = sa_ring::layout::MAGIC.to_ne_bytes().to_vec();
    hello.extend(version.to_ne_bytes());
    hello.extend(0_u32.to_ne_bytes());
    let mut answer = [0_u8; 512];
    // SAFETY: plain system calls on a socket of this function, with buffers that outlive them.
    // WHY: std has no sockets of packets, and the client library has but one version.
    let got = unsafe {
        let socket = libc::socket(libc::AF_UNIX, libc::SOCK_SEQPACKET, 0);
        let mut address: libc::sockaddr_un = std::mem::zeroed();
        address.sun_family = u16::try_from(libc::AF_UNIX)?;
        for (place, byte) in address.sun_path.iter_mut().zip(ring.as_os_str().as_bytes()) {
            *place = byte.cast_signed();
        }
        let size = u32::try_from(size_of_val(&address))?;
        let connected = libc::connect(socket, (&raw const address).cast(), size);
        ensure!(connected == 0, "{}", io::Error::last_os_error());
        libc::send(socket, hello.as_ptr().cast(), hello.len(), 0);
        let got = libc::recv(socket, answer.as_mut_ptr().cast(), answer.len(), 0);
        libc::close(socket);
        got
    };
    let got = usize::try_from(got).context("no answer")?;
    Ok(String::from_utf8_lossy(answer.get(16..got).unwrap_or_default()).into_owned())
}
