//! What `--check` tries beyond reading files: whatever would end a start, without leaving anything
//! behind and without getting in the way of a daemon that runs with the same configuration.
//!
//! Each try is the smallest thing that fails where the start would: a file made and removed for a
//! directory, a connection for a socket, a bind for an address, an open for a device. Where
//! something is in use, who has it decides: a `sapphired` is a remark, since `--check` before its
//! reload is the usual case, and anything else is an error.
//!
//! | what | tried by | ours in use | another's in use |
//! |---|---|---|---|
//! | `[state]` | a lock for a moment, a file | remark | the same |
//! | `[control]`, rings | connect, who listens | remark | error |
//! | `[http]` | bind, then asked for a page | remark | error |
//! | `[fleet]` | root file and key are read, `listen` as for `[http]` | remark | error |
//! | ibsim | connect to its control socket | | no simulator: error |
//! | umad | open the device; where it announces an SM, ask whether `issm` may be opened | | error; beside OpenSM a remark |

use core::fmt;
use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with, sockopt,
};
use sa_fabric::outlet::WriteError;
use thiserror::Error;

use super::fleet::{self, FleetError};
use super::ports::device::{DeviceProblem, try_device};
use super::state_directory;
use crate::config::{Config, PortSection, Role};

/// What would end a start.
#[derive(Debug, Error)]
#[error("{place}{problem}")]
pub struct StartProblem {
    /// What of the configuration cannot be.
    pub place: Place,
    /// Why not.
    pub problem: Obstacle,
}

/// A part of the configuration that a start needs something of the machine for.
#[derive(Debug)]
#[non_exhaustive]
pub enum Place {
    /// `[state]` names no directory that can be opened; what is wrong names it.
    State,
    /// `[state] directory`.
    StateDirectory,
    /// `[control] path`.
    Control(PathBuf),
    /// `[http] listen`.
    Http(SocketAddr),
    /// `[fleet]`; what is wrong says where in it.
    Fleet,
    /// `[fleet] listen`.
    FleetListen(SocketAddr),
    /// A `[[port]]`, from 0, and its socket if it has one.
    Port(usize, Option<PathBuf>),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::State => f.write_str("[state] "),
            Self::StateDirectory => f.write_str("[state] directory: "),
            Self::Control(path) => write!(f, "[control] {}: ", path.display()),
            Self::Fleet => Ok(()),
            Self::FleetListen(listen) => write!(f, "[fleet] listen = \"{listen}\": "),
            Self::Http(listen) => write!(f, "[http] listen = \"{listen}\": "),
            Self::Port(number, None) => write!(f, "port {number}: "),
            Self::Port(number, Some(path)) => write!(f, "port {number}: {}: ", path.display()),
        }
    }
}

