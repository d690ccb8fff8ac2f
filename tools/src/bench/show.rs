//! Results for people and machines.

use sa_bench::{PauseFloor, Pool};
use serde_json::{Value, json};

use super::machine;
use super::prepare::Bed;
use super::requests::records_each;
use super::run::{Figures, Measured, QUANTILES, Settings, Tail};
use crate::failure::Outcome;
use crate::json;

/// What is measured, for people.
pub(super) fn bed(bed: &Bed, json: bool) {
    if json {
        return;
    }
    let info = bed.snapshot.info();
    outln!("machine   {}", machine::in_words());
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
pub(super) fn run(
    bed: &Bed,
    pool: &Pool,
    settings: &Settings,
    measured: Option<&Measured>,
    wrong: u64,
    json: bool,
) -> Outcome {
    if json {
        return json::print(&value(bed, pool, settings, measured, wrong));
    }
    if let Some(measured) = measured {
        text(pool, settings, measured, wrong);
    }
    Ok(())
}

fn value(
    bed: &Bed,
    pool: &Pool,
    settings: &Settings,
    measured: Option<&Measured>,
    wrong: u64,
) -> Value {
    let info = bed.snapshot.info();
    let figures = |of: fn(&Measured) -> &Figures| {
        let figures = measured.map(of);
        figures.filter(|figures| !figures.are_none())
    };
    let median = |of| figures(of).map(Figures::median);
    let range = |of| figures(of).map(|figures| [figures.least(), figures.most()]);
    let records = records_each(pool);
    let waiting = measured.and_then(|measured| measured.ns_with_waiting.as_ref());
    let pauses = measured.map(|measured| pauses(measured.pauses));
    let tail = measured.and_then(Measured::middle);
    let quantile = |nth: usize| tail.map(|tail| tail.quantiles[nth].median());
    let loads: Vec<Value> = measured
        .map_or(&[][..], |it| &it.tails)
        .iter()
        .map(load)
        .collect();
    let counted = measured.and_then(|measured| measured.counted);
    let instructions = counted.map(|counted| counted.instructions);
    let each = |figure: f64| Some(figure / records).filter(|_| records > 0.0);
    json!({
        "layer": settings.layer.name(),
        "workload": settings.workload.name(),
        "rules": info.rules.unwrap_or(0),
        "batch": settings.batch,
        "ns_per_query": median(|it| &it.ns_per_query),
        "mqps": median(|it| &it.mqps),
        "p50_ns": quantile(0),
        "p99_ns": quantile(2),
        "p999_ns": quantile(3),
        "wrong": wrong,
        "snapshot_bytes": info.bytes,
        "build_ms": build_ms(bed),
        "ns_per_query_range": range(|it| &it.ns_per_query),
        "mqps_range": range(|it| &it.mqps),
        "p999_ns_range": tail.map(|tail| [tail.quantiles[3].least(), tail.quantiles[3].most()]),
        "p90_ns": quantile(1),
        "p9999_ns": quantile(4),
        "max_ns": tail.map(|tail| tail.longest.most()),
        "latency": loads,
        "null_ns": median(|it| &it.null_ns),
        "ratio_to_null": median(|it| &it.ratio_to_null),
        "ratio_to_null_range": range(|it| &it.ratio_to_null),
        "instructions": instructions,
        "instructions_per_record": instructions.and_then(each),
        "mispredictions": counted.map(|counted| counted.mispredictions),
        "ns_per_query_with_waiting": waiting.map(Figures::median),
        "records_per_query": records,
        "ns_per_record": median(|it| &it.ns_per_query).and_then(each),
        "lost": measured.map(|measured| measured.lost),
        "repeat": settings.repeat,
        "seconds": settings.duration.as_secs_f64(),
        "requests": pool.requests.len(),
        "hot": settings.is_hot,
        "repeated": settings.is_repeated || settings.workload.is_long(),
        "fabric": bed.name,
        "hosts": info.hosts,
        "switches": info.switches,
        "pauses": pauses,
        "command": machine::command(),
        "machine": machine::facts(),
    })
}

/// Latencies at one load.
fn load(tail: &Tail) -> Value {
    let mut fields = serde_json::Map::new();
    fields.insert("percent".to_owned(), json!(tail.percent));
    let is_due = tail.percent.is_some();
    fields.insert("mqps".to_owned(), json!(is_due.then(|| tail.mqps.median())));
    for ((name, _, _), figures) in QUANTILES.iter().zip(&tail.quantiles) {
        fields.insert((*name).to_owned(), json!(figures.median()));
    }
    fields.insert("max_ns".to_owned(), json!(tail.longest.most()));
    fields.insert("samples".to_owned(), json!(tail.samples));
    Value::Object(fields)
}

/// The pauses of the machine.
pub(super) fn pauses(pauses: PauseFloor) -> Value {
    json!({
        "gaps": pauses.gaps,
        "longest_ns": u64::try_from(pauses.longest.as_nanos()).unwrap_or(u64::MAX),
        "share": pauses.share,
    })
}

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
    let figures = QUANTILES.iter().zip(&tail.quantiles);
    let figures = figures.map(|((_, name, _), it)| format!("{name} {:.2}, ", it.median() * 1e-3));
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

pub(super) fn line(name: &str, figures: &Figures, scale: f64, unit: &str) {
    let [median, least, most] =
        [figures.median(), figures.least(), figures.most()].map(|figure| figure * scale);
    outln!("{name:<10}{median:10.2}  {unit} (least {least:.2}, most {most:.2})");
}

fn build_ms(bed: &Bed) -> f64 {
    bed.compiled.timings.build.as_secs_f64() * 1e3
}
