//! Metrics as an interface: their names, their formats, and what Prometheus makes of them.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use sa_rig::{Fabric, wait_for};
use sa_tests::config::Config;
use sa_tests::http::get_as;
use sa_tests::metrics::{golden, read, same};
use sa_tests::served::Served;
use sa_tests::{http, skip};

use super::bed::{Bed, PATIENCE, get};
use crate::sweep::TREE;

const OPEN: &str =
    "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3";

/// All parts of the golden file.
pub(super) const EVERYTHING: [&str; 12] = [
    "always", "process", "state", "sampled", "wire", "sm", "beside", "shadow", "local", "fleet",
    "handed", "tls",
];

/// A daemon that times each batch.
pub(super) fn sampled() -> Result<Bed> {
    let mut bed = Bed::new("")?;
    let config = fs::read_to_string(bed.ring.config())?;
    let sampled = config.replace("yield_after = 64\n", "yield_after = 64\nsample_every = 1\n");
    fs::write(bed.ring.config(), sampled)?;
    bed.ring.serve()?;
    Ok(bed)
}

/// A Subnet Manager that reads counters of ports.
pub(super) fn subnet_manager() -> Result<Served> {
    let config = Config::of_sweep_each(3600)
        .ibsim("H0")
        .routing("engine = \"updn\"\n")
        .with("[health]\nperiod_s = 1\n[http]\nlisten = \"127.0.0.1:0\"\n");
    Served::on(Fabric::start(TREE)?, &config)
}

#[test]
fn a_daemon_tells_each_family_and_no_other() -> Result<()> {
    let mut bed = sampled()?;
    let address = bed.http()?;
    let told = read(&get(address, "/metrics")?.1)?.families;
    let wanted = golden(&["always", "process", "sampled"])?;
    same(&told, &wanted)
}

#[test]
fn a_subnet_manager_tells_of_sweeps_and_links_too() -> Result<()> {
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    let bed = subnet_manager()?;
    let told = read(&bed.page("/metrics")?.1)?.families;
    let wanted = golden(&["always", "process", "state", "wire", "sm"])?;
    same(&told, &wanted)
}

#[test]
fn each_family_is_documented() -> Result<()> {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs");
    let pages = ["operating.md", "local-service.md", "fleet.md"]
        .map(|page| fs::read_to_string(docs.join(page)));
    let pages = pages.into_iter().collect::<Result<String, _>>()?;
    for name in golden(&EVERYTHING)?.keys() {
        ensure!(pages.contains(&format!("`{name}`")), "{name}");
    }
    Ok(())
}

#[test]
fn both_formats_tell_the_same_by_their_own_names() -> Result<()> {
    let mut bed = sampled()?;
    let address = bed.http()?;
    let (open, plain) = (
        get_as(address, "/metrics", OPEN)?,
        get_as(address, "/metrics", "*/*")?,
    );
    for (reply, kind) in [
        (&open, "application/openmetrics-text; version=1.0.0"),
        (&plain, "text/plain; version=0.0.4"),
    ] {
        ensure!(reply.head.contains(kind), "{}", reply.head);
    }
    ensure!(open.body.ends_with("# EOF\n") && !plain.body.contains("# EOF"));
    ensure!(open.body.contains("# TYPE sapphire_queries counter\n"));
    ensure!(
        plain
            .body
            .contains("# TYPE sapphire_queries_total counter\n")
    );
    let (open, plain) = (read(&open.body)?, read(&plain.body)?);
    ensure!(open.families == plain.families);
    ensure!(open.samples.keys().eq(plain.samples.keys()));
    Ok(())
}

#[test]
fn times_of_replies_are_told_by_what_was_asked() -> Result<()> {
    let mut bed = sampled()?;
    let address = bed.http()?;
    let asked = bed.answers()?.len() as f64;
    let count = "sapphire_query_seconds_count{port=\"0\",attribute=\"PathRecord\",method=\"Get\"}";
    let sum = count.replace("_count", "_sum");
    let bucket = |le: &str| {
        let bucket = count.replace("_count", "_bucket");
        bucket.replace('{', &format!("{{le=\"{le}\","))
    };
    let mut page = read("")?;
    // A batch is counted when its replies are out.
    wait_for("all replies to be counted", PATIENCE, || {
        let text = get(address, "/metrics").map_err(std::io::Error::other)?.1;
        page = read(&text).map_err(std::io::Error::other)?;
        Ok(page.samples.get(count) == Some(&asked))
    })
    .with_context(|| format!("{asked} in {page:#?}"))?;
    let of = |name: &str| page.samples.get(name).copied().context(name.to_owned());
    ensure!(of(&sum)? > 0.0 && of(&sum)? < 60.0);
    ensure!(of(&bucket("+Inf"))? == asked);
    let most = page
        .samples
        .iter()
        .filter(|(name, _)| name.starts_with("sapphire_query_seconds_bucket"));
    ensure!(
        most.count() == 4 * 20,
        "19 bounds and the infinite one, of four kinds"
    );
    ensure!(of(&bucket("2.56e-7"))? <= of(&bucket("0.067108864"))?);
    let others = count.replace("method=\"Get\"", "method=\"GetTable\"");
    ensure!(of(&others)? == 0.0, "none was asked for");
    Ok(())
}

#[test]
fn promtool_finds_nothing_to_complain_of() -> Result<()> {
    if Command::new("promtool").arg("--version").output().is_err() {
        return skip("no promtool");
    }
    let mut pages = vec![];
    let mut bed = sampled()?;
    let address = bed.http()?;
    bed.answers()?;
    pages.push(get(address, "/metrics")?.1);
    if Fabric::unavailable().is_none() {
        let bed = subnet_manager()?;
        pages.push(get(http::address(&bed.daemon.logged())?, "/metrics")?.1);
    }
    for page in pages {
        let mut promtool = Command::new("promtool");
        promtool.args(["check", "metrics"]);
        promtool
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut promtool = promtool.spawn()?;
        promtool
            .stdin
            .take()
            .context("a pipe")?
            .write_all(page.as_bytes())?;
        let said = promtool.wait_with_output()?;
        ensure!(said.status.success(), "{said:?}");
        ensure!(said.stdout.is_empty() && said.stderr.is_empty(), "{said:?}");
    }
    Ok(())
}
