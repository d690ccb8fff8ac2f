//! Where records are put.
//!
//! Two limits end a walk early: a Get may have one record, and a reply [`MAX_BYTES`]. A third end
//! is for SMInfo, which answers nobody without a partition in common. Each is remembered, because a
//! walk has nothing to say but "go on" or "enough".
//!
//! ```text
//!  Out::new(1): push, push ──> TooMany      Get: "too many records"
//!  Out::new(MAX): push .. over 64 MiB ──> TooLong      GetTable: "no resources"
//! ```

use core::ops::ControlFlow;

use sa_answer::whole::MAX_BYTES;

/// The records of a reply so far. Nothing is reserved: most replies are short.
#[derive(Debug)]
pub(super) struct Out {
    bytes: Vec<u8>,
    count: usize,
    /// Records that there may be; one more is [`Reason::TooMany`]. 1 for a Get.
    most: usize,
    reason: Option<Reason>,
}

/// Why there are no records to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reason {
    /// More than may be.
    TooMany,
    /// More than [`MAX_BYTES`].
    TooLong,
    /// The requester gets no reply.
    Silence,
}

impl Out {
    pub(super) const fn new(most: usize) -> Self {
        Self {
            bytes: Vec::new(),
            count: 0,
            most,
            reason: None,
        }
    }

    /// Adds a record, padding included. Breaks when it was one too many.
    pub(super) fn push(&mut self, record: &[u8]) -> ControlFlow<()> {
        // Before the length: a Get that matches many is "too many records", however long they are.
        if self.count == self.most {
            return self.fail(Reason::TooMany);
        }
        if self.bytes.len() + record.len() > MAX_BYTES {
            return self.fail(Reason::TooLong);
        }
        self.count += 1;
        self.bytes.extend_from_slice(record);
        ControlFlow::Continue(())
    }

    /// There will be no records.
    pub(super) const fn fail(&mut self, reason: Reason) -> ControlFlow<()> {
        self.reason = Some(reason);
        ControlFlow::Break(())
    }

    /// All records. Errors: see [`Reason`].
    pub(super) fn finish(self) -> Result<Vec<u8>, Reason> {
        match self.reason {
            Some(reason) => Err(reason),
            None => Ok(self.bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_has_an_end() {
        let record = [0; 1 << 20];
        let mut out = Out::new(usize::MAX);
        let put = (0..100).take_while(|_| out.push(&record).is_continue());
        assert_eq!(put.count(), MAX_BYTES >> 20);
        assert_eq!(out.finish(), Err(Reason::TooLong));
    }

    #[test]
    fn one_more_than_may_be_is_none() {
        let mut out = Out::new(1);
        assert!(out.push(&[1]).is_continue());
        assert!(out.push(&[2]).is_break());
        assert_eq!(out.finish(), Err(Reason::TooMany));
    }
}
