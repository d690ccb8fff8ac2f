//! Everything at once for a while: clients that judge every answer, clients that flood, a reload ten
//! times a second, a limit on memory; then the end, while all of that goes on.
//!
//! By default each soak lasts a few seconds. For the real one:
//!
//! ```sh
//! cargo build --release -p sm-control -p sa-tools
//! SAPPHIRE_SOAK_SECONDS=300 cargo test --release -p sa-tests --test daemon soak -- --nocapture --test-threads 1
//! ```

mod bed;
mod clients;
mod figures;
mod manager;

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use sa_rig::Fabric;

use bed::Bed;
use clients::{Judge, Tally};
use figures::Figures;
use sa_tests::daemon::Daemon;
use sa_tests::skip;

/// What a client of a soak does until it is told to stop.
type Client<'a> = Box<dyn FnOnce(&AtomicBool) -> Result<Tally> + Send + 'a>;

/// Runs the clients and the reloads, and looks at what they left.
fn soak<'a>(
    bed: &Bed,
    mut daemon: Daemon,
    judges: Vec<Client<'a>>,
    floods: Vec<Client<'a>>,
) -> Result<()> {
    let length = length();
    let (stop, floods_stop) = (&AtomicBool::new(false), &AtomicBool::new(false));
    thread::scope(|scope| {
        // Whatever fails, everybody ends.
        let _all = Stopper([stop, floods_stop]);
        let start = |clients: Vec<Client<'a>>, stop| -> Vec<_> {
            let threads = clients.into_iter();
            threads
                .map(|client| scope.spawn(move || client(stop)))
                .collect()
        };
        let (judges, floods) = (start(judges, stop), start(floods, floods_stop));
        let (reloads, memory) = reload(bed, &mut daemon, Instant::now() + length)?;
        stop.store(true, Ordering::Relaxed);
        let tally = sum(judges).context("a judge")?;
        let figures = Figures::of(&bed::metrics(&daemon)?)?;
        let began = Instant::now();
        let (status, logged) = daemon.terminate()?;
        let took = began.elapsed();
        floods_stop.store(true, Ordering::Relaxed);
        let flooded = sum(floods).context("a flood")?;
        println!(
            "{length:?}: {reloads} SIGHUPs, {figures}; judged {tally}; floods sent {}; \
             resident {}; ended within {took:?}",
            flooded.asked,
            figures::range(&memory),
        );
        ensure!(status.success(), "{status}: {logged}");
        figures.add_up(&tally)?;
        tally.is_clean()?;
        figures::is_flat(&memory)?;
        ensure!(took < end(length), "SIGTERM took {took:?}");
        Ok(())
    })
}

/// Has it read changed files until it is time. Gives how often, and its memory each time.
fn reload(bed: &Bed, daemon: &mut Daemon, ends: Instant) -> Result<(u32, Vec<u64>)> {
    let mut memory = Vec::new();
    let mut reloads = 0_u32;
    while Instant::now() < ends {
        // Files that never lie still are refused; these do, for three reloads.
        if reloads.is_multiple_of(4) {
            bed.set_policy(reloads / 4)?;
        }
        daemon.signal("HUP")?;
        reloads += 1;
        memory.push(bed::resident(daemon)?);
        daemon.alive()?;
        thread::sleep(EVERY);
    }
    Ok((reloads, memory))
}

/// What all of them counted. Errors: one failed.
fn sum(clients: Vec<thread::ScopedJoinHandle<'_, Result<Tally>>>) -> Result<Tally> {
    let mut all = Tally::default();
    for client in clients {
        let tally = client.join().map_err(|_| anyhow::anyhow!("it panicked"))?;
        all.add(&tally?);
    }
    Ok(all)
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
    let _turn = sa_tests::turn::heavy();
    let bed = Bed::of_files()?;
    let daemon = bed.start(bed::RING)?;
    let judge = Judge::new(&bed)?;
    let ring = bed.dir().join("ring");
    let mut judges: Vec<_> = (0..2)
        .map(|nth| -> Client<'_> {
            let (judge, ring) = (&judge, &ring);
            Box::new(move |stop| clients::judge_a_ring(judge, ring, nth, stop))
        })
        .collect();
    // These stop with the judges: a daemon that ends would end them, too.
    judges.push(Box::new(|stop| clients::harm_a_ring(&ring, stop)));
    let floods: Vec<Client<'_>> = vec![Box::new(|stop| clients::flood_a_ring(&ring, stop))];
    soak(&bed, daemon, judges, floods)
}

#[test]
fn a_simulated_fabric_with_reloads_floods_and_little_memory() -> Result<()> {
    let _turn = sa_tests::turn::heavy();
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
    soak(&bed, daemon, judges, floods)
}
