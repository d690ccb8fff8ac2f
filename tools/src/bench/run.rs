//! One workload on one layer, several times over.
//!
//! CPU time of the serving thread is what is told of an answer, as wall time has the client and the
//! machine in it. Between passes as many null records are written: a responder that does nothing
//! else, measured under the same conditions, so that the ratio holds on other machines.

use std::time::Duration;

use sa_bench::count::Counted;
use sa_bench::fresh::Passes;
use sa_bench::line::Line;
use sa_bench::long::Pace;
use sa_bench::memory::{self, MemoryReport};
use sa_bench::null_line::NullLine;
use sa_bench::pace::Span;
use sa_bench::{PauseFloor, Pool, measure_pause_floor};
use sa_fastpath::affinity;
use sa_snapshot::Snapshot;

use super::prepare::Bed;
use super::{Layer, Workload, instructions, requests};
use crate::failure::{Failure, Outcome};
use crate::inputs::or_fail;
use crate::{interrupt, progress};

/// What to measure.
#[derive(Debug, Clone)]
pub(super) struct Settings {
    pub(super) workload: Workload,
    pub(super) layer: Layer,
    /// Requests handed over at once.
    pub(super) batch: usize,
    /// Of each repetition.
    pub(super) duration: Duration,
    pub(super) repeat: u8,
    /// Of the ring, whose latencies are measured. Units: per cent of the closed loop's rate.
    pub(super) loads: Vec<u8>,
    /// Instructions are counted as well.
    pub(super) counts: bool,
    /// Requests are few on purpose.
    pub(super) is_hot: bool,
    /// Every pass asks the same.
    pub(super) is_repeated: bool,
    /// Of the requests. Shape: not 0.
    pub(super) seed: u64,
}

/// Figures of all repetitions.
#[derive(Default)]
pub(super) struct Measured {
    /// CPU time of the serving thread. Units: ns.
    pub(super) ns_per_query: Figures,
    /// The same with the turns of a worker that found nothing; in memory there are none.
    pub(super) ns_with_waiting: Option<Figures>,
    /// CPU time of a null record, in the same passes. Units: ns.
    pub(super) null_ns: Figures,
    /// A query by a null record.
    pub(super) ratio_to_null: Figures,
    /// By wall time. Units: millions per second.
    pub(super) mqps: Figures,
    /// In memory one, of a batch; over the ring of a request since it was due, by load.
    pub(super) tails: Vec<Tail>,
    /// Of a query in memory, where it was to be counted.
    pub(super) counted: Option<Counted>,
    pub(super) wrong: u64,
    pub(super) lost: u64,
    /// On the same core, before and after.
    pub(super) pauses: PauseFloor,
}

/// Latencies. Units: ns.
#[derive(Debug, Clone, Default)]
pub(super) struct Tail {
    /// Units: per cent of the closed loop's rate; none where nothing is due at a time.
    pub(super) percent: Option<u8>,
    /// By wall time, at this load. Units: millions per second.
    pub(super) mqps: Figures,
    /// See [`QUANTILES`].
    pub(super) quantiles: [Figures; QUANTILES.len()],
    pub(super) longest: Figures,
    /// Of all repetitions.
    pub(super) samples: u64,
}

/// Name for people, quantile.
pub(super) const QUANTILES: [(&str, f64); 5] = [
    ("p50", 0.5),
    ("p90", 0.9),
    ("p99", 0.99),
    ("p99.9", 0.999),
    ("p99.99", 0.9999),
];

/// The same figure of each repetition.
/// Kept sorted, so that median and range are places in it.
#[derive(Debug, Clone, Default)]
pub(super) struct Figures(Vec<f64>);

impl Figures {
    pub(super) fn add(&mut self, figure: f64) {
        let place = self.0.partition_point(|known| *known < figure);
        self.0.insert(place, figure);
    }

    /// Of how many repetitions.
    pub(super) const fn count(&self) -> usize {
        self.0.len()
    }

