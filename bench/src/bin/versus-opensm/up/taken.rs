//! One start of one Subnet Manager over a fresh simulator.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use super::subnet::Subnet;
use crate::bed::{LONG, simulator};
use crate::cpu::Cpu;
use crate::failure::{Failure, Outcome};
use crate::options::Options;
use crate::process::{Process, Programs};
use crate::side::Who;

/// What it took.
pub(super) struct Taken {
    /// That the Subnet Manager sent, as it says itself.
    pub(super) smps: u64,
    /// From the start of the process to `SUBNET UP`.
    pub(super) up: Duration,
    /// Of the Subnet Manager until then.
    pub(super) cpu: Cpu,
    /// Of the simulator in that time.
    pub(super) ibsim: Cpu,
}

/// Starts the simulator and the Subnet Manager, and ends both. Errors: something does not come up
/// in time.
///
/// A new simulator each time: devices of the run before would hold their tables.
pub(super) fn bring_up(
    who: Who,
    subnet: &Subnet,
    programs: &Programs,
    options: &Options,
    interrupted: &AtomicBool,
) -> Outcome<Taken> {
    let scratch = tempfile::Builder::new().prefix("versus-opensm-").tempdir();
    let scratch = scratch.map_err(Failure::of("a temporary directory"))?;
    let directory = scratch.path();
    subnet.write(directory)?;
    let base = format!("versus-{}-{}", std::process::id(), who.key());
    let net = directory.join("net");
    let ibsim = simulator(
        programs,
        &subnet.room(),
        &net,
        &base,
        directory,
        interrupted,
    )?;
    // Found before the SM starts, as the console is one of its options.
    let console = free_port()?;
    let mut command = match who {
        Who::OpenSm => opensm(programs, directory, console),
        Who::Sapphired => sapphired(options, directory)?,
    };
    command
        .current_dir(directory)
        .env("IBSIM_SOCKNAME", &base)
        .env("SIM_HOST", subnet.sm_node());
    // After its start the simulator has used time for itself: that is not the SM's.
    let before = cpu(&ibsim)?;
    let begun = Instant::now();
    let mut sm = Process::spawn(who.key(), &mut command, directory)?;
    let log = directory.join(match who {
        Who::OpenSm => OPENSM_LOG,
        Who::Sapphired => "sapphired.out",
    });
    sm.wait_for("SUBNET UP", LONGEST, interrupted, |_| is_up(&log))?;
    // Read at once: what is asked of the console afterwards takes CPU time too.
    let (up, own, ibsim) = (begun.elapsed(), cpu(&sm)?, cpu(&ibsim)? - before);
    let smps = match who {
        Who::OpenSm => told_by_console(console)?,
        Who::Sapphired => told_by_log(&log)?,
    };
    Ok(Taken {
        smps,
        up,
        cpu: own,
        ibsim,
    })
}

/// With its console on a port of the loopback interface, which says how many SMPs it has sent.
pub(crate) fn opensm(programs: &Programs, directory: &Path, console: u16) -> Command {
    let mut command = Command::new(&programs.opensm);
    command
        // -F: options, -e: the log is emptied, -f: where the log goes.
        .args(["-F", "opensm.conf", "-e", "-f", OPENSM_LOG])
        .args(["-q", "loopback", "-C", &console.to_string()])
        .env("LD_PRELOAD", &programs.preload)
        .env("OSM_CACHE_DIR", directory)
        .env("OSM_TMP_DIR", directory);
    command
}

/// RUST_LOG of the caller would change what is printed, and that is what is waited for.
pub(crate) fn sapphired(options: &Options, directory: &Path) -> Outcome<Command> {
    let mut command = Command::new(options.sapphired()?);
    command
        .arg("--config")
        .arg(directory.join("sapphired.toml"))
        .env_remove("RUST_LOG");
    Ok(command)
}

/// Both say it in the same two words.
fn is_up(log: &Path) -> bool {
    fs::read_to_string(log).is_ok_and(|text| text.contains("SUBNET UP"))
}

/// Errors: it has ended.
///
/// Since its start.
fn cpu(process: &Process) -> Outcome<Cpu> {
    let gone = || Failure::Failed("no CPU time in /proc of a process that runs".to_owned());
    Cpu::of(process.id()).ok_or_else(gone)
}

/// A port of the loopback interface that was free a moment ago.
///
/// Somebody may take it in between; then OpenSM has no console, and the run ends with that.
pub(crate) fn free_port() -> Outcome<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
    let address = listener.and_then(|listener| listener.local_addr());
    Ok(address
        .map_err(Failure::of("a port for OpenSM's console"))?
        .port())
}

/// What OpenSM's console says of queue pair 0. Errors: no console, or no such line.
fn told_by_console(port: u16) -> Outcome<u64> {
    let failed = || Failure::of("OpenSM's console");
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).map_err(failed())?;
    // A console that says nothing must not hold the run.
    stream.set_read_timeout(Some(LONG)).map_err(failed())?;
    stream.write_all(b"status\n").map_err(failed())?;
    for line in BufReader::new(stream).lines() {
        let line = line.map_err(failed())?;
        if let Some((_, number)) = line.split_once("QP0 MADs sent") {
            let number = number.trim_start_matches([' ', ':']).trim();
            return number.parse().map_err(Failure::of(line));
        }
    }
    Err(Failure::Failed(
        "OpenSM's console says no number of SMPs".to_owned(),
    ))
}

/// The word `smps=N` of the line that says so.
///
/// Errors: the log cannot be read, or has no such word.
fn told_by_log(log: &Path) -> Outcome<u64> {
    let text = fs::read_to_string(log).map_err(Failure::of(log.display()))?;
    let line = text.lines().find(|line| line.contains("SUBNET UP"));
    let words = line.into_iter().flat_map(str::split_whitespace);
    let mut numbers = words.filter_map(|word| word.strip_prefix("smps=")?.parse().ok());
    numbers
        .next()
        .ok_or_else(|| Failure::Failed("sapphired says no number of SMPs".to_owned()))
}

/// In the directory of the run.
pub(crate) const OPENSM_LOG: &str = "opensm.log";
/// For the largest subnets: a torus of 4,096 switches takes OpenSM minutes.
const LONGEST: Duration = Duration::from_secs(900);
