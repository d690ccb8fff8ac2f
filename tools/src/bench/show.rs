//! Results for people and machines.

use sa_bench::{PauseFloor, Pool};
use serde::{Deserialize, Serialize};

use super::machine::{self, Machine};
use super::prepare::Bed;
use super::requests::records_each;
use super::run::{Figures, Measured, QUANTILES, Settings, Tail};
use crate::failure::Outcome;
use crate::interrupt;
use crate::json::{self, Document};

/// What is measured, for people.
pub(super) fn bed(bed: &Bed, json: bool) {
    if json {
        return;
    }
    let info = bed.snapshot.info();
    outln!("machine   {}", Machine::here().in_words());
    outln!(
        "fabric    {}, {} switches, {} hosts, {} rules; {} bytes, built in {:.1} ms",
        bed.name,
        info.switches,
        info.hosts,
        info.rules.unwrap_or(0),
        info.bytes,
        build_ms(bed)
    );
}

/// A run.
/// Without `measured` the run was void before it began: programs get a document with its `wrong`,
/// people the failure alone.
pub(super) fn run(
    bed: &Bed,
    pool: &Pool,
    settings: &Settings,
    measured: Option<&Measured>,
    wrong: u64,
    json: bool,
) -> Outcome {
    if json {
        return json::print(&Run::new(bed, pool, settings, measured, wrong));
    }
    if let Some(measured) = measured {
        text(pool, settings, measured, wrong);
    }
    Ok(())
}

/// A run for programs. Figures are medians over the repetitions, a range is the least and the most;
/// none for what was not measured. Units: ns, or as the name says.
/// Readers of `performance.jsonl` find fields by name, so their order is for people.
#[derive(Debug, Serialize)]
struct Run<'a> {
    layer: &'static str,
    workload: &'static str,
    rules: u32,
    batch: usize,
    /// CPU time of the serving thread.
    ns_per_query: Option<f64>,
    /// By wall time. Units: millions per second.
    mqps: Option<f64>,
    /// Latencies in memory of a batch, over the ring since a request was due, at the load nearest
    /// to half.
    p50_ns: Option<f64>,
    p99_ns: Option<f64>,
    p999_ns: Option<f64>,
    wrong: u64,
    snapshot_bytes: usize,
    build_ms: f64,
    ns_per_query_range: Option<[f64; 2]>,
    mqps_range: Option<[f64; 2]>,
    p999_ns_range: Option<[f64; 2]>,
    p90_ns: Option<f64>,
    p9999_ns: Option<f64>,
    max_ns: Option<f64>,
    /// At each load.
    latency: Vec<AtLoad>,
    /// Of a null record, in the same passes.
    null_ns: Option<f64>,
    ratio_to_null: Option<f64>,
    ratio_to_null_range: Option<[f64; 2]>,
    /// Of a query, by callgrind.
    instructions: Option<f64>,
    instructions_per_record: Option<f64>,
    mispredictions: Option<f64>,
    ns_per_query_with_waiting: Option<f64>,
    records_per_query: f64,
    ns_per_record: Option<f64>,
    lost: Option<u64>,
    repeat: u8,
    /// A signal came before all repetitions were through; left out where none did.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    interrupted: bool,
    seconds: f64,
    /// Different ones.
    requests: usize,
    /// Requests are few on purpose.
    hot: bool,
    /// Every pass asks the same.
    repeated: bool,
    fabric: &'a str,
    hosts: usize,
    switches: usize,
    pauses: Option<Pauses>,
    command: String,
    machine: Machine,
}

impl Document for Run<'_> {
    const SCHEMA: &'static str = "sapphire.bench/1";
}

