//! A fabric read from a running SA over the simulator: the same as from files.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use routing::EngineKind;
use sa_answer::whole;
use sa_compiler::pipeline::{self, Compiled, Inputs, Stamp, compile};
use sa_rig::{Fabric, Torus, wait_for};
use sa_source::{Ask, Client, SaReader, SaSource, SaTransport, When, compile_from_sa};
use sa_tests::cli::sapphire_on;
use sa_tests::config::Config;
use sa_tests::daemon::Daemon;
use sa_tests::served::Served;
use sa_tests::{http, schema, skip};
use sa_wire::{Lid, request};
use serde_json::Value;
use sm_control::config::FabricSaSection;

/// A fabric that OpenSM has set up, and a daemon that serves it from files.
struct Bed {
    served: Served,
    /// Where the daemon is, and where it is asked from.
    asker: String,
    third: String,
    inputs: Inputs,
}

impl Bed {
    fn new(
        net: &str,
        opensm: &[&str],
        config: Config,
        inputs: impl FnOnce(&Path) -> Inputs,
    ) -> Result<Self> {
        Self::with(net, opensm, config, |directory| Ok(inputs(directory)))
    }

    /// The same, where `inputs` writes files that the daemon reads.
    fn with(
        net: &str,
        opensm: &[&str],
        config: Config,
        inputs: impl FnOnce(&Path) -> Result<Inputs>,
    ) -> Result<Self> {
        let mut hosts = net.lines().filter(|line| line.starts_with("Hca"));
        let mut host = || Some(hosts.next()?.split('"').nth(1)?.to_owned());
        let (server, asker) = (host().context("a host")?, host().context("two hosts")?);
        let third = host().context("three hosts")?;
        let fabric = Fabric::start(net)?;
        fabric.configure(&server, opensm)?;
        let inputs = inputs(fabric.dir())?;
        let served = Served::on(fabric, &config.ibsim(&server))?;
        Ok(Self {
            inputs,
            served,
            asker,
            third,
        })
    }

    fn torus() -> Result<Self> {
        let torus = Torus::generate(&["--dims", "5,5,5", "--hosts", "1"])?;
        let scratch = tempfile::tempdir()?;
        let conf = scratch.path().join("torus-2QoS.conf");
        fs::write(&conf, &torus.conf)?;
        let conf = conf.to_str().context("a path")?;
        let opensm = ["-R", "torus-2QoS", "--torus_config", conf, "-Q"];
        let config = Config::of_files("net")
            .fabric("lids = \"opensm-subnet.lst\"\n")
            .routing(&format!("torus_conf = \"{conf}\"\n"));
        let text = torus.conf.clone();
        Self::new(&torus.net, &opensm, config, |directory| {
            // Beside the others, as the first is gone by then.
            let own = directory.join("torus-2QoS.conf");
            let _ = fs::write(&own, text);
            Inputs {
                fabric: directory.join("net"),
                lids: Some(directory.join("opensm-subnet.lst")),
                torus_conf: Some(own),
                ..Inputs::default()
            }
        })
    }

    /// Two levels of switches, with OpenSM's own tables.
    fn tree() -> Result<Self> {
        let config = Config::of_files(".");
        Self::new(&tree_net(), &["-R", "ftree"], config, |directory| Inputs {
            fabric: directory.to_owned(),
            ..Inputs::default()
        })
    }

    fn lid_of(&self, host: &str) -> Result<u16> {
        let parts = pipeline::route(pipeline::read(&self.inputs)?)?;
        let index = parts.subnet.find(host)?;
        let end = parts.subnet.end_ports().get(index).context("a port")?;
        Ok(end.lid.get())
    }

    fn source(&self) -> Result<SaReader> {
        let ask = SaSource::over(SaTransport::Ibsim {
            node: self.asker.clone(),
            sockname: Some(self.served.fabric.base().to_owned()),
        })
        .open()?;
        Ok(FabricSaSection::default().live_source(Box::new(ask)))
    }

    /// From the SA, with all other inputs the same.
    fn read(&self, source: &mut SaReader) -> Result<Compiled> {
        let inputs = Inputs {
            fabric: "".into(),
            lids: None,
            ..self.inputs.clone()
        };
        let read = compile_from_sa(&inputs, source, When::Changed, Stamp::default(), None)?;
        let compiled = read.context("a fabric that is new")?;
        compiled.publishable()?;
        let (compiled, differences) = (compiled.compiled, compiled.differences);
        ensure!(
            differences.is_empty() && compiled.parts.programmed.is_empty(),
            "{:?} {:?}",
            differences,
            compiled.parts.programmed
        );
        Ok(compiled)
    }
}

