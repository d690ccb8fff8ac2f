//! A torus whose links and switches go down and come back while clients ask: once OpenSM has routed
//! anew and the daemon has followed, no answer contradicts the tables that OpenSM has programmed.
//!
//! `EVENTS=100 cargo test -p sa-tests --test daemon events` for many; a few otherwise.

use std::collections::BTreeSet;
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, ensure};
use routing::EngineKind;
use sa_answer::whole;
use sa_compiler::pipeline::{self, Inputs, Stamp};
use sa_fabric::LidOverlay;
use sa_fabric::formats::subnet_lst;
use sa_port::ibsim::{Attachment, IbsimClient, Options};
use sa_port::{AskError, ClientPort, Destination, Patience, Reply};
use sa_rig::{Console, Fabric, Process, Torus, wait_for};
use sa_snapshot::Snapshot;
use sa_tests::config::Config;
use sa_tests::daemon::{Daemon, count};
use sa_tests::rng::Rng;
use sa_tests::skip;
use sa_wire::path_record::{PathRecord, QosClassSl};
use sa_wire::{Lid, request};

/// Where the SM is, and with it the daemon, and where clients are. Their switches stay.
const SM: &str = "H0_0_0_0";
const ASKER: &str = "H2_2_2_0";
const JUDGE: &str = "H4_4_4_0";

fn config() -> Config {
    Config::of_files(".")
        .fabric("watch = true\n")
        .torus()
        .routing("allow_lost_pairs = true\n")
        .ibsim(SM)
}

/// Without `EVENTS`.
const FEW_EVENTS: usize = 6;
/// Asked for after each event.
const PAIRS: usize = 150;
/// Longer than between two sweeps.
const AT_REST: Duration = Duration::from_millis(1500);
/// OpenSM sees a change at its next sweep, a second later at most, and routes a torus of 125
/// switches in some more.
const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn answers_follow_what_opensm_programs() -> Result<()> {
    let _turn = sa_tests::turn::heavy();
    if let Some(why) = Fabric::unavailable().or_else(Torus::unavailable) {
        return skip(&why);
    }
    let events = std::env::var("EVENTS")
        .ok()
        .and_then(|text| text.parse().ok());
    let mut bed = Bed::new()?;
    let stop = AtomicBool::new(false);
    let asker = client(&bed.fabric, ASKER)?;
    let lids = bed.lids.clone();
    thread::scope(|scope| {
        let asking = scope.spawn(|| ask_on(asker, &lids, &stop));
        let judged = bed.live_through(events.unwrap_or(FEW_EVENTS));
        stop.store(true, Ordering::Relaxed);
        let asked = asking.join().map_err(|_| anyhow!("the asker panicked"))??;
        let delays = judged?;
        eprintln!("{asked:?}; published after SUBNET UP, ms: {delays:?}");
        ensure!(asked.answered > 0, "nobody was answered");
        Ok(())
    })?;
    // What the simulator could not deliver is its own loss; the daemon answers all that reaches it.
    let counters = bed.daemon.counters()?;
    let (received, answered) = (
        count(&counters, "received=")?,
        count(&counters, "answered=")?,
    );
    let refused = count(&counters, "refused=no_records:").unwrap_or(0);
    ensure!(
        counters.contains(" dropped=0 ") && counters.contains(" unsent=0"),
        "{counters}"
    );
    ensure!(received == answered + refused, "{counters}");
    Ok(())
}

struct Bed {
    // In order of dropping.
    daemon: Daemon,
    _opensm: Process,
    console: Console,
    fabric: Fabric,
    judge: Client,
    lids: Vec<u16>,
    /// Cables between switches, and switches, that may fail.
    cables: Vec<String>,
    switches: Vec<String>,
    cable_down: Option<String>,
    switch_down: Option<String>,
    rng: Rng,
    ups: usize,
}

