//! Results for people and machines.

use sa_bench::Pool;
use serde_json::{Value, json};

use super::prepare::Bed;
use super::requests::records_each;
use super::run::{Figures, Floor, Measured, Settings};
use super::{Layer, machine};
use crate::failure::Outcome;
use crate::json;

/// What is measured, for people.
pub(super) fn bed(bed: &Bed, json: bool) {
    if json {
        return;
    }
    let info = bed.snapshot.info();
    println!("machine   {}", machine::in_words());
    println!(
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
    let median = |of: fn(&Measured) -> &Figures| measured.map(|measured| of(measured).median());
    let range = |of: fn(&Measured) -> &Figures| {
        measured.map(|measured| [of(measured).least(), of(measured).most()])
    };
    let records = records_each(pool);
    let waiting = measured.and_then(|measured| measured.ns_with_waiting.as_ref());
    let pauses = measured.map(|measured| {
        let pauses = measured.pauses;
        json!({
            "gaps": pauses.gaps,
            "longest_ns": u64::try_from(pauses.longest.as_nanos()).unwrap_or(u64::MAX),
            "share": pauses.share,
        })
    });
    let floor = measured.map(|measured| match measured.floor {
        Floor::Touch(ns) => json!({ "touch_ns": ns }),
        Floor::Echo(mqps) => json!({ "echo_mqps": mqps }),
    });
    json!({
        "layer": settings.layer.name(),
        "workload": settings.workload.name(),
        "rules": info.rules.unwrap_or(0),
        "batch": settings.batch,
        "ns_per_query": median(|it| &it.ns_per_query),
        "mqps": median(|it| &it.mqps),
        "p50_ns": median(|it| &it.p50_ns),
        "p99_ns": median(|it| &it.p99_ns),
        "p999_ns": median(|it| &it.p999_ns),
        "wrong": wrong,
        "snapshot_bytes": info.bytes,
        "build_ms": build_ms(bed),
        "ns_per_query_range": range(|it| &it.ns_per_query),
        "mqps_range": range(|it| &it.mqps),
        "p999_ns_range": range(|it| &it.p999_ns),
        "ns_per_query_with_waiting": waiting.map(Figures::median),
        "records_per_query": records,
        "ns_per_record": median(|it| &it.ns_per_query).filter(|_| records > 0.0).map(|ns| ns / records),
        "lost": measured.map(|measured| measured.lost),
        "repeat": settings.repeat,
        "seconds": settings.duration.as_secs_f64(),
        "requests": pool.requests.len(),
        "fabric": bed.name,
        "hosts": info.hosts,
        "switches": info.switches,
        "floor": floor,
        "pauses": pauses,
        "machine": machine::facts(),
    })
}

fn text(pool: &Pool, settings: &Settings, measured: &Measured, wrong: u64) {
    let each = match settings.layer {
        Layer::Memory => "a batch",
        Layer::Ring => "a request at half that rate",
    };
    println!(
        "\n{} in {}, {} different requests, batches of {}, {} times {} s",
        settings.workload.name(),
        settings.layer.name(),
        pool.requests.len(),
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
    let quantiles = [
        ("p50", &measured.p50_ns),
        ("p99", &measured.p99_ns),
        ("p99.9", &measured.p999_ns),
    ];
    for (name, figures) in quantiles {
        line(name, figures, 1e-3, &format!("us for {each}"));
    }
    match measured.floor {
        Floor::Touch(ns) => {
            println!("floor     {ns:10.2}  ns to touch a request and write a record")
        }
        Floor::Echo(mqps) => println!("floor     {mqps:10.2}  M requests/s sent back untouched"),
    }
    let pauses = measured.pauses;
    println!(
        "pauses    {:10.1}  us the longest of {} above 20 us of a thread that only reads the clock, \
         {:.2} % of its time; tails below that are the machine's",
        pauses.longest.as_secs_f64() * 1e6,
        pauses.gaps,
        pauses.share * 100.0
    );
    println!("wrong     {wrong:10}  every reply compared whole with the slow twin's");
}

fn line(name: &str, figures: &Figures, scale: f64, unit: &str) {
    let [median, least, most] =
        [figures.median(), figures.least(), figures.most()].map(|figure| figure * scale);
    println!("{name:<10}{median:10.2}  {unit} (least {least:.2}, most {most:.2})");
}

fn build_ms(bed: &Bed) -> f64 {
    bed.compiled.timings.build.as_secs_f64() * 1e3
}