fn tree_net() -> String {
    let mut net = String::new();
    for leaf in 0..6 {
        let _ = writeln!(net, "switchguid={:#x}\nSwitch 8 \"L{leaf}\"", 0x1000 + leaf);
        for host in 0..3 {
            let _ = writeln!(net, "[{}] \"H{leaf}{host}\"[1]", host + 1);
        }
        for spine in 0..3 {
            let _ = writeln!(net, "[{}] \"S{spine}\"[{}]", spine + 4, leaf + 1);
        }
        net.push('\n');
    }
    for spine in 0..3 {
        let _ = writeln!(
            net,
            "switchguid={:#x}\nSwitch 8 \"S{spine}\"",
            0x2000 + spine
        );
        for leaf in 0..6 {
            let _ = writeln!(net, "[{}] \"L{leaf}\"[{}]", leaf + 1, spine + 4);
        }
        net.push('\n');
    }
    for leaf in 0..6 {
        for host in 0..3 {
            let guid = 0x10_0000 + 0x100 * leaf + 0x10 * host;
            let port = host + 1;
            let _ = writeln!(
                net,
                "caguid={guid:#x}\nHca 1 \"H{leaf}{host}\"\n[1] \"L{leaf}\"[{port}]\n"
            );
        }
    }
    net
}

/// Of the same parts, with nothing in it that tells where they came from.
fn bytes(compiled: &Compiled) -> Result<Vec<u8>> {
    let snapshot = pipeline::build(&compiled.parts, Vec::new(), Stamp::default())?;
    Ok(snapshot.as_bytes().to_vec())
}

#[test]
fn a_torus_read_from_an_sa_is_that_from_files_byte_for_byte() -> Result<()> {
    if let Some(why) = Fabric::unavailable().or_else(Torus::unavailable) {
        return skip(&why);
    }
    let bed = Bed::torus()?;
    let files = compile(&bed.inputs, Stamp::default())?;
    let mut source = bed.source()?;
    let live = bed.read(&mut source)?;
    ensure!(live.parts.routes.engine() == EngineKind::Torus2Qos);
    ensure!(live.parts.topology == files.parts.topology);
    ensure!(bytes(&live)? == bytes(&files)?);

    // Nothing happened since.
    source.accept(live.from_sa.context("what was read")?);
    let again = compile_from_sa(
        &bed.inputs,
        &mut source,
        When::Changed,
        Stamp::default(),
        None,
    )?;
    ensure!(again.is_none());
    Ok(())
}

#[test]
fn a_tree_read_from_an_sa_is_that_from_dumps() -> Result<()> {
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    let bed = Bed::tree()?;
    let files = compile(&bed.inputs, Stamp::default())?;
    let live = bed.read(&mut bed.source()?)?;
    ensure!(live.parts.routes.engine() == EngineKind::Files);
    for switch in live.parts.topology.switch_ixs() {
        ensure!(live.parts.routes.lft(switch) == files.parts.routes.lft(switch));
    }
    let last = files.parts.topology.max_lid();
    for (from, to) in (1..=last).flat_map(|from| (1..=last).map(move |to| (from, to))) {
        let request = request::path_by_lids(from, to);
        let answer = |compiled: &Compiled| whole::respond(&compiled.snapshot, &request);
        ensure!(answer(&live) == answer(&files), "{from} to {to}");
    }
    Ok(())
}

