//! Which umad file belongs to which device port, and what sysfs says about the port.
//!
//! Files read, all small and of text:
//!
//! ```text
//!  /sys/class/infiniband_mad/abi_version     is there umad at all
//!  /sys/class/infiniband_mad/umad0/ibdev     mlx5_0
//!  /sys/class/infiniband_mad/umad0/port      1
//!  /sys/class/infiniband/mlx5_0/ports/1/...  link_layer, lid, sm_lid, sm_sl, state ("4: ACTIVE")
//! ```
//!
//! Who names no device gets the port that is of most use, by its state at that moment: Active before a port with a link that no
//! SM has set up (Init, Armed), that before one without. Of equals the one with the lowest umad number. Ports that speak
//! Ethernet are none of InfiniBand's and are only taken by name.
//!
//! They are read through libc's `open` and `read`, because the simulator's preload library makes
//! such files up.

use std::ffi::CString;

use sa_wire::Lid;

use super::error::UmadError;
use super::sys::{Access, RawFile, Read};

/// A umad port of this host.
///
/// A name only: the device may go away at any time, and then its files cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PortName {
    /// The device, such as `mlx5_0`.
    pub device: String,
    /// The port number, from 1.
    pub port: u8,
    /// The N of `/dev/infiniband/umadN`.
    pub node: u32,
}

/// What sysfs says about a port at this moment.
///
/// Read anew each time it is asked for: an SM may change all of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PortState {
    /// The port's base LID; none before an SM set it.
    pub lid: Option<Lid>,
    /// Where the SA is; none before there was one.
    pub sm_lid: Option<Lid>,
    /// The SL that reaches it.
    pub sm_sl: u8,
    /// The port's logical state; 4 is active.
    pub state: u8,
}

/// Where a port is, and where its SM.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PortLids {
    /// The port's base LID; none before an SM set it.
    pub own: Option<Lid>,
    /// That of its SM; none before there was one. Equal to `own`: the SM runs on this port.
    pub sm: Option<Lid>,
}

impl PortState {
    /// The logical state that carries data traffic.
    pub const ACTIVE: u8 = 4;
    /// The logical state of a port with a link that no SM has set up; from here on SMPs pass.
    pub const INIT: u8 = 2;
}

impl PortName {
    /// The port of `/dev/infiniband/umadN`, if there is one now. Two small files are read.
    pub fn of_node(node: u32) -> Option<Self> {
        read_node(node)
    }

    /// The device file, `/dev/infiniband/umadN`.
    pub fn path(&self) -> String {
        format!("/dev/infiniband/umad{}", self.node)
    }

    /// The file that sets IsSM on the port while it is open, `/dev/infiniband/issmN`.
    pub fn issm_path(&self) -> String {
        format!("/dev/infiniband/issm{}", self.node)
    }

    /// Reads the port's attributes; none and zero where there are none.
    pub fn state(&self) -> PortState {
        let number = |name: &str| self.attribute(name).and_then(|text| leading_number(&text));
        let narrow = |name: &str| number(name).and_then(|value| u8::try_from(value).ok());
        let lid = |name: &str| number(name).and_then(|value| Lid::new(value).ok());
        PortState {
            lid: lid("lid"),
            sm_lid: lid("sm_lid"),
            sm_sl: narrow("sm_sl").unwrap_or(0),
            state: narrow("state").unwrap_or(0),
        }
    }

    /// The port's base LID and that of its SM, by two small files. None where there is no such port
    /// any more.
    pub fn lids(&self) -> Option<PortLids> {
        let lid = |text: &str| Lid::new(leading_number(text)?).ok();
        Some(PortLids {
            own: lid(&self.attribute("lid")?),
            sm: lid(&self.attribute("sm_lid")?),
        })
    }

    /// False for ports that speak Ethernet (RoCE): no LIDs, no SA.
    fn is_infiniband(&self) -> bool {
        self.attribute("link_layer")
            .is_none_or(|text| text.trim() != "Ethernet")
    }

    /// The text of a sysfs attribute of the port; none where there is none.
    fn attribute(&self, name: &str) -> Option<String> {
        let Self { device, port, .. } = self;
        read_text(&format!(
            "/sys/class/infiniband/{device}/ports/{port}/{name}"
        ))
        .ok()
    }
}

impl core::fmt::Display for PortName {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{}/{}", self.device, self.port)
    }
}

