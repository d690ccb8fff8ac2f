//! Everything at once for a while: clients that judge every answer, clients that flood, a reload ten
//! times a second, a limit on memory; then the end, while all of that goes on.
//!
//! By default each soak lasts a few seconds. For the real one:
//!
//! ```sh
//! cargo build --release -p sm-control -p sa-tools
//! SAPPHIRE_SOAK_SECONDS=300 cargo test --release -p sa-tests --test soak -- --nocapture --test-threads 1
//! ```

mod bed;
mod clients;
mod figures;
#[path = "../ring_support/mod.rs"]
mod ring_support;

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use sa_tests::rig::Fabric;

use bed::{Bed, Daemon};
use clients::{Judge, Tally};
use figures::Figures;
use ring_support::e2e_support::skip;
use ring_support::hostile;

/// What one soak is about.
struct Soak<'a> {
    bed: &'a Bed,
    daemon: Daemon,
    stop: AtomicBool,
}

/// What a client of a soak does until it is told to stop.
type Client<'a> = Box<dyn FnOnce(&AtomicBool) -> Result<Tally> + Send + 'a>;

impl Soak<'_> {
    /// Runs it, and looks at what it left.
    fn run(mut self, judges: Vec<Client<'_>>, floods: Vec<Client<'_>>) -> Result<()> {
        let length = length();
        let (stop, floods_stop) = (&self.stop, &AtomicBool::new(false));
        let (bed, daemon) = (self.bed, &mut self.daemon);
        thread::scope(|scope| {
            // Whatever fails, everybody ends.
            let _all = Stopper([stop, floods_stop]);
            let judges: Vec<_> = judges
                .into_iter()
                .map(|judge| scope.spawn(move || judge(stop)))
                .collect();
            let floods: Vec<_> = floods
                .into_iter()
                .map(|flood| scope.spawn(move || flood(floods_stop)))
                .collect();
            let mut memory = Vec::new();
            let ends = Instant::now() + length;
            let mut reloads = 0_u32;
            while Instant::now() < ends {
                // Files that never lie still are refused; these do, for three reloads.
                if reloads.is_multiple_of(4) {
                    bed.set_policy(reloads / 4)?;
                }
                daemon.signal("HUP")?;
                reloads += 1;
                memory.push(daemon.resident()?);
                daemon.alive()?;
                thread::sleep(EVERY);
            }
            stop.store(true, Ordering::Relaxed);
            let mut tally = Tally::default();
            for judge in judges {
                let judged = judge
                    .join()
                    .map_err(|_| anyhow::anyhow!("a judge panicked"))?;
                tally.add(&judged.context("a judge")?);
            }
            let figures = Figures::of(&daemon.metrics()?)?;
            let took = daemon.terminate()?;
            floods_stop.store(true, Ordering::Relaxed);
            let mut flooded = Tally::default();
            for flood in floods {
                let flood = flood
                    .join()
                    .map_err(|_| anyhow::anyhow!("a flood panicked"))?;
                flooded.add(&flood.context("a flood")?);
            }
            println!(
                "{length:?}: {reloads} SIGHUPs, {figures}; judged {tally}; floods sent {}; \
                 resident {}; ended within {took:?}",
                flooded.asked,
                figures::range(&memory),
            );
            figures.add_up(&tally)?;
            tally.is_clean()?;
            figures::is_flat(&memory)?;
            ensure!(took < end(length), "SIGTERM took {took:?}");
            Ok(())
        })
    }
}

/// Tells clients to stop when it is dropped.
struct Stopper<'a>([&'a AtomicBool; 2]);

impl Drop for Stopper<'_> {
    fn drop(&mut self) {
        for flag in self.0 {
            flag.store(true, Ordering::Relaxed);
        }
    }
}

/// How long a soak is.
fn length() -> Duration {
    let asked = std::env::var("SAPPHIRE_SOAK_SECONDS").ok();
    let seconds = asked.and_then(|text| text.parse().ok());
    Duration::from_secs(seconds.unwrap_or(5))
}

/// From one SIGHUP to the next.
const EVERY: Duration = Duration::from_millis(100);
/// A daemon is gone so long after SIGTERM; among other tests a machine may be busy for longer.
fn end(length: Duration) -> Duration {
    Duration::from_secs(if length >= Duration::from_secs(60) {
        1
    } else {
        5
    })
}

#[test]
fn a_ring_with_reloads_floods_and_little_memory() -> Result<()> {
    let bed = Bed::of_files()?;
    let daemon = bed.start(bed::RING)?;
    let judge = Judge::new(&bed)?;
    let ring = bed.dir().join("ring");
    let judges = (0..2)
        .map(|nth| -> Client<'_> {
            let (judge, ring) = (&judge, &ring);
            Box::new(move |stop| clients::judge_a_ring(judge, ring, nth, stop))
        })
        .collect();
    let harms: Client<'_> = Box::new(|stop| clients::harm_a_ring(&ring, stop));
    let floods: Vec<Client<'_>> = vec![harms, Box::new(|stop| clients::flood_a_ring(&ring, stop))];
    let soak = Soak {
        bed: &bed,
        daemon,
        stop: AtomicBool::new(false),
    };
    soak.run(judges, floods)
}

#[test]
fn a_simulated_fabric_with_reloads_floods_and_little_memory() -> Result<()> {
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    let bed = Bed::simulated()?;
    let fabric = bed.fabric().context("a fabric")?;
    let daemon = bed.start(bed::IBSIM)?;
    let judge = Judge::new(&bed)?;
    let judges = vec![{
        let judge = &judge;
        Box::new(move |stop: &AtomicBool| clients::judge_a_fabric(judge, fabric, "H1_0_0_0", stop))
            as Client<'_>
    }];
    let floods = ["H2_0_0_0", "H0_1_0_0"]
        .into_iter()
        .map(|node| -> Client<'_> {
            Box::new(move |stop| clients::flood_a_fabric(fabric, node, stop))
        })
        .collect();
    let soak = Soak {
        bed: &bed,
        daemon,
        stop: AtomicBool::new(false),
    };
    soak.run(judges, floods)
}

/// The other process of the first soak; does nothing when it is run among the tests.
#[test]
fn hostile_process() {
    hostile::act_if_told();
}
