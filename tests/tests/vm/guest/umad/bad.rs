//! What no client should send.

use std::time::Duration;

use anyhow::Result;
use sa_port::Destination;
use sa_port::umad::{Options, READ_METHODS, RawPort};
use sa_wire::mad::MGMT_CLASS_SA;
use sa_wire::sa::DATA_OFFSET;
use sa_wire::umad::{MAD_SIZE, Slot};

use super::asker::path;
use super::odd_file::OddFile;
use sa_tests::rng::Rng;

/// Writes of every length that a umad file may see, and of some that it must not. Gives how many
/// the kernel sent on, and how many it refused.
pub(super) fn lengths(device: &str, to: Destination) -> Result<(usize, usize)> {
    let file = OddFile::open(device)?;
    let (mut sent, mut refused) = (0, 0);
    let mut note = |taken| *(if taken { &mut sent } else { &mut refused }) += 1;
    for length in 0..LONGEST_ODD {
        let mut header = file.header(to);
        header.length = u32::try_from(length)?;
        let mut mad = path(1, 1, BASE + u32::try_from(length)?).to_vec();
        mad.resize(length, 0xa5);
        note(file.send(&header, &mad));
    }
    for length in [0, 1, 24, 56, 63, 64, 65, 99, 100] {
        note(file.write(&vec![0xff; length]));
    }
    Ok((sent, refused))
}

/// Requests of many segments, which the kernel puts together for the responder. They are sent as
/// long as their file is open.
pub(super) fn long_requests(device: &str, to: Destination) -> Result<(OddFile, usize)> {
    let file = OddFile::open(device)?;
    let mut sent = 0;
    for (number, length) in (0..).zip([257, 500, 5_000, 100_000, 257, 300_000]) {
        let mut mad = path(1, 1, BASE + 10_000 + number).to_vec();
        mad.resize(length, 0);
        // Version 1, DATA, active.
        mad[24..27].copy_from_slice(&[1, 1, 1]);
        let mut header = file.header(to);
        header.timeout_ms = 20_000;
        sent += usize::from(file.send(&header, &mad));
    }
    Ok((file, sent))
}

/// MADs of the right length and of any content: versions, methods, attributes, RMPP of all kinds.
pub(super) fn contents(device: &str, to: Destination, count: u32) -> Result<u32> {
    let mut port = RawPort::open(&Options {
        device: Some(device.to_owned()),
        port: Some(1),
        methods: Vec::new(),
    })?;
    let mut rng = Rng::new(7);
    let mut sent = 0;
    let mut slot = Slot::EMPTY;
    for number in 0..count {
        let mut out = Slot::EMPTY;
        out.header.lid = to.lid.get().into();
        out.header.qpn = to.qpn.into();
        out.mad = path(1, 1, BASE + 20_000 + number);
        for _ in 0..=rng.below(6) {
            // Mostly the headers.
            let most = if rng.one_in(4) { MAD_SIZE } else { DATA_OFFSET };
            out.mad[rng.below(most)] = rng.byte();
        }
        // Without these it would not get there.
        out.mad[1] = MGMT_CLASS_SA;
        out.mad[3] = rng.pick(&READ_METHODS);
        sent += u32::from(port.send(&out, Duration::ZERO)?);
        // Acknowledgements and ABORTs of RMPP, which nobody wants.
        while port.receive(&mut slot)? {}
    }
    Ok(sent)
}

/// Transactions that no other check uses.
const BASE: u32 = 0x0100_0000;
/// A MAD has 256. Units: bytes.
const LONGEST_ODD: usize = 400;
