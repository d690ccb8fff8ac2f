//! `sapphired` as the Subnet Manager of a torus in which something happens each second.
//!
//! ```text
//!  each second      a cable is pulled, another one is plugged in; now and then a host goes and comes
//!  all the time     a client asks for paths of all LIDs; another one joins a group and leaves it
//!  each minute      quiet: no finding is left, every pair of a sample has a path, and ibtracert finds it in the tables
//! ```
//!
//! Memory, descriptors and threads are looked at each second; a third of the time later they must be what they were. By default it takes
//! a few seconds on 27 switches. For the real one, on 512:
//!
//! ```sh
//! cargo build --release -p sm-control -p sa-tools
//! SAPPHIRE_SOAK=7200 cargo test --release -p sa-tests --test daemon soak::manager -- --nocapture
//! ```

use std::collections::VecDeque;
use std::fmt;
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use sa_fabric::formats::net;
use sa_fabric::{NodeIx, PortRef};
use sa_rig::rng::Rng;
use sa_rig::{Console, Fabric, Scratch, wait_for};
use sa_tests::cli::sapphire_in;
use sa_tests::client::{Client, Question};
use sa_tests::config::Config;
use sa_tests::served::Served;
use sa_tests::skip;
use sa_wire::{Gid, NodeType, SubnetPrefix, request};

use super::bed::resident;

/// Another socket of the simulator, and another client there.
const ASKS: &str = "H1_0_0_0";
const JOINS: &str = "H2_0_0_0";
const TRACES: &str = "H0_1_0_0";
const GROUP: &str = "ff12:401b:ffff::1:2";

/// How long, and how wide the torus is.
fn size() -> (Duration, &'static str) {
    let asked = std::env::var("SAPPHIRE_SOAK").ok();
    let seconds = asked.and_then(|text| text.parse().ok());
    match seconds {
        Some(seconds) => (Duration::from_secs(seconds), "8"),
        None => (Duration::from_secs(6), "3"),
    }
}

/// What a daemon takes of its machine.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Taken {
    /// Units: KiB.
    resident: u64,
    descriptors: u64,
    threads: u64,
}

impl Taken {
    fn by(bed: &Served) -> Result<Self> {
        let count = |what: &str| -> Result<u64> {
            let entries = fs::read_dir(format!("/proc/{}/{what}", bed.daemon.pid()))?;
            Ok(u64::try_from(entries.count())?)
        };
        Ok(Self {
            resident: resident(&bed.daemon)?,
            descriptors: count("fd")?,
            threads: count("task")?,
        })
    }

    fn most(all: &[Self]) -> Self {
        let most = |of: fn(&Self) -> u64| all.iter().map(of).max().unwrap_or_default();
        Self {
            resident: most(|it| it.resident),
            descriptors: most(|it| it.descriptors),
            threads: most(|it| it.threads),
        }
    }
}

impl fmt::Display for Taken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            resident,
            descriptors,
            threads,
        } = self;
        write!(
            f,
            "{resident} KiB, {descriptors} descriptors, {threads} threads"
        )
    }
}

/// Errors: the last third took more than the first one, which has the daemon's beginning in it.
fn is_flat(all: &[Taken]) -> Result<(Taken, Taken)> {
    let third = all.len() / 3;
    let (first, last) = (&all[..third.max(1)], &all[all.len() - third.max(1)..]);
    let (first, last) = (Taken::most(first), Taken::most(last));
    let is_flat = last.resident <= first.resident + first.resident / 10 + ROOM
        && last.descriptors <= first.descriptors + 2
        && last.threads <= first.threads;
    ensure!(is_flat, "at first {first}; at last {last}");
    Ok((first, last))
}

/// Units: KiB.
const ROOM: u64 = 16 << 10;

/// Cables that come and go. At most a few are out at a time.
struct Cables {
    console: Console,
    fabric: sa_fabric::Fabric,
    /// The next one to go first: each goes once before any goes again, so that none goes as often as one that flaps.
    inside: VecDeque<(PortRef, PortRef)>,
    out: VecDeque<(PortRef, PortRef)>,
    events: u64,
}

impl Cables {
    fn new(console: Console, text: &str) -> Result<Self> {
        let fabric = net::parse(text.as_bytes())?;
        let is_used = |at: PortRef| {
            let name = &fabric.node(at.node).description;
            ["H0_0_0_0", ASKS, JOINS, TRACES].contains(&name.as_str())
        };
        let all = fabric.cabled().filter(|(one, far)| one < far);
        // A host in forty goes too: else most of what happens would be hosts.
        let goes = |(nth, (one, far)): &(usize, (PortRef, PortRef))| {
            let kinds = [one, far].map(|at| fabric.node(at.node).kind);
            let is_host = kinds != [NodeType::Switch; 2];
            !is_used(*one) && !is_used(*far) && (!is_host || nth % 40 == 0)
        };
        let inside = all.enumerate().filter(goes).map(|(_, cable)| cable);
        let mut inside: Vec<_> = inside.collect();
        let mut random = Rng::new(1);
        for last in (1..inside.len()).rev() {
            inside.swap(last, random.below(last + 1));
        }
        Ok(Self {
            console,
            inside: inside.into(),
            fabric,
            out: VecDeque::new(),
            events: 0,
        })
    }