impl Bed {
    fn new() -> Result<Self> {
        let torus = Torus::generate(&["--dims", "5,5,5", "--hosts", "1"])?;
        let (fabric, console) = Fabric::with_console(&torus.net)?;
        let conf = fabric.dir().join("torus-2QoS.conf");
        fs::write(&conf, &torus.conf)?;
        let mut daemon = Daemon::start(&fabric, &config().write(fabric.dir())?)?;
        daemon.wait_logged("attached to the simulator")?;
        let conf = conf.to_str().context("a path of characters")?;
        let engine = "torus-2QoS,no_fallback";
        let options = ["-R", engine, "-Q", "--torus_config", conf, "-s", "1"];
        let opensm = fabric.opensm(SM, &options)?;
        daemon.next_epoch("ready")?;
        let list = subnet_lst::parse(&fs::read(fabric.dir().join("opensm-subnet.lst"))?)?;
        let overlay = LidOverlay::from_fabric(&list);
        let lids = overlay.guids().filter_map(|guid| overlay.lid(guid));
        let (cables, switches) = parts_that_may_fail(&torus.net)?;
        let mut bed = Self {
            judge: client(&fabric, JUDGE)?,
            daemon,
            _opensm: opensm,
            console,
            fabric,
            lids: lids.map(|lid| lid.get()).collect(),
            cables,
            switches,
            cable_down: None,
            switch_down: None,
            rng: Rng::new(0x5eed),
            ups: 0,
        };
        bed.ups = bed.subnet_ups()?;
        bed.judge_answers()?;
        Ok(bed)
    }

    fn subnet_ups(&self) -> Result<usize> {
        let log = fs::read_to_string(self.fabric.dir().join("opensm.log"))?;
        Ok(log.matches("SUBNET UP").count())
    }

    /// How long after SUBNET UP the daemon had published, for each event. Units: ms.
    fn live_through(&mut self, events: usize) -> Result<Vec<u128>> {
        let mut delays = Vec::new();
        for number in 0..events {
            let before = self.daemon.printed().matches("reloaded").count();
            let event = self.happen()?;
            let up = self.wait_for_subnet_up().context(event.clone())?;
            let published = self.wait_for_reload(before).context(event.clone())?;
            delays.push(published.saturating_duration_since(up).as_millis());
            self.wait_for_rest().context(event.clone())?;
            self.judge_answers()
                .with_context(|| format!("event {number}: {event}"))?;
        }
        Ok(delays)
    }

    /// One link or switch at most is away at a time: what torus-2QoS routes around.
    fn happen(&mut self) -> Result<String> {
        let command = match self.rng.below(2) {
            0 => match self.cable_down.take() {
                Some(cable) => format!("ReLink {cable}"),
                None => {
                    let cable = self.cables[self.rng.below(self.cables.len())].clone();
                    self.cable_down = Some(cable.clone());
                    format!("Unlink {cable}")
                }
            },
            _ => match self.switch_down.take() {
                Some(switch) => format!("ReLink {switch}"),
                None => {
                    let switch = self.switches[self.rng.below(self.switches.len())].clone();
                    self.switch_down = Some(switch.clone());
                    format!("Unlink {switch}")
                }
            },
        };
        self.console.say(&command)?;
        Ok(command)
    }

    fn wait_for_subnet_up(&mut self) -> Result<Instant> {
        let before = self.ups;
        let mut now = before;
        wait_for("OpenSM to route anew", PATIENCE, || {
            now = self.subnet_ups().map_err(std::io::Error::other)?;
            Ok(now > before)
        })?;
        self.ups = now;
        Ok(Instant::now())
    }

    fn wait_for_reload(&mut self, before: usize) -> Result<Instant> {
        let daemon = &mut self.daemon;
        let waited = wait_for("the daemon to follow", PATIENCE, || {
            daemon.alive()?;
            Ok(daemon.printed().matches("reloaded").count() > before)
        });
        waited.with_context(|| self.daemon.logged())?;
        Ok(Instant::now())
    }

    /// A switch's links are found missing one after the other: OpenSM may sweep more than once.
    fn wait_for_rest(&mut self) -> Result<()> {
        let (mut last, mut since) = (None, Instant::now());
        wait_for("OpenSM and the daemon to come to rest", PATIENCE, || {
            let ups = self.subnet_ups().map_err(std::io::Error::other)?;
            let written = fs::metadata(self.fabric.dir().join("opensm-lfts.dump"))?.modified()?;
            let now = Some((ups, written, self.daemon.printed()));
            if now != last {
                (last, since) = (now, Instant::now());
            }
            Ok(since.elapsed() > AT_REST)
        })?;
        self.ups = self.subnet_ups()?;
        Ok(())
    }

    /// Compares answers with what follows from the forwarding tables that OpenSM has dumped.
    fn judge_answers(&mut self) -> Result<()> {
        let programmed = self.programmed()?;
        let mut known = 0;
        for _ in 0..PAIRS {
            let from = self.lids[self.rng.below(self.lids.len())];
            let to = self.lids[self.rng.below(self.lids.len())];
            let mut asked = request::path_by_lids(from, to);
            asked.header.lid = self.judge.lid.into();
            let expected = whole::respond(&programmed, &asked);
            let expected = expected.as_deref().map(seen).transpose()?;
            let got = ask(&mut self.judge, from, to)?;
            let got = got.as_deref().map(seen).transpose()?;
            ensure!(
                got == expected,
                "from {from} to {to}: {got:?}, the switches' tables give {expected:?}"
            );
            known += usize::from(got.is_some_and(|(status, _)| status == 0));
        }
        ensure!(known > PAIRS / 2, "{known} of {PAIRS} pairs have a path");
        Ok(())
    }