/// The port that fits. Without a device: the first active InfiniBand port, else the first one with a link
/// (before an SM has been there none is active), else the first one.
/// Errors: [`UmadError::NoUmad`], [`UmadError::NoSuchPort`].
pub fn find(device: Option<&str>, port: Option<u8>) -> Result<PortName, UmadError> {
    let all = list()?;
    let fits = |name: &&PortName| {
        device.map_or_else(|| name.is_infiniband(), |wanted| name.device == wanted)
            && port.is_none_or(|wanted| name.port == wanted)
    };
    // `max_by_key` gives the last of equals.
    let found = all.iter().rev().filter(fits).max_by_key(preference);
    found.cloned().ok_or_else(|| UmadError::NoSuchPort {
        device: device.map(str::to_owned),
        port,
        found: all.iter().map(PortName::to_string).collect(),
    })
}

/// More where a port is of more use: a host may have ports without a cable.
fn preference(name: &&PortName) -> u8 {
    match name.state().state {
        PortState::ACTIVE => 2,
        // Init and Armed; below is Down, above what only a link in trouble has.
        PortState::INIT..PortState::ACTIVE => 1,
        _ => 0,
    }
}

/// Opens the file that sets IsSM while it is open. Errors: [`UmadError::Open`].
pub(super) fn open_issm(port: &PortName) -> Result<RawFile, UmadError> {
    open_device(port.issm_path())
}

/// Opens a device file, never to block. Errors: [`UmadError::Open`].
pub(super) fn open_device(path: String) -> Result<RawFile, UmadError> {
    let name = CString::new(path.as_str()).map_err(|_| libc::EINVAL);
    let file = name.and_then(|name| RawFile::open(&name, Access::NonBlocking));
    file.map_err(|errno| UmadError::Open { path, errno })
}

/// Every umad port of this host, by node number. Errors: [`UmadError::NoUmad`].
///
/// Tries 1,024 names, which takes about a millisecond: for a start, not for a loop.
pub fn list() -> Result<Vec<PortName>, UmadError> {
    read_text(&format!("{CLASS}/abi_version")).map_err(|errno| UmadError::NoUmad { errno })?;
    Ok((0..MAX_NODES).filter_map(read_node).collect())
}

/// Nodes are probed by name: a directory listing would need calls that the simulator replaces
/// only in part. Gaps occur (unplugged devices), so all names are tried.
fn read_node(node: u32) -> Option<PortName> {
    let device = read_text(&format!("{CLASS}/umad{node}/ibdev")).ok()?;
    let port = read_text(&format!("{CLASS}/umad{node}/port")).ok()?;
    Some(PortName {
        device: device.trim().to_owned(),
        port: port.trim().parse().ok()?,
        node,
    })
}

/// A small file's text. Errors: the errno.
fn read_text(path: &str) -> Result<String, i32> {
    let path = CString::new(path).map_err(|_| libc::EINVAL)?;
    let file = RawFile::open(&path, Access::ReadOnly)?;
    let mut buffer = [0u8; 256];
    match file.read(&mut buffer) {
        Read::Bytes(bytes) => {
            let text = buffer.get(..bytes).unwrap_or_default();
            Ok(String::from_utf8_lossy(text).into_owned())
        }
        Read::Nothing | Read::TooSmall => Ok(String::new()),
        Read::Failed(errno) => Err(errno),
    }
}

/// The number that a file of sysfs begins with: `0x1a`, `12` or `4: ACTIVE`.
pub fn leading_number(text: &str) -> Option<u16> {
    let word = text.split(|c: char| c == ':' || c.is_whitespace()).next()?;
    word.strip_prefix("0x").map_or_else(
        || word.parse().ok(),
        |hex| u16::from_str_radix(hex, 16).ok(),
    )
}

/// Where sysfs has the umad files of this host.
const CLASS: &str = "/sys/class/infiniband_mad";
/// `RDMA_MAX_PORTS` of the kernel.
const MAX_NODES: u32 = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sysfs_numbers_are_read_in_all_their_forms() {
        assert_eq!(leading_number("0x1f\n"), Some(0x1f));
        assert_eq!(leading_number("12\n"), Some(12));
        assert_eq!(leading_number("4: ACTIVE\n"), Some(4));
        assert_eq!(leading_number("\n"), None);
    }
}
