//! The records of one answer.

use sa_wire::netlink_ls::{MAX_RECORDS, PathFlags, PathUse};
use sa_wire::path_record::PathRecord;
use thiserror::Error;

/// Up to three records, each with what it may be used for.
#[derive(Debug, Clone, Default)]
pub struct Records {
    held: [(PathFlags, PathRecord); MAX_RECORDS],
    count: usize,
}

/// A fourth record: the kernel takes three.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("a reply has room for three records")]
pub struct Full;

impl Records {
    /// None yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds one. Errors: [`Full`], and nothing changes.
    pub fn push(&mut self, flags: PathFlags, record: PathRecord) -> Result<(), Full> {
        let place = self.held.get_mut(self.count).ok_or(Full)?;
        *place = (flags, record);
        self.count += 1;
        Ok(())
    }

    /// In the order in which they came.
    pub fn as_slice(&self) -> &[(PathFlags, PathRecord)] {
        self.held.get(..self.count).unwrap_or(&[])
    }

    /// The records, when every kernel completes such a query with them: one is a main record, and
    /// rdma_cm can sort each.
    pub fn taken_by(&self, path_use: PathUse) -> Option<&[(PathFlags, PathRecord)]> {
        let main = PathFlags::for_main(path_use);
        let records = self.as_slice();
        let has_main = records.iter().any(|(flags, _)| flags.satisfies(main));
        let is_sorted = records.iter().all(|(flags, _)| has_direction(*flags));
        (has_main && is_sorted).then_some(records)
    }
}

/// Kernels from about 6.3 fail a route on a record without any of these.
const fn has_direction(flags: PathFlags) -> bool {
    flags.0 & (PathFlags::GMP.0 | PathFlags::INBOUND.0 | PathFlags::OUTBOUND.0) != 0
}