impl<'a> Run<'a> {
    fn new(
        bed: &'a Bed,
        pool: &Pool,
        settings: &Settings,
        measured: Option<&Measured>,
        wrong: u64,
    ) -> Self {
        let info = bed.snapshot.info();
        let figures = |of: fn(&Measured) -> &Figures| {
            let figures = measured.map(of);
            figures.filter(|figures| !figures.are_none())
        };
        let median = |of| figures(of).map(Figures::median);
        let range = |of| figures(of).map(Figures::range);
        let records = records_each(pool);
        let waiting = measured.and_then(|measured| measured.ns_with_waiting.as_ref());
        let tail = measured.and_then(Measured::middle);
        let quantiles = tail.map(Tail::medians);
        let loads = measured.map_or(&[][..], |it| &it.tails).iter();
        let counted = measured.and_then(|measured| measured.counted);
        let instructions = counted.map(|counted| counted.instructions);
        let each = |figure: f64| Some(figure / records).filter(|_| records > 0.0);
        Self {
            layer: settings.layer.name(),
            workload: settings.workload.name(),
            rules: info.rules.unwrap_or(0),
            batch: settings.batch,
            ns_per_query: median(|it| &it.ns_per_query),
            mqps: median(|it| &it.mqps),
            p50_ns: quantiles.map(|[p50, ..]| p50),
            p99_ns: quantiles.map(|[_, _, p99, ..]| p99),
            p999_ns: quantiles.map(|[.., p999, _]| p999),
            wrong,
            snapshot_bytes: info.bytes,
            build_ms: build_ms(bed),
            ns_per_query_range: range(|it| &it.ns_per_query),
            mqps_range: range(|it| &it.mqps),
            // The fourth of `QUANTILES`.
            p999_ns_range: tail.map(|tail| tail.quantiles[3].range()),
            p90_ns: quantiles.map(|[_, p90, ..]| p90),
            p9999_ns: quantiles.map(|[.., p9999]| p9999),
            max_ns: tail.map(|tail| tail.longest.most()),
            latency: loads.map(AtLoad::from).collect(),
            null_ns: median(|it| &it.null_ns),
            ratio_to_null: median(|it| &it.ratio_to_null),
            ratio_to_null_range: range(|it| &it.ratio_to_null),
            instructions,
            instructions_per_record: instructions.and_then(each),
            mispredictions: counted.map(|counted| counted.mispredictions),
            ns_per_query_with_waiting: waiting.map(Figures::median),
            records_per_query: records,
            ns_per_record: median(|it| &it.ns_per_query).and_then(each),
            lost: measured.map(|measured| measured.lost),
            repeat: settings.repeat,
            interrupted: interrupt::came(),
            seconds: settings.duration.as_secs_f64(),
            requests: pool.requests.len(),
            hot: settings.is_hot,
            repeated: settings.is_repeated || settings.workload.is_long(),
            fabric: &bed.name,
            hosts: info.hosts,
            switches: info.switches,
            pauses: measured.map(|measured| measured.pauses.into()),
            command: machine::command(),
            machine: Machine::here(),
        }
    }
}

/// Latencies at one load. Units: ns.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct AtLoad {
    /// Of the closed loop's rate; none where nothing is due at a time.
    pub(super) percent: Option<u8>,
    /// Units: millions per second; none as with `percent`.
    pub(super) mqps: Option<f64>,
    pub(super) p50_ns: f64,
    pub(super) p90_ns: f64,
    pub(super) p99_ns: f64,
    pub(super) p999_ns: f64,
    pub(super) p9999_ns: f64,
    pub(super) max_ns: f64,
    pub(super) samples: u64,
}

/// Medians of each quantile over the repetitions; the longest is that of all.
impl From<&Tail> for AtLoad {
    fn from(tail: &Tail) -> Self {
        let [p50_ns, p90_ns, p99_ns, p999_ns, p9999_ns] = tail.medians();
        Self {
            percent: tail.percent,
            mqps: tail.percent.map(|_| tail.mqps.median()),
            p50_ns,
            p90_ns,
            p99_ns,
            p999_ns,
            p9999_ns,
            max_ns: tail.longest.most(),
            samples: tail.samples,
        }
    }
}

/// The pauses of the machine: of a thread that only reads the clock, those above 20 us.
/// Before and after the measurement together; also in the document of `sapphire load`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Pauses {
    pub(super) gaps: u64,
    pub(super) longest_ns: u64,
    /// Of the time, from 0 to 1.
    pub(super) share: f64,
}

