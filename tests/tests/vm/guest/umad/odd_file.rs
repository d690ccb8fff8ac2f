//! A umad file without a library that would know better: any bytes may be written.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;

use anyhow::{Context, Result, ensure};
use sa_port::Destination;
use sa_port::umad::UmadClient;
use sa_wire::umad::{QP1_QKEY, Slot, UmadHeader};
use zerocopy::IntoBytes;

/// A file with one agent that only asks.
pub(super) struct OddFile {
    file: File,
    agent: u32,
}

impl OddFile {
    pub(super) fn open(device: &str) -> Result<Self> {
        let node = UmadClient::open(Some(device), Some(1))?.name().path();
        let mut options = OpenOptions::new();
        options.read(true).write(true);
        let file = options.custom_flags(libc::O_NONBLOCK).open(&node);
        let file = file.context(node)?;
        // struct ib_user_mad_reg_req: class, its version and RMPP's.
        let mut registration = [0u32; 7];
        registration[5] = u32::from_ne_bytes([1, 3, 2, 0]);
        registration[6] = u32::from_ne_bytes([0, 0, 1, 0]);
        // SAFETY: the descriptor is open; the first request takes nothing, the second 28 bytes.
        let outcome = unsafe {
            libc::ioctl(file.as_raw_fd(), ENABLE_PKEY);
            libc::ioctl(file.as_raw_fd(), REGISTER, registration.as_mut_ptr())
        };
        ensure!(outcome == 0, "{}", io::Error::last_os_error());
        let [agent, ..] = registration;
        Ok(Self { file, agent })
    }

    /// The header of a request that nobody waits for.
    pub(super) fn header(&self, to: Destination) -> UmadHeader {
        let mut header = Slot::EMPTY.header;
        header.agent = self.agent;
        header.lid = to.lid.get().into();
        header.qpn = to.qpn.into();
        header.qkey = QP1_QKEY.into();
        header.timeout_ms = 100;
        header
    }

    /// False when the kernel refused.
    pub(super) fn write(&self, bytes: &[u8]) -> bool {
        (&self.file).write(bytes).is_ok()
    }

    /// A MAD of any length behind a header.
    pub(super) fn send(&self, header: &UmadHeader, mad: &[u8]) -> bool {
        self.write(&[header.as_bytes(), mad].concat())
    }
}

const ENABLE_PKEY: libc::Ioctl = 0x0000_1B03;
const REGISTER: libc::Ioctl = 0xC01C_1B01;