/// A second daemon that knows of the fabric only what the first one tells.
#[test]
fn a_daemon_serves_what_it_reads_from_an_sa() -> Result<()> {
    if let Some(why) = Fabric::unavailable().or_else(Torus::unavailable) {
        return skip(&why);
    }
    let bed = Bed::torus()?;
    let config = bed.served.fabric.dir().join("second.toml");
    let config = Config::of_sa()
        .torus()
        .ibsim(&bed.asker)
        .with("[control]\npath = \"second-control\"\n")
        .write_as(&config)?;
    let mut daemon = Daemon::start(&bed.served.fabric, &config)?;
    daemon.next_epoch("ready")?;
    let logged = daemon.logged();
    ensure!(logged.contains("engine torus-2QoS"), "{logged}");
    ensure!(!logged.contains("otherwise"), "{logged}");

    let via = format!("ibsim:{}", bed.third);
    let lid = bed.lid_of(&bed.asker)?.to_string();
    let ask = |more: &[&str]| -> Result<Value> {
        let fixed = [
            "query", "pr", "--via", &via, "--json", "--slid", "7", "--dlid", "90",
        ];
        let output = sapphire_on(&bed.served.fabric, &[&fixed, more].concat())?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{said}");
        Ok(serde_json::from_slice(&output.stdout)?)
    };
    let (first, second) = (ask(&[])?, ask(&["--sa-lid", &lid])?);
    ensure!(first["status"] == "0x0000", "{first}");
    ensure!(first["records"] == second["records"], "{first} {second}");

    // Another reading of the same SA, by a way of its own, gives the same.
    let tried = tried(&bed.served.fabric, &daemon)?;
    ensure!(tried["entries_changed"] == 0, "{tried}");
    ensure!(tried["comparison"]["pairs"]["changed"] == 0, "{tried}");
    ensure!(
        tried["comparison"]["pairs"]["asked"].as_u64() > Some(0),
        "{tried}"
    );
    Ok(())
}

/// A dry run of that daemon. It is tried again where the daemon, which polls its SA, has loaded by itself meanwhile: such a load goes
/// first, and what was compared is not in service any more.
fn tried(fabric: &Fabric, daemon: &Daemon) -> Result<Value> {
    let control = fabric.dir().join("second-control");
    let control = control.to_str().context("a path")?;
    let line = ["reload", "--dry-run", "--json", "--control", control];
    let deadline = Instant::now() + PATIENCE;
    loop {
        let loads = daemon.printed().lines().count();
        let output = sapphire_on(fabric, &line)?;
        let answer: Value = serde_json::from_slice(&output.stdout)?;
        let has_loaded = daemon.printed().lines().count() != loads;
        if output.status.success() && !has_loaded {
            let printed = daemon.printed();
            let in_service = printed.lines().rfind(|line| line.contains(" epoch="));
            let is_of_it = format!(" epoch={}", answer["epoch"]);
            ensure!(
                in_service.is_some_and(|line| line.ends_with(&is_of_it)),
                "{answer}\n{printed}"
            );
            return Ok(answer);
        }
        let may_be = output.status.success() || answer["code"] == "busy";
        ensure!(may_be && Instant::now() < deadline, "{output:?}");
    }
}

/// An SM that is away is asked again and again; that is one failure, and it is read when it is back.
#[test]
fn an_sa_that_is_away_is_one_failure_however_often_it_is_asked() -> Result<()> {
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    let bed = Bed::tree()?;
    let config = bed.served.fabric.dir().join("second.toml");
    let config = Config::of_sa()
        .ibsim(&bed.asker)
        .with("[fabric.sa]\ntimeout_ms = 200\nretries = 0\npoll_ms = 100\n")
        .with("[http]\nlisten = \"127.0.0.1:0\"\n")
        .write_as(&config)?;
    let mut second = Daemon::start(&bed.served.fabric, &config)?;
    second.next_epoch("ready")?;
    let pages = http::address(&second.logged())?;
    let loads = |result: &str| -> Result<u64> {
        let name = format!("sapphire_reload_total{{result=\"{result}\"}} ");
        let (_, page) = http::get(pages, "/metrics")?;
        let value = page.lines().find_map(|line| line.strip_prefix(&name));
        Ok(value.with_context(|| page.clone())?.parse()?)
    };
    let wait = |what: &str, result: &str, least: u64| {
        wait_for(what, PATIENCE, || {
            Ok(loads(result).map_err(io::Error::other)? >= least)
        })
    };
    bed.served.daemon.signal("STOP")?;
    wait("a failure", "failed", 1)?;
    // A few tries: each ends by its own timeout.
    let ends = Instant::now() + Duration::from_secs(3);
    while Instant::now() < ends {
        ensure!(loads("failed")? == 1, "{}", second.logged());
    }
    let before = loads("ok")?;
    bed.served.daemon.signal("CONT")?;
    wait("a load", "ok", before + 1)?;
    let said = second.logged();
    let complaints = said.matches("the snapshot in service stays").count();
    ensure!(complaints == 1, "{said}");
    second.alive()?;
    Ok(())
}