    /// True when nothing was measured.
    pub(super) fn are_none(&self) -> bool {
        self.0.is_empty()
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

    /// The least and the most.
    pub(super) fn range(&self) -> [f64; 2] {
        [self.least(), self.most()]
    }
}

/// Measures. Errors: threads or memory are missing.
pub(super) fn measure(bed: &Bed, pool: &Pool, settings: &Settings) -> Outcome<Measured> {
    match settings.layer {
        Layer::Memory => in_memory(bed, pool, settings),
        Layer::Ring => over_the_ring(bed, pool, settings),
    }
}

/// Client and server are one thread here: a batch in, a batch out.
fn in_memory(bed: &Bed, pool: &Pool, settings: &Settings) -> Outcome<Measured> {
    let core = affinity::cores().last().copied();
    on_core(core, || {
        let spinning = pause_time(settings);
        let before = measure_pause_floor(spinning);
        let mut measured = Measured::default();
        let hosts = requests::hosts(bed);
        let mut passes = requests::passes(bed, &hosts, pool, settings);
        for nth in settings.repetitions() {
            let (batch, span) = (settings.batch, settings.span());
            let report = settings.shown(nth, || match settings.workload.is_long() {
                true => memory::at_length(&bed.snapshot, pool, batch, span),
                false => memory::in_place(&bed.snapshot, &mut passes, batch, span),
            });
            measured.memory(&or_fail(report)?);
        }
        measured.pauses = after(before, || Ok(measure_pause_floor(spinning)))?;
        if settings.counts && !interrupt::came() {
            let count = || instructions::count(bed, pool, settings);
            measured.counted = progress::step("counting instructions", count)?;
        }
        Ok(measured)
    })
}

/// The worker has a core, the client another.
fn over_the_ring(bed: &Bed, pool: &Pool, settings: &Settings) -> Outcome<Measured> {
    let core = affinity::cores().first().copied();
    let spinning = pause_time(settings);
    let before = on_core(core, || Ok(measure_pause_floor(spinning)))?;
    let mut measured = Measured::default();
    let mut lines = (line(bed)?, or_fail(NullLine::new())?);
    let hosts = requests::hosts(bed);
    let mut passes = requests::passes(bed, &hosts, pool, settings);
    for nth in settings.repetitions() {
        settings.shown(nth, || match settings.workload.is_long() {
            true => measured.long(&mut lines.0, bed, pool, settings),
            false => measured.ring(&mut lines, pool, &mut passes, settings),
        })?;
    }
    measured.pauses = after(before, || {
        on_core(core, || Ok(measure_pause_floor(spinning)))
    })?;
    Ok(measured)
}

/// Pauses before and after; those before alone where a signal waits for the figures.
pub(super) fn after(
    before: PauseFloor,
    measure: impl FnOnce() -> Outcome<PauseFloor>,
) -> Outcome<PauseFloor> {
    match interrupt::came() {
        true => Ok(before),
        false => Ok(before.and(measure()?)),
    }
}

impl Settings {
    /// As many as are wanted, and none after a signal.
    fn repetitions(&self) -> impl Iterator<Item = u8> {
        (0..self.repeat).take_while(|_| !interrupt::came())
    }

    /// One repetition, unless a signal comes.
    fn span(&self) -> Span {
        self.part(1.0)
    }

    /// A part of its time.
    fn part(&self, part: f64) -> Span {
        Span {
            time: self.duration.mul_f64(part),
            stop: Some(interrupt::stop()),
        }
    }

    /// Does a repetition, and says which.
    fn shown<T>(&self, nth: u8, work: impl FnOnce() -> T) -> T {
        let (workload, layer) = (self.workload.name(), self.layer.name());
        let name = format!(
            "measuring {workload} in {layer}, {} of {}",
            nth + 1,
            self.repeat
        );
        // Over the ring each load takes half as long again.
        let loads = match self.layer {
            Layer::Memory => 0,
            Layer::Ring => self.loads.len(),
        };
        let halves = u32::try_from(loads).unwrap_or(0) + 2;
        progress::timed(&name, self.duration * halves / 2, work)
    }
}

/// A worker behind a ring that serves the snapshot.
pub(super) fn line(bed: &Bed) -> Outcome<Line> {
    let snapshot = or_fail(Snapshot::from_bytes(bed.snapshot.as_bytes()))?;
    let mut line = or_fail(Line::new())?;
    line.publish(snapshot);
    Ok(line)
}

impl Measured {
    #[expect(clippy::cast_precision_loss, reason = "for people")]
    fn memory(&mut self, report: &MemoryReport) {
        let queries = report.queries.max(1) as f64;
        self.beside_null(
            report.cpu.as_nanos() as f64 / queries,
            report.null_cpu.as_nanos() as f64 / queries,
        );
        let wall = report.wall.as_secs_f64().max(1e-9);
        self.mqps.add(queries / wall / 1e6);
        let latency = &report.latency;
        let tail = self.tail(None);
        tail.add(
            |it| latency.quantile_ns(it),
            latency.longest_ns(),
            latency.samples(),
        );
        self.wrong += report.wrong;
    }

