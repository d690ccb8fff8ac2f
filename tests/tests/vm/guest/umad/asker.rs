//! A client that has many requests in flight.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use sa_port::umad::UmadClient;
use sa_port::{ClientPort, Destination, Patience, Reply, low_transaction};
use sa_wire::mad::method;
use sa_wire::path_record::{PathCompMask, PathRecord};
use sa_wire::request;
use sa_wire::sa::{AttributeId, SaMad};
use sa_wire::umad::MAD_SIZE;
use zerocopy::IntoBytes;

/// Get(PathRecord) from one LID to another.
pub(super) fn path(from: u16, to: u16, transaction: u32) -> [u8; MAD_SIZE] {
    let record = PathRecord {
        slid: from.into(),
        dlid: to.into(),
        ..PathRecord::default()
    };
    let mask = PathCompMask::SLID.0 | PathCompMask::DLID.0;
    let attribute = AttributeId::PATH_RECORD;
    let mut slot = request::request(0, method::GET, attribute, mask, record.as_bytes());
    let mad = SaMad::from_bytes_mut(&mut slot.mad);
    mad.mad.transaction_id = u64::from(transaction).into();
    slot.mad
}

/// What became of requests.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) answered: usize,
    /// Given up by the kernel.
    pub(super) lost: usize,
    /// Answered with an error, or twice.
    pub(super) wrong: usize,
    /// The most that were in flight.
    pub(super) in_flight: usize,
}

/// Asks `count` times, with `window` requests in flight, which `mad` makes of their numbers.
pub(super) fn flood(
    port: &mut UmadClient,
    to: Destination,
    count: u32,
    window: usize,
    mad: impl Fn(u32) -> [u8; MAD_SIZE],
) -> Result<Tally> {
    let deadline = Instant::now() + Duration::from_secs(100);
    let (mut tally, mut open, mut next) = (Tally::default(), BTreeSet::new(), 0);
    let mut reply = Reply::default();
    while next < count || !open.is_empty() {
        while next < count && open.len() < window {
            ensure!(
                port.submit(&to, &mad(next), ONCE)?,
                "the kernel takes no more than {} requests",
                open.len()
            );
            open.insert(next);
            next += 1;
        }
        tally.in_flight = tally.in_flight.max(open.len());
        while port.take(&mut reply)? {
            let number = low_transaction(&reply.mad).context("a short reply")?;
            match (open.remove(&number), reply.header.status) {
                (true, 0) if reply.mad.get(4..6) == Some(&[0, 0]) => tally.answered += 1,
                (true, 110) => tally.lost += 1,
                _ => tally.wrong += 1,
            }
        }
        if Instant::now() > deadline {
            bail!("{} requests are neither answered nor lost", open.len());
        }
        if !open.is_empty() {
            port.wait(Duration::from_millis(100))?;
        }
    }
    Ok(tally)
}

/// Never again: what is lost is to be seen.
pub(super) const ONCE: Patience = Patience {
    timeout: Duration::from_secs(30),
    retries: 0,
};
