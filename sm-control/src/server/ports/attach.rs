//! From a `[[port]]` section to a running worker.
//!
//! Every transport ends in the same three things ([`Attached`]): a thread that turns a worker, a
//! way out for the slow lane, and for some a gate or a socket to be shut at the end. What can be
//! found wrong at the start is said at the start: a simulator or device is opened here once, before
//! the thread, and handed to it. Beside an OpenSM nothing is opened yet, as the methods are
//! OpenSM's until it lends them.
//!
//! A worker pins itself before it makes its port: what a port and a worker keep lies in the memory
//! of the node where it is touched first.
//!
//! | transport | opened at the start | comes and goes | gate | segments by itself |
//! |---|---|---|---|---|
//! | ibsim | yes | yes | open for good, shut at the end | no: the slow lane has RMPP |
//! | umad | yes | yes | the same | yes, the kernel does |
//! | umad beside OpenSM | no | with the methods | OpenSM's | yes |
//! | ring | yes | no | none | takes replies whole |

use core::sync::atomic::AtomicBool;
use std::sync::Arc;
use std::thread::JoinHandle;

use sa_answer::access::Access;
use sa_fastpath::affinity;
use sa_fastpath::gate::Gate as FleetGate;
use sa_fastpath::overload::Limits;
use sa_fastpath::publish::Reader;
use sa_fastpath::punt::PuntSender;
use sa_fastpath::stats::WorkerStats;
use sa_fastpath::worker::{Idle, Worker};
use sa_port::{MadPort, ReplyPort, ibsim, umad};
use sa_wire::mad::method;
use thiserror::Error;
use tracing::{error, info, warn};

use super::ring;
use crate::checks::placement::Placement;
use crate::config::{IoUring, PortSection, RingSection, Role};
use crate::server::opensm::{Gate, Link};
use crate::server::operators::port_history::PortHistory;
use crate::server::ports::supervised::{Announce, Attachable, ReplyPath, SupervisedPort};

/// A port that cannot be attached. Ends the start, with the words of the transport.
#[derive(Debug, Error)]
#[error("port {number} ({transport}): {source}")]
pub struct AttachError {
    /// Of its section, from 0.
    number: usize,
    /// As the configuration spells it.
    transport: &'static str,
    /// What the transport says.
    source: Box<dyn std::error::Error + Send + Sync>,
}

/// What a worker needs beside its port. Goes through all attachments of a port:
/// [`super::supervised`] gets it back when a worker ends.
pub(in crate::server) struct WorkerSetup {
    /// Of its section, from 0.
    pub(in crate::server) number: usize,
    /// Set when the port is attached: where it belongs may depend on its device.
    pub(in crate::server) core: Option<usize>,
    /// What the worker does when nothing waits.
    pub(in crate::server) idle: Idle,
    /// Its view of the published snapshots; one reader for each port, for good.
    pub(in crate::server) reader: Reader,
    /// Its way to the slow lane.
    pub(in crate::server) punt: PuntSender,
    /// Over all lives of the port.
    pub(in crate::server) stats: Arc<WorkerStats>,
    /// What its handles have counted.
    pub(in crate::server) history: Arc<PortHistory>,
    /// The daemon ends.
    pub(in crate::server) stop: Arc<AtomicBool>,
    /// Who may ask for what.
    pub(in crate::server) access: Access,
    /// What one requester may take while others wait.
    pub(in crate::server) limits: Limits,
    /// Decides which methods the kernel is asked for.
    pub(in crate::server) role: Role,
    /// For ports on an OpenSM's device; none where no OpenSM shares them.
    pub(in crate::server) gate: Option<Arc<Gate>>,
    /// Who lends such a port its methods.
    pub(in crate::server) lender: Option<Arc<Link>>,
    /// Nobody is answered while this holds.
    pub(in crate::server) muted: Arc<AtomicBool>,
    /// Nor while this is not open for the snapshot in service.
    pub(in crate::server) fleet_gate: Option<Arc<FleetGate>>,
    /// Where SMPs that come to a simulated port go; none where this process is no SM, or another
    /// port is the SM's.
    pub(in crate::server) smps: Option<ibsim::SmpRelay>,
}

