//! The tree, OpenSM and the daemon as processes, and questions to both.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use sa_fabric::generate::{FatTreeSpec, fat_tree};
use sa_rig::rng::Rng;
use sa_rig::tap::Tap;
use sa_rig::{Console, Fabric, Process};
use sa_tests::cli::program;
use sa_tests::client::Client;
use sa_tests::config::Config;
use sa_tests::daemon::Daemon;
use sa_wire::Gid;
use sa_wire::mad::method;
use sa_wire::request;
use sa_wire::sa::AttributeId;
use sa_wire::umad::Slot;

use super::{Answer, Pair, parsed};

/// Where OpenSM and the daemon are.
const HOME: &str = "H0_0_0";
/// Ports of a switch, so that there are 1,024 hosts.
const RADIX: u8 = 16;
const HOSTS: u64 = 1024;
/// GUIDs as the generator gives them: nodes', and behind each its port's.
const FIRST_GUID: u64 = 0x100_0001;
const STEP: u64 = 0x10;
const HOSTS_OF_A_LEAF: u64 = 8;

/// Everything that runs.
pub(super) struct Site {
    // In order of dropping: who asks, the daemon, OpenSM, and then what they are attached to.
    waker: Waker,
    ring: sa_client::Client,
    judge: Client,
    daemon: Daemon,
    _opensm: Process,
    pub(super) console: Console,
    pub(super) tap: Tap,
    fabric: Fabric,
}

impl Site {
    /// Starts all of it and waits until the daemon has a snapshot.
    pub(super) fn start() -> Result<Self> {
        let (fabric, console, tap) = Fabric::tapped(&net()?)?;
        let socket = fabric.dir().join("split.sock");
        let library = program("libsapphire_split.so")?;
        let variables = [("SAPPHIRE_SPLIT_SOCKET", socket.as_path())];
        let options = ["-R", "ftree"];
        let opensm = fabric.opensm_behind(&library, HOME, &options, &variables)?;
        let waker = Waker::start(Client::attach(&fabric, "H1_0_0")?);
        let config = Config::of_opensm("split.sock").write(fabric.dir())?;
        let mut daemon = Daemon::preloaded(&fabric, HOME, &config)?;
        let ready = daemon.next_epoch("ready");
        ready.with_context(|| daemon.logged())?;
        let ring = sa_client::Client::connect(&fabric.dir().join("ring"))?;
        Ok(Self {
            waker,
            ring,
            judge: Client::attach(&fabric, "H2_0_0")?,
            daemon,
            _opensm: opensm,
            console,
            tap,
            fabric,
        })
    }

    /// Heavy sweeps that OpenSM has finished.
    pub(super) fn sweeps(&self) -> io::Result<usize> {
        let log = fs::read(self.fabric.dir().join("opensm.log"))?;
        let log = String::from_utf8_lossy(&log);
        Ok(log.matches("SUBNET UP").count())
    }

    /// Pairs to ask for, half of them with an end at the leaf that the event is about.
    pub(super) fn pairs(&self, command: &str, count: usize, rng: &mut Rng) -> Vec<Pair> {
        let near = leaf(command).map(|leaf| leaf * HOSTS_OF_A_LEAF);
        let mut pairs = Vec::with_capacity(count);
        while pairs.len() < count {
            let mut from = rng.below(HOSTS);
            if let Some(near) = near
                && rng.one_in(2)
            {
                from = near + rng.below(HOSTS_OF_A_LEAF);
            }
            let pair = (gid(from), gid(rng.below(HOSTS)));
            pairs.push(if rng.one_in(2) {
                pair
            } else {
                (pair.1, pair.0)
            });
        }
        pairs
    }

    /// The daemon's answer.
    pub(super) fn ours(&mut self, (from, to): &Pair) -> Result<Answer> {
        let slot = request::path_by_gids(0, *from, *to);
        parsed(&self.ring.ask(0, &slot.mad)?)
    }