/// The policy file is edited before, at and after the signal by which the SM reads it: a daemon that
/// reads the fabric from that SM never goes on with what the SM has left, and always comes to what
/// it has. The SM here is a daemon too; OpenSM itself is asked in the VM, as it has no long replies
/// on the simulator.
#[test]
fn a_policy_that_the_sm_reads_later_or_sooner_is_never_answered_against_it() -> Result<()> {
    let _turn = sa_tests::turn::heavy();
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    let policy = "[policy]\nfile = \"qos-policy.conf\"\n";
    let config = Config::of_files(".").with(policy);
    let sm = Bed::with(&tree_net(), &["-R", "ftree"], config, |directory| {
        fs::write(directory.join("qos-policy.conf"), one_pair(1))?;
        Ok(Inputs::default())
    })?;
    let fabric = &sm.served.fabric;
    let config = Config::of_sa().ibsim("H01").with(policy);
    let config = config.with("[fabric.sa]\npoll_ms = 2000\n");
    let config = config.write_as(&fabric.dir().join("second.toml"))?;
    let policy = fabric.dir().join("qos-policy.conf");
    let mut daemon = Daemon::start(fabric, &config)?;
    daemon.next_epoch("ready")?;
    let mut judge = Judge::new(fabric)?;
    let all_refusals = |daemon: &Daemon| daemon.printed().matches("reload failed").count();
    let before = all_refusals(&daemon);
    for round in 2..22u8 {
        let sl = round % 8;
        let write = || fs::write(&policy, one_pair(sl));
        match round % 3 {
            // The daemon is sooner, and refuses what the SM does not answer: unless a reload of the
            // round before was so late that the SM has read this policy too.
            0 => {
                let refusals = all_refusals(&daemon);
                write()?;
                let refused = judge.until("the daemon to refuse", |theirs| {
                    Ok(all_refusals(&daemon) > refusals || theirs == sl)
                });
                let logs = || [daemon.logged(), sm.served.daemon.logged()].join("\nthe SM:\n");
                refused.with_context(|| format!("round {round}\n{}", logs()))?;
                sm.served.daemon.signal("HUP")?;
            }
            1 => {
                write()?;
                sm.served.daemon.signal("HUP")?;
            }
            _ => {
                sm.served.daemon.signal("HUP")?;
                write()?;
                let end = Instant::now() + Duration::from_millis(300);
                judge.until("a moment", |_| Ok(Instant::now() > end))?;
                sm.served.daemon.signal("HUP")?;
            }
        }
        let settled = judge.settles(sl);
        settled.with_context(|| format!("round {round}\n{}", daemon.logged()))?;
    }
    daemon.alive()?;
    ensure!(all_refusals(&daemon) > before, "the daemon never refused");
    Ok(())
}

/// From H10 to H21 this SL, elsewhere 0.
fn one_pair(sl: u8) -> String {
    format!(
        "port-groups\n port-group\n  name: a\n  port-guid: 0x100101\n end-port-group\n\
         port-group\n  name: b\n  port-guid: 0x100211\n end-port-group\nend-port-groups\n\
         qos-levels\n qos-level\n  name: DEFAULT\n  sl: 0\n end-qos-level\n\
         qos-level\n  name: L\n  sl: {sl}\n end-qos-level\nend-qos-levels\n\
         qos-match-rules\n qos-match-rule\n  source: a\n  destination: b\n\
         qos-level-name: L\n end-qos-match-rule\nend-qos-match-rules\n"
    )
}

/// Asks the SM and the daemon the same, and compares.
struct Judge {
    sm: Client,
    daemon: Client,
    pair: [u16; 2],
    /// What the SM answers, and since when.
    now: (u8, Instant),
    before: u8,
}

impl Judge {
    fn new(fabric: &Fabric) -> Result<Self> {
        let asker = |node: &str, sa_lid| {
            let source = SaSource {
                sa_lid,
                timeout_ms: 300,
                retries: 0,
                ..SaSource::over(SaTransport::Ibsim {
                    node: node.to_owned(),
                    sockname: Some(fabric.base().to_owned()),
                })
            };
            Ok::<_, anyhow::Error>(source.open()?)
        };
        let lid = |node: &str| Ok::<_, anyhow::Error>(Lid::raw(asker(node, None)?.lid()));
        let (server, pair) = (lid("H01")?, [lid("H10")?, lid("H21")?]);
        Ok(Self {
            sm: asker("H02", None)?,
            daemon: asker("H11", Some(server))?,
            pair,
            now: (1, Instant::now()),
            before: 1,
        })
    }

