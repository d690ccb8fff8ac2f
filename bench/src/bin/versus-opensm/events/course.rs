//! The events of one Subnet Manager, in turn, over a simulator of its own.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use sa_bench::shapes;
use sa_rig::tap::Tap;
use sa_rig::{Console, Fabric as Simulated};

use super::place::Place;
use crate::failure::{Failure, Outcome};
use crate::options::Options;
use crate::process::{Process, Programs, signal};
use crate::side::Who;
use crate::up::subnet::Subnet;
use crate::up::taken::{OPENSM_LOG, free_port, opensm, sapphired};

/// What came of an event.
pub(super) struct Taken {
    pub(super) gets: u64,
    pub(super) sets: u64,
    /// From the event on; none without a Set.
    pub(super) last_set: Option<Duration>,
}

/// What happens, after the first sweep.
#[derive(Debug, Clone)]
enum Happens {
    /// A command of the simulator's console.
    Said(String),
    /// SIGHUP, with all files as they are.
    Ordered,
}

/// A Subnet Manager that runs, and what is to happen to it yet.
pub(super) struct Course<'a> {
    // In order of dropping: the Subnet Manager goes first.
    sm: Process,
    tap: Tap,
    console: Console,
    /// Its directory, and the log in it.
    _simulated: Simulated,
    log: PathBuf,
    begun: Instant,
    /// The first event is the start.
    is_up: bool,
    left: std::vec::IntoIter<(&'static str, Happens)>,
    interrupted: &'a AtomicBool,
}

/// Counts of the tap at a moment, and how often the log has said that a sweep is over.
#[derive(Clone, Copy)]
struct Before {
    requests: u64,
    sets: u64,
    ups: usize,
}

impl<'a> Course<'a> {
    /// Starts simulator, tap and Subnet Manager. Errors: one of them does not start; the subnet has
    /// no place for the events.
    pub(super) fn start(
        who: Who,
        subnet: &Subnet,
        programs: &Programs,
        options: &Options,
        interrupted: &'a AtomicBool,
    ) -> Outcome<Self> {
        let (simulated, console, tap) = Simulated::tapped(subnet.net()).map_err(simulator())?;
        let directory = simulated.dir();
        subnet.write(directory)?;
        // Neither sweeps by itself, nor reads tables back for ever: what is counted is what the event made.
        let config = directory.join("sapphired.toml");
        let quiet = subnet.config() + "[sm]\nsweep_interval = 0\naudit_interval = 0\n";
        fs::write(&config, quiet).map_err(Failure::of(config.display()))?;
        let mut command = match who {
            Who::OpenSm => opensm(programs, directory, free_port()?),
            Who::Sapphired => sapphired(options, directory)?,
        };
        command
            .current_dir(directory)
            .env("IBSIM_SOCKNAME", simulated.base())
            .env("SIM_HOST", subnet.sm_node());
        let log = directory.join(match who {
            Who::OpenSm => OPENSM_LOG,
            Who::Sapphired => "sapphired.out",
        });
        let sm = shapes::first_host(subnet.fabric());
        let place = sm.and_then(|sm| Place::of(subnet.fabric(), sm));
        let place = place.ok_or_else(|| {
            Failure::Usage("--events: too small a subnet: it needs a cable, a host and a switch apart from the Subnet Manager's".to_owned())
        })?;
        let begun = Instant::now();
        Ok(Self {
            sm: Process::spawn(who.key(), &mut command, directory)?,
            tap,
            console,
            log,
            _simulated: simulated,
            begun,
            is_up: false,
            left: events(&place).into_iter(),
            interrupted,
        })
    }

    /// Has the next one happen, and waits for rest. None after the last one. Errors: there is no
    /// rest.
    pub(super) fn next(&mut self) -> Outcome<Option<(&'static str, Taken)>> {
        if !core::mem::replace(&mut self.is_up, true) {
            let nothing = Before {
                requests: 0,
                sets: 0,
                ups: 0,
            };
            return Ok(Some(("first sweep", self.rest(nothing, self.begun)?)));
        }
        let Some((name, happens)) = self.left.next() else {
            return Ok(None);
        };
        let before = self.before();
        let begun = Instant::now();
        match happens {
            Happens::Said(command) => self.console.say(&command).map_err(simulator())?,
            Happens::Ordered => signal("HUP", &[self.sm.id()])?,
        }
        Ok(Some((name, self.rest(before, begun)?)))
    }

    fn before(&self) -> Before {
        Before {
            requests: self.tap.requests(),
            sets: self.tap.writes().count,
            ups: ups(&self.log),
        }
    }

    /// Until a sweep has ended since, and nothing was asked for a second and for as long as that
    /// took.
    fn rest(&mut self, before: Before, begun: Instant) -> Outcome<Taken> {
        let (mut asked, mut last) = (before.requests, Instant::now());
        loop {
            self.sm.check()?;
            if self.interrupted.load(Ordering::Relaxed) {
                return Err(Failure::Interrupted);
            }
            let requests = self.tap.requests();
            if requests != asked {
                (asked, last) = (requests, Instant::now());
            }
            let is_over = ups(&self.log) > before.ups;
            if is_over && last.elapsed() > QUIET + last.duration_since(begun) {
                break;
            }
            if begun.elapsed() > LONGEST {
                return Err(Failure::Failed(format!(
                    "no rest within {} s; {}",
                    LONGEST.as_secs(),
                    self.sm.printed()
                )));
            }
            thread::sleep(LOOK);
        }
        let writes = self.tap.writes();
        let sets = writes.count - before.sets;
        Ok(Taken {
            gets: (asked - before.requests).saturating_sub(sets),
            sets,
            last_set: writes
                .last
                .filter(|_| sets > 0)
                .map(|last| last.duration_since(begun)),
        })
    }
}

/// In an order in which each finds the subnet whole again.
fn events(place: &Place) -> Vec<(&'static str, Happens)> {
    let Place {
        cable,
        host,
        switch,
    } = place;
    let said = |word: &str, what: &str| Happens::Said(format!("{word} {what}"));
    vec![
        ("a cable out", said("Unlink", cable)),
        ("the cable in", said("ReLink", cable)),
        ("a host out", said("Unlink", host)),
        ("the host in", said("ReLink", host)),
        ("a switch off", said("Unlink", switch)),
        ("the switch on", said("ReLink", switch)),
        ("SIGHUP, no change", Happens::Ordered),
    ]
}

/// Sweeps that have ended, in either's words.
fn ups(log: &std::path::Path) -> usize {
    let text = fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    ENDS.iter().map(|end| text.matches(end).count()).sum()
}

fn simulator() -> impl FnOnce(io::Error) -> Failure {
    Failure::of("the simulator")
}

/// What both log when a sweep is over.
const ENDS: [&str; 2] = ["SUBNET UP", "Errors during initialization"];
/// Without a request, at least.
const QUIET: Duration = Duration::from_secs(1);
/// Between two looks.
const LOOK: Duration = Duration::from_millis(20);
/// For the slowest event of the largest subnets.
const LONGEST: Duration = Duration::from_secs(900);
