//! A simulator that ends and is started again under the same name: `sapphired` says so, attaches
//! its port anew by itself, and answers as before.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;

use anyhow::{Context, Result, ensure};
use sa_rig::{Fabric, TWO_HOSTS, wait_for};
use sa_tests::cli::sapphire_on;
use sa_tests::daemon::{Daemon, PATIENCE};
use sa_tests::skip;
use serde_json::Value;

const CONFIG: &str = "\
[fabric]
source = \"files\"
path = \"fabric.lst\"
[[port]]
transport = \"ibsim\"
node = \"H1\"
[workers]
yield_after = 64
[control]
path = \"control\"
[http]
listen = \"127.0.0.1:0\"
";

#[test]
fn a_simulator_that_returns_is_served_again() -> Result<()> {
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    let mut bed = Bed::new()?;
    let before = bed.path()?;
    let status = bed.status()?;
    ensure!(
        status["ports"][0]["attached"] == true && status["ports"][0]["attachments"] == 1,
        "{status}"
    );
    let received = status["ports"][0]["mads"]["received"].as_u64();
    ensure!(received.is_some_and(|count| count > 0), "{status}");

    bed.fabric.ibsim().stop();
    bed.daemon.wait_logged("waiting for it to return")?;
    let (code, why) = bed.page("/ready")?;
    ensure!(
        code == 503 && why.contains("port 0 is not attached"),
        "{why}"
    );
    ensure!(bed.page("/health")?.0 == 200, "the daemon itself is well");
    ensure!(bed.metric("sapphire_port_attached{port=\"0\"}")? == 0.0);

    bed.fabric.restart()?;
    bed.daemon.wait_logged("attached again")?;
    bed.fabric.configure("H1", &[])?;
    ensure!(bed.path()? == before, "the answers are those of before");
    wait_for("/ready", PATIENCE, || {
        let page = bed.page("/ready").map_err(std::io::Error::other)?;
        Ok(page.0 == 200)
    })?;
    ensure!(bed.metric("sapphire_port_attached{port=\"0\"}")? == 1.0);
    ensure!(bed.metric("sapphire_port_attachments_total{port=\"0\"}")? == 2.0);
    // What the old handles counted stays.
    let all = bed.metric("sapphire_port_mads_total{port=\"0\",kind=\"received\"}")?;
    let least = received.unwrap_or(0) + 1;
    ensure!(all >= least as f64, "{all} of at least {least}");
    bed.daemon.signal("USR1")?;
    bed.daemon
        .wait_logged("MADs port=0 attachments=2 attached=true counted=received:")?;

    // Long replies are the slow lane's, whose way out is another one too.
    let asked = ["query", "nr", "--via", "ibsim:H2", "--json"];
    let output = sapphire_on(&bed.fabric, &asked)?;
    let nodes: Value = serde_json::from_slice(&output.stdout).context(format!("{output:?}"))?;
    ensure!(
        nodes["records"].as_array().map(Vec::len) == Some(3),
        "{nodes}"
    );
    let (ended, logged) = bed.daemon.terminate()?;
    ensure!(ended.success(), "{logged}");
    Ok(())
}

struct Bed {
    fabric: Fabric,
    daemon: Daemon,
}

impl Bed {
    /// Two hosts that OpenSM has set up; the daemon serves on the SM's.
    fn new() -> Result<Self> {
        let fabric = Fabric::start(TWO_HOSTS)?;
        fabric.configure("H1", &[])?;
        let file = |name: &str| fabric.dir().join(name);
        fs::copy(file("opensm-subnet.lst"), file("fabric.lst"))?;
        fs::write(file("sapphired.toml"), CONFIG)?;
        let mut daemon = Daemon::start(&fabric, &file("sapphired.toml"))?;
        daemon.next_epoch("ready")?;
        Ok(Self { fabric, daemon })
    }

    /// What saquery prints of the path between the hosts.
    fn path(&self) -> Result<String> {
        let gids = ["PR", "--sgid-to-dgid", "fe80::10:11-fe80::10:1"];
        Ok(self.fabric.saquery("H2", &gids)?)
    }

    fn status(&self) -> Result<Value> {
        let output = sapphire_on(&self.fabric, &["status", "--json", "--control", "control"])?;
        ensure!(output.status.success(), "{output:?}");
        Ok(serde_json::from_slice(&output.stdout)?)
    }

    /// Status and body.
    fn page(&self, path: &str) -> Result<(u16, String)> {
        let logged = self.daemon.logged();
        let after = logged.split("address=").nth(1).context("an address")?;
        let mut stream = TcpStream::connect(after.split_whitespace().next().context("one")?)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes())?;
        let mut reply = String::new();
        stream.read_to_string(&mut reply)?;
        let (_, body) = reply.split_once("\r\n\r\n").context("a body")?;
        Ok((
            reply.get(9..12).context("a status")?.parse()?,
            body.to_owned(),
        ))
    }

    /// A sample of the metrics.
    fn metric(&self, sample: &str) -> Result<f64> {
        let (_, page) = self.page("/metrics")?;
        let rest = page.lines().find_map(|line| line.strip_prefix(sample));
        let value = rest.with_context(|| format!("{sample} in {page}"))?;
        Ok(value.trim().parse()?)
    }
}
