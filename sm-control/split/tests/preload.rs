//! The built library before real system calls: in a program that does what OpenSM does, on a socket
//! for a umad file, whose ioctls a second library stands for.
#![allow(
    unsafe_code,
    clippy::unwrap_used,
    reason = "file descriptors by number; a test"
)]

use std::io::{BufRead, BufReader, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use split_protocol::{
    BEAT, BEAT_PATIENCE, Carrier, Frame, HEADER_BYTES, MAD_BYTES, Packet, Reads, SOCKET_VARIABLE,
    SUBSCRIBER_QP, VERSION,
};

#[test]
fn a_program_that_does_what_opensm_does() {
    let Some(mut rig) = Rig::start(&library(&[]), &[]) else {
        println!("no C compiler here: not tested");
        return;
    };
    assert_eq!(rig.line(), "register 0 0x200004");
    assert_eq!(rig.line(), "reader 0x40002");
    without_a_daemon(&mut rig);
    drop(rig.daemon());
    only_for_its_owner(&rig);
    let mut daemon = rig.daemon();
    split(&mut rig, &mut daemon);
    stands_still(&mut rig, &mut daemon);
    asks_opensm(&mut rig, &mut daemon);
    reports(&mut rig, &mut daemon);
    taken_back(&mut rig, daemon);
    ends(rig, 1);
}

/// Children that OpenSM forks close what they have of its file; OpenSM gives it another number and
/// closes the first, and closes every number that it does not know.
#[test]
fn what_opensm_and_its_children_close_is_told_apart() {
    let Some(mut rig) = Rig::start(&library(&[]), &[]) else {
        println!("no C compiler here: not tested");
        return;
    };
    assert_eq!(rig.line(), "register 0 0x200004");
    assert_eq!(rig.line(), "reader 0x40002");
    let mut daemon = rig.daemon();
    for (command, done) in [(b"f", "forked"), (b"d", "renumbered"), (b"c", "closed")] {
        rig.says(command);
        assert_eq!(rig.line(), done, "and nothing was unregistered before");
        answers(&mut rig);
        Frame::Lend.send(&mut daemon).unwrap();
        assert_eq!(
            Frame::receive(&mut daemon).unwrap(),
            Frame::Lent(0),
            "{done}"
        );
        Frame::TakeBack.send(&mut daemon).unwrap();
        let held = Frame::Reads(Reads::Held);
        assert_eq!(Frame::receive(&mut daemon).unwrap(), held, "{done}");
        let packet = packet(0x12, 5, 7);
        Frame::Request(5, packet).send(&mut daemon).unwrap();
        assert!(matches!(
            Frame::receive(&mut daemon),
            Ok(Frame::Reply(5, _))
        ));
    }
    ends(rig, 1);
}

/// The library as it is installed, but for faults on purpose.
#[test]
fn a_panic_in_a_hooked_call_does_not_end_opensm() {
    let library = library(&["--profile", "split", "--features", "fault"]);
    for call in ["read", "write", "poll"] {
        let Some(mut rig) = Rig::start(&library, &[("SAPPHIRE_SPLIT_FAULT", call)]) else {
            println!("no C compiler here: not tested");
            return;
        };
        assert_eq!(rig.line(), "register 0 0x200004");
        assert_eq!(rig.line(), "reader 0x40002");
        for _ in 0..4 {
            rig.network_sends(0, 0x02, 9, 0);
            assert_eq!(rig.network_gets()[64 + 3], 0x82, "{call}");
        }
        answers(&mut rig);
        ends(rig, 4);
    }
    // A registration that fails in the library is OpenSM's own, with all methods.
    let mut rig = Rig::start(&library, &[("SAPPHIRE_SPLIT_FAULT", "ioctl")]).unwrap();
    assert_eq!(rig.line(), "register 0 0x240006");
    rig.network_sends(0, 0x01, 9, 0);
    assert_eq!(rig.network_gets()[64 + 3], 0x81);
    drop(rig.program.stdin.take());
    assert_eq!(rig.line(), "unregister 0");
    assert_eq!(rig.line(), "end");
    assert!(rig.program.wait().unwrap().success());
}

/// One that ends its process where it fails leaves OpenSM alone.
#[test]
fn a_library_that_would_abort_does_nothing() {
    let library = library(&["--release", "--config", "profile.release.panic='abort'"]);
    let Some(mut rig) = Rig::start(&library, &[]) else {
        println!("no C compiler here: not tested");
        return;
    };
    assert_eq!(rig.line(), "register 0 0x240006");
    rig.network_sends(0, 0x01, 9, 0);
    assert_eq!(rig.network_gets()[64 + 3], 0x81);
    assert!(rig.said().contains("build it with --profile split"));
}

/// OpenSM answers what comes for either agent.
fn answers(rig: &mut Rig) {
    rig.reader_is_sent(0x01, 9, 10);
    let answer = rig.reader_gives();
    assert_eq!((answer[0], answer[64 + 3], answer.len()), (0, 0x81, 330));
    rig.network_sends(0, 0x02, 9, 0);
    assert_eq!(rig.network_gets()[64 + 3], 0x82);
}

/// The read agent's requests are answered, by the read agent.
fn without_a_daemon(rig: &mut Rig) {
    for more in [0, 1000, 100_000] {
        rig.reader_is_sent(0x12, 9, more);
        let answer = rig.reader_gives();
        assert_eq!((answer[0], answer[64 + 3]), (0, 0x92));
        assert_eq!(answer.len(), 320 + more);
    }
    rig.network_sends(0, 0x02, 9, 0);
    assert_eq!(rig.network_gets()[64 + 3], 0x82);
}

fn only_for_its_owner(rig: &Rig) {
    let mode = |name: &str| {
        let about = std::fs::metadata(rig.directory.join(name)).unwrap();
        about.permissions().mode() & 0o777
    };
    assert_eq!((mode("made/by"), mode("made/by/it.sock")), (0o755, 0o600));
}

/// What comes for the read agent is the daemon's now, on the same file.
fn split(rig: &mut Rig, daemon: &mut Carrier) {
    Frame::Lend.send(daemon).unwrap();
    assert_eq!(Frame::receive(daemon).unwrap(), Frame::Lent(0));
    let file = daemon.take_file().unwrap();
    rig.network_sends(0, 0x15, 9, 0);
    assert_eq!(rig.network_gets()[0], 0, "OpenSM's own goes on");
    rig.reader_is_sent(0x01, 9, 0);
    assert_eq!(receive(&file)[64 + 3], 0x01);
    // Alive, it keeps them.
    let end = Instant::now() + 2 * BEAT_PATIENCE;
    for number in 0.. {
        Frame::Beat(number).send(daemon).unwrap();
        assert_eq!(Frame::receive(daemon).unwrap(), Frame::Beat(number));
        if Instant::now() > end {
            break;
        }
        std::thread::sleep(BEAT / 4);
    }
    rig.reader_is_sent(0x01, 9, 0);
    assert_eq!(receive(&file)[64 + 3], 0x01);
}

/// The daemon says nothing any more: what waits on the file is OpenSM's, soon.
fn stands_still(rig: &mut Rig, daemon: &mut Carrier) {
    let since = Instant::now();
    rig.reader_is_sent(0x01, 9, 0);
    assert_eq!(rig.reader_gives()[64 + 3], 0x81);
    assert!(since.elapsed() >= BEAT_PATIENCE / 2, "sooner than it says");
    assert_eq!(Frame::receive(daemon).unwrap(), Frame::Reads(Reads::Held));
    Frame::Beat(1).send(daemon).unwrap();
    Frame::Lend.send(daemon).unwrap();
    assert_eq!(Frame::receive(daemon).unwrap(), Frame::Lent(0));
    assert!(daemon.take_file().is_some());
}

fn asks_opensm(rig: &mut Rig, daemon: &mut Carrier) {
    for number in 0..200u32 {
        let more = if number == 100 { 20_000_000 } else { number };
        let packet = packet(0x12, number.into(), more);
        Frame::Request(number.into(), packet).send(daemon).unwrap();
        if number % 10 == 0 {
            rig.network_sends(0, 0x02, 9, 0);
        }
    }
    for number in 0..200u64 {
        let Frame::Reply(got, mad) = heard(daemon) else {
            panic!("no reply");
        };
        assert_eq!(got, number);
        assert_eq!(mad[8..16], number.to_be_bytes());
        let more = if number == 100 { 20_000_000 } else { number };
        assert_eq!(mad.len() as u64, 256 + more);
    }
    for _ in 0..20 {
        assert_eq!(rig.network_gets()[64 + 3], 0x82);
    }
}

fn reports(rig: &mut Rig, daemon: &mut Carrier) {
    rig.says(b"r");
    let Frame::Report(mut report) = heard(daemon) else {
        panic!("no Report");
    };
    assert_eq!(report.header[20..24], SUBSCRIBER_QP.to_be_bytes());
    report.mad[3] = 0x86;
    Frame::Tell(report).send(daemon).unwrap();
    assert_eq!(rig.line(), "response 0x86");
    rig.says(b"r");
    assert!(matches!(heard(daemon), Frame::Report(_)));
    assert_eq!(rig.line(), "status 110");
}

/// As when a daemon is killed while it has them: nothing is registered anew.
fn taken_back(rig: &mut Rig, mut daemon: Carrier) {
    Frame::Lend.send(&mut daemon).unwrap();
    while heard(&mut daemon) != Frame::Lent(0) {}
    rig.reader_is_sent(0x01, 9, 0);
    drop(daemon);
    assert_eq!(rig.reader_gives()[64 + 3], 0x81, "what waited is answered");
    answers(rig);
}

/// But for who has the reads: that is another test's.
fn heard(daemon: &mut Carrier) -> Frame {
    loop {
        match Frame::receive(daemon).unwrap() {
            Frame::Reads(_) => {}
            other => return other,
        }
    }
}

/// The thread that reads is cancelled in the middle of poll.
fn ends(mut rig: Rig, lines: usize) {
    drop(rig.program.stdin.take());
    assert_eq!(rig.line(), "no reader");
    assert_eq!(rig.line(), "unregister 0");
    assert_eq!(rig.line(), "end");
    assert!(rig.program.wait().unwrap().success());
    let said = rig.said();
    let is_told = |line: &&str| !line.contains("stands still");
    assert_eq!(said.lines().filter(is_told).count(), lines, "{said}");
}

struct Rig {
    directory: PathBuf,
    program: Child,
    network: OwnedFd,
    /// What is sent to the read agent, and by it.
    reader: OwnedFd,
    lines: BufReader<UnixStream>,
}

impl Rig {
    /// None: no C compiler.
    fn start(library: &Path, environment: &[(&str, &str)]) -> Option<Self> {
        static STARTED: AtomicU32 = AtomicU32::new(0);
        let nth = STARTED.fetch_add(1, Ordering::Relaxed);
        let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
        let directory = directory.join(format!("preload-{}-{nth}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/preload");
        let kernel = directory.join("kernel.so");
        let program = directory.join("opensm");
        compile(&source.join("kernel.c"), &kernel, &["-shared", "-fPIC"])?;
        compile(&source.join("opensm.c"), &program, &["-pthread"])?;
        let (network, file) = pair(libc::SOCK_SEQPACKET);
        let (reader, again) = pair(libc::SOCK_SEQPACKET | libc::SOCK_NONBLOCK);
        blocks(&reader);
        let (lines, log) = pair(libc::SOCK_STREAM);
        let lines = UnixStream::from(lines);
        lines.set_read_timeout(Some(PATIENCE)).unwrap();
        let said = std::fs::File::create(directory.join("said")).unwrap();
        let preload = format!("{}:{}", library.display(), kernel.display());
        let numbers = [&file, &log, &again].map(AsRawFd::as_raw_fd);
        let mut command = Command::new(program);
        command
            .env("LD_PRELOAD", preload)
            .env("TAKEN", directory.join("taken"))
            .env(SOCKET_VARIABLE, directory.join("made/by/it.sock"))
            .envs(environment.iter().copied())
            .stdin(Stdio::piped())
            .stderr(said);
        // SAFETY: only dup2, which may be called between fork and exec.
        // WHY: the program finds its file by number.
        let program = unsafe {
            command.pre_exec(move || {
                // Out of the way first: the numbers may be each other's.
                for (number, fd) in (100..).zip(numbers) {
                    place(fd, number)?;
                }
                (3..=5).try_for_each(|number| place(number + 97, number))
            })
        };
        Some(Self {
            program: program.spawn().unwrap(),
            directory,
            network,
            reader,
            lines: BufReader::new(lines),
        })
    }

    fn said(&self) -> String {
        std::fs::read_to_string(self.directory.join("said")).unwrap()
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    fn says(&mut self, what: &[u8]) {
        self.program
            .stdin
            .as_mut()
            .unwrap()
            .write_all(what)
            .unwrap();
    }

    fn network_sends(&mut self, agent: u8, method: u8, tid: u64, more: usize) {
        send(&self.network, agent, method, (tid, more));
    }

    fn network_gets(&mut self) -> Vec<u8> {
        receive(&self.network)
    }

    fn reader_is_sent(&mut self, method: u8, tid: u64, more: usize) {
        send(&self.reader, 0, method, (tid, more));
    }

    fn reader_gives(&mut self) -> Vec<u8> {
        receive(&self.reader)
    }

    /// Connects when the socket is there.
    fn daemon(&self) -> Carrier {
        let path = self.directory.join("made/by/it.sock");
        let deadline = Instant::now() + PATIENCE;
        loop {
            assert!(Instant::now() < deadline, "no socket, or no welcome");
            let Ok(stream) = UnixStream::connect(&path) else {
                std::thread::yield_now();
                continue;
            };
            stream.set_read_timeout(Some(PATIENCE)).unwrap();
            let mut stream = Carrier::new(stream);
            Frame::Hello(VERSION).send(&mut stream).unwrap();
            match Frame::receive(&mut stream).unwrap() {
                Frame::Welcome(welcome) => {
                    assert_eq!(welcome.pid, self.program.id());
                    return stream;
                }
                // The last one's end is noticed in its own time.
                other => assert_eq!(other, Frame::Busy),
            }
        }
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        let _ = self.program.kill();
        let _ = self.program.wait();
        if std::thread::panicking() {
            println!(
                "{}",
                std::fs::read_to_string(self.directory.join("said")).unwrap()
            );
        }
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

fn send(to: &OwnedFd, agent: u8, method: u8, (tid, more): (u64, usize)) {
    let packet = packet(method, tid, u32::try_from(more).unwrap());
    let mut bytes = [packet.header.as_slice(), &packet.mad].concat();
    bytes[0] = agent;
    // SAFETY: of this vector.
    // WHY: std has no sockets of packets.
    let sent = unsafe { libc::send(to.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), 0) };
    assert_eq!(sent, 320);
}

/// Waits for a packet.
fn receive(from: &OwnedFd) -> Vec<u8> {
    let mut bytes = vec![0; 1 << 20];
    let deadline = Instant::now() + PATIENCE;
    loop {
        // SAFETY: into this vector.
        // WHY: as above.
        let got = unsafe {
            libc::recv(
                from.as_raw_fd(),
                bytes.as_mut_ptr().cast(),
                bytes.len(),
                libc::MSG_DONTWAIT,
            )
        };
        if let Ok(got) = usize::try_from(got) {
            bytes.truncate(got);
            return bytes;
        }
        let error = std::io::Error::last_os_error();
        assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock);
        assert!(Instant::now() < deadline, "nothing comes");
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn blocks(fd: &OwnedFd) {
    // SAFETY: no pointers.
    // WHY: as above.
    assert_eq!(unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_SETFL, 0) }, 0);
}

fn packet(method: u8, tid: u64, more: u32) -> Packet {
    let mut mad = [0; MAD_BYTES];
    mad[..4].copy_from_slice(&[1, 3, 2, method]);
    mad[8..16].copy_from_slice(&tid.to_be_bytes());
    mad[20..24].copy_from_slice(&more.to_ne_bytes());
    Packet {
        header: [0; HEADER_BYTES],
        mad,
    }
}

/// The library, up to date: cargo builds none for a test. With `more`, in a place of its own.
fn library(more: &[&str]) -> PathBuf {
    // target/PROFILE/deps/this-test
    let test = std::env::current_exe().unwrap();
    let profile = test.ancestors().nth(2).unwrap();
    let mut cargo = Command::new(env!("CARGO"));
    let target = profile.parent().unwrap();
    let (target, profile) = match more {
        [] => (target.to_owned(), profile.to_owned()),
        [first, ..] => {
            let name = first.trim_start_matches("--");
            let name = if name == "profile" { "split" } else { name };
            let target = target.join("preload-tests");
            (target.clone(), target.join(name))
        }
    };
    cargo
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(["build", "--quiet", "--lib", "--target-dir"])
        .arg(target)
        .args(more);
    if more.is_empty() && profile.ends_with("release") {
        cargo.arg("--release");
    }
    assert!(
        cargo.status().unwrap().success(),
        "the library does not build"
    );
    profile.join("libsapphire_split.so")
}

fn compile(source: &Path, to: &Path, options: &[&str]) -> Option<()> {
    let mut command = Command::new("cc");
    command
        .args(["-O1", "-Wall", "-o"])
        .arg(to)
        .arg(source)
        .args(options);
    let status = command.status().ok()?;
    assert!(status.success(), "{}", source.display());
    Some(())
}

fn pair(kind: libc::c_int) -> (OwnedFd, OwnedFd) {
    let mut ends = [0; 2];
    // SAFETY: two numbers, as the call wants; they are owned by nobody else.
    // WHY: std makes no pairs of sockets that keep packets.
    unsafe {
        let kind = kind | libc::SOCK_CLOEXEC;
        assert_eq!(
            libc::socketpair(libc::AF_UNIX, kind, 0, ends.as_mut_ptr()),
            0
        );
        let size: libc::c_int = 1 << 20;
        for end in ends {
            let size = (&raw const size).cast();
            libc::setsockopt(end, libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, size, 4);
        }
        ends.map(|end| OwnedFd::from_raw_fd(end)).into()
    }
}

fn place(fd: RawFd, number: RawFd) -> std::io::Result<()> {
    // SAFETY: no pointers.
    // WHY: as above.
    match unsafe { libc::dup2(fd, number) } {
        0.. => Ok(()),
        _ => Err(std::io::Error::last_os_error()),
    }
}

const PATIENCE: Duration = Duration::from_secs(60);
