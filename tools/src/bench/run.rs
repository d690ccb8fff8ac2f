//! One workload on one layer, several times over.

use std::time::Duration;

use sa_bench::line::{Line, echo_floor};
use sa_bench::memory::{self, MemoryReport};
use sa_bench::{PauseFloor, Pool, measure_pause_floor};
use sa_fastpath::affinity;
use sa_snapshot::Snapshot;

use super::prepare::Bed;
use super::{Layer, Workload};
use crate::failure::{Failure, Outcome};
use crate::inputs::or_fail;

/// What to measure.
#[derive(Debug, Clone, Copy)]
pub(super) struct Settings {
    pub(super) workload: Workload,
    pub(super) layer: Layer,
    /// Requests handed over at once.
    pub(super) batch: usize,
    /// Of each repetition.
    pub(super) duration: Duration,
    pub(super) repeat: u8,
}

/// Figures of all repetitions.
pub(super) struct Measured {
    /// CPU time of the serving thread. Units: ns.
    pub(super) ns_per_query: Figures,
    /// The same with the turns of a worker that found nothing; in memory there are none.
    pub(super) ns_with_waiting: Option<Figures>,
    /// By wall time. Units: millions per second.
    pub(super) mqps: Figures,
    /// In memory of a batch, over the ring of a request since it was due, at half of `mqps`.
    /// Units: ns.
    pub(super) p50_ns: Figures,
    pub(super) p99_ns: Figures,
    pub(super) p999_ns: Figures,
    pub(super) wrong: u64,
    pub(super) lost: u64,
    /// What the layer costs with nothing in it.
    pub(super) floor: Floor,
    /// On the same core, before and after.
    pub(super) pauses: PauseFloor,
}

/// The floor of a layer.
#[derive(Debug, Clone, Copy)]
pub(super) enum Floor {
    /// To touch a request and write a record. Units: ns of CPU time.
    Touch(f64),
    /// Requests sent back untouched. Units: millions per second.
    Echo(f64),
}

/// The same figure of each repetition.
#[derive(Debug, Clone, Default)]
pub(super) struct Figures(Vec<f64>);

impl Figures {
    fn add(&mut self, figure: f64) {
        let place = self.0.partition_point(|known| *known < figure);
        self.0.insert(place, figure);
    }

    pub(super) fn median(&self) -> f64 {
        self.0.get(self.0.len() / 2).copied().unwrap_or(0.0)
    }

    pub(super) fn least(&self) -> f64 {
        self.0.first().copied().unwrap_or(0.0)
    }

    pub(super) fn most(&self) -> f64 {
        self.0.last().copied().unwrap_or(0.0)
    }
}

/// Measures. Errors: threads or memory are missing.
pub(super) fn measure(bed: &Bed, pool: &Pool, settings: &Settings) -> Outcome<Measured> {
    match settings.layer {
        Layer::Memory => in_memory(bed, pool, settings),
        Layer::Ring => over_the_ring(bed, pool, settings),
    }
}

fn in_memory(bed: &Bed, pool: &Pool, settings: &Settings) -> Outcome<Measured> {
    let core = affinity::cores().last().copied();
    on_core(core, || {
        let spinning = pause_time(settings);
        let before = measure_pause_floor(spinning);
        let mut measured = Measured::new(Floor::Touch(memory::touch_floor(pool, 5)));
        for _ in 0..settings.repeat {
            let report = pass(&bed.snapshot, pool, settings);
            measured.memory(&report.ok_or_else(no_histogram)?);
        }
        measured.pauses = before.and(measure_pause_floor(spinning));
        Ok(measured)
    })
}

fn pass(snapshot: &Snapshot, pool: &Pool, settings: &Settings) -> Option<MemoryReport> {
    let measure = match settings.workload.is_long() {
        true => memory::at_length,
        false => memory::in_place,
    };
    measure(snapshot, pool, settings.batch, settings.duration)
}

fn over_the_ring(bed: &Bed, pool: &Pool, settings: &Settings) -> Outcome<Measured> {
    let core = affinity::cores().first().copied();
    let spinning = pause_time(settings);
    let before = on_core(core, || Ok(measure_pause_floor(spinning)))?;
    let echo = or_fail(echo_floor(settings.batch, settings.duration.div_f64(4.0)))?;
    let mut measured = Measured::new(Floor::Echo(echo));
    let snapshot = or_fail(Snapshot::from_bytes(bed.snapshot.as_bytes()))?;
    let mut line = or_fail(Line::new())?;
    line.publish(snapshot);
    for _ in 0..settings.repeat {
        measured.ring(&mut line, pool, settings)?;
    }
    let after = on_core(core, || Ok(measure_pause_floor(spinning)))?;
    measured.pauses = before.and(after);
    Ok(measured)
}

impl Measured {
    fn new(floor: Floor) -> Self {
        Self {
            ns_per_query: Figures::default(),
            ns_with_waiting: None,
            mqps: Figures::default(),
            p50_ns: Figures::default(),
            p99_ns: Figures::default(),
            p999_ns: Figures::default(),
            wrong: 0,
            lost: 0,
            floor,
            pauses: PauseFloor::default(),
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "for people")]
    fn memory(&mut self, report: &MemoryReport) {
        let queries = report.queries.max(1) as f64;
        self.ns_per_query
            .add(report.cpu.as_nanos() as f64 / queries);
        let wall = report.wall.as_secs_f64().max(1e-9);
        self.mqps.add(queries / wall / 1e6);
        self.quantiles(|quantile| report.latency.quantile_ns(quantile));
        self.wrong += report.wrong;
    }

    /// A closed loop, then an open one at half of its rate.
    fn ring(&mut self, line: &mut Line, pool: &Pool, settings: &Settings) -> Outcome {
        let report = or_fail(line.closed(pool, settings.batch, settings.duration))?;
        let mqps = report.closed.mqps();
        // A ring that answered nothing in that time is asked slowly.
        let rate = (mqps * 1e6 / 2.0).max(1000.0);
        let open = or_fail(line.open(pool, rate, settings.duration.div_f64(2.0)))?;
        self.ns_per_query.add(report.ns_per_query);
        let with_waiting = self.ns_with_waiting.get_or_insert_default();
        with_waiting.add(report.ns_with_waiting);
        self.mqps.add(mqps);
        self.quantiles(|quantile| open.quantile_ns(quantile));
        self.wrong += report.closed.wrong + open.wrong;
        self.lost += report.closed.lost + open.lost;
        Ok(())
    }

    #[expect(clippy::cast_precision_loss, reason = "for people")]
    fn quantiles(&mut self, of: impl Fn(f64) -> u64) {
        self.p50_ns.add(of(0.5) as f64);
        self.p99_ns.add(of(0.99) as f64);
        self.p999_ns.add(of(0.999) as f64);
    }
}

/// Runs `work` on a thread of its own, which stays on `core`.
pub(crate) fn on_core<T: Send>(
    core: Option<usize>,
    work: impl FnOnce() -> Outcome<T> + Send,
) -> Outcome<T> {
    std::thread::scope(|scope| {
        let working = scope.spawn(|| {
            core.map(affinity::pin);
            work()
        });
        let result = working.join();
        result.map_err(|_| Failure::failed("a thread of the measurement panicked"))?
    })
}

/// A second where the measurement takes one.
fn pause_time(settings: &Settings) -> Duration {
    settings.duration.min(Duration::from_secs(1))
}

fn no_histogram() -> Failure {
    Failure::failed("no memory for a histogram")
}
