//! `sapphired` as the Subnet Manager that is killed in the middle of a sweep, and begins again: the simulator ends up as if
//! nobody had been killed, and no table is written twice.
//!
//! The state directory is all that the second process has of the first. Points are counted in SMPs and chosen from a seed. A
//! few of them, or as many as `SAPPHIRE_KILLS` says for each kind of sweep.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use sa_rig::rng::Rng;
use sa_rig::tap::Tap;
use sa_rig::{Console, Fabric};
use sa_tests::daemon::{Daemon, PATIENCE};
use sa_tests::skip;

use super::sweep::TREE;
use super::sweep_restart::{config_with_qos, held, tables, with_options};

/// Points of each kind of sweep where nobody asks for more.
const FEW: u64 = 4;

/// A subnet at power-on.
struct Bed {
    fabric: Fabric,
    console: Console,
    tap: Tap,
}

/// What a subnet holds at the end, and what that took.
#[derive(Debug)]
struct Whole {
    held: String,
    /// Sets of everything but PortInfo, of which the simulator forgets fields.
    tables: u64,
    /// SMPs of the sweep in question.
    sweep: u64,
}

impl Bed {
    fn at_power_on() -> Result<Self> {
        let (fabric, console, tap) = Fabric::tapped(TREE)?;
        with_options(&fabric)?;
        Ok(Self {
            fabric,
            console,
            tap,
        })
    }

    fn daemon(&self) -> Result<Daemon> {
        let config = config_with_qos().write(self.fabric.dir())?;
        Daemon::start(&self.fabric, &config)
    }

    /// A process that has found and written all that there is.
    fn up(&self) -> Result<Daemon> {
        let mut daemon = self.daemon()?;
        // Ready it is before that, where the process before has left a snapshot.
        daemon.wait_logged("SUBNET UP")?;
        daemon.next_epoch("ready")?;
        Ok(daemon)
    }

    /// A cable between two switches is pulled.
    fn change(&mut self) -> Result<()> {
        Ok(self.console.say("Unlink \"S1\"[1]")?)
    }

    /// Waits for so many SMPs in all, without pauses that would make points fall together.
    fn reach(&self, smps: u64) -> Result<()> {
        let deadline = Instant::now() + PATIENCE;
        while self.tap.requests() < smps {
            ensure!(Instant::now() < deadline, "{smps} SMPs never came");
            thread::sleep(Duration::from_micros(50));
        }
        Ok(())
    }

    /// What there is in the end, `before` being the SMPs of before the sweep.
    fn whole(&self, before: u64) -> Result<Whole> {
        // First: who reads what there is sends SMPs too.
        let sweep = self.tap.requests() - before;
        Ok(Whole {
            held: held(&self.fabric)?,
            tables: tables(self.tap.writes()),
            sweep,
        })
    }
}

/// How many points to try.
fn points() -> Result<u64> {
    match std::env::var("SAPPHIRE_KILLS") {
        Ok(count) => count.parse().context("SAPPHIRE_KILLS is a number"),
        Err(_) => Ok(FEW),
    }
}

/// The second process finds what the first has left.
fn ends_as(bed: &Bed, whole: &Whole, point: u64) -> Result<()> {
    let daemon = bed.up()?;
    let told = || format!("killed after {point} SMPs: {}", daemon.logged());
    let found = held(&bed.fabric)?;
    let others = found.lines().zip(whole.held.lines());
    let others: Vec<_> = others.filter(|(found, whole)| found != whole).collect();
    ensure!(found == whole.held, "{others:#?} {}", told());
    let written = tables(bed.tap.writes());
    ensure!(written == whole.tables, "{written} {whole:?} {}", told());
    Ok(())
}

#[test]
fn who_is_killed_in_a_first_sweep_leaves_no_needless_work() -> Result<()> {
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    let bed = Bed::at_power_on()?;
    let daemon = bed.up()?;
    let whole = bed.whole(0)?;
    drop((daemon, bed));
    ensure!(whole.tables > 100, "{whole:?}");
    let mut random = Rng::new(9);
    for _ in 0..points()? {
        let point = random.below(whole.sweep);
        let bed = Bed::at_power_on()?;
        let daemon = bed.daemon()?;
        bed.reach(point)?;
        drop(daemon);
        ends_as(&bed, &whole, point)?;
    }
    Ok(())
}

#[test]
fn who_is_killed_in_a_sweep_after_a_change_leaves_no_needless_work() -> Result<()> {
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    let mut bed = Bed::at_power_on()?;
    let mut daemon = bed.up()?;
    let before = bed.tap.requests();
    bed.change()?;
    daemon.next_epoch("reloaded")?;
    let whole = bed.whole(before)?;
    drop((daemon, bed));
    let mut random = Rng::new(10);
    for _ in 0..points()? {
        let point = random.below(whole.sweep);
        let mut bed = Bed::at_power_on()?;
        let daemon = bed.up()?;
        let before = bed.tap.requests();
        bed.change()?;
        bed.reach(before + point)?;
        drop(daemon);
        ends_as(&bed, &whole, point)?;
    }
    Ok(())
}
