//! A service with its lease, in memory and in the journal.
//!
//! The end of a lease is kept by two clocks. The steady one decides while the daemon runs; the
//! other is written, because the steady one begins anew with each boot. At a restart what is left
//! by the second clock goes on by the first, and is never more than the whole lease: a clock that
//! was set back gives no service a longer life than it asked for.

use std::time::Duration;

use sa_wire::records::{INFINITE_LEASE, ServiceRecord};
use zerocopy::{FromBytes, IntoBytes};

use super::Now;

/// ServiceID, ServiceGID and ServiceP_Key, which tell services apart.
pub(super) type Rid = [u8; 26];

/// The first 26 bytes of the record, where these three components lie.
pub(super) fn rid(record: &ServiceRecord) -> Rid {
    let bytes = record.as_bytes().first_chunk();
    bytes.copied().unwrap_or([0; 26])
}

/// A service that is announced.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) record: ServiceRecord,
    /// By the steady clock. None: infinite.
    pub(super) end: Option<Duration>,
    /// By the other. Units: seconds since 1970.
    end_unix: u64,
}

impl Entry {
    /// With a lease that begins now.
    pub(super) fn new(record: ServiceRecord, now: Now) -> Self {
        // A lease of no time lasts until the next look, which OpenSM takes after a second.
        let lease = u64::from(record.lease.get()).max(1);
        let ends = record.lease.get() != INFINITE_LEASE;
        Self {
            record,
            end: ends.then(|| now.steady + Duration::from_secs(lease)),
            end_unix: now.unix.saturating_add(lease),
        }
    }

    /// What is left of the lease, begun seconds among it. Units: seconds.
    pub(super) fn lease_left(&self, now: Now) -> u32 {
        let left = self.end.map(|end| end.saturating_sub(now.steady));
        left.map_or(INFINITE_LEASE, |left| {
            let begun = u64::from(left.subsec_nanos() > 0);
            u32::try_from(left.as_secs() + begun).unwrap_or(INFINITE_LEASE)
        })
    }

    /// True for the same service with the same end, as two looks at one lease a moment apart have it.
    pub(super) fn is_still(&self, before: &Self) -> bool {
        let lease = before.record.lease;
        let record = ServiceRecord {
            lease,
            ..self.record
        };
        let apart = self.end_unix.abs_diff(before.end_unix);
        record == before.record
            && self.end.is_some() == before.end.is_some()
            && (self.end.is_none() || apart <= SAME_END)
    }

    /// Shape: the number and the end, 8 bytes each, big-endian, then the record.
    pub(super) fn written(&self, number: u64) -> Vec<u8> {
        let numbers = [number, self.end_unix].map(u64::to_be_bytes);
        [numbers.as_flattened(), self.record.as_bytes()].concat()
    }

    /// With its number. What is left of the lease goes on, and is never more than the whole.
    pub(super) fn read(value: &[u8], now: Now) -> Option<(u64, Self)> {
        let (number, rest) = value.split_first_chunk()?;
        let (end_unix, rest) = rest.split_first_chunk()?;
        let record = ServiceRecord::read_from_bytes(rest).ok()?;
        let end_unix = u64::from_be_bytes(*end_unix);
        let whole = Self::new(record, now);
        let left = Duration::from_secs(end_unix.saturating_sub(now.unix));
        let entry = Self {
            // `min`: a clock that was set back must not lengthen a lease.
            end: whole.end.map(|end| end.min(now.steady + left)),
            end_unix,
            record,
        };
        Some((u64::from_be_bytes(*number), entry))
    }
}

/// Seconds are cut off twice between an end and what is told of it, and a copy takes a while.
const SAME_END: u64 = 3;
