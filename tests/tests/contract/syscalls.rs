//! The fast-path contract: a turning worker makes no system calls but those of its port, and none at
//! all where that is memory.
//!
//! Each test starts this binary again with a role in its environment. There a worker's thread puts
//! itself under a seccomp filter that ends the process at any other call.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
#![cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]

use std::ffi::OsStr;
use std::fs::File;
use std::io::{Read, Write};
use std::num::NonZeroU32;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use sa_answer::access::Access;
use sa_compiler::pipeline::{self, Inputs, Stamp};
use sa_fastpath::gate::{Gate, boot_time};
use sa_fastpath::overload::Limits;
use sa_fastpath::publish::{EpochId, Publisher};
use sa_fastpath::punt::{PuntReceiver, punt_queue};
use sa_fastpath::sampling::Sampling;
use sa_fastpath::stats::WorkerStats;
use sa_fastpath::worker::{Idle, Worker};
use sa_port::ibsim::{Attachment, Options};
use sa_port::ring::{RingClient, RingServer, ring};
use sa_port::umad::{Umad, packet_pair};
use sa_port::uring::UringPort;
use sa_port::{BATCH, ClientPort, Destination, MadPort, Patience, Reply};
use sa_rig::{Fabric, TWO_HOSTS};
use sa_snapshot::Snapshot;
use sa_wire::mad::{MGMT_CLASS_SA, method};
use sa_wire::umad::Slot;
use sa_wire::{Lid, request};
use zerocopy::IntoBytes;

use super::fabric::{compiled, requests};

/// What the second process is to do.
const ROLE: &str = "SAPPHIRE_SYSCALLS";
/// What it ends with when all is well.
const WELL: i32 = 42;
/// And when this machine lacks something.
const LACKING: i32 = 43;
/// For all that a second process does.
const PATIENCE: Duration = Duration::from_secs(60);

/// Not a call where the kernel lets processes read the clock themselves, as nearly all do.
const CLOCK: i64 = libc::SYS_clock_gettime;

#[cfg(target_arch = "x86_64")]
const POLL: i64 = libc::SYS_poll;
#[cfg(target_arch = "aarch64")]
const POLL: i64 = libc::SYS_ppoll;

#[test]
fn a_worker_on_memory_makes_no_system_call() {
    assert_well("memory", &[]);
}

/// Where the kernel does not let processes read the clock themselves, it is that one call.
#[test]
fn a_worker_behind_an_open_gate_makes_no_system_call() {
    let is_call = second("bare_clock", &[]).signal() == Some(libc::SIGSYS);
    assert_well(if is_call { "gate_by_call" } else { "gate" }, &[]);
}

#[test]
fn full_batches_limits_and_sampling_read_the_clock_at_most() {
    assert_well("clock", &[]);
}

#[test]
fn a_worker_on_umad_reads_and_writes() {
    assert_well("umad", &[]);
}

#[test]
fn a_worker_on_io_uring_enters_the_ring() {
    assert_well("io_uring", &[]);
}

#[test]
fn a_worker_on_the_simulator_sends_receives_and_waits() {
    if let Some(why) = Fabric::unavailable() {
        let _ = writeln!(std::io::stderr(), "{why}");
        return;
    }
    let fabric = Fabric::start(TWO_HOSTS).unwrap();
    fabric.configure("H1", &[]).unwrap();
    let place = [
        (BASE, OsStr::new(fabric.base())),
        (FILES, fabric.dir().as_os_str()),
    ];
    assert_well("simulator", &place);
}

#[test]
fn the_filter_ends_the_process_at_any_other_call() {
    let status = second("wrong", &[]);
    assert_eq!(status.signal(), Some(libc::SIGSYS), "{status}");
}

/// Which simulator, and where its fabric's files are.
const BASE: &str = "SAPPHIRE_SYSCALLS_BASE";
const FILES: &str = "SAPPHIRE_SYSCALLS_FILES";

/// How this program ends when it is to do `role`.
fn second(role: &str, more: &[(&str, &OsStr)]) -> ExitStatus {
    // A worker under the filter spins, and cannot give its core away.
    let _turn = sa_tests::turn::heavy();
    let mut again = Command::new(std::env::current_exe().unwrap());
    again.args(["--exact", "syscalls::the_second_process", "--nocapture"]);
    again.env(ROLE, role).envs(more.iter().copied());
    again.status().unwrap()
}

fn assert_well(role: &str, more: &[(&str, &OsStr)]) {
    let status = second(role, more);
    let why = "a call that is not the port's ended it, or the worker did not answer";
    assert!(
        matches!(status.code(), Some(WELL | LACKING)),
        "{why}: {status}"
    );
}