    fn name(&self, at: PortRef) -> String {
        format!("\"{}\"[{}]", self.fabric.node(at.node).description, at.port)
    }

    /// One cable goes or comes.
    fn change(&mut self) -> Result<()> {
        self.events += 1;
        if self.out.len() == 3 {
            return self.plug();
        }
        let cable = self.inside.pop_front().context("no cable is left")?;
        self.console
            .say(&format!("Unlink {}", self.name(cable.0)))?;
        self.out.push_back(cable);
        Ok(())
    }

    fn plug(&mut self) -> Result<()> {
        if let Some(cable) = self.out.pop_front() {
            let (one, far) = (self.name(cable.0), self.name(cable.1));
            self.console.say(&format!("Link {one} {far}"))?;
            self.inside.push_back(cable);
        }
        Ok(())
    }

    fn plug_all(&mut self) -> Result<()> {
        while !self.out.is_empty() {
            self.plug()?;
        }
        Ok(())
    }
}

/// Asks for paths until it is stopped. How often, and how often there was a path.
fn ask(fabric: &Fabric, lids: u16, stop: &AtomicBool) -> Result<(u64, u64)> {
    let mut client = Client::attach(fabric, ASKS)?;
    let (mut asked, mut told) = (0, 0);
    while !stop.load(Ordering::Relaxed) {
        let question = |lid| Question {
            slot: request::path_by_lids(client.lid, lid),
            is_answered: true,
        };
        let questions: Vec<_> = (1..=lids).map(question).collect();
        for reply in client.ask_all(&questions)? {
            asked += 1;
            let reply = reply.context("a request without an answer")?;
            let (status, _) = request::parse(&reply)?;
            told += u64::from(status == 0);
        }
        thread::sleep(Duration::from_millis(200));
    }
    Ok((asked, told))
}

/// A client asks again for so long: longer than a change of routes may leave a LID without a path.
const PATIENCE: Duration = Duration::from_secs(60);

/// Joins a group and leaves it until it is stopped. How often.
fn join(bed: &Served, gid: &str, stop: &AtomicBool) -> Result<u64> {
    let mut times = 0;
    while !stop.load(Ordering::Relaxed) {
        for verb in ["--set", "--delete"] {
            let mut arguments = vec!["mcmr", verb, "--mgid", GROUP, "--port-gid", gid];
            arguments.extend(["--join-state", "1"]);
            if verb == "--set" {
                arguments.extend(["--q-key", "0x0b1b", "--tclass", "0", "--pkey", "0xffff"]);
                arguments.extend(["--sl", "0", "--flow-label", "0"]);
            }
            // A simulator under load loses packets, and while routes of a torus change in stages a LID may be without a path for seconds, that of
            // the SM too. A request may come twice.
            let until = Instant::now() + PATIENCE;
            let mut reply = bed.ask(JOINS, &arguments);
            while reply.is_err() && Instant::now() < until {
                thread::sleep(Duration::from_millis(200));
                reply = bed.ask(JOINS, &arguments);
            }
            let (status, _) = reply?;
            ensure!(status == "0x0000", "{verb}: {status}");
            times += 1;
        }
        thread::sleep(Duration::from_millis(500));
    }
    Ok(times)
}

/// Of the first port of a host.
fn gid(fabric: &sa_fabric::Fabric, name: &str) -> Result<String> {
    let node = fabric.nodes().iter().position(|it| it.description == name);
    let node = NodeIx::nth(node.context("a host")?);
    let guid = fabric.port(PortRef { node, port: 1 }).guid;
    let guid = guid.context("a GUID")?;
    Ok(Gid::unicast(SubnetPrefix::LINK_LOCAL, guid).to_string())
}