/// A port in service, as the start keeps it. The thread has everything else.
pub(in crate::server) struct Attached {
    /// Ends when `stop` is set, or the port is lost for good.
    pub(in crate::server) worker: JoinHandle<()>,
    /// The slow lane's way out.
    pub(in crate::server) reply: Box<dyn ReplyPort>,
    /// The SM's, where SMPs that come to this port are handed on.
    pub(in crate::server) smp_reply: Option<Box<dyn ReplyPort>>,
    /// Kept for as long as the port is served.
    pub(in crate::server) ring: Option<ring::Service>,
    /// To be shut when the server stops.
    pub(in crate::server) gate: Option<Arc<Gate>>,
}

/// Attaches the port and starts its worker. Returns when the port is there, or waits in its thread
/// for what it shares with an OpenSM. Errors: [`AttachError`], which ends the start.
pub(in crate::server) fn attach(
    section: &PortSection,
    mut setup: WorkerSetup,
    placement: &mut Placement<'_>,
) -> Result<Attached, AttachError> {
    let number = setup.number;
    // The core of a umad port depends on where its device is, which shows when it is opened.
    if !matches!(section, PortSection::Umad { .. }) {
        setup.core = placement.core(number, None);
    }
    let attached = match section {
        PortSection::Ibsim {
            node,
            sockname,
            issm,
        } => attach_ibsim(node, sockname.as_deref(), *issm, setup),
        PortSection::Umad {
            device,
            port,
            io_uring,
            announce_sm,
        } => {
            let options = umad::Options {
                device: device.clone(),
                port: Some(*port),
                methods: methods(setup.role),
            };
            let how = UmadWay {
                io_uring: *io_uring,
                // The Subnet Manager of this process sets it itself, when it answers.
                announce_sm: announce_sm.unwrap_or(false) && setup.smps.is_none(),
            };
            attach_umad(options, how, setup, placement)
        }
        PortSection::Ring(section) => attach_ring(section, setup),
    };
    attached.map_err(|source| AttachError {
        number,
        transport: section.transport(),
        source,
    })
}

/// What the kernel is to hand to this program; of the rest it says itself that nobody has it. Set
/// and Delete only where this SA keeps what clients set.
fn methods(role: Role) -> Vec<u8> {
    let mut methods = umad::READ_METHODS.to_vec();
    if role.keeps() {
        methods.extend([method::SET, method::DELETE]);
    }
    methods
}

/// What a transport says, in words: it is shown and never matched on.
pub(in crate::server) type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Attaches at once, so that what is wrong with the simulator is said at the start.
///
/// The first attachment is handed to the thread; later ones it makes itself.
fn attach_ibsim(
    node: &str,
    sockname: Option<&str>,
    issm: bool,
    setup: WorkerSetup,
) -> Result<Attached, Failure> {
    let mut options = ibsim::Options::on(node);
    if issm {
        options = options.manager();
    }
    if let Some(sockname) = sockname {
        sockname.clone_into(&mut options.base);
    }
    // Every life of the port hands on to the same inbox, which outlives them all.
    let relay = setup.smps.clone();
    let is_relayed = relay.is_some();
    let open = move || -> Result<ibsim::Attachment, ibsim::AttachError> {
        let mut attachment = ibsim::Attachment::new(&options)?;
        // So that others see an SM there. No other client of the node may say it: requests would go to that one.
        if issm {
            attachment.set_role(ibsim::Role::Manager)?;
        }
        Ok(attachment.relaying(relay.clone()))
    };
    let first = open()?;
    info!(
        port = setup.number,
        node = first.node(),
        "attached to the simulator"
    );
    // No SM beside this port asks for it; it is shut when the server stops.
    let gate = Arc::new(Gate::open());
    let out = ReplyPath::new(false, Arc::clone(&gate));
    out.set(Some(first.replies()?));
    let reply = Box::new(out.clone());
    let smp_reply = is_relayed.then(|| Box::new(out.clone()) as Box<_>);
    let shut = Arc::clone(&gate);
    let way = Reattach {
        open: Box::new(move || Ok(open()?)),
        announce: None,
        gate,
        out,
    };
    let worker = attend(
        way,
        Some(first),
        setup,
        |attachment| Ok(attachment.serve()?),
    )?;
    Ok(Attached {
        worker,
        reply,
        smp_reply,
        ring: None,
        gate: Some(shut),
    })
}