/// Not a test unless a role says so.
#[test]
fn the_second_process() {
    let Ok(role) = std::env::var(ROLE) else {
        return;
    };
    match role.as_str() {
        "memory" => on_memory(&[], |worker| worker, 16),
        "gate" => on_memory(&[], gated, 16),
        "gate_by_call" => on_memory(&[CLOCK], gated, 16),
        "bare_clock" => bare_clock(),
        "clock" => on_memory(&[CLOCK], limited, BATCH),
        "umad" => {
            let (near, far) = packet_pair().unwrap();
            let port = Umad::over_packets(near).unwrap().worker().unwrap();
            on_packets(port, far, &[libc::SYS_read, libc::SYS_write, CLOCK]);
        }
        "io_uring" => {
            let (near, far) = packet_pair().unwrap();
            match UringPort::over_packets(near) {
                Ok(port) => on_packets(port, far, &[libc::SYS_io_uring_enter, CLOCK]),
                Err(error) => {
                    let _ = writeln!(std::io::stderr(), "skipped: {error}");
                    std::process::exit(LACKING);
                }
            }
        }
        "simulator" => on_simulator(),
        "wrong" => {
            confine(&[libc::SYS_read]);
            // SAFETY: takes nothing and touches nothing.
            // WHY: std has no call that is sure to reach the kernel and harmless.
            unsafe { libc::getppid() };
        }
        other => panic!("no role {other}"),
    }
    std::process::exit(WELL);
}

/// A worker that times every batch and reads the clock for its limits.
fn limited(worker: Worker<RingServer>) -> Worker<RingServer> {
    worker
        .with_access(Access::Strict)
        .with_limits(Limits::default())
}

/// What every snapshot here is published as.
const GENERATION: u64 = 7;

/// A worker of a host that follows a fleet. The gate is open for an hour, so the clock is read.
fn gated(worker: Worker<RingServer>) -> Worker<RingServer> {
    let gate = Arc::new(Gate::new());
    gate.set(boot_time() + 3_600_000_000_000, GENERATION);
    worker.gated_by(Some(gate))
}

/// Reads the clock of deadlines where that must not be a call.
fn bare_clock() {
    let read = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&read);
    boot_time();
    std::thread::spawn(move || {
        confine(&[]);
        std::hint::black_box(boot_time());
        told.store(true, Ordering::Release);
        // Its end would be a call.
        loop {
            std::hint::spin_loop();
        }
    });
    let deadline = Instant::now() + PATIENCE;
    while !read.load(Ordering::Acquire) {
        assert!(Instant::now() < deadline, "it does not end");
        std::thread::yield_now();
    }
}

/// What a worker under the filter shares with who asks it.
struct Bed {
    publisher: Publisher,
    stats: Arc<WorkerStats>,
    punted: PuntReceiver,
}

impl Bed {
    /// Starts a worker that turns for ever under a filter. Returns once the filter is in force.
    fn start<P: MadPort + Send + 'static>(
        port: P,
        calls: &'static [i64],
        kind: impl FnOnce(Worker<P>) -> Worker<P>,
    ) -> Self {
        let publisher = Publisher::new();
        let (punted, sender) = punt_queue(1 << 14);
        let stats = WorkerStats::sampled(Sampling::new(NonZeroU32::MIN));
        let stats = if calls.contains(&CLOCK) {
            Arc::new(stats)
        } else {
            Arc::default()
        };
        let reader = publisher.reader().unwrap();
        let mut worker = kind(Worker::new(port, reader, sender(0), Arc::clone(&stats)));
        let confined = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&confined);
        std::thread::spawn(move || {
            worker.run(&AtomicBool::new(true), Idle::Spin).unwrap();
            confine(calls);
            told.store(true, Ordering::Release);
            loop {
                if worker.turn().is_err() {
                    // Nothing else may be called; whoever asks gives up in time.
                    std::hint::spin_loop();
                }
            }
        });
        let deadline = Instant::now() + PATIENCE;
        while !confined.load(Ordering::Acquire) {
            assert!(Instant::now() < deadline, "no filter");
            std::thread::yield_now();
        }
        Self {
            publisher,
            stats,
            punted,
        }
    }

    /// Asks all requests, before the first snapshot and while snapshots change.
    fn ask(&mut self, mut all: impl FnMut(&[Slot])) {
        let compiled = compiled();
        let requests = requests(&compiled);
        all(&requests);
        for _ in 0..20 {
            let bytes = compiled.snapshot.as_bytes();
            let snapshot = Snapshot::from_bytes(bytes).unwrap();
            self.publisher.publish_as(snapshot, GENERATION);
            all(&requests);
            while self.punted.pop().is_some() {}
        }
        let stats = self.stats.snapshot();
        assert!(stats.answered > 20 * 80, "{stats:?}");
        assert!(stats.refused.iter().sum::<u64>() > 20, "{stats:?}");
        assert!(stats.punted.iter().sum::<u64>() > 20, "{stats:?}");
        assert!(stats.dropped.iter().sum::<u64>() > 20, "{stats:?}");
        assert!(stats.epoch >= EpochId::new(20));
        if self.stats.sampling().is_some() {
            assert!(stats.times.count() > 0);
        }
    }
}

fn on_memory(
    calls: &'static [i64],
    kind: impl FnOnce(Worker<RingServer>) -> Worker<RingServer>,
    batch: usize,
) {
    let (mut client, server, _) = ring(BATCH);
    let mut bed = Bed::start(server, calls, kind);
    bed.ask(|requests| {
        for some in requests.chunks(batch) {
            through(&mut client, some);
        }
    });
}

