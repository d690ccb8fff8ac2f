//! What a process has used, by the kernel's word (`/proc/self`).
//!
//! Of all its threads. Two of these are what lay between; a peak is since the start and never
//! falls.

use serde::{Deserialize, Serialize};

use crate::Failure;

/// Since the start of the process.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub(crate) struct Spent {
    /// In ticks of the kernel, 10 ms mostly, so small generations need several runs.
    pub(crate) cpu_ms: f64,
    /// Now.
    pub(crate) rss_mb: f64,
    /// At most, until now.
    pub(crate) peak_rss_mb: f64,
    /// Bytes of files that were handed out, heads not counted.
    pub(crate) sent: u64,
}

impl Spent {
    /// Of this process. `sent`: as whoever hands out has counted it; 0 of a process that does not.
    /// Errors: no /proc.
    #[expect(clippy::cast_precision_loss, reason = "less than 2^52 of each")]
    pub(crate) fn now(sent: u64) -> Result<Self, Failure> {
        let process = procfs::process::Process::myself()?;
        let stat = process.stat()?;
        let ticks = (stat.utime + stat.stime) as f64;
        let peak = process.status()?.vmhwm.unwrap_or(0);
        Ok(Self {
            cpu_ms: ticks * 1e3 / procfs::ticks_per_second() as f64,
            rss_mb: (stat.rss * procfs::page_size()) as f64 / 1e6,
            peak_rss_mb: (peak * 1024) as f64 / 1e6,
            sent,
        })
    }

    /// Of both; the peak is that of the larger one.
    pub(crate) const fn and(self, other: Self) -> Self {
        Self {
            cpu_ms: self.cpu_ms + other.cpu_ms,
            rss_mb: self.rss_mb + other.rss_mb,
            peak_rss_mb: self.peak_rss_mb.max(other.peak_rss_mb),
            sent: self.sent + other.sent,
        }
    }

    /// Megabytes that were sent since.
    #[expect(clippy::cast_precision_loss, reason = "fewer than 2^52 bytes")]
    pub(crate) fn sent_mb_since(&self, before: &Self) -> f64 {
        (self.sent - before.sent) as f64 / 1e6
    }
}