/// Ring ports do not come and go: the memory is ours, so there is nothing to attach again.
fn attach_ring(section: &RingSection, setup: WorkerSetup) -> Result<Attached, Failure> {
    let (port, replies, service) = ring::open(setup.number, section)?;
    let setup = WorkerSetup {
        // Clients are served in turn and what waits is bounded: nobody can crowd others out, and
        // one LID may stand for all of them.
        limits: Limits::NONE,
        ..setup
    };
    // Once: it never comes back, so its counters are those of one life.
    setup.history.attached(port.stats());
    let worker = start(move || Ok(port), setup)?;
    Ok(Attached {
        worker,
        reply: Box::new(replies),
        smp_reply: None,
        ring: Some(service),
        gate: None,
    })
}

/// How a umad port is driven.
#[derive(Clone, Copy)]
struct UmadWay {
    /// Who submits: the worker's thread, one of the kernel's, or nobody.
    io_uring: IoUring,
    /// Whether the port's capability says that an SM is here.
    announce_sm: bool,
}

/// Opens the port at once where nobody shares it, so that what is wrong with it is said at the
/// start; beside an OpenSM it is opened when that lets go of the methods, by the file that it
/// lends.
fn attach_umad(
    options: umad::Options,
    how: UmadWay,
    mut setup: WorkerSetup,
    placement: &mut Placement<'_>,
) -> Result<Attached, Failure> {
    let first = match setup.gate {
        Some(_) => None,
        None => Some(umad::Umad::open(&options)?),
    };
    let name = first.as_ref().map(|umad| umad.name().device.clone());
    let device = name.or_else(|| options.device.clone());
    setup.core = placement.core(setup.number, device.as_deref());
    // Every port that is attended has a gate; without an OpenSM it is shut at the end only.
    let gate = setup.gate.clone().unwrap_or_else(|| Arc::new(Gate::open()));
    let out = ReplyPath::new(true, Arc::clone(&gate));
    if let Some(umad) = &first {
        info!(port = setup.number, device = %umad.name(), "attached to the umad device");
        if umad.is_simulated() {
            warn!("this is the simulator's stand-in: no RMPP, and 224 of 256 bytes of each MAD");
        }
        // A failure here must leave no thread behind.
        check_first(umad, how)?;
        out.set(Some(umad.replies()?));
    }
    let reply = Box::new(out.clone());
    let shut = Arc::clone(&gate);
    let lender = setup.lender.take();
    let way = Reattach {
        open: Box::new(move || open_umad(&options, lender.as_deref())),
        announce: how.announce_sm.then_some(|umad| Ok(umad.announce_sm()?)),
        gate,
        out,
    };
    let worker = match how.io_uring {
        IoUring::Off => attend(way, first, setup, |umad| Ok(umad.worker()?))?,
        by => attend_uring(way, by, first, setup)?,
    };
    Ok(Attached {
        worker,
        reply,
        smp_reply: None,
        ring: None,
        gate: Some(shut),
    })
}

/// Opens the port with methods that are registered now, or that OpenSM has lent. Errors: in words;
/// it is tried again.
///
/// `lender`: none without an OpenSM beside this port.
fn open_umad(options: &umad::Options, lender: Option<&Link>) -> Result<umad::Umad, Failure> {
    let Some(lender) = lender else {
        return Ok(umad::Umad::open(options)?);
    };
    let lent = lender.lent()?;
    let (file, agent) = lent.ok_or("OpenSM has not lent its read methods")?;
    Ok(umad::Umad::lent(options, file, agent)?)
}

/// What would only show in the worker's thread. Errors: why the port cannot be served.
///
/// The simulator's stand-in has no io_uring; another program may hold the announcement.
fn check_first(umad: &umad::Umad, how: UmadWay) -> Result<(), Failure> {
    if how.io_uring != IoUring::Off && umad.is_simulated() {
        return Err(umad::UmadError::Simulated.into());
    }
    if how.announce_sm {
        umad.announce_sm()?;
    }
    Ok(())
}

/// How a port that comes and goes is attached again: what does not change from one life to the
/// next.
struct Reattach<S> {
    /// Makes a new life of the port.
    open: Box<dyn Fn() -> Result<S, Failure> + Send>,
    /// Says to the subnet that an SM is here, for as long as it is kept.
    announce: Option<Announce<S>>,
    /// Shut at the end; beside an OpenSM it is that of [`WorkerSetup`].
    gate: Arc<Gate>,
    /// The slow lane's way, set anew in each life.
    out: ReplyPath,
}

