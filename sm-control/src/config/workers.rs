//! `[workers]` of `sapphired`'s configuration: the answering threads, and where they run.
//!
//! Workers spin by default: a request is answered within its batch, and a core is spent on it. The
//! keys here give the core back where nobody asks, at the price of a wake-up for the first request.
//!
//! ```toml
//! [workers]
//! cores = [2, 4]                 # port 0 on core 2, port 1 on core 4; others as numa says
//! numa = "local"                 # "off", or the number of a node
//! yield_after = 1000             # never
//! sleep_after = 100000           # never
//! sample_every = 64              # none
//! punt_queue = 1024
//! ```
//!
//! Behind each `#` what holds without the key.

use core::fmt;
use std::num::NonZeroU32;

use sa_fastpath::worker::Idle;
use serde::de::Unexpected;
use serde::{Deserialize, Deserializer};

/// `[workers]`: how threads that answer share the machine.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkersSection {
    /// Cores to pin workers to, one per port in order; fewer or none: as `numa` says.
    #[serde(default)]
    pub cores: Vec<usize>,
    /// Where those run that no core is named for.
    #[serde(default)]
    pub numa: Numa,
    /// Empty turns after which a worker yields its core; absent: it never does.
    pub yield_after: Option<u32>,
    /// Empty turns after which a worker waits in the kernel for the next request; absent: it never
    /// does. The first request after that pays for a wake-up.
    pub sleep_after: Option<u32>,
    /// Of so many batches one is timed; absent: none.
    pub sample_every: Option<NonZeroU32>,
    /// Requests that may wait for the slow lane, of all ports together; more are dropped and
    /// counted.
    #[serde(default = "punt_capacity")]
    pub punt_queue: usize,
}

impl Default for WorkersSection {
    fn default() -> Self {
        Self {
            cores: Vec::new(),
            numa: Numa::Off,
            yield_after: None,
            sleep_after: None,
            sample_every: None,
            punt_queue: punt_capacity(),
        }
    }
}

impl WorkersSection {
    /// What workers do when nothing waits.
    pub fn idle(&self) -> Idle {
        match (self.yield_after, self.sleep_after) {
            (None, None) => Idle::Spin,
            (Some(yields), None) => Idle::YieldAfter(yields),
            (yields, Some(sleeps)) => Idle::SleepAfter {
                // Without a number of its own it does not yield before it sleeps.
                yields: yields.unwrap_or(sleeps),
                sleeps,
            },
        }
    }
}

/// Where workers run that no core is named for. A worker touches its HCA's memory at each packet,
/// so a far node costs at each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Numa {
    /// On any core, wherever the kernel puts them.
    #[default]
    Off,
    /// Each on a core near its port's device.
    Local,
    /// Each on a core of this node.
    Node(u32),
}

impl<'de> Deserialize<'de> for Numa {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(NumaVisitor)
    }
}

/// Takes a word or a number.
struct NumaVisitor;

impl serde::de::Visitor<'_> for NumaVisitor {
    type Value = Numa;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("\"off\", \"local\" or the number of a NUMA node")
    }

    fn visit_str<E: serde::de::Error>(self, word: &str) -> Result<Numa, E> {
        match word {
            "off" => Ok(Numa::Off),
            "local" => Ok(Numa::Local),
            _ => Err(E::invalid_value(Unexpected::Str(word), &self)),
        }
    }

    fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<Numa, E> {
        let node = u32::try_from(number);
        node.map(Numa::Node)
            .map_err(|_| E::invalid_value(Unexpected::Signed(number), &self))
    }

    fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<Numa, E> {
        let node = u32::try_from(number);
        node.map(Numa::Node)
            .map_err(|_| E::invalid_value(Unexpected::Unsigned(number), &self))
    }
}

/// 1,024 requests: some 330 KB, and a second's work for the slow lane where each takes a
/// millisecond.
const fn punt_capacity() -> usize {
    1024
}