impl From<PauseFloor> for Pauses {
    fn from(pauses: PauseFloor) -> Self {
        Self {
            gaps: pauses.gaps,
            longest_ns: u64::try_from(pauses.longest.as_nanos()).unwrap_or(u64::MAX),
            share: pauses.share,
        }
    }
}

/// A blank line in front: runs of one call are told apart by it.
fn text(pool: &Pool, settings: &Settings, measured: &Measured, wrong: u64) {
    outln!(
        "\n{} in {}, {} different requests{}, batches of {}, {} times {} s",
        settings.workload.name(),
        settings.layer.name(),
        pool.requests.len(),
        match settings.is_repeated || settings.workload.is_long() {
            true => ", the same in every pass",
            false => " in each pass",
        },
        settings.batch,
        settings.repeat,
        settings.duration.as_secs_f64()
    );
    interrupted(&measured.ns_per_query, settings.repeat);
    line("CPU", &measured.ns_per_query, 1.0, "ns for a query");
    if let Some(waiting) = &measured.ns_with_waiting {
        line("", waiting, 1.0, "ns with waiting");
    }
    let records = records_each(pool);
    if settings.workload.is_long() && records > 0.0 {
        let what = format!("ns for a record, {records:.0} in a reply");
        line("", &measured.ns_per_query, 1.0 / records, &what);
    }
    match settings.workload.is_long() {
        true => line("rate", &measured.mqps, 1e6, "queries/s by wall time"),
        false => line("rate", &measured.mqps, 1.0, "M queries/s by wall time"),
    }
    if !measured.null_ns.are_none() {
        line("null", &measured.null_ns, 1.0, "ns for a null record");
        line("ratio", &measured.ratio_to_null, 1.0, "times a null record");
    }
    if let Some(counted) = measured.counted {
        outln!(
            "counted   {:10.1}  instructions for a query, {:.2} branches not foreseen, by callgrind",
            counted.instructions,
            counted.mispredictions
        );
    }
    for tail in &measured.tails {
        tail_text(tail);
    }
    pauses_text(measured.pauses);
    outln!("wrong     {wrong:10}  {}", compared(settings));
}

/// That a signal came, and what the figures are of.
pub(super) fn interrupted(figures: &Figures, repeat: u8) {
    if interrupt::came() {
        outln!(
            "interrupted in the course of it: figures of {} of {repeat} repetitions, the last one maybe not whole",
            figures.count()
        );
    }
}

/// Who says what a reply must be.
fn compared(settings: &Settings) -> &'static str {
    match settings.is_repeated || settings.workload.is_long() {
        true => "every reply compared whole with the slow twin's",
        false => {
            "every reply compared whole: the first pool's and one of 2,048 with the slow twin's, \
             others with the answer to the request alone"
        }
    }
}

fn tail_text(tail: &Tail) {
    let (name, of) = match tail.percent {
        None => ("latency".to_owned(), "of a batch"),
        Some(percent) => (format!("at {percent} %"), "since a request was due"),
    };
    let figures = QUANTILES.iter().zip(tail.medians());
    let figures = figures.map(|((name, _), ns)| format!("{name} {:.2}, ", ns * 1e-3));
    outln!(
        "{name:<10}{}max {:.2} us {of}, {} samples",
        figures.collect::<String>(),
        tail.longest.most() * 1e-3,
        tail.samples
    );
}

/// Beside the tails.
pub(super) fn pauses_text(pauses: PauseFloor) {
    outln!(
        "pauses    {:10.1}  us the longest of {} above 20 us of a thread that only reads the clock, \
         {:.2} % of its time; tails below that are the machine's",
        pauses.longest.as_secs_f64() * 1e6,
        pauses.gaps,
        pauses.share * 100.0
    );
}

/// Median, and how far repetitions lie apart: a wide range means a machine that is not at rest.
pub(super) fn line(name: &str, figures: &Figures, scale: f64, unit: &str) {
    let [median, least, most] =
        [figures.median(), figures.least(), figures.most()].map(|figure| figure * scale);
    outln!("{name:<10}{median:10.2}  {unit} (least {least:.2}, most {most:.2})");
}

fn build_ms(bed: &Bed) -> f64 {
    bed.compiled.timings.build.as_secs_f64() * 1e3
}
