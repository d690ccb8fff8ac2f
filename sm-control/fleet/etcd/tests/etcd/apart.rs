//! Networks of a test's own, with a bridge between them: none has a name, none is seen by others, all end with their processes.
//!
//! ```text
//!  the thread of the test: bridge 10.77.0.254 ─┬─ 10.77.0.1  member
//!                                              ├─ 10.77.0.2  member     each a namespace, which a process holds
//!                                              └─ 10.77.0.9  candidate
//! ```

use std::fs::{self, File};
use std::io;
use std::os::fd::AsFd;
use std::path::Path;
use std::process::Command;

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use sa_rig::{Process, wait_for};

use super::rig::PATIENCE;

/// A network namespace at the bridge.
pub(crate) struct Place {
    address: String,
    link: String,
    holder: Process,
}

/// Moves the calling thread, and what it starts from now on, into a network of its own, with the bridge. What it gives holds it.
/// Errors: this user may not, or this kernel has none.
pub(crate) fn enter(directory: &Path) -> io::Result<Process> {
    let holder = hold(directory)?;
    move_into(&holder)?;
    ip("link set lo up")?;
    ip("link add bridge type bridge")?;
    ip("addr add 10.77.0.254/24 dev bridge")?;
    ip("link set bridge up")?;
    Ok(holder)
}

impl Place {
    /// `number`: 1 to 253, the end of its address.
    pub(crate) fn new(number: u8, directory: &Path) -> io::Result<Self> {
        let holder = hold(directory)?;
        let place = Self {
            address: format!("10.77.0.{number}"),
            link: format!("to{number}"),
            holder,
        };
        let (link, process) = (&place.link, place.holder.id());
        ip(&format!(
            "link add {link} type veth peer name net netns {process}"
        ))?;
        ip(&format!("link set {link} master bridge up"))?;
        for line in ["link set lo up", "link set net up"] {
            run(place.command("ip").args(line.split(' ')))?;
        }
        let address = format!("addr add {}/24 dev net", place.address);
        run(place.command("ip").args(address.split(' ')))?;
        Ok(place)
    }

    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// A program in it.
    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = Command::new("nsenter");
        let net = format!("--net=/proc/{}/ns/net", self.holder.id());
        command.args([&net, program]);
        command
    }

    /// Moves the calling thread into it.
    pub(crate) fn enter(&self) -> io::Result<()> {
        move_into(&self.holder)
    }

    /// As a cable is pulled, or plugged in. Nobody is told: what was sent is lost.
    pub(crate) fn cut(&self, is_cut: bool) {
        let state = if is_cut { "down" } else { "up" };
        ip(&format!("link set {} {state}", self.link)).unwrap();
    }
}

/// A process in a network of its own.
fn hold(directory: &Path) -> io::Result<Process> {
    let mut command = Command::new("unshare");
    command.args(["--net", "sleep", "infinity"]);
    let mut holder = Process::spawn("unshare", &mut command, directory)?;
    let own = fs::read_link("/proc/thread-self/ns/net")?;
    let path = format!("/proc/{}/ns/net", holder.id());
    wait_for("a network of its own", PATIENCE, || {
        holder.check()?;
        Ok(fs::read_link(&path)? != own)
    })?;
    Ok(holder)
}

fn move_into(holder: &Process) -> io::Result<()> {
    let net = File::open(format!("/proc/{}/ns/net", holder.id()))?;
    move_into_link_name_space(net.as_fd(), Some(LinkNameSpaceType::Network))?;
    Ok(())
}

fn ip(line: &str) -> io::Result<()> {
    run(Command::new("ip").args(line.split(' ')))
}

fn run(command: &mut Command) -> io::Result<()> {
    let ended = command.output()?;
    match ended.status.success() {
        true => Ok(()),
        false => Err(io::Error::other(format!("{command:?}: {ended:?}"))),
    }
}
