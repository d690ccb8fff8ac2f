//! This host's ports, as the kernel tells them in `/sys/class/infiniband`:
//!
//! ```text
//!  mlx5_0/ports/1/link_layer   InfiniBand
//!  mlx5_0/ports/1/lid          0x1f
//!  mlx5_0/ports/1/sm_lid       0x2
//!  mlx5_0/ports/1/sm_sl        3
//!  mlx5_0/ports/1/state        4: ACTIVE
//!  mlx5_0/ports/1/gids/0       fe80:0000:0000:0000:0002:c903:0000:0001
//! ```
//!
//! Each number is a file, so one look at a host with eight ports is some fifty opened files. That
//! is why no question reads them: [`super::watch`] does, in a thread of its own.

use std::fs;
use std::path::{Path, PathBuf};

use sa_port::umad::{PortState, leading_number};
use sa_wire::netlink_ls::Resolve;
use sa_wire::{Gid, Lid};

use super::gid;

/// A port of this host at one moment. Two are equal when nothing that decides an answer has
/// changed, so a comparison is how changes are found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostPort {
    /// The device, such as `mlx5_0`.
    pub device: String,
    /// From 1.
    pub port: u8,
    /// Base LID; none before an SM gave it one. The requester that an answer is computed for.
    pub lid: Option<Lid>,
    /// LID of the SM that manages the port; none before there was one. That is also where the SA
    /// is.
    pub sm_lid: Option<Lid>,
    /// The SL that reaches it.
    pub sm_sl: u8,
    /// In the state ACTIVE. Any other state carries no data, whatever the LID says.
    pub is_active: bool,
    /// Its first GID, by which it is looked for in a snapshot. Further GIDs are alias GUIDs.
    pub gid: Gid,
}

impl HostPort {
    /// Whether a question is about this port. Both names are the kernel's own, so they are compared
    /// byte by byte.
    pub fn is_meant(&self, question: &Resolve<'_>) -> bool {
        self.port == question.port && self.device.as_bytes() == question.device
    }
}

impl core::fmt::Display for HostPort {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{} port {}", self.device, self.port)
    }
}

/// Where a host's ports can be looked up: sysfs, or a test's list.
pub trait Host: Send {
    /// Its InfiniBand ports now, in the same order every time: a list in another order would count
    /// as a change of all of them.
    fn ports(&self) -> Vec<HostPort>;
}

/// The kernel's own account. It is read file by file, so a port that changes meanwhile may be seen
/// half old; the next look sees the rest.
#[derive(Debug, Clone)]
pub struct Sysfs {
    class: PathBuf,
}

impl Sysfs {
    /// Where it lies: `/sys/class/infiniband`.
    pub fn at(class: impl Into<PathBuf>) -> Self {
        Self {
            class: class.into(),
        }
    }
}

impl Host for Sysfs {
    fn ports(&self) -> Vec<HostPort> {
        let devices = names(&self.class).into_iter();
        devices
            .flat_map(|device| {
                let directory = self.class.join(&device).join("ports");
                let numbers = names(&directory).into_iter();
                let read =
                    |number: String| port(&directory.join(&number), &device, number.parse().ok()?);
                numbers.filter_map(read).collect::<Vec<_>>()
            })
            .collect()
    }
}

/// None for a port that speaks Ethernet, and one that has just gone. What only an SM gives is none
/// when it cannot be read; without a file for the LID or a GID there is no port.
fn port(directory: &Path, device: &str, port: u8) -> Option<HostPort> {
    let text = |name: &str| fs::read_to_string(directory.join(name)).ok();
    let number = |name: &str| text(name).as_deref().and_then(leading_number);
    let lid = |number| Lid::new(number).ok();
    if text("link_layer")?.trim() != "InfiniBand" {
        return None;
    }
    Some(HostPort {
        device: device.to_owned(),
        port,
        lid: lid(number("lid")?),
        sm_lid: number("sm_lid").and_then(lid),
        sm_sl: u8::try_from(number("sm_sl").unwrap_or(0)).unwrap_or(0),
        is_active: number("state") == Some(PortState::ACTIVE.into()),
        gid: gid(text("gids/0")?.trim())?,
    })
}

/// Names in a folder, sorted: a folder lists them in any order, and the order of ports must not
/// change. Empty where there is no such folder, as on a host without the driver.
fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    names.sort();
    names
}

/// A port with its SM there; 0: with none.
#[cfg(test)]
pub(super) fn with_sm(sm_lid: u16) -> HostPort {
    HostPort {
        device: "mlx5_0".to_owned(),
        port: 1,
        lid: Lid::new(5).ok(),
        sm_lid: Lid::new(sm_lid).ok(),
        sm_sl: 0,
        is_active: true,
        gid: Gid([1; 16]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(root: &Path, files: &[(&str, &str)]) {
        for (name, text) in files {
            let path = root.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
    }

    #[test]
    fn infiniband_ports_are_found_and_others_left_out() {
        let root = tempfile::tempdir().unwrap();
        write(
            root.path(),
            &[
                ("mlx5_0/ports/1/link_layer", "InfiniBand\n"),
                ("mlx5_0/ports/1/lid", "0x1f\n"),
                ("mlx5_0/ports/1/sm_lid", "0x2\n"),
                ("mlx5_0/ports/1/sm_sl", "3\n"),
                ("mlx5_0/ports/1/state", "4: ACTIVE\n"),
                (
                    "mlx5_0/ports/1/gids/0",
                    "fe80:0000:0000:0000:0002:c903:0000:0001\n",
                ),
                ("mlx5_1/ports/1/link_layer", "Ethernet\n"),
                ("mlx5_1/ports/1/lid", "0x0\n"),
            ],
        );
        let ports = Sysfs::at(root.path()).ports();
        let gid = gid("fe80::2:c903:0:1").unwrap();
        assert_eq!(
            ports,
            [HostPort {
                device: "mlx5_0".to_owned(),
                port: 1,
                lid: Lid::new(31).ok(),
                sm_lid: Lid::new(2).ok(),
                sm_sl: 3,
                is_active: true,
                gid,
            }]
        );
        assert_eq!(Sysfs::at(root.path().join("none")).ports(), []);
    }
}
