//! A page of metrics, family by family.
//!
//! ```text
//! # HELP sapphire_drops Requests without a reply.
//! # TYPE sapphire_drops counter
//! sapphire_drops_total{port="0",reason="not_ready"} 3
//! ```
//!
//! The library writes the format; this gives it families whose rows are read at that moment. It has
//! no registry of counters: those of the workers are the only ones, and copying them would be a
//! second truth.

use core::fmt;

use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;

use crate::server::operators::counts::Family;

/// The labels of a row. The number is part of the type, so that all rows of a family have the same.
pub(super) type Labels<const N: usize> = [(&'static str, String); N];

/// Exact below 2^53.
#[expect(
    clippy::cast_precision_loss,
    reason = "seconds, sizes and epochs are small"
)]
pub(super) fn number(number: u64) -> f64 {
    number as f64
}

/// 1 or 0.
pub(super) fn truth(is_so: bool) -> f64 {
    f64::from(u8::from(is_so))
}

/// Times as they are told: in seconds.
#[derive(Debug)]
pub(super) struct Histogram {
    pub(super) sum: f64,
    pub(super) count: u64,
    /// Upper bounds, and how many lie between that before and this. Shape: ascending, the last is
    /// infinite.
    pub(super) buckets: Vec<(f64, u64)>,
}

impl EncodeMetric for Histogram {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> fmt::Result {
        encoder.encode_histogram::<NoLabelSet>(self.sum, self.count, &self.buckets, None)
    }

    fn metric_type(&self) -> MetricType {
        MetricType::Histogram
    }
}

/// Writes families one by one, in the order of the calls. A family must be whole before the next.
pub(super) struct Page<'a>(pub(super) DescriptorEncoder<'a>);

impl Page<'_> {
    /// A counter without labels.
    pub(super) fn count(&mut self, name: &str, help: &str, count: u64) -> fmt::Result {
        self.counter::<0>(name, help, [([], count)])
    }

    /// A counter without labels, of time that has passed.
    pub(super) fn seconds(&mut self, name: &str, help: &str, seconds: f64) -> fmt::Result {
        let row = ([], ConstCounter::new(seconds));
        self.family::<0, _>(name, help, MetricType::Counter, core::iter::once(row))
    }

    /// Families of what the daemon counts.
    pub(super) fn families(&mut self, families: impl Iterator<Item = Family>) -> fmt::Result {
        for Family { name, help, rows } in families {
            match rows.as_slice() {
                [(None, count)] => self.count(name, help, *count)?,
                _ => {
                    let rows = rows.into_iter().map(|(result, count)| {
                        let label = [("result", result.unwrap_or_default().to_owned())];
                        (label, count)
                    });
                    self.counter(name, help, rows)?;
                }
            }
        }
        Ok(())
    }

    /// A gauge without labels.
    pub(super) fn value(&mut self, name: &str, help: &str, value: f64) -> fmt::Result {
        self.gauge::<0>(name, help, [([], value)])
    }

    /// A gauge without labels that is 1 or 0.
    pub(super) fn truth(&mut self, name: &str, help: &str, is_so: bool) -> fmt::Result {
        self.value(name, help, truth(is_so))
    }

    /// A family of numbers that only grow. No rows: no family.
    pub(super) fn counter<const N: usize>(
        &mut self,
        name: &str,
        help: &str,
        rows: impl IntoIterator<Item = (Labels<N>, u64)>,
    ) -> fmt::Result {
        let rows = rows.into_iter();
        self.family(
            name,
            help,
            MetricType::Counter,
            rows.map(|(labels, value)| (labels, ConstCounter::new(value))),
        )
    }

    /// A family of numbers that come and go. No rows: no family.
    pub(super) fn gauge<const N: usize>(
        &mut self,
        name: &str,
        help: &str,
        rows: impl IntoIterator<Item = (Labels<N>, f64)>,
    ) -> fmt::Result {
        let rows = rows.into_iter();
        self.family(
            name,
            help,
            MetricType::Gauge,
            rows.map(|(labels, value)| (labels, ConstGauge::new(value))),
        )
    }

    /// A family of times. No rows: no family.
    pub(super) fn histogram<const N: usize>(
        &mut self,
        name: &str,
        help: &str,
        rows: impl IntoIterator<Item = (Labels<N>, Histogram)>,
    ) -> fmt::Result {
        self.family(name, help, MetricType::Histogram, rows.into_iter())
    }

    /// A family with its rows, of any kind.
    fn family<const N: usize, M: EncodeMetric>(
        &mut self,
        name: &str,
        help: &str,
        kind: MetricType,
        rows: impl Iterator<Item = (Labels<N>, M)>,
    ) -> fmt::Result {
        let mut rows = rows.peekable();
        // A family without rows says nothing.
        if rows.peek().is_none() {
            return Ok(());
        }
        let mut family = self.0.encode_descriptor(name, help, None, kind)?;
        for (labels, metric) in rows {
            // Without labels a family has one row, and no braces.
            if labels.is_empty() {
                return metric.encode(family);
            }
            metric.encode(family.encode_family(&labels)?)?;
        }
        Ok(())
    }
}
