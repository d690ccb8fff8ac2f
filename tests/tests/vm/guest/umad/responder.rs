//! A responder that turns requests around without looking anything up.

use core::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use sa_port::umad::{Options, Umad};
use sa_port::uring::{Submit, UringPort};
use sa_port::{BATCH, MadPort, PortError, PortStats, Verdict};
use sa_wire::mad::response_method;
use sa_wire::sa::SaMad;
use sa_wire::umad::Slot;

/// How a port is driven.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    ReadWrite,
    Ring,
    /// A thread of the kernel's takes what is queued.
    PolledRing,
}

impl Way {
    pub(super) const ALL: [Self; 3] = [Self::ReadWrite, Self::Ring, Self::PolledRing];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::ReadWrite => "read/write",
            Self::Ring => "io_uring",
            Self::PolledRing => "io_uring with SQPOLL",
        }
    }

    pub(super) fn named(name: &str) -> Result<Self> {
        Ok(match name {
            "rw" => Self::ReadWrite,
            "uring" => Self::Ring,
            "sqpoll" => Self::PolledRing,
            _ => bail!("no way to drive a port is called {name}"),
        })
    }

    pub(super) fn port(self, umad: &Umad) -> Result<Box<dyn MadPort + Send>> {
        Ok(match self {
            Self::ReadWrite => Box::new(umad.worker()?),
            Self::Ring => Box::new(UringPort::over_umad(umad)?),
            Self::PolledRing => Box::new(UringPort::over_umad_by(umad, Submit::Kernel)?),
        })
    }
}

/// Owns the SA's read methods on a device.
pub(super) fn open(device: &str) -> Result<Umad> {
    Ok(Umad::open(&options(device))?)
}

pub(super) fn options(device: &str) -> Options {
    Options {
        device: Some(device.to_owned()),
        port: Some(1),
        ..Options::default()
    }
}

/// Serves in a thread until it is stopped, or its port is gone.
pub(super) struct Responder {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Result<(), PortError>>,
    pub(super) stats: Arc<PortStats>,
}

impl Responder {
    pub(super) fn start(mut port: Box<dyn MadPort + Send>) -> Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let stats = port.stats().context("a umad port counts")?;
        let seen = Arc::clone(&stop);
        let thread = std::thread::spawn(move || serve(&mut *port, &seen));
        Ok(Self {
            stop,
            thread,
            stats,
        })
    }

    /// How it ended, which it does by itself.
    pub(super) fn ended(self) -> Result<Result<(), PortError>> {
        self.thread.join().ok().context("the responder panicked")
    }

    pub(super) fn is_finished(&self) -> bool {
        self.thread.is_finished()
    }

    pub(super) fn stop(self) -> Result<()> {
        self.stop.store(true, Ordering::Relaxed);
        Ok(self.ended()??)
    }
}

/// As a worker's loop is, which sleeps at once.
pub(super) fn serve(port: &mut dyn MadPort, stop: &AtomicBool) -> Result<(), PortError> {
    while !stop.load(Ordering::Relaxed) {
        let mut verdicts = [Verdict::Silence; BATCH];
        let lent = port.recv()?;
        let count = lent.len();
        for (slot, verdict) in lent.iter_mut().zip(&mut verdicts) {
            *verdict = turn_around(slot);
        }
        if count == 0 {
            port.wait(Duration::from_millis(50))?;
        } else {
            port.send(verdicts.get(..count).unwrap_or_default())?;
        }
    }
    Ok(())
}

/// As long as the answer to a Get(PathRecord).
fn turn_around(slot: &mut Slot) -> Verdict {
    let mad = SaMad::from_bytes_mut(&mut slot.mad);
    mad.mad.method = response_method(mad.mad.method);
    mad.sa.attribute_offset = 8.into();
    Verdict::Reply(REPLY)
}

/// The headers and a PathRecord. Units: bytes.
const REPLY: u16 = 56 + 64;
