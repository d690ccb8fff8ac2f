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
    Frame, HEADER_BYTES, MAD_BYTES, Packet, Reads, SOCKET_VARIABLE, SUBSCRIBER_QP, VERSION,
};

#[test]
fn a_program_that_does_what_opensm_does() {
    let Some(mut rig) = Rig::start(&library(&[]), &[]) else {
        println!("no C compiler here: not tested");
        return;
    };
    assert_eq!(rig.line(), "register 0 0x200004");
    assert_eq!(rig.line(), "register 1 0x40002");
    without_a_daemon(&mut rig);
    drop(rig.daemon());
    only_for_its_owner(&rig);
    let mut daemon = rig.daemon();
    split(&mut rig, &mut daemon);
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
    assert_eq!(rig.line(), "register 1 0x40002");
    let mut daemon = rig.daemon();
    for (command, done) in [(b"f", "forked"), (b"c", "closed")] {
        rig.says(command);
        assert_eq!(rig.line(), done, "and nothing was unregistered before");
        answers(&mut rig);
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
        assert_eq!(rig.line(), "register 1 0x40002");
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
    let library = library(&["--release"]);
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
    rig.network_sends(1, 0x01, 9, 10);
    let answer = rig.network_gets();
    assert_eq!((answer[0], answer[64 + 3], answer.len()), (1, 0x81, 330));
    rig.network_sends(0, 0x02, 9, 0);
    assert_eq!(rig.network_gets()[64 + 3], 0x82);
}

/// The read agent's requests are answered, by the read agent.
fn without_a_daemon(rig: &mut Rig) {
    for more in [0, 1000, 100_000] {
        rig.network_sends(1, 0x12, 9, more);
        let answer = rig.network_gets();
        assert_eq!((answer[0], answer[64 + 3]), (1, 0x92));
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

fn split(rig: &mut Rig, daemon: &mut UnixStream) {
    Frame::GiveFree.send(daemon).unwrap();
    assert_eq!(Frame::receive(daemon).unwrap(), Frame::Reads(Reads::Free));
    assert_eq!(rig.line(), "unregister 1");
    rig.network_sends(0, 0x15, 9, 0);
    assert_eq!(rig.network_gets()[0], 0, "OpenSM's own goes on");
}

fn asks_opensm(rig: &mut Rig, daemon: &mut UnixStream) {
    for number in 0..200u32 {
        let more = if number == 100 { 20_000_000 } else { number };
        let packet = packet(0x12, number.into(), more);
        Frame::Request(number.into(), packet).send(daemon).unwrap();
        if number % 10 == 0 {
            rig.network_sends(0, 0x02, 9, 0);
        }
    }
    for number in 0..200u64 {
        let Frame::Reply(got, mad) = Frame::receive(daemon).unwrap() else {
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

fn reports(rig: &mut Rig, daemon: &mut UnixStream) {
    rig.says(b"r");
    let Frame::Report(mut report) = Frame::receive(daemon).unwrap() else {
        panic!("no Report");
    };
    assert_eq!(report.header[20..24], SUBSCRIBER_QP.to_be_bytes());
    report.mad[3] = 0x86;
    Frame::Tell(report).send(daemon).unwrap();
    assert_eq!(rig.line(), "response 0x86");
    rig.says(b"r");
    assert!(matches!(Frame::receive(daemon), Ok(Frame::Report(_))));
    assert_eq!(rig.line(), "status 110");
}

/// As when a daemon is killed: the kernel closes its socket first.
fn taken_back(rig: &mut Rig, daemon: UnixStream) {
    std::fs::write(rig.taken(), "").unwrap();
    drop(daemon);
    let mut next = rig.daemon();
    std::fs::remove_file(rig.taken()).unwrap();
    let since = Instant::now();
    assert_eq!(rig.line(), "register 1 0x40002");
    assert!(since.elapsed() < Duration::from_millis(1000));
    while Frame::receive(&mut next).unwrap() != Frame::Reads(Reads::Held) {}
    rig.network_sends(1, 0x01, 9, 0);
    assert_eq!(rig.network_gets()[0], 1);
}

/// The thread that reads is cancelled in the middle of poll.
fn ends(mut rig: Rig, lines: usize) {
    drop(rig.program.stdin.take());
    assert_eq!(rig.line(), "unregister 1");
    assert_eq!(rig.line(), "unregister 0");
    assert_eq!(rig.line(), "end");
    assert!(rig.program.wait().unwrap().success());
    let said = rig.said();
    assert_eq!(said.lines().count(), lines, "{said}");
}

struct Rig {
    directory: PathBuf,
    program: Child,
    network: OwnedFd,
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
        let (lines, log) = pair(libc::SOCK_STREAM);
        let lines = UnixStream::from(lines);
        lines.set_read_timeout(Some(PATIENCE)).unwrap();
        let said = std::fs::File::create(directory.join("said")).unwrap();
        let preload = format!("{}:{}", library.display(), kernel.display());
        let (file_number, log_number) = (file.as_raw_fd(), log.as_raw_fd());
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
                place(file_number, 100)?;
                place(log_number, 101)?;
                place(100, 3)?;
                place(101, 4)
            })
        };
        Some(Self {
            program: program.spawn().unwrap(),
            directory,
            network,
            lines: BufReader::new(lines),
        })
    }

    fn said(&self) -> String {
        std::fs::read_to_string(self.directory.join("said")).unwrap()
    }

    fn taken(&self) -> PathBuf {
        self.directory.join("taken")
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
        let packet = packet(method, tid, u32::try_from(more).unwrap());
        let mut bytes = [packet.header.as_slice(), &packet.mad].concat();
        bytes[0] = agent;
        let fd = self.network.as_raw_fd();
        // SAFETY: of this vector.
        // WHY: std has no sockets of packets.
        let sent = unsafe { libc::send(fd, bytes.as_ptr().cast(), bytes.len(), 0) };
        assert_eq!(sent, 320);
    }

    fn network_gets(&mut self) -> Vec<u8> {
        let mut bytes = vec![0; 1 << 20];
        let fd = self.network.as_raw_fd();
        let deadline = Instant::now() + PATIENCE;
        loop {
            let flags = libc::MSG_DONTWAIT;
            // SAFETY: into this vector.
            // WHY: as above.
            let got = unsafe { libc::recv(fd, bytes.as_mut_ptr().cast(), bytes.len(), flags) };
            if let Ok(got) = usize::try_from(got) {
                bytes.truncate(got);
                return bytes;
            }
            assert!(Instant::now() < deadline, "nothing comes");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Connects when the socket is there.
    fn daemon(&self) -> UnixStream {
        let path = self.directory.join("made/by/it.sock");
        let deadline = Instant::now() + PATIENCE;
        loop {
            assert!(Instant::now() < deadline, "no socket, or no welcome");
            let Ok(mut stream) = UnixStream::connect(&path) else {
                std::thread::yield_now();
                continue;
            };
            stream.set_read_timeout(Some(PATIENCE)).unwrap();
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

const PATIENCE: Duration = Duration::from_secs(10);
