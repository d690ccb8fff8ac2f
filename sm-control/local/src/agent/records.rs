//! The records of one answer.
//!
//! A record counts for a query when its flags have all bits of the query's mask. Which mask that is
//! depends on the path use:
//!
//! | path use | mask | our main record |
//! |---|---|---|
//! | UNIDIRECTIONAL | PRIMARY, OUTBOUND: 0x0a | 0x0a |
//! | GMP | PRIMARY, GMP, BIDIRECTIONAL: 0x2b | 0x2b |
//! | ALL, from 6.1 | PRIMARY: 0x02 | 0x2b |
//!
//! Inside a subnet an answer is one record. Towards a known far subnet there are three (see `far`).

use sa_wire::netlink_ls::{MAX_RECORDS, PathFlags, PathUse};
use sa_wire::path_record::PathRecord;
use thiserror::Error;

/// Up to three records, each with what it may be used for. Kept in place, without allocation: one
/// of these is made for each question.
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

    /// The records, when every kernel since 4.3 completes such a query with them: one of them is a
    /// main record, and rdma_cm can sort each. None means that the kernel must be refused instead.
    /// The question does not say which kernel asks, so the strictest counts.
    pub fn taken_by(&self, path_use: PathUse) -> Option<&[(PathFlags, PathRecord)]> {
        let main = PathFlags::for_main(path_use);
        let records = self.as_slice();
        // Which of the records is the main one is the kernel's choice by flags, so the order is no
        // help here.
        let has_main = records.iter().any(|(flags, _)| flags.satisfies(main));
        let is_sorted = records.iter().all(|(flags, _)| has_direction(*flags));
        (has_main && is_sorted).then_some(records)
    }
}

/// Kernels from about 6.3 fail a route on a record without any of these bits.
const fn has_direction(flags: PathFlags) -> bool {
    flags.0 & (PathFlags::GMP.0 | PathFlags::INBOUND.0 | PathFlags::OUTBOUND.0) != 0
}
