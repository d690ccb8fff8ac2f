//! The status as metrics, in OpenMetrics or the older text format of Prometheus.
//!
//! Workers count for themselves; here their counters are only read, when somebody asks: a page
//! costs a worker nothing but the cache lines of its counters. Families come in the order in which
//! they are written here, from the daemon down to its ports; names, labels and their values are an
//! interface (`docs/operating.md` lists them), help texts are not.
//!
//! Sizes and epochs are gauges, hence floating point: exact up to 2^53.
//!
//! ```text
//!  GET /metrics ─> Metrics::text ─> OfStatus::encode ─> daemon, sweeps, health, local_service, fleet, ports ─> Page ─┬─> Format ─> text
//!                               OfProcess::encode ─> process ──────────────────────────────────────────────────────┘
//! ```

mod daemon;
mod fleet;
mod format;
mod health;
mod local_service;
mod page;
mod ports;
mod process;
mod sweeps;

use core::fmt;
use std::sync::Arc;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, text};
use prometheus_client::registry::Registry;

use super::status::Status;

use self::page::Page;

pub(in crate::server) use self::format::Format;

/// The page, made anew each time that it is asked for.
pub(in crate::server) struct Metrics {
    of_status: Registry,
    /// Apart, as its names have no prefix.
    of_process: Registry,
}

impl Metrics {
    pub(in crate::server) fn new(status: Arc<Status>) -> Self {
        let mut of_status = Registry::with_prefix("sapphire");
        of_status.register_collector(Box::new(OfStatus(status)));
        let mut of_process = Registry::default();
        of_process.register_collector(Box::new(OfProcess));
        Self {
            of_status,
            of_process,
        }
    }

    /// Everything, as it is now. Errors: none that a String could have.
    pub(in crate::server) fn text(&self, format: Format) -> Result<String, fmt::Error> {
        let mut page = String::new();
        text::encode_registry(&mut page, &self.of_status)?;
        text::encode_registry(&mut page, &self.of_process)?;
        text::encode_eof(&mut page)?;
        Ok(format.written(page))
    }
}

/// Reads the status anew for each page, so that nothing has to be kept up to date in between.
#[derive(Debug)]
struct OfStatus(Arc<Status>);

impl Collector for OfStatus {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let status = &self.0;
        let mut page = Page(encoder);
        let version = [("version", env!("CARGO_PKG_VERSION").to_owned())];
        page.gauge("build_info", "Always 1", [(version, 1.0)])?;
        daemon::write(status, &mut page)?;
        sweeps::write(status, &mut page)?;
        health::write(status, &mut page)?;
        local_service::write(status, &mut page)?;
        fleet::write(status, &mut page)?;
        ports::write(status, &mut page)
    }
}

#[derive(Debug)]
struct OfProcess;

impl Collector for OfProcess {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        process::write(&mut Page(encoder))
    }
}
