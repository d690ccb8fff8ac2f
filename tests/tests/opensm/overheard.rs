//! What the preload library overhears of an OpenSM's SMPs is what that OpenSM's SA tells, through changes
//! of the fabric, and costs the SA no question.
//!
//! The test is the daemon's end of the library's socket (`beside`).

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use sa_compiler::pipeline::{Inputs, Stamp};
use sa_fabric::sa_records::Records;
use sa_rig::{Console, Fabric, Process, wait_for};
use sa_source::written::{Counts, Standing, Written};
use sa_source::{OnDifference, SaReader, Wants, When, compile_from_sa, read};
use sa_tests::skip;
use sa_wire::sa::AttributeId;

use crate::beside::{self, Asked, Socket, lock};

/// OpenSM takes some seconds from a cable to the last table.
const PATIENCE: Duration = Duration::from_secs(60);

/// Leaves with hosts, and spines that all leaves are cabled to.
struct Tree {
    leaves: usize,
    hosts: usize,
    spines: usize,
}

impl Tree {
    fn net(&self) -> String {
        let mut net = String::new();
        let ports = self.hosts + self.spines;
        for leaf in 0..self.leaves {
            let _ = writeln!(
                net,
                "switchguid={:#x}\nSwitch {ports} \"L{leaf}\"",
                0x1000 + leaf
            );
            for host in 0..self.hosts {
                let _ = writeln!(net, "[{}] \"H{leaf}_{host}\"[1]", host + 1);
            }
            for spine in 0..self.spines {
                let _ = writeln!(
                    net,
                    "[{}] \"S{spine}\"[{}]",
                    self.hosts + spine + 1,
                    leaf + 1
                );
            }
            net.push('\n');
        }
        for spine in 0..self.spines {
            let _ = writeln!(net, "switchguid={:#x}", 0x2000 + spine);
            let _ = writeln!(net, "Switch {} \"S{spine}\"", self.leaves);
            for leaf in 0..self.leaves {
                let _ = writeln!(
                    net,
                    "[{}] \"L{leaf}\"[{}]",
                    leaf + 1,
                    self.hosts + spine + 1
                );
            }
            net.push('\n');
        }
        for leaf in 0..self.leaves {
            for host in 0..self.hosts {
                let guid = 0x10_0000 + 0x100 * leaf + 0x10 * host;
                let name = format!("H{leaf}_{host}");
                let _ = writeln!(net, "caguid={guid:#x}\nHca 1 \"{name}\"");
                let _ = writeln!(net, "[1] \"L{leaf}\"[{}]\n", host + 1);
            }
        }
        net
    }
}

/// Lets OpenSM sweep once more and waits for its end. On a busy machine some of its first SMPs are gone
/// before anybody listens, and no route is known by what is heard then.
fn sweep_again(fabric: &Fabric, opensm: &Process) -> Result<()> {
    let log = fabric.dir().join("opensm.log");
    let sweeps = || -> Result<usize> { Ok(fs::read_to_string(&log)?.matches("SUBNET UP").count()) };
    let before = sweeps()?;
    let told = Command::new("kill")
        .args(["-HUP", &opensm.id().to_string()])
        .status()?;
    ensure!(told.success(), "OpenSM is gone");
    wait_for("another SUBNET UP", PATIENCE, || {
        Ok(sweeps().is_ok_and(|now| now > before))
    })?;
    Ok(())
}

/// An OpenSM with the library, and what is overheard of it.
struct Bed {
    // In order of dropping: OpenSM goes before its fabric.
    _opensm: Process,
    console: Console,
    written: Arc<Mutex<Written>>,
    asked: Asked,
    reader: SaReader,
    /// Another client, which only compares.
    judge: Socket,
    inputs: Inputs,
    _fabric: Fabric,
}

impl Bed {
    fn new(tree: &Tree, options: &[&str]) -> Result<Self> {
        let (fabric, console) = Fabric::with_console(&tree.net())?;
        let (opensm, shared) = beside::start(&fabric, "H0_0", options)?;
        sweep_again(&fabric, &opensm)?;
        let asked = Asked::default();
        let reads = Socket::open(&shared, &fabric, "H1_0", &asked)?;
        let judge = Socket::open(&shared, &fabric, "H1_1", &Asked::default())?;
        let inputs = Inputs {
            fabric: PathBuf::new(),
            ..Inputs::default()
        };
        Ok(Self {
            _opensm: opensm,
            console,
            written: Arc::clone(&shared.written),
            asked,
            reader: SaReader::new(Box::new(reads), 100, OnDifference::Refuse),
            judge,
            inputs,
            _fabric: fabric,
        })
    }