/// Starts the thread that attaches the port, serves it and attaches it again.
///
/// `first`: opened already, so that the start could say what is wrong. Errors: no thread.
fn attend<S: Attachable + Send + 'static, P: MadPort + 'static>(
    way: Reattach<S>,
    first: Option<S>,
    setup: WorkerSetup,
    serve: fn(&S) -> Result<P, Failure>,
) -> Result<JoinHandle<()>, Failure> {
    let Reattach {
        open,
        announce,
        gate,
        out,
    } = way;
    let attended = SupervisedPort {
        open,
        serve,
        announce,
        gate,
        out,
        history: Arc::clone(&setup.history),
    };
    let thread = std::thread::Builder::new().name(format!("sa-fp-{}", setup.number));
    Ok(thread.spawn(move || attended.run(first, setup))?)
}

/// Starts a worker, and waits until its port is made. It pins itself before it makes its port, so
/// that what the port and the worker keep lies in the memory near its core. Errors: those of
/// `make`; no thread.
fn start<P: MadPort>(
    make: impl FnOnce() -> Result<P, Failure> + Send + 'static,
    setup: WorkerSetup,
) -> Result<JoinHandle<()>, Failure> {
    // The port is made in the worker's thread, and its failure belongs to the start.
    let (made, answer) = crossbeam_channel::bounded(1);
    let thread = std::thread::Builder::new().name(format!("sa-fp-{}", setup.number));
    let worker = thread.spawn(move || {
        settle(setup.number, setup.core);
        match make() {
            Ok(port) => {
                // Nobody waits for less.
                let _ = made.send(Ok(()));
                serve(port, setup);
            }
            Err(failure) => drop(made.send(Err(failure))),
        }
    })?;
    answer.recv()??;
    Ok(worker)
}

/// Keeps the calling thread on its core, and says where it runs.
pub(in crate::server) fn settle(port: usize, core: Option<usize>) {
    match core {
        Some(core) if affinity::pin(core) => info!(port, core, "the worker has its core"),
        // No error: a machine with other cores must not silence the SA.
        Some(core) => warn!(
            port,
            core, "cannot pin the worker to this core; it runs on any"
        ),
        None => info!(port, "the worker runs on any core"),
    }
}

/// Serves a port until it is told to stop.
fn serve<P: MadPort>(port: P, setup: WorkerSetup) {
    let WorkerSetup {
        number,
        core: _,
        idle,
        reader,
        punt,
        stats,
        history,
        stop,
        access,
        limits,
        role: _,
        gate: _,
        lender: _,
        muted,
        fleet_gate,
        smps: _,
    } = setup;
    let worker = Worker::new(port, reader, punt, stats);
    let mut worker = worker
        .with_access(access)
        .with_limits(limits)
        .muted_by(muted)
        .gated_by(fleet_gate);
    // The thread ends with its port here: a ring does not come back.
    if let Err(error) = worker.run(&stop, idle) {
        error!(port = number, "{error}; this port is not served any more");
        history.lost(&error.to_string());
    }
}

/// A umad port driven by io_uring, by the worker's thread or by one of the kernel's.
#[cfg(feature = "uring")]
fn attend_uring(
    way: Reattach<umad::Umad>,
    by: IoUring,
    first: Option<umad::Umad>,
    setup: WorkerSetup,
) -> Result<JoinHandle<()>, Failure> {
    use sa_port::uring::{Submit, UringPort};
    let serve: fn(&umad::Umad) -> Result<UringPort, Failure> = match by {
        IoUring::Kernel => |umad| Ok(UringPort::over_umad_by(umad, Submit::Kernel)?),
        IoUring::Worker | IoUring::Off => |umad| Ok(UringPort::over_umad(umad)?),
    };
    attend(way, first, setup, serve)
}

/// Built without it: the configuration asks for what is not there.
#[cfg(not(feature = "uring"))]
fn attend_uring(
    _: Reattach<umad::Umad>,
    _: IoUring,
    _: Option<umad::Umad>,
    _: WorkerSetup,
) -> Result<JoinHandle<()>, Failure> {
    Err("io_uring = true, but this build lacks the feature `uring`".into())
}