    /// OpenSM's.
    pub(super) fn theirs(&mut self, (from, to): &Pair) -> Result<Answer> {
        let slot = request::path_by_gids(self.judge.lid, *from, *to);
        parsed(&self.judge.ask(&slot)?)
    }

    /// What the daemon has said, for whoever reads a failure.
    pub(super) fn said(&self, command: &str) -> String {
        let logged = self.daemon.logged();
        let last: Vec<&str> = logged.lines().rev().take(12).collect();
        let mut text = format!("{command}; the daemon, last line first:");
        for line in last {
            let _ = write!(text, "\n  {line}");
        }
        text
    }

    /// Errors: the daemon had to read the fabric from OpenSM's SA more than once.
    pub(super) fn heard_all(mut self) -> Result<()> {
        self.daemon.alive()?;
        self.waker.check()?;
        let logged = self.daemon.logged();
        ensure!(!logged.contains("heard-otherwise"), "{logged}");
        ensure!(!logged.contains("panicked"), "{logged}");
        let (status, _) = self.daemon.terminate()?;
        ensure!(status.success(), "{status}");
        Ok(())
    }
}

/// The generated tree, where of each leaf one cable up is slow: what rate a path has depends on its route.
fn net() -> Result<String> {
    let net = fat_tree(&FatTreeSpec::new(3, RADIX))?.net();
    let mut slow = String::new();
    let mut name = String::new();
    for line in net.lines() {
        slow += line;
        if let Some((_, rest)) = line.split_once("Switch 16 \"") {
            name = rest.trim_end_matches('"').to_owned();
        }
        if is_slow(&name, line) {
            slow += " w=1";
        }
        slow.push('\n');
    }
    Ok(slow)
}

/// Leaf i of a pod to middle switch i of it, told at either end.
fn is_slow(name: &str, line: &str) -> bool {
    let Some((_, far)) = line.split_once('"') else {
        return false;
    };
    let Some((far, _)) = far.split_once('"') else {
        return false;
    };
    let number = |name: &str| name.split_once('_').map(|(_, number)| number.to_owned());
    let levels = (name.get(..1), far.get(..1));
    let is_between = matches!(levels, (Some("L"), Some("M")) | (Some("M"), Some("L")));
    is_between && number(name) == number(far)
}

/// The leaf that a console command names, counted through all pods.
fn leaf(command: &str) -> Option<u64> {
    let (_, name) = command.split_once('"')?;
    let (name, _) = name.split_once('"')?;
    let mut numbers = name.get(1..)?.split('_').map(str::parse::<u64>);
    let (pod, own) = (numbers.next()?.ok()?, numbers.next()?.ok()?);
    let is_of_leaf = name.starts_with(['L', 'H']);
    is_of_leaf.then_some(pod * HOSTS_OF_A_LEAF + own)
}

fn gid(host: u64) -> Gid {
    let mut gid = [0; 16];
    gid[..2].copy_from_slice(&[0xfe, 0x80]);
    gid[8..].copy_from_slice(&(FIRST_GUID + host * STEP).to_be_bytes());
    Gid(gid)
}

/// Questions to OpenSM all the time. On the simulator nothing else makes it look at what the daemon asks.
struct Waker {
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Waker {
    fn start(mut client: Client) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let over = Arc::clone(&is_over);
        let attribute = AttributeId::CLASS_PORT_INFO;
        let ping: Slot = request::request(client.lid, method::GET, attribute, 0, &[]);
        let thread = thread::spawn(move || {
            while !over.load(Ordering::Relaxed) {
                // An OpenSM that sweeps answers late.
                let _ = client.ask(&ping);
                thread::sleep(Duration::from_millis(1));
            }
        });
        Self {
            is_over,
            thread: Some(thread),
        }
    }

    fn check(&self) -> Result<()> {
        let is_there = self.thread.as_ref().is_some_and(|it| !it.is_finished());
        ensure!(is_there, "the waker has ended");
        Ok(())
    }
}

impl Drop for Waker {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
