//! Reports that sapphired was handed and has not answered.
//!
//! OpenSM sends a Report and keeps its transaction until the ReportResp comes or the kernel hands
//! the Report back with a status, after timeout and retries. Reports to
//! [`split_protocol::SUBSCRIBER_QP`] never reach the kernel, so the kernel's part is done here.
//! Without it each Report that a daemon leaves unanswered would keep memory in OpenSM for good.

use std::collections::VecDeque;
use std::time::Duration;

use crate::mad::{HEAD_BYTES, Head, at, field, number, set_field, set_length};

/// The Reports that wait. Looking one up is a search from the oldest, which is mostly the one that
/// is answered.
#[derive(Debug)]
pub(crate) struct Unanswered {
    /// In the order they came.
    reports: VecDeque<Report>,
}

/// One Report.
#[derive(Debug)]
struct Report {
    until: Duration,
    head: Head,
}

/// That wait at most; with more the oldest is handed back before its time.
const MOST: usize = 1024;
/// No Report waits longer, however long OpenSM would wait.
const LONGEST: Duration = Duration::from_secs(60);

impl Unanswered {
    pub(crate) const fn new() -> Self {
        Self {
            reports: VecDeque::new(),
        }
    }

    /// Adds a Report as OpenSM wrote it, which waits as long as it would have waited in the kernel:
    /// its timeout, once for each time that it would be sent.
    pub(crate) fn add(&mut self, head: &Head, now: Duration) {
        let timeout = Duration::from_millis(number(head, at::TIMEOUT).max(1).into());
        let sends = number(head, at::RETRIES).saturating_add(1);
        let timeout = timeout.saturating_mul(sends).min(LONGEST);
        self.reports.push_back(Report {
            until: now.saturating_add(timeout),
            head: *head,
        });
    }

    /// Whether a Report waits for this ReportResp; then it waits no more. The lower half of the
    /// transaction id counts, as for OpenSM: the upper one is the kernel's, which writes a number
    /// of the agent there.
    pub(crate) fn take(&mut self, response: &[u8]) -> bool {
        let tid: [u8; 4] = field(response, at::TID_LOW);
        let same = |report: &Report| field(&report.head, at::TID_LOW) == tid;
        let place = self.reports.iter().position(same);
        place.is_some_and(|place| self.reports.remove(place).is_some())
    }

    /// A Report whose time is up, as the kernel would return it: its head, with ETIMEDOUT as
    /// status.
    pub(crate) fn expired(&mut self, now: Duration) -> Option<Head> {
        // The front is the oldest, whatever its deadline.
        let full = self.reports.len() > MOST;
        let place = match full {
            true => 0,
            false => self.reports.iter().position(|report| report.until <= now)?,
        };
        let mut head = self.reports.remove(place)?.head;
        set_field(&mut head, at::STATUS, &libc::ETIMEDOUT.to_ne_bytes());
        set_length(&mut head, HEAD_BYTES);
        Some(head)
    }

    /// When the next one's time is up. The serving thread rests until then.
    pub(crate) fn until(&self) -> Option<Duration> {
        self.reports.iter().map(|report| report.until).min()
    }

    /// OpenSM has closed its port: nobody waits for what it was told.
    pub(crate) fn clear(&mut self) {
        self.reports.clear();
    }
}
