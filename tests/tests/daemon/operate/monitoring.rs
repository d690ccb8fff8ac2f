//! Alert rules and the board of `docs/monitoring`, in a real Prometheus.
//!
//! ```text
//!  pages of real daemons ──> a target that is well ──> no alert
//!                             │ each rule's figure is made bad
//!                             └──────────────────────> each alert fires
//! ```
//!
//! Rules are loaded as they are, but for their `for`, which is none here: a test cannot wait half a day.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;

use anyhow::{Context, Result, ensure};
use sa_rig::{Fabric, wait_for};
use sa_tests::metrics::golden;
use sa_tests::skip;
use serde_json::Value;

use super::bed::{PATIENCE, get};
use super::metrics::{EVERYTHING, sampled, subnet_manager};

/// What a scrape gets; none: the connection is closed without a word.
type Served = Arc<Mutex<Option<String>>>;

fn document(name: &str) -> PathBuf {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/monitoring");
    docs.join(name)
}

/// A target of Prometheus.
fn target(page: &str) -> Result<(SocketAddr, Served)> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    let served: Served = Arc::new(Mutex::new(Some(page.to_owned())));
    let page = Arc::clone(&served);
    // Ends with the process: it holds nothing but its listener.
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let page = page.lock().ok().and_then(|page| page.clone());
            if let Some(page) = page {
                // A scrape that went away is asked for again.
                let _ = reply(stream, &page);
            }
        }
    });
    Ok((address, served))
}

fn reply(mut stream: TcpStream, page: &str) -> io::Result<()> {
    let mut head = [0; 4096];
    let _ = stream.read(&mut head)?;
    let length = page.len();
    write!(
        stream,
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{page}"
    )
}

