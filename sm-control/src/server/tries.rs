//! What `--check` tries beyond reading files: whatever would end a start, without leaving anything behind and without
//! getting in the way of a daemon that runs with the same configuration.

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::time::Duration;

use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with, sockopt,
};
use sa_fastpath::port::umad;

use super::kept;
use crate::config::{Config, PortSection, Role};

/// Tries it all. Gives what an operator should know, one sentence each. Errors: in words, the first that would end a
/// start.
pub(super) fn all(config: &Config) -> Result<Vec<String>, String> {
    let mut remarks = Vec::new();
    if let Some(directory) = &config.state.directory {
        remarks.extend(kept::check(directory)?);
        can_write(directory).map_err(|problem| format!("[state] directory: {problem}"))?;
    }
    if let Some(control) = &config.control {
        let tried = socket(&control.path, SocketType::STREAM);
        remarks.extend(
            tried.map_err(|problem| format!("[control] {}: {problem}", control.path.display()))?,
        );
    }
    if let Some(http) = &config.http {
        let tried = address(http.listen);
        remarks.extend(
            tried.map_err(|problem| format!("[http] listen = \"{}\": {problem}", http.listen))?,
        );
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
        .filter(|_| config.sa.role != Role::Shadow);
    for (number, section) in served.enumerate() {
        let tried = port(config, section).map_err(|problem| format!("port {number}: {problem}"))?;
        remarks.extend(tried.map(|remark| format!("port {number}: {remark}")));
    }
    Ok(remarks)
}

fn port(config: &Config, section: &PortSection) -> Result<Option<String>, String> {
    match section {
        PortSection::Ring(ring) => {
            let path = ring.path.display();
            socket(&ring.path, SocketType::SEQPACKET)
                .map_err(|problem| format!("{path}: {problem}"))
        }
        PortSection::Ibsim { sockname, .. } => simulator(sockname.as_deref()).map(|()| None),
        PortSection::Umad { device, port, .. } => match hca(device.as_deref(), *port) {
            // It is taken up when it comes.
            Err(problem) if config.opensm.is_some() => {
                Ok(Some(format!("{problem}; the daemon waits for it")))
            }
            tried => tried.map(|()| None),
        },
    }
}

/// Errors: in words, why no file can be made there.
fn can_write(directory: &Path) -> Result<(), String> {
    let said = |error: io::Error| match error.kind() {
        ErrorKind::NotFound => format!("{}: {error}; make this directory", directory.display()),
        _ => format!(
            "{}: {error}; it must be this user's to write to",
            directory.display()
        ),
    };
    let about = fs::metadata(directory).map_err(said)?;
    if !about.is_dir() {
        return Err(format!("{} is no directory", directory.display()));
    }
    let path = directory.join(format!(".check{}", std::process::id()));
    let made = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&path);
    made.map_err(said)?;
    fs::remove_file(&path).map_err(said)
}

/// Whether a socket can be made; what to say if a daemon of ours has it. Errors: in words, what is in the way.
fn socket(path: &Path, kind: SocketType) -> Result<Option<String>, String> {
    let directory = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    can_write(directory.unwrap_or_else(|| Path::new(".")))?;
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.to_string()),
        Ok(about) if !about.file_type().is_socket() => {
            return Err("there is something that is no socket; choose another path".to_owned());
        }
        Ok(_) => {}
    }
    match listener(path, kind) {
        // What is left of a daemon that is dead is replaced.
        Err(_) => Ok(None),
        Ok(process) if is_ours(process) => Ok(Some(in_use(&path.display().to_string()))),
        Ok(process) => Err(format!(
            "process {process}, which is no sapphired, listens there"
        )),
    }
}

/// The process that listens there. Errors: nobody does.
fn listener(path: &Path, kind: SocketType) -> io::Result<u32> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, kind, flags, None)?;
    connect(&socket, &SocketAddrUnix::new(path)?)?;
    let peer = sockopt::socket_peercred(&socket)?;
    Ok(peer.pid.as_raw_nonzero().get().unsigned_abs())
}

fn is_ours(process: u32) -> bool {
    fs::read_to_string(format!("/proc/{process}/comm")).is_ok_and(|name| name.trim() == "sapphired")
}

fn in_use(what: &str) -> String {
    format!(
        "{what}: a sapphired that runs has it; right for its reload, but another start would be refused"
    )
}

/// The same for an address of TCP.
fn address(listen: SocketAddr) -> Result<Option<String>, String> {
    match TcpListener::bind(listen) {
        Ok(_) => Ok(None),
        Err(error) if error.kind() == ErrorKind::AddrInUse && is_our_page(listen) => {
            Ok(Some(in_use(&listen.to_string())))
        }
        Err(error) => Err(format!(
            "{error}; choose an address and port of this host that are free"
        )),
    }
}

/// True when metrics of ours are there.
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

const PATIENCE: Duration = Duration::from_secs(2);

/// Whether a simulator runs. Errors: in words, that none does.
fn simulator(base: Option<&str>) -> Result<(), String> {
    let options = sa_fastpath::port::ibsim::Options::on("");
    let base = base.unwrap_or(&options.base);
    // The simulator counts a NUL in.
    let address = std::os::unix::net::SocketAddr::from_abstract_name(format!("{base}:ctl\0"));
    let connected = address.and_then(|address| UnixDatagram::unbound()?.connect_addr(&address));
    connected.map_err(|_| format!("no simulator has the sockets {base:?}; start ibsim first"))
}

/// Whether the port is there and this user may open it. Nothing is registered. Errors: in words, why not.
fn hca(device: Option<&str>, port: u8) -> Result<(), String> {
    let all = umad::list().map_err(|error| error.to_string())?;
    let fits = |name: &&umad::PortName| {
        name.port == port && device.is_none_or(|device| device == name.device)
    };
    let Some(found) = all.iter().find(fits) else {
        let shown: Vec<String> = all.iter().map(ToString::to_string).collect();
        let device = device.unwrap_or("any device");
        let shown = if shown.is_empty() {
            "none".to_owned()
        } else {
            shown.join(", ")
        };
        return Err(format!(
            "no umad port {device}/{port}; this host shows {shown}"
        ));
    };
    let opened = OpenOptions::new().read(true).write(true).open(found.path());
    opened
        .map(drop)
        .map_err(|error| format!("{}: {error}", found.path()))
}