/// Quiet for a moment: no finding is left, and paths that the SA tells are in the tables. How many were followed.
fn look(bed: &Served, lids: u16) -> Result<u64> {
    // What came last may not have been seen yet: the second sweep from now on begins after it.
    for _ in 0..2 {
        let begun = sweeps(bed)?;
        bed.daemon.signal("HUP")?;
        wait_for("a sweep", LONG, || {
            Ok(sweeps(bed).map_err(std::io::Error::other)? > begun)
        })?;
    }
    wait_for("a subnet without a finding", LONG, || {
        let status = bed.status().map_err(std::io::Error::other)?;
        let told = &status["subnet_manager"];
        Ok(told["findings_count"] == 0 && told["nodes"] == u64::from(lids))
    })
    .with_context(|| format!("{:?}: {}", bed.status(), bed.daemon.logged()))?;
    let mut client = Client::attach(&bed.fabric, TRACES)?;
    let mut followed = 0;
    for lid in (1..=lids).step_by(usize::from(lids / 16)) {
        if lid == client.lid {
            continue;
        }
        let reply = client.ask(&request::path_by_lids(client.lid, lid))?;
        let (status, records) = request::parse(&reply)?;
        ensure!(status == 0 && records.len() == 1, "no path to LID {lid}");
        let ends = [client.lid.to_string(), lid.to_string()];
        let ends = ends.each_ref().map(String::as_str);
        // ibsim loses an SMP now and then where many come.
        wait_for("a path in the tables", LONG, || {
            Ok(bed.fabric.tool("ibtracert", JOINS_TOO, &ends).is_ok())
        })?;
        followed += 1;
    }
    Ok(followed)
}

/// How many sweeps are over.
fn sweeps(bed: &Served) -> Result<u64> {
    let status = bed.status()?;
    let sweeps = status["subnet_manager"]["sweeps"].as_u64();
    sweeps.with_context(|| status.to_string())
}

/// Where tools of infiniband-diags are run.
const JOINS_TOO: &str = "H0_0_1_0";

/// After the last event: sweeps of a busy machine take long.
const LONG: Duration = Duration::from_secs(300);

#[test]
fn a_torus_with_an_event_a_second() -> Result<()> {
    let _turn = sa_tests::turn::heavy();
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    let (length, radix) = size();
    let scratch = Scratch::new()?;
    let arguments = [
        "fabric", "torus", radix, radix, radix, "--hosts", "1", "-o", ".",
    ];
    let made = sapphire_in(scratch.path(), &arguments)?;
    ensure!(made.status.success(), "{made:?}");
    let text = fs::read_to_string(scratch.path().join("net"))?;
    let (fabric, console) = Fabric::with_console(&text)?;
    let conf = "torus-2QoS.conf";
    fs::copy(scratch.path().join(conf), fabric.dir().join(conf))?;
    let config = Config::of_sweep_each(10)
        .torus()
        .ibsim("H0_0_0_0")
        .with("[control]\npath = \"control\"\n");
    let bed = Served::on(fabric, &config)?;
    let mut cables = Cables::new(console, &text)?;
    let lids = u16::try_from(cables.fabric.nodes().len())?;
    let gid = gid(&cables.fabric, JOINS)?;
    let (stop, mut taken, mut followed) = (&AtomicBool::new(false), Vec::new(), 0);
    let bed = &bed;
    let counts = thread::scope(|scope| -> Result<_> {
        let asks = scope.spawn(|| ask(&bed.fabric, lids, stop));
        let joins = scope.spawn(|| join(bed, &gid, stop));
        let ends = Instant::now() + length;
        let happened = go_on(bed, &mut cables, ends, lids, (&mut taken, &mut followed));
        stop.store(true, Ordering::Relaxed);
        let asked = asks.join().map_err(|_| anyhow::anyhow!("it panicked"))?;
        let joined = joins.join().map_err(|_| anyhow::anyhow!("it panicked"))?;
        happened?;
        Ok((asked?, joined?))
    });
    let ((asked, told), joined) = counts?;
    let (first, last) = is_flat(&taken)?;
    let status = bed.status()?;
    println!(
        "{length:?}: {} events; asked {asked}, told {told}; joined and left {joined}; {followed} paths followed; at first {first}; at last \
         {last}; {}",
        cables.events, status["subnet_manager"]
    );
    ensure!(asked > 0 && told > 0 && joined > 0 && followed > 0);
    ensure!(status["subnet_manager"]["failed_sweeps"] == 0, "{status}");
    Ok(())
}

/// Until it is time.
fn go_on(
    bed: &Served,
    cables: &mut Cables,
    ends: Instant,
    lids: u16,
    (taken, followed): (&mut Vec<Taken>, &mut u64),
) -> Result<()> {
    loop {
        for _ in 0..A_LOOK_EACH {
            if Instant::now() >= ends {
                break;
            }
            cables.change()?;
            thread::sleep(Duration::from_secs(1));
            taken.push(Taken::by(bed)?);
        }
        cables.plug_all()?;
        *followed += look(bed, lids)?;
        if Instant::now() >= ends {
            return Ok(());
        }
        let now = taken.last().copied().unwrap_or_default();
        println!("{} events, {followed} paths followed: {now}", cables.events);
    }
}

/// Events between two looks.
const A_LOOK_EACH: u32 = 60;