/// Prometheus, until it is dropped.
struct Prometheus {
    process: Child,
    address: SocketAddr,
    directory: tempfile::TempDir,
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Prometheus {
    /// Scrapes and judges every second.
    fn start(targets: &[SocketAddr]) -> Result<Self> {
        let directory = tempfile::tempdir()?;
        let rules = fs::read_to_string(document("alerts.yml"))?;
        let at_once = rules
            .lines()
            .filter(|line| !line.trim_start().starts_with("for: "));
        let at_once: Vec<&str> = at_once.collect();
        fs::write(directory.path().join("alerts.yml"), at_once.join("\n"))?;
        let config = format!(
            "global: {{scrape_interval: 1s, evaluation_interval: 1s}}\nrule_files: [alerts.yml]\nscrape_configs:\n  \
             - job_name: sapphire\n    static_configs: [{{targets: {:?}}}]\n",
            targets.iter().map(ToString::to_string).collect::<Vec<_>>()
        );
        fs::write(directory.path().join("prometheus.yml"), config)?;
        // Free a moment ago; who else takes it meanwhile makes the start fail.
        let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        let log = fs::File::create(directory.path().join("log"))?;
        let process = Command::new("prometheus")
            .current_dir(directory.path())
            .args(["--config.file=prometheus.yml", "--storage.tsdb.path=data"])
            .arg(format!("--web.listen-address={address}"))
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()?;
        let started = Self {
            process,
            address,
            directory,
        };
        wait_for("Prometheus", PATIENCE, || {
            Ok(started.ask("/-/ready").is_ok())
        })
        .with_context(|| started.log())?;
        Ok(started)
    }

    fn log(&self) -> String {
        fs::read_to_string(self.directory.path().join("log")).unwrap_or_default()
    }

    /// The body of a page. Errors: another status than 200.
    fn ask(&self, path: &str) -> Result<String> {
        let mut stream = TcpStream::connect(self.address)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        // 1.0, so that the end of the connection is the end of the page.
        write!(stream, "GET {path} HTTP/1.0\r\nHost: x\r\n\r\n")?;
        let mut reply = String::new();
        stream.read_to_string(&mut reply)?;
        ensure!(reply.get(9..12) == Some("200"), "{path}: {reply}");
        Ok(reply.split_once("\r\n\r\n").context("a body")?.1.to_owned())
    }

    fn data(&self, path: &str) -> Result<Value> {
        let reply: Value = serde_json::from_str(&self.ask(path)?)?;
        ensure!(reply["status"] == "success", "{reply}");
        Ok(reply["data"].clone())
    }

    /// The result of an expression. Errors: it is none.
    fn query(&self, expression: &str) -> Result<Vec<Value>> {
        let encoded: String = expression
            .bytes()
            .map(|byte| format!("%{byte:02x}"))
            .collect();
        let data = self.data(&format!("/api/v1/query?query={encoded}"))?;
        Ok(data["result"].as_array().cloned().unwrap_or_default())
    }

    /// All rules: name and expression.
    fn rules(&self) -> Result<Vec<(String, String)>> {
        let data = self.data("/api/v1/rules")?;
        let groups = data["groups"].as_array().context("groups")?;
        let rules = groups.iter().flat_map(|group| group["rules"].as_array());
        let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let rules = rules.flatten();
        Ok(rules
            .map(|rule| (word(&rule["name"]), word(&rule["query"])))
            .collect())
    }

    fn firing(&self) -> Result<BTreeSet<String>> {
        let data = self.data("/api/v1/alerts")?;
        let alerts = data["alerts"].as_array().context("alerts")?;
        let firing = alerts.iter().filter(|alert| alert["state"] == "firing");
        let names = firing.filter_map(|alert| alert["labels"]["alertname"].as_str());
        Ok(names.map(str::to_owned).collect())
    }
}

/// Whatever daemons tell, of several on one page: the first that has a family.
fn well() -> Result<String> {
    let bed = subnet_manager()?;
    let mut page = bed.page("/metrics")?.1;
    let mut of_ring = sampled()?;
    let address = of_ring.http()?;
    let other = get(address, "/metrics")?.1;
    for family in other.split("# HELP ").filter(|it| !it.is_empty()) {
        let name = family.split(' ').next().unwrap_or_default();
        if !page.contains(&format!("# HELP {name} ")) {
            page += &format!("# HELP {family}");
        }
    }
    // Parts that need a peer: as they are where nothing is wrong.
    for sample in [
        "sapphire_shadow_different_total 0",
        "sapphire_tables_compared_total{result=\"different\"} 0",
        "sapphire_local_served 1",
        "sapphire_fleet_silent 0",
        "sapphire_fleet_records_total{result=\"not_stored\"} 0",
    ] {
        page += &format!("{sample}\n");
    }
    // A subnet of two hosts without a partition may have something to say.
    Ok(with(&page, &[("sapphire_sm_findings", "0")]))
}

/// The same with other values. Shape: the sample as it is written, or its name where all rows are meant.
fn with(page: &str, values: &[(&str, &str)]) -> String {
    let lines = page.lines().map(|line| {
        let changed = values.iter().find_map(|(sample, value)| {
            let rest = line.strip_prefix(sample)?;
            let (row, _) = line.rsplit_once(' ')?;
            rest.starts_with([' ', '{'])
                .then(|| format!("{row} {value}\n"))
        });
        changed.unwrap_or_else(|| format!("{line}\n"))
    });
    lines.collect()
}

/// Everything that a rule is there for.
const ILL: [(&str, &str); 17] = [
    ("sapphire_ready", "0"),
    ("sapphire_active", "1"),
    ("sapphire_port_served", "0"),
    ("sapphire_reload_total{result=\"failed\"}", "100"),
    ("sapphire_load_seconds", "301"),
    ("sapphire_state_failing", "1"),
    ("sapphire_rollback_held", "1"),
    ("sapphire_shadow_different_total", "3"),
    ("sapphire_drops_total", "100000"),
    ("sapphire_sm_sweep_failures_total", "100"),
    ("sapphire_sm_findings", "1"),
    ("sapphire_sm_audit_differing_total", "7"),
    ("sapphire_health_findings", "2"),
    ("sapphire_health_oldest_seconds", "3601"),
    ("sapphire_local_served", "0"),
    ("sapphire_fleet_silent", "1"),
    ("sapphire_fleet_records_total{result=\"not_stored\"}", "50"),
];

/// Names of metrics in an expression: of ours, and of the process.
fn names(expression: &str) -> BTreeSet<String> {
    let words = expression.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let ours = words.filter(|word| word.starts_with("sapphire_") || word.starts_with("process_"));
    let base = |word: &str| {
        let suffixes = ["_bucket", "_sum", "_count"];
        let base = suffixes.iter().find_map(|suffix| word.strip_suffix(suffix));
        base.unwrap_or(word).to_owned()
    };
    ours.map(base).collect()
}

/// Expressions of the board, as Grafana asks them.
fn of_board() -> Result<Vec<String>> {
    let board: Value = serde_json::from_str(&fs::read_to_string(document("grafana.json"))?)?;
    let panels = board["panels"].as_array().context("panels")?;
    let targets = panels.iter().flat_map(|panel| panel["targets"].as_array());
    let expressions = targets
        .flatten()
        .filter_map(|target| target["expr"].as_str());
    let filled = expressions.map(|it| {
        let it = it
            .replace("$__rate_interval", "1m")
            .replace("$instance", ".*");
        it.replace("$job", "sapphire")
    });
    Ok(filled.collect())
}

#[test]
fn each_alert_fires_where_it_should_and_the_board_finds_its_metrics() -> Result<()> {
    if Command::new("prometheus")
        .arg("--version")
        .output()
        .is_err()
    {
        return skip("no prometheus");
    }
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    let page = well()?;
    let (one, of_one) = target(&page)?;
    let (other, of_other) = target(&page)?;
    let prometheus = Prometheus::start(&[one, other])?;
    // Enough of it that an increase is seen.
    wait_for("scrapes of what is well", PATIENCE, || {
        let scraped = prometheus.query("min(count_over_time(sapphire_ready[1m])) >= 3");
        Ok(!scraped.map_err(io::Error::other)?.is_empty())
    })?;
    let calm = prometheus.firing()?;
    ensure!(calm.is_empty(), "{calm:?} of what is well");
    let known = golden(&EVERYTHING)?;
    let rules = prometheus.rules()?;
    let board = of_board()?;
    ensure!(rules.len() >= 16 && board.len() >= 25);
    for expression in rules.iter().map(|(_, query)| query).chain(&board) {
        for name in names(expression) {
            ensure!(known.contains_key(&name), "no {name}: {expression}");
        }
        prometheus.query(expression)?;
    }
    // Queries without a comparison have something to draw; errors and slow requests may be none.
    for expression in board.iter().filter(|it| !it.contains("> 0")) {
        let found = prometheus.query(expression)?;
        ensure!(!found.is_empty(), "nothing to draw: {expression}");
    }
    *of_one.lock().ok().context("a page")? =
        Some(with(&with(&page, &ILL), &[("process_max_fds", "1")]));
    *of_other.lock().ok().context("a page")? = None;
    let all: BTreeSet<String> = rules.into_iter().map(|(name, _)| name).collect();
    let mut fired = BTreeSet::new();
    let waited = wait_for("all alerts", PATIENCE, || {
        fired.extend(prometheus.firing().map_err(io::Error::other)?);
        Ok(fired == all)
    });
    waited.with_context(|| format!("not {:?}", all.difference(&fired)))
}