    fn written(&self) -> MutexGuard<'_, Written> {
        lock(&self.written)
    }

    fn counts(&self) -> Counts {
        self.written().counts()
    }

    /// Compiles what the reader reads, with sampled paths compared with OpenSM's. Questions that this
    /// took, by attribute, without those for paths.
    fn compile(&mut self) -> Result<BTreeMap<AttributeId, usize>> {
        lock(&self.asked).clear();
        let reader = &mut self.reader;
        let stamp = Stamp::default();
        let compared = compile_from_sa(&self.inputs, reader, When::Always, stamp, None)?;
        let compared = compared.context("a snapshot")?;
        compared.publishable()?;
        let read = compared.compiled.from_sa.context("what was read")?;
        self.reader.accept(read);
        let mut asked = lock(&self.asked).clone();
        asked.remove(&AttributeId::PATH_RECORD);
        Ok(asked)
    }

    /// Waits until what was overheard is other than at `version`, is what OpenSM tells, and stays so.
    fn agrees_after(&mut self, version: u64) -> Result<()> {
        wait_for("OpenSM's SA to tell what was overheard", PATIENCE, || {
            thread::sleep(Duration::from_millis(200));
            let (overheard, now) = {
                let mut written = self.written();
                (written.records(), written.version())
            };
            let told = read(&mut self.judge, &Wants::default());
            let is_same = told.is_ok_and(|told| Some(told.records()) == overheard.as_ref());
            Ok(is_same && now != version && now == self.written().version())
        })
        .with_context(|| self.difference())
    }

    /// What differs between the two, for whoever reads a failure.
    fn difference(&mut self) -> String {
        let (overheard, standing) = {
            let mut written = self.written();
            (written.records(), written.standing().clone())
        };
        let Some(overheard) = overheard else {
            return format!("{standing:?}");
        };
        let told = match read(&mut self.judge, &Wants::default()) {
            Ok(told) => told.records().clone(),
            Err(error) => return error.to_string(),
        };
        let nodes = told
            .nodes
            .iter()
            .zip(&overheard.nodes)
            .find(|(one, other)| one != other);
        let ports = told
            .ports
            .iter()
            .zip(&overheard.ports)
            .find(|(one, other)| one != other);
        let links = told
            .links
            .iter()
            .zip(&overheard.links)
            .find(|(one, other)| one != other);
        let switches = told.switches.iter().zip(&overheard.switches);
        let switches = switches.clone().find(|(one, other)| one != other);
        let sl2vl = told
            .sl2vl
            .iter()
            .zip(&overheard.sl2vl)
            .find(|(one, other)| one != other);
        let keys = |records: &Records| {
            let tables = records.pkeys.iter().flatten();
            tables
                .map(|it| {
                    (
                        it.lid.get(),
                        it.port,
                        it.block.get(),
                        it.pkeys[..4].to_vec(),
                        it.reserved,
                    )
                })
                .collect()
        };
        let (one, other): (Vec<_>, Vec<_>) = (keys(&told), keys(&overheard));
        let pkeys = one.iter().zip(&other).find(|(one, other)| one != other);
        let pkeys = format!("{pkeys:?} {} {}", one.len(), other.len());
        format!(
            "told, overheard: {nodes:?} {ports:?} {links:?} {switches:?} {sl2vl:?}; tables {}, P_Keys {}, \
             GUIDs {}; numbers {:?} {:?}",
            told.lfts == overheard.lfts,
            pkeys,
            told.guids == overheard.guids,
            [
                told.nodes.len(),
                told.ports.len(),
                told.links.len(),
                told.sl2vl.len()
            ],
            [
                overheard.nodes.len(),
                overheard.ports.len(),
                overheard.links.len(),
                overheard.sl2vl.len()
            ],
        )
    }

    /// A change of the fabric: overheard whole, told alike by OpenSM, compiled without a question.
    fn change(&mut self, command: &str) -> Result<()> {
        let version = self.written().version();
        self.console.say(command)?;
        self.agrees_after(version)
            .with_context(|| command.to_owned())?;
        let asked = self.compile()?;
        ensure!(asked.is_empty(), "{command}: asked {asked:?}");
        Ok(())
    }
}

/// Cables, hosts and a switch go and come; each time all records are those that OpenSM tells.
fn follows(options: &[&str]) -> Result<()> {
    if let Some(reason) = Fabric::unavailable() {
        return skip(&reason);
    }
    let tree = Tree {
        leaves: 4,
        hosts: 3,
        spines: 2,
    };
    let mut bed = Bed::new(&tree, &[&["-s", "1"], options].concat())?;
    let whole = bed.compile()?;
    ensure!(whole[&AttributeId::LINEAR_FORWARDING_TABLE_RECORD] >= 6);
    let standing = bed.written().standing().clone();
    ensure!(standing == Standing::Whole, "{standing:?}");
    // Routes are known from the first sweep that is heard whole, so that one is asked for by a change.
    for command in [
        r#"Unlink "S0"[1]"#,
        r#"Link "S0"[1] "L0"[4]"#,
        r#"Unlink "L2"[1]"#,
        r#"Link "L2"[1] "H2_0"[1]"#,
        r#"Unlink "S1""#,
    ] {
        bed.change(command)?;
    }
    let counts = bed.counts();
    ensure!(counts.asked == 1 && counts.lost == 0, "{counts:?}");
    Ok(())
}

#[test]
fn what_is_overheard_of_opensm_is_what_its_sa_tells() -> Result<()> {
    follows(&["-R", "ftree"])
}

#[test]
fn what_is_overheard_with_qos_is_what_the_sa_tells() -> Result<()> {
    follows(&["-R", "updn", "-Q"])
}
