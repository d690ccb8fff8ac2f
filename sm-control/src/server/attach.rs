//! From a `[[port]]` section to a running worker.

use core::sync::atomic::AtomicBool;
use std::sync::Arc;
use std::thread::JoinHandle;

use sa_fastpath::access::Access;
use sa_fastpath::affinity;
use sa_fastpath::overload::Limits;
use sa_fastpath::port::{MadPort, ReplyPort, ibsim, umad};
use sa_fastpath::publish::Reader;
use sa_fastpath::punt::PuntSender;
use sa_fastpath::stats::WorkerStats;
use sa_fastpath::worker::{Idle, Worker};
use sa_wire::mad::method;
use thiserror::Error;
use tracing::{error, info, warn};

use crate::config::{PortSection, Role};

/// A port that cannot be attached.
#[derive(Debug, Error)]
#[error("port {number} ({transport}): {source}")]
pub struct AttachError {
    number: usize,
    transport: &'static str,
    source: Box<dyn std::error::Error + Send + Sync>,
}

/// What a worker needs beside its port.
pub(super) struct Seat {
    pub(super) number: usize,
    pub(super) core: Option<usize>,
    pub(super) yield_after: Option<u32>,
    pub(super) reader: Reader,
    pub(super) punt: PuntSender,
    pub(super) stats: Arc<WorkerStats>,
    pub(super) stop: Arc<AtomicBool>,
    pub(super) access: Access,
    pub(super) limits: Limits,
    pub(super) role: Role,
}

/// A port in service.
pub(super) struct Attached {
    pub(super) worker: JoinHandle<()>,
    /// The slow lane's way out.
    pub(super) reply: Box<dyn ReplyPort>,
    /// Kept for as long as the port is served.
    pub(super) flag: Option<umad::SmFlag>,
}

/// Attaches the port and starts its worker. Errors: [`AttachError`].
pub(super) fn attach(section: &PortSection, seat: Seat) -> Result<Attached, AttachError> {
    let number = seat.number;
    let (transport, attached) = match section {
        PortSection::Ibsim {
            node,
            sockname,
            issm,
        } => (
            "ibsim",
            attach_ibsim(node, sockname.as_deref(), *issm, seat),
        ),
        PortSection::Umad {
            device,
            port,
            io_uring,
            announce_sm,
        } => {
            let options = umad::Options {
                device: device.clone(),
                port: Some(*port),
                methods: methods(seat.role),
            };
            ("umad", attach_umad(&options, *io_uring, *announce_sm, seat))
        }
    };
    attached.map_err(|source| AttachError {
        number,
        transport,
        source,
    })
}

/// What the kernel is to hand to this program; of the rest it says itself that nobody has it.
fn methods(role: Role) -> Vec<u8> {
    let mut methods = umad::READ_METHODS.to_vec();
    if role == Role::Test {
        methods.extend([method::SET, method::DELETE]);
    }
    methods
}

type Failure = Box<dyn std::error::Error + Send + Sync>;

fn attach_ibsim(
    node: &str,
    sockname: Option<&str>,
    issm: bool,
    seat: Seat,
) -> Result<Attached, Failure> {
    let mut options = ibsim::Options::on(node);
    if issm {
        options = options.manager();
    }
    if let Some(sockname) = sockname {
        sockname.clone_into(&mut options.base);
    }
    let attachment = ibsim::Attachment::new(&options)?;
    info!(
        port = seat.number,
        node = attachment.node(),
        "attached to the simulator"
    );
    let reply = Box::new(attachment.reply_port()?);
    let worker = start(attachment.serve()?, seat)?;
    Ok(Attached {
        worker,
        reply,
        flag: None,
    })
}

fn attach_umad(
    options: &umad::Options,
    io_uring: bool,
    announce_sm: bool,
    seat: Seat,
) -> Result<Attached, Failure> {
    let umad = umad::Umad::open(options)?;
    info!(port = seat.number, device = %umad.name(), "attached to the umad device");
    if umad.is_simulated() {
        warn!("this is the simulator's stand-in: no RMPP, and 224 of 256 bytes of each MAD");
    }
    // Before the worker starts: a failure here must leave no thread behind.
    let flag = announce_sm.then(|| umad.announce_sm()).transpose()?;
    let reply = Box::new(umad.reply_port());
    let worker = if io_uring {
        start_uring(&umad, seat)?
    } else {
        start(umad.worker()?, seat)?
    };
    Ok(Attached {
        worker,
        reply,
        flag,
    })
}

fn start<P: MadPort + Send + 'static>(port: P, seat: Seat) -> Result<JoinHandle<()>, Failure> {
    let Seat {
        number,
        core,
        yield_after,
        reader,
        punt,
        stats,
        stop,
        access,
        limits,
        role: _,
    } = seat;
    let idle = yield_after.map_or(Idle::Spin, Idle::YieldAfter);
    let worker = Worker::new(port, reader, punt, stats);
    let mut worker = worker.with_access(access).with_limits(limits);
    let thread = std::thread::Builder::new().name(format!("sa-fp-{number}"));
    Ok(thread.spawn(move || {
        if let Some(core) = core
            && !affinity::pin(core)
        {
            warn!(
                port = number,
                core, "cannot pin the worker to this core; it runs on any"
            );
        }
        if let Err(error) = worker.run(&stop, idle) {
            error!(port = number, "{error}; this port is not served any more");
        }
    })?)
}

#[cfg(feature = "uring")]
fn start_uring(umad: &umad::Umad, seat: Seat) -> Result<JoinHandle<()>, Failure> {
    start(sa_fastpath::port::uring::UringPort::over_umad(umad)?, seat)
}

#[cfg(not(feature = "uring"))]
fn start_uring(_: &umad::Umad, _: Seat) -> Result<JoinHandle<()>, Failure> {
    Err("io_uring = true, but this build lacks the feature `uring`".into())
}