    fn programmed(&self) -> Result<Snapshot> {
        let inputs = Inputs {
            fabric: self.fabric.dir().to_owned(),
            engine: Some(EngineKind::Files),
            allow_lost_pairs: true,
            ..Inputs::default()
        };
        Ok(pipeline::compile(&inputs, Stamp::default())?.snapshot)
    }
}

/// Status, and of the record what follows from the tables: not the SL, which the engine gives.
fn seen(reply: &[u8]) -> Result<(u16, Option<PathRecord>)> {
    let (status, records) = request::parse(reply).map_err(|_| anyhow!("a short reply"))?;
    let record = records.first().map(|record| PathRecord {
        qos_class_sl: QosClassSl::default(),
        ..*record
    });
    Ok((status, record))
}

/// What the net file has between switches, and switches without the ports that are needed.
fn parts_that_may_fail(net: &str) -> Result<(Vec<String>, Vec<String>)> {
    let name = |line: &str, nth: usize| line.split('"').nth(nth).map(str::to_owned);
    let is_switch = |line: &&str| line.starts_with("Switch");
    let all: BTreeSet<String> = net
        .lines()
        .filter(is_switch)
        .filter_map(|line| name(line, 1))
        .collect();
    let (mut cables, mut needed, mut node) = (Vec::new(), BTreeSet::new(), String::new());
    for line in net.lines() {
        if let Some(rest) = line.strip_prefix('[') {
            let port = rest.split(']').next().unwrap_or_default();
            let peer = name(line, 1).context("a peer")?;
            if all.contains(&node) && all.contains(&peer) {
                cables.push(format!("\"{node}\"[{port}]"));
            } else if [SM, ASKER, JUDGE].contains(&node.as_str()) {
                needed.insert(peer);
            }
        } else if let Some(known) = name(line, 1) {
            node = known;
        }
    }
    ensure!(needed.len() == 3 && !cables.is_empty());
    let switches = all.difference(&needed);
    Ok((cables, switches.map(|name| format!("\"{name}\"")).collect()))
}

/// A client, and the SA that it asks.
struct Client {
    port: IbsimClient,
    lid: u16,
    sa: Destination,
}

/// Once the SM has configured the fabric.
fn client(fabric: &Fabric, node: &str) -> Result<Client> {
    let mut options = Options::on(node);
    fabric.base().clone_into(&mut options.base);
    let mut attachment = Attachment::new(&options)?;
    let facts = attachment.port()?;
    Ok(Client {
        port: attachment.client()?,
        lid: Lid::raw(facts.lid),
        sa: Destination::sa(facts.sm_lid.context("no SM")?),
    })
}

/// None where nothing comes back.
fn ask(client: &mut Client, from: u16, to: u16) -> Result<Option<Vec<u8>>> {
    const TRIES: Patience = Patience {
        timeout: Duration::from_secs(1),
        retries: 2,
    };
    let mut reply = Reply::default();
    let request = request::path_by_lids(from, to);
    match client.port.ask(&client.sa, &request.mad, TRIES, &mut reply) {
        Ok(()) => Ok(Some(reply.mad)),
        Err(AskError::TimedOut { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

#[derive(Debug, Default)]
struct Asked {
    answered: u64,
    undeliverable: u64,
    silent: u64,
}

fn ask_on(mut client: Client, lids: &[u16], stop: &AtomicBool) -> Result<Asked> {
    let (mut asked, mut rng, mut reply) = (Asked::default(), Rng::new(7), Reply::default());
    let patience = Patience {
        timeout: Duration::from_secs(1),
        retries: 0,
    };
    while !stop.load(Ordering::Relaxed) {
        let (from, to) = (lids[rng.below(lids.len())], lids[rng.below(lids.len())]);
        let request = request::path_by_lids(from, to);
        match client
            .port
            .ask(&client.sa, &request.mad, patience, &mut reply)
        {
            Ok(()) => asked.answered += 1,
            Err(AskError::Undeliverable { .. }) => asked.undeliverable += 1,
            Err(AskError::TimedOut { .. }) => asked.silent += 1,
            Err(error) => return Err(error.into()),
        }
        thread::sleep(Duration::from_millis(1));
    }
    Ok(asked)
}
