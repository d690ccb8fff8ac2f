//! What a daemon counted, and how much memory it had.

use std::collections::BTreeMap;
use std::fmt;

use anyhow::{Context, Result, ensure};

use super::clients::Tally;

/// Counters at the end of a soak.
#[derive(Debug)]
pub(crate) struct Figures {
    received: u64,
    /// Answered, refused, dropped, given to the slow lane.
    outcomes: [u64; 4],
    reloads: u64,
    failed: u64,
}

impl Figures {
    /// From a page of metrics.
    pub(crate) fn of(page: &str) -> Result<Self> {
        let samples: BTreeMap<&str, u64> = page
            .lines()
            .filter_map(|line| line.rsplit_once(' '))
            .filter_map(|(name, value)| Some((name, value.parse().ok()?)))
            .collect();
        let sample = |name: &str| samples.get(name).copied().with_context(|| name.to_owned());
        let queries = |result| {
            sample(&format!(
                "sapphire_queries_total{{port=\"0\",result=\"{result}\"}}"
            ))
        };
        let loads = |result| sample(&format!("sapphire_reload_total{{result=\"{result}\"}}"));
        Ok(Self {
            received: sample("sapphire_received_total{port=\"0\"}")?,
            outcomes: [
                queries("answered")?,
                queries("refused")?,
                queries("dropped")?,
                queries("slow_lane")?,
            ],
            reloads: loads("ok")?,
            failed: loads("failed")?,
        })
    }

    /// Errors: a request that was received became nothing, or two things; one that a judge sent was
    /// not counted; a load failed or none happened.
    pub(crate) fn add_up(&self, judged: &Tally) -> Result<()> {
        // The page is read while requests come in: one batch may stand between two counters.
        let sum: u64 = self.outcomes.iter().sum();
        ensure!(self.received.abs_diff(sum) <= BATCH, "{self}");
        ensure!(
            self.received + BATCH >= judged.answered,
            "{self}: judged {judged}"
        );
        ensure!(self.failed == 0 && self.reloads > 1, "{self}");
        Ok(())
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [answered, refused, dropped, slow_lane] = self.outcomes;
        write!(
            f,
            "received {} = answered {answered} + refused {refused} + dropped {dropped} + slow lane \
             {slow_lane}; loads {} good, {} failed",
            self.received, self.reloads, self.failed
        )
    }
}

/// Errors: it grew. Shape: samples in the order of time. Units: KiB.
///
/// What a daemon needs is reached in the first half: by then the reloads have gone around often.
pub(crate) fn is_flat(memory: &[u64]) -> Result<()> {
    let (first, second) = memory.split_at(memory.len() / 2);
    let (before, after) = (first.iter().max(), second.iter().max());
    let (before, after) = (*before.context("samples")?, *after.context("samples")?);
    ensure!(
        after <= before + before / 10 + ROOM,
        "resident memory grew from {before} to {after} KiB"
    );
    Ok(())
}

/// Least and most, for people.
pub(crate) fn range(memory: &[u64]) -> String {
    let (least, most) = (memory.iter().min(), memory.iter().max());
    format!(
        "{} to {} KiB, {} at last",
        least.copied().unwrap_or(0),
        most.copied().unwrap_or(0),
        memory.last().copied().unwrap_or(0)
    )
}

/// Requests that a worker takes at once.
const BATCH: u64 = 64;
/// Units: KiB.
const ROOM: u64 = 32 << 10;