    /// `is` gets what the SM answers.
    fn until(&mut self, what: &str, mut is: impl FnMut(u8) -> Result<bool>) -> Result<()> {
        let deadline = Instant::now() + PATIENCE;
        while !is(self.now.0)? {
            ensure!(Instant::now() < deadline, "waited in vain for {what}");
            self.look()?;
        }
        Ok(())
    }

    /// Both come to answer the new one.
    fn settles(&mut self, sl: u8) -> Result<()> {
        let deadline = Instant::now() + PATIENCE;
        while self.look()? != Some(sl) || self.now.0 != sl {
            let now = self.now.0;
            ensure!(
                Instant::now() < deadline,
                "the SM answers {now}, not both {sl}"
            );
        }
        Ok(())
    }

    /// The daemon's answer, which is the SM's of now or of a moment ago; none where it is silent.
    fn look(&mut self) -> Result<Option<u8>> {
        let request = request::path_by_lids(self.pair[0], self.pair[1]).mad;
        let sl = |ask: &mut Client| {
            let reply = ask.ask(&request).ok()?;
            let (_, records) = request::parse(&reply).ok()?;
            Some(records.first()?.qos_class_sl.sl().get())
        };
        let answer = sl(&mut self.daemon);
        if let Some(theirs) = sl(&mut self.sm)
            && theirs != self.now.0
        {
            self.before = self.now.0;
            self.now = (theirs, Instant::now());
        }
        if let Some(answer) = answer {
            let is_new = answer == self.now.0;
            let is_just_left = answer == self.before && self.now.1.elapsed() < BOUND;
            let (now, since) = (self.now.0, self.now.1.elapsed());
            ensure!(
                is_new || is_just_left,
                "SL {answer}, where the SM answers {now} for {since:?}, and {} before",
                self.before
            );
        }
        Ok(answer)
    }
}

/// How long the daemon may go by what the SM has left: the time that docs/operating.md gives, and
/// some for machines with much to do.
const BOUND: Duration = Duration::from_secs(15);
const PATIENCE: Duration = Duration::from_secs(40);

/// What is read lies in files that all offline verbs take.
#[test]
fn files_of_a_running_fabric_serve_offline_verbs() -> Result<()> {
    if let Some(why) = Fabric::unavailable().or_else(Torus::unavailable) {
        return skip(&why);
    }
    let bed = Bed::torus()?;
    let via = format!("ibsim:{}", bed.asker);
    let run = |arguments: &[&str]| -> Result<Value> {
        let output = sapphire_on(&bed.served.fabric, arguments)?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{arguments:?}: {said}");
        Ok(serde_json::from_slice(&output.stdout)?)
    };
    let read = run(&["fabric", "read", "--via", &via, "-o", "read", "--json"])?;
    ensure!(schema::judge(&read)? == "sapphire.fabric-read/1");
    ensure!(read["switches"] == 125 && read["ports"] == 125, "{read}");
    ensure!(read["links"] == 125 * 3 + 125, "{read}");
    let same = |name: &str| -> Result<bool> {
        let text = |path: &Path| fs::read_to_string(path.join(name));
        Ok(text(&bed.served.fabric.dir().join("read"))? == text(bed.served.fabric.dir())?)
    };
    ensure!(same("opensm-subnet.lst")?, "as OpenSM dumped it");
    ensure!(same("opensm-lfts.dump")?, "as OpenSM dumped it");
    let conf = [
        "--fabric",
        "read",
        "--torus-conf",
        "torus-2QoS.conf",
        "--json",
    ];
    let routed = run(&[&["route"][..], &conf].concat())?;
    ensure!(
        routed["engine"] == "torus-2QoS" && routed["pairs_lost"] == 0,
        "{routed}"
    );

    let nobody = sapphire_on(
        &bed.served.fabric,
        &[
            "fabric",
            "read",
            "--via",
            &via,
            "--sa-lid",
            "200",
            "--timeout",
            "50",
            "-o",
            "x",
        ],
    )?;
    ensure!(nobody.status.code() == Some(4), "{}", nobody.status);
    let said = String::from_utf8_lossy(&nobody.stderr);
    ensure!(said.contains("LID 200 cannot be reached"), "{said}");
    Ok(())
}
