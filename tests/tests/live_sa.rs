//! A fabric read from a running SA over the simulator: the same as from files.

mod e2e_support;

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use e2e_support::{Daemon, sapphire, skip};
use routing::Engine;
use sa_tests::rig::{Fabric, Torus};
use serde_json::Value;
use sm_control::config::{FabricSaSection, SaSource, SaTransport};
use sm_control::live::{LiveSource, PortAsk};
use sm_control::pipeline::{self, Compiled, Inputs, Stamp, When, compile, compile_live};
use sm_control::{request, slow_sa};

/// A fabric that OpenSM has set up, and a daemon that serves it from files.
struct Bed {
    fabric: Fabric,
    _daemon: Daemon,
    /// Where the daemon is, and where it is asked from.
    asker: String,
    third: String,
    inputs: Inputs,
}

impl Bed {
    fn new(
        net: &str,
        opensm: &[&str],
        more: &str,
        inputs: impl FnOnce(&Path) -> Inputs,
    ) -> Result<Self> {
        let mut hosts = net.lines().filter(|line| line.starts_with("Hca"));
        let mut host = || Some(hosts.next()?.split('"').nth(1)?.to_owned());
        let (server, asker) = (host().context("a host")?, host().context("two hosts")?);
        let third = host().context("three hosts")?;
        let fabric = Fabric::start(net)?;
        fabric.configure(&server, opensm)?;
        let config = fabric.dir().join("sapphired.toml");
        let port = format!("[[port]]\ntransport = \"ibsim\"\nnode = \"{server}\"\n");
        fs::write(
            &config,
            format!("{port}[workers]\nyield_after = 64\n{more}"),
        )?;
        let mut daemon = Daemon::start(&fabric, &config)?;
        daemon.next_epoch("ready")?;
        Ok(Self {
            inputs: inputs(fabric.dir()),
            fabric,
            _daemon: daemon,
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
        let section = format!(
            "[fabric]\nsource = \"files\"\npath = \"net\"\nlids = \"opensm-subnet.lst\"\n\
             [routing]\ntorus_conf = \"{conf}\"\n"
        );
        let text = torus.conf.clone();
        Self::new(&torus.net, &opensm, &section, |directory| {
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
        let section = "[fabric]\nsource = \"files\"\npath = \".\"\n";
        Self::new(&tree_net(), &["-R", "ftree"], section, |directory| Inputs {
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

    fn source(&self) -> Result<LiveSource> {
        let ask = PortAsk::open(&SaSource::over(SaTransport::Ibsim {
            node: self.asker.clone(),
            sockname: Some(self.fabric.base().to_owned()),
        }))?;
        let section = FabricSaSection::default();
        Ok(LiveSource::new(Box::new(ask), &section))
    }

    /// From the SA, with all other inputs the same.
    fn read(&self, source: &mut LiveSource) -> Result<Compiled> {
        let inputs = Inputs {
            fabric: "".into(),
            lids: None,
            ..self.inputs.clone()
        };
        let read = compile_live(&inputs, source, When::Changed, Stamp::default(), None)?;
        let compiled = read.context("a fabric that is new")?;
        compiled.publishable()?;
        ensure!(
            compiled.differences.is_empty() && compiled.parts.programmed.is_empty(),
            "{:?} {:?}",
            compiled.differences,
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
    ensure!(live.parts.routes.engine() == Engine::Torus2Qos);
    ensure!(live.parts.topology == files.parts.topology);
    ensure!(bytes(&live)? == bytes(&files)?);

    // Nothing happened since.
    source.accept(live.live.context("what was read")?);
    let again = compile_live(
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
    ensure!(live.parts.routes.engine() == Engine::Files);
    for switch in live.parts.topology.switch_ixs() {
        ensure!(live.parts.routes.lft(switch) == files.parts.routes.lft(switch));
    }
    let last = files.parts.topology.max_lid();
    for (from, to) in (1..=last).flat_map(|from| (1..=last).map(move |to| (from, to))) {
        let request = request::path_by_lids(from, to);
        let answer = |compiled: &Compiled| slow_sa::respond(&compiled.snapshot, &request);
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
    let config = bed.fabric.dir().join("second.toml");
    let node = &bed.asker;
    let text = format!(
        "[fabric]\nsource = \"sa\"\n[routing]\ntorus_conf = \"torus-2QoS.conf\"\n\
         [workers]\nyield_after = 64\n[[port]]\ntransport = \"ibsim\"\nnode = \"{node}\"\n"
    );
    fs::write(&config, text)?;
    let mut second = Daemon::start(&bed.fabric, &config)?;
    second.next_epoch("ready")?;
    let logged = second.logged();
    ensure!(logged.contains("engine torus-2QoS"), "{logged}");
    ensure!(!logged.contains("otherwise"), "{logged}");

    let via = format!("ibsim:{}", bed.third);
    let lid = bed.lid_of(&bed.asker)?.to_string();
    let ask = |more: &[&str]| -> Result<Value> {
        let fixed = [
            "query", "pr", "--via", &via, "--json", "--slid", "7", "--dlid", "90",
        ];
        let output = sapphire(&bed.fabric, &[&fixed, more].concat())?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{said}");
        Ok(serde_json::from_slice(&output.stdout)?)
    };
    let (first, second) = (ask(&[])?, ask(&["--sa-lid", &lid])?);
    ensure!(first["status"] == "0x0000", "{first}");
    ensure!(first["records"] == second["records"], "{first} {second}");
    Ok(())
}

/// What is read lies in files that all offline verbs take.
#[test]
fn files_of_a_running_fabric_serve_offline_verbs() -> Result<()> {
    if let Some(why) = Fabric::unavailable().or_else(Torus::unavailable) {
        return skip(&why);
    }
    let bed = Bed::torus()?;
    let via = format!("ibsim:{}", bed.asker);
    let run = |arguments: &[&str]| -> Result<Value> {
        let output = sapphire(&bed.fabric, arguments)?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{arguments:?}: {said}");
        Ok(serde_json::from_slice(&output.stdout)?)
    };
    let read = run(&["fabric", "read", "--via", &via, "-o", "read", "--json"])?;
    ensure!(read["switches"] == 125 && read["ports"] == 125, "{read}");
    ensure!(read["links"] == 125 * 3 + 125, "{read}");
    let same = |name: &str| -> Result<bool> {
        let text = |path: &Path| fs::read_to_string(path.join(name));
        Ok(text(&bed.fabric.dir().join("read"))? == text(bed.fabric.dir())?)
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

    let nobody = sapphire(
        &bed.fabric,
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