/// What is in the way. The words say what to do about it where that is not obvious.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Obstacle {
    /// A directory cannot be opened.
    #[error("{0}; make it")]
    Folder(WriteError),
    /// A directory is not there.
    #[error("{}: {source}; make this directory", path.display())]
    NoDirectory {
        /// Which.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// Nothing can be made in a directory.
    #[error("{}: {source}; it must be this user's to write to", path.display())]
    ReadOnly {
        /// Which.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// What should be a directory is none.
    #[error("{} is no directory", path.display())]
    NotADirectory {
        /// Which.
        path: PathBuf,
    },
    /// Something else has the name of a socket.
    #[error("there is something that is no socket; choose another path")]
    NoSocket,
    /// Another program serves a socket.
    #[error("process {process}, which is no sapphired, listens there")]
    Served {
        /// Which.
        process: u32,
    },
    /// An address cannot be listened on.
    #[error("{0}; choose an address and port of this host that are free")]
    Address(io::Error),
    /// No simulator runs.
    #[error("no simulator has the sockets {base:?}; start ibsim first")]
    NoSimulator {
        /// First part of their names.
        base: String,
    },
    /// A host cannot take part in its fleet.
    #[error(transparent)]
    Fleet(Box<FleetError>),
    /// A device's files.
    #[error(transparent)]
    Device(#[from] DeviceProblem),
    /// The system says something else.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl Place {
    /// The error at this place.
    fn problem(self, problem: Obstacle) -> StartProblem {
        let place = self;
        StartProblem { place, problem }
    }
}

/// Tries it all, in the order in which a start needs it. Gives what an operator should know, one
/// sentence each. Errors: the first that would end a start.
pub(super) fn all(config: &Config) -> Result<Vec<String>, StartProblem> {
    let mut remarks = Vec::new();
    if let Some(directory) = &config.state.directory {
        let checked = state_directory::check(directory);
        remarks.extend(checked.map_err(|error| Place::State.problem(Obstacle::Folder(error)))?);
        can_write(directory).map_err(|problem| Place::StateDirectory.problem(problem))?;
    }
    if let Some(control) = &config.control {
        let tried = socket(&control.path, SocketType::STREAM);
        let place = || Place::Control(control.path.clone());
        remarks.extend(tried.map_err(|problem| place().problem(problem))?);
    }
    if let Some(http) = &config.http {
        let tried = address(http.listen);
        remarks.extend(tried.map_err(|problem| Place::Http(http.listen).problem(problem))?);
    }
    if let Some(section) = &config.fleet {
        let checked = fleet::check(section);
        let failed = |problem| Place::Fleet.problem(Obstacle::Fleet(Box::new(problem)));
        remarks.extend(checked.map_err(failed)?);
        if let Some(listen) = section.listen {
            let tried = address(listen);
            remarks.extend(tried.map_err(|problem| Place::FleetListen(listen).problem(problem))?);
        }
    }
    if let Some(opensm) = &config.opensm
        && !opensm.socket.exists()
    {
        let socket = opensm.socket.display();
        remarks.push(format!(
            "[opensm] {socket}: not there yet; the daemon waits for OpenSM's library"
        ));
    }
    // A shadow opens its first port only, to ask.
    let served = config
        .ports
        .iter()
        .filter(|_| config.role() != Role::Shadow);
    for (number, section) in served.enumerate() {
        let socket = match section {
            PortSection::Ring(ring) => Some(ring.path.clone()),
            PortSection::Ibsim { .. } | PortSection::Umad { .. } => None,
        };
        let tried = port(config, section);
        let tried = tried.map_err(|problem| Place::Port(number, socket).problem(problem))?;
        remarks.extend(tried.map(|remark| format!("port {number}: {remark}")));
    }
    Ok(remarks)
}

/// Tries one `[[port]]`. A device that is not there is no error beside an OpenSM, where it is taken
/// up when it comes.
fn port(config: &Config, section: &PortSection) -> Result<Option<String>, Obstacle> {
    match section {
        PortSection::Ring(ring) => socket(&ring.path, SocketType::SEQPACKET),
        PortSection::Ibsim { sockname, .. } => simulator(sockname.as_deref()).map(|()| None),
        PortSection::Umad {
            device,
            port,
            announce_sm,
            ..
        } => match try_device(device.as_deref(), *port, announce_sm.unwrap_or(false)) {
            // It is taken up when it comes.
            Err(problem) if config.opensm.is_some() => {
                Ok(Some(format!("{problem}; the daemon waits for it")))
            }
            tried => Ok(tried.map(|()| None)?),
        },
    }
}

/// Makes a file and removes it, which shows what permissions and mounts allow better than looking
/// at them. Errors: why no file can be made there.
fn can_write(directory: &Path) -> Result<(), Obstacle> {
    let path = || directory.to_owned();
    let said = |source: io::Error| match source.kind() {
        ErrorKind::NotFound => Obstacle::NoDirectory {
            path: path(),
            source,
        },
        _ => Obstacle::ReadOnly {
            path: path(),
            source,
        },
    };
    let about = fs::metadata(directory).map_err(said)?;
    if !about.is_dir() {
        return Err(Obstacle::NotADirectory { path: path() });
    }
    // By the process number: two checks at a time must not fail on each other's file.
    let made = directory.join(format!(".check{}", std::process::id()));
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&made)
        .map_err(said)?;
    fs::remove_file(&made).map_err(said)
}

/// Whether a socket can be made; what to say if a daemon of ours has it. Errors: what is in the
/// way.
fn socket(path: &Path, kind: SocketType) -> Result<Option<String>, Obstacle> {
    let directory = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    can_write(directory.unwrap_or_else(|| Path::new(".")))?;
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.into()),
        Ok(about) if !about.file_type().is_socket() => return Err(Obstacle::NoSocket),
        Ok(_) => {}
    }
    match listener(path, kind) {
        // What is left of a daemon that is dead is replaced.
        Err(_) => Ok(None),
        Ok(process) if is_ours(process) => Ok(Some(in_use(&path.display().to_string()))),
        Ok(process) => Err(Obstacle::Served { process }),
    }
}

/// The process that listens there, by the kernel's word (SO_PEERCRED). Errors: nobody does.
fn listener(path: &Path, kind: SocketType) -> io::Result<u32> {
    // A listener whose row is full must not hold the check up.
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, kind, flags, None)?;
    connect(&socket, &SocketAddrUnix::new(path)?)?;
    let peer = sockopt::socket_peercred(&socket)?;
    Ok(peer.pid.as_raw_nonzero().get().unsigned_abs())
}

/// Whether a process is a `sapphired`, by its name. A process that just ended is none.
fn is_ours(process: u32) -> bool {
    fs::read_to_string(format!("/proc/{process}/comm")).is_ok_and(|name| name.trim() == "sapphired")
}

fn in_use(what: &str) -> String {
    format!(
        "{what}: a sapphired that runs has it; right for its reload, but another start would be refused"
    )
}

/// The same for an address of TCP. Bound and let go at once.
fn address(listen: SocketAddr) -> Result<Option<String>, Obstacle> {
    match TcpListener::bind(listen) {
        Ok(_) => Ok(None),
        Err(error) if error.kind() == ErrorKind::AddrInUse && is_our_page(listen) => {
            Ok(Some(in_use(&listen.to_string())))
        }
        Err(error) => Err(Obstacle::Address(error)),
    }
}

/// True when metrics of ours are there: the page names the program. Anything else on this address
/// is somebody's server.
fn is_our_page(listen: SocketAddr) -> bool {
    let ask = || {
        let mut stream = TcpStream::connect_timeout(&listen, PATIENCE)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: check\r\n\r\n")?;
        let mut page = Vec::new();
        stream.take(64 << 10).read_to_end(&mut page)?;
        io::Result::Ok(page)
    };
    ask().is_ok_and(|page| String::from_utf8_lossy(&page).contains("sapphire_build_info"))
}

/// How long a page may take to be recognised. A server of somebody else may accept and say nothing.
const PATIENCE: Duration = Duration::from_secs(2);

/// Whether a simulator runs: its control socket takes a connection. Errors: none does.
fn simulator(base: Option<&str>) -> Result<(), Obstacle> {
    let options = sa_port::ibsim::Options::on("");
    let base = base.unwrap_or(&options.base).to_owned();
    // The simulator counts a NUL in.
    let address = std::os::unix::net::SocketAddr::from_abstract_name(format!("{base}:ctl\0"));
    let connected = address.and_then(|address| UnixDatagram::unbound()?.connect_addr(&address));
    connected.map_err(|_| Obstacle::NoSimulator { base })
}
