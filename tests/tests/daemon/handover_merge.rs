//! Two subnets, each with its Subnet Manager, are joined by a cable: one master is left, and nobody has another's LID.

use std::collections::BTreeSet;
use std::io;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use sa_rig::{Console, Fabric, wait_for};
use sa_tests::daemon::{Daemon, PATIENCE};
use sa_tests::skip;
use sa_wire::mad::method;

use super::handover::{lids_at, ours_each};
use super::other_sm::{Asker, MASTER, STANDBY, told};

/// Two switches with two hosts each, and the cable that joins them.
const TWO: &str = "\
    switchguid=0x200000\nSwitch 8 \"S1\"\n[1] \"H1\"[1]\n[2] \"H3\"[1]\n[4] \"S2\"[4]\n\n\
    switchguid=0x200001\nSwitch 8 \"S2\"\n[1] \"H2\"[1]\n[2] \"H4\"[1]\n[4] \"S1\"[4]\n\n\
    caguid=0x100000\nHca 1 \"H1\"\n[1] \"S1\"[1]\n\n\
    caguid=0x100010\nHca 1 \"H2\"\n[1] \"S2\"[1]\n\n\
    caguid=0x100020\nHca 1 \"H3\"\n[1] \"S1\"[2]\n\n\
    caguid=0x100030\nHca 1 \"H4\"\n[1] \"S2\"[2]\n\n";

/// The ways from H3 to all ends, and the number of the port there.
const ENDS: [(&str, u8); 6] = [
    ("0", 1),
    ("0,1", 0),
    ("0,1,1", 1),
    ("0,1,4", 0),
    ("0,1,4,1", 1),
    ("0,1,4,2", 1),
];
/// Of these, H1 and H2.
const MANAGERS: [usize; 2] = [2, 4];

struct Bed {
    fabric: Fabric,
    console: Console,
}

/// Without the cable.
fn apart() -> Result<Bed> {
    let (fabric, mut console) = Fabric::with_console(TWO)?;
    console.say("Unlink \"S1\"[4]")?;
    let bed = Bed { fabric, console };
    // The far switch is out of reach.
    wait_for("the cable to be cut", PATIENCE, || {
        Ok(bed.lids(ENDS[3]).is_err())
    })?;
    Ok(bed)
}

impl Bed {
    fn ours(&self, node: &str, priority: u8) -> Result<Daemon> {
        let keys = "sminfo_polling_timeout = 500\n";
        let mut daemon = ours_each(1, &self.fabric, node, priority, keys)?;
        daemon.next_epoch("ready")?;
        Ok(daemon)
    }

    /// LID and SM's LID of an end. Errors: it is not reached.
    fn lids(&self, (way, port): (&str, u8)) -> io::Result<(u16, u16)> {
        lids_at(&self.fabric, way, port)
    }

    /// The cable is there, and one master is left, which brings all up: the one at that place of [`ENDS`].
    fn joins(&mut self, master: usize) -> Result<()> {
        let mut asker = self.joins_to(master)?;
        let mut seen = Vec::new();
        wait_for("LIDs of their own, and one SM", PATIENCE, || {
            let all = ENDS.iter().map(|end| self.lids(*end));
            seen = all.collect::<io::Result<Vec<_>>>()?;
            let own: BTreeSet<u16> = seen.iter().map(|(own, _)| *own).collect();
            let sm = seen[master].0;
            Ok(sm != 0 && own.len() == ENDS.len() && seen.iter().all(|(_, of)| *of == sm))
        })
        .with_context(|| format!("they have {seen:?}"))?;
        ensure!(
            states(&mut asker) == wanted(master),
            "there was one master, and it did not stay"
        );
        Ok(())
    }

    /// The cable is there, and one master is left.
    fn joins_to(&mut self, master: usize) -> Result<Asker> {
        self.console.say("Link \"S1\"[4] \"S2\"[4]")?;
        let mut asker = Asker::at(&self.fabric, "H3", 1)?;
        let mut last = Vec::new();
        wait_for("one master", PATIENCE, || {
            last = states(&mut asker);
            Ok(last == wanted(master))
        })
        .with_context(|| format!("they are {last:?}"))?;
        Ok(asker)
    }
}

/// What the two are then.
fn wanted(master: usize) -> [u8; 2] {
    match master == MANAGERS[0] {
        true => [MASTER, STANDBY],
        false => [STANDBY, MASTER],
    }
}

/// What the SMs on H1 and H2 are; nothing of one that does not answer.
fn states(asker: &mut Asker) -> Vec<u8> {
    let each = [vec![1], vec![4, 1]].map(|path| {
        asker.path = path;
        let answer = asker.ask_within(method::GET, Duration::from_millis(200));
        told(&answer.ok()?).ok().map(|it| it.3)
    });
    each.into_iter().flatten().collect()
}

#[test]
fn after_two_subnets_of_ours_are_joined_the_greater_master_is_left() -> Result<()> {
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    for (first, second, master) in [
        (5, 2, MANAGERS[0]),
        (2, 5, MANAGERS[1]),
        (3, 3, MANAGERS[0]),
    ] {
        let mut bed = apart()?;
        let mut ours = [bed.ours("H1", first)?, bed.ours("H2", second)?];
        bed.joins(master)
            .with_context(|| ours.iter().map(Daemon::logged).collect::<String>())?;
        for daemon in &mut ours {
            daemon.alive()?;
        }
    }
    Ok(())
}

#[test]
fn after_one_of_ours_and_an_opensm_are_joined_the_greater_master_is_left() -> Result<()> {
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    for (first, second, master) in [(5, "2", MANAGERS[0]), (2, "5", MANAGERS[1])] {
        let mut bed = apart()?;
        let mut ours = bed.ours("H1", first)?;
        let mut opensm = bed.fabric.opensm("H2", &["-p", second])?;
        // OpenSM's sweep after a handover waits for a TrapRepress that the simulator swallows.
        let joined = match master == MANAGERS[0] {
            true => bed.joins(master),
            false => bed.joins_to(master).map(drop),
        };
        joined.with_context(|| ours.logged())?;
        ours.alive()?;
        opensm.stop();
    }
    Ok(())
}