/// Sends a batch at once, which the ring's end may divide, and waits until all are back.
fn through(client: &mut RingClient, mut requests: &[Slot]) {
    let deadline = Instant::now() + PATIENCE;
    while !requests.is_empty() || client.in_flight() > 0 {
        let claimed = client.claim(requests.len());
        let count = claimed.len();
        claimed.copy_from_slice(&requests[..count]);
        client.publish(count);
        requests = &requests[count..];
        let back = client.replies().len();
        client.release(back);
        assert!(Instant::now() < deadline, "no reply");
        std::thread::yield_now();
    }
}

fn on_packets<P: MadPort + Send + 'static>(port: P, far: OwnedFd, calls: &'static [i64]) {
    let mut bed = Bed::start(port, calls, |worker| worker);
    let mut far = File::from(far);
    set_nonblocking(&far);
    let stats = Arc::clone(&bed.stats);
    let mut sent = 0;
    let mut packet = [0; 1024];
    bed.ask(|requests| {
        let deadline = Instant::now() + PATIENCE;
        let mut left = requests.iter();
        let mut next = left.next();
        while next.is_some() || stats.snapshot().received < sent {
            if let Some(request) = next
                && far.write(request.as_bytes()).is_ok()
            {
                sent += u64::from(is_lent(request));
                next = left.next();
            }
            // Replies; an error is that there is none.
            while far.read(&mut packet).is_ok() {}
            assert!(Instant::now() < deadline, "not taken");
            std::thread::yield_now();
        }
    });
}

/// What ports keep from workers: other classes, and responses but to a Report.
fn is_lent(request: &Slot) -> bool {
    let (class, asked) = (request.mad[1], request.mad[3]);
    class == MGMT_CLASS_SA && (asked & 0x80 == 0 || asked == method::REPORT_RESP)
}

fn on_simulator() {
    let base = std::env::var(BASE).unwrap();
    let files = std::env::var(FILES).unwrap();
    let attach = |node: &str, as_manager: bool| {
        let mut options = Options::on(node);
        options.base.clone_from(&base);
        Attachment::new(&if as_manager {
            options.manager()
        } else {
            options
        })
        .unwrap()
    };
    let mut server = attach("H1", true);
    let sa = server.port().unwrap().lid;
    let port = server.serve().unwrap();
    let calls = &[
        libc::SYS_recvfrom,
        libc::SYS_sendto,
        libc::SYS_write,
        POLL,
        CLOCK,
    ];
    let mut bed = Bed::start(port, calls, |worker| worker);
    bed.publisher.publish(snapshot_of(Path::new(&files)));
    let mut client = attach("H2", false);
    let lid = Lid::raw(client.port().unwrap().lid);
    let mut client = client.client().unwrap();
    let mut reply = Reply::default();
    let to = Destination::sa(sa.unwrap());
    for _ in 0..100 {
        let mad = request::path_by_lids(lid, Lid::raw(sa)).mad;
        client
            .ask(&to, &mad, Patience::default(), &mut reply)
            .unwrap();
    }
    assert!(bed.stats.snapshot().answered >= 100);
}

fn snapshot_of(files: &Path) -> Snapshot {
    let inputs = Inputs {
        fabric: files.join("opensm-subnet.lst"),
        ..Inputs::default()
    };
    pipeline::compile(&inputs, Stamp::default())
        .unwrap()
        .snapshot
}

fn set_nonblocking(file: &File) {
    // SAFETY: sets a flag of a descriptor that is open while `file` lives.
    // WHY: std has it for its own sockets only.
    let result = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK) };
    assert_eq!(result, 0);
}

/// From here on any call of this thread but `calls` ends the process.
fn confine(calls: &[i64]) {
    let statement = |code: u32, k: u32| libc::sock_filter {
        code: u16::try_from(code).unwrap(),
        jt: 0,
        jf: 0,
        k,
    };
    let unless = |value: u32| libc::sock_filter {
        jf: 1,
        ..statement(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, value)
    };
    let load = |offset: usize| {
        let code = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
        statement(code, u32::try_from(offset).unwrap())
    };
    let verdict = |value: u32| statement(libc::BPF_RET | libc::BPF_K, value);
    let mut filter = vec![load(std::mem::offset_of!(libc::seccomp_data, nr))];
    for call in calls {
        filter.push(unless(u32::try_from(*call).unwrap()));
        filter.push(verdict(libc::SECCOMP_RET_ALLOW));
    }
    filter.push(verdict(libc::SECCOMP_RET_KILL_PROCESS));
    let program = libc::sock_fprog {
        len: u16::try_from(filter.len()).unwrap(),
        filter: filter.as_mut_ptr(),
    };
    // SAFETY: `program` points at `filter`, which is as long as it says and lives through the call.
    // WHY: std knows nothing of filters.
    let result = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        let mode = libc::SECCOMP_SET_MODE_FILTER;
        libc::syscall(libc::SYS_seccomp, mode, 0, &raw const program)
    };
    assert_eq!(result, 0, "{}", std::io::Error::last_os_error());
}