    fn beside_null(&mut self, ns: f64, null_ns: f64) {
        self.ns_per_query.add(ns);
        if null_ns > 0.0 {
            self.null_ns.add(null_ns);
            self.ratio_to_null.add(ns / null_ns);
        }
    }

    /// A closed loop, then open ones at shares of its rate.
    fn ring(
        &mut self,
        (line, null): &mut (Line, NullLine),
        pool: &Pool,
        passes: &mut Passes<'_>,
        settings: &Settings,
    ) -> Outcome {
        let report = or_fail(line.closed(null, passes, settings.batch, settings.span()))?;
        let mqps = report.closed.mqps();
        self.beside_null(report.ns_per_query, report.null_ns);
        self.wrong += report.null_wrong;
        let with_waiting = self.ns_with_waiting.get_or_insert_default();
        with_waiting.add(report.ns_with_waiting);
        self.mqps.add(mqps);
        self.wrong += report.closed.wrong;
        self.lost += report.closed.lost;
        for percent in &settings.loads {
            let rate = at_load(mqps, *percent);
            let open = or_fail(line.open(pool, rate, settings.part(0.5)))?;
            // The signal came before there was a latency that counts.
            if open.latency.is_empty() {
                break;
            }
            let tail = self.tail(Some(*percent));
            tail.mqps.add(rate / 1e6);
            let quantile = |it| open.quantile_ns(it);
            tail.add(quantile, open.latency.max(), open.latency.len());
            self.wrong += open.wrong;
            self.lost += open.lost;
        }
        Ok(())
    }

    /// The same where replies are longer than a MAD.
    fn long(&mut self, line: &mut Line, bed: &Bed, pool: &Pool, settings: &Settings) -> Outcome {
        let window = Pace::Window(settings.batch);
        let closed = or_fail(line.long(&bed.snapshot, pool, window, settings.span()))?;
        self.ns_per_query.add(closed.ns_per_query);
        self.mqps.add(closed.mqps());
        self.wrong += closed.wrong;
        self.lost += closed.lost;
        for percent in &settings.loads {
            let rate = at_load(closed.mqps(), *percent);
            let (pace, span) = (Pace::Rate(rate), settings.part(0.5));
            let open = or_fail(line.long(&bed.snapshot, pool, pace, span))?;
            if open.latency.samples() == 0 {
                break;
            }
            let tail = self.tail(Some(*percent));
            tail.mqps.add(rate / 1e6);
            let latency = &open.latency;
            tail.add(
                |it| latency.quantile_ns(it),
                latency.longest_ns(),
                latency.samples(),
            );
            self.wrong += open.wrong;
            self.lost += open.lost;
        }
        Ok(())
    }

    /// That of a load, which is made when it is not there.
    fn tail(&mut self, percent: Option<u8>) -> &mut Tail {
        let place = self.tails.iter().position(|tail| tail.percent == percent);
        let place = place.unwrap_or(self.tails.len());
        if place == self.tails.len() {
            self.tails.push(Tail {
                percent,
                ..Tail::default()
            });
        }
        &mut self.tails[place]
    }

    /// The one that stands for the run: in memory the only one, over the ring that at the load
    /// nearest to half.
    pub(super) fn middle(&self) -> Option<&Tail> {
        let away = |tail: &&Tail| tail.percent.map_or(0, |percent| percent.abs_diff(50));
        self.tails.iter().min_by_key(away)
    }
}

impl Tail {
    /// One for each of [`QUANTILES`].
    pub(super) fn medians(&self) -> [f64; QUANTILES.len()] {
        self.quantiles.each_ref().map(Figures::median)
    }

    #[expect(clippy::cast_precision_loss, reason = "for people")]
    fn add(&mut self, quantile_ns: impl Fn(f64) -> u64, longest_ns: u64, samples: u64) {
        for ((_, quantile), figures) in QUANTILES.iter().zip(&mut self.quantiles) {
            figures.add(quantile_ns(*quantile) as f64);
        }
        self.longest.add(longest_ns as f64);
        self.samples += samples;
    }
}

/// Requests per second. A ring that answered next to nothing in its time is asked slowly.
/// At least ten a second, or a run of a second would send nothing.
fn at_load(mqps: f64, percent: u8) -> f64 {
    (mqps * 1e6 * f64::from(percent) / 100.0).max(10.0)
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
