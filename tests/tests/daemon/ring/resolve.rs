//! Many paths at once, from Rust and C: the answers are those to single requests, whatever names the
//! ends, and what a daemon loses is asked of the next one.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use sa_client::query::{End, PathQuery};
use sa_client::request;
use sa_client::resolve::{Answer, Bulk, Job};
use sa_client::{Client, Error};
use sa_tests::ring::{Bed, CONFIG};
use sa_wire::mad::Status;
use sa_wire::{Gid, Guid, Lid, Mtu, Pkey, Selector, ServiceId};

use super::{PATIENCE, connect};

fn bulk() -> Bulk {
    Bulk {
        deadline: PATIENCE,
        ..Bulk::default()
    }
}

/// A port by LID, GID and GUID.
fn ends((lid, gid): (u16, [u8; 16])) -> Result<[End; 3]> {
    let guid = Gid(gid).interface_id();
    let guid = Guid::new(guid)?;
    Ok([
        End::Lid(Lid::new(lid)?),
        End::Gid(Gid(gid)),
        End::Guid(guid),
    ])
}

#[test]
fn all_pairs_are_answered_as_one_by_one_whatever_names_the_ends() -> Result<()> {
    let bed = Bed::with_policy()?;
    let mut client = connect(&bed.ring())?;
    let hosts = bed.hosts()?;
    let mut queries = Vec::new();
    for (nth, source) in hosts.iter().enumerate() {
        for (other, destination) in hosts.iter().enumerate() {
            let (from, to) = (ends(*source)?[nth % 3], ends(*destination)?[other % 3]);
            let query = PathQuery::between(from, to).traffic_class(7);
            queries.push(match (nth + other) % 4 {
                0 => query.service_id(ServiceId(0x0106_1144)),
                1 => query.qos_class(32)?,
                2 => query
                    .mtu(Selector::Exactly, Mtu::M2048)
                    .pkey(Pkey::new(0xffff)?),
                _ => query.one_way().hop_limit(0),
            });
        }
    }
    let (answers, summary) = client.resolve(&queries, bulk())?;
    ensure!(summary.unanswered == 0, "{summary:?}");
    let lives = [10, 11, 15, 15];
    for (nth, (query, answer)) in queries.iter().zip(&answers).enumerate() {
        let (from, to) = (nth / hosts.len(), nth % hosts.len());
        match request::path_of(&client.ask(0, &query.mad())?) {
            Ok(alone) => {
                ensure!(*answer == Answer::Found(alone), "{query:?}: {answer:?}");
                ensure!((alone.slid.get(), alone.dlid.get()) == (hosts[from].0, hosts[to].0));
                // A path to oneself has none.
                let life = if from == to {
                    0
                } else {
                    lives[(from + to) % 4]
                };
                ensure!(alone.packet_life.value() == life, "{alone:?}");
            }
            // Switches have another MTU.
            Err(Error::Status(status)) => {
                ensure!(*answer == Answer::Refused(status) && (from + to) % 4 == 2);
            }
            Err(error) => return Err(error.into()),
        }
    }
    ensure!(
        summary.refused > 0 && summary.found > 3 * summary.refused,
        "{summary:?}"
    );
    Ok(())
}

#[test]
fn what_is_not_there_has_a_status_and_the_rest_its_path() -> Result<()> {
    let bed = Bed::with_policy()?;
    let lid = |lid| Ok::<_, anyhow::Error>(End::Lid(Lid::new(lid)?));
    let queries = [
        PathQuery::between(lid(1)?, lid(2)?),
        PathQuery::between(lid(1)?, lid(999)?),
        PathQuery::between(lid(1)?, End::Guid(Guid::new(9)?)),
        PathQuery::between(lid(1)?, lid(2)?).pkey(Pkey::new(0x8123)?),
        PathQuery::between(lid(1)?, lid(2)?).mtu(Selector::Greater, Mtu::M4096),
    ];
    let (answers, summary) = connect(&bed.ring())?.resolve(&queries, bulk())?;
    ensure!(matches!(answers[0], Answer::Found(_)));
    for answer in &answers[1..] {
        ensure!(
            matches!(answer, Answer::Refused(status) if *status != Status::OK),
            "{answers:?}"
        );
    }
    ensure!((summary.found, summary.refused, summary.unanswered) == (1, 4, 0));
    Ok(())
}

/// All pairs, over and over, until the ring has been another one for a while.
struct UntilNext<'a> {
    /// The daemon, which is killed once some answers are there.
    bed: &'a mut Bed,
    hosts: Vec<Lid>,
    restarted: Result<()>,
    answered: usize,
    wrong: usize,
}

impl Job for UntilNext<'_> {
    fn count(&self) -> usize {
        20_000
    }

    fn query(&self, nth: usize) -> PathQuery {
        let end = |nth: usize| End::Lid(self.hosts[nth % self.hosts.len()]);
        PathQuery::between(end(nth), end(nth / self.hosts.len()))
    }

    fn answer(&mut self, nth: usize, answer: Answer) {
        let expected = self.hosts[nth / self.hosts.len() % self.hosts.len()];
        self.wrong += usize::from(
            !matches!(answer, Answer::Found(path) if path.dlid.get() == expected.get()),
        );
        self.answered += 1;
        if self.answered == 5_000 {
            // In the middle of a batch: what is in the ring now is lost.
            self.restarted = self.bed.kill().and_then(|()| self.bed.start());
        }
    }
}

#[test]
fn a_bulk_outlives_the_daemon() -> Result<()> {
    let mut bed = Bed::new(CONFIG)?;
    bed.serve()?;
    let hosts = bed.hosts()?.into_iter().map(|host| Ok(Lid::new(host.0)?));
    let hosts = hosts.collect::<Result<_>>()?;
    let mut client = connect(&bed.ring())?;
    let mut job = UntilNext {
        bed: &mut bed,
        hosts,
        restarted: Ok(()),
        answered: 0,
        wrong: 0,
    };
    let summary = client.resolve_job(&mut job, bulk())?;
    ensure!(
        job.restarted.is_ok() && (job.answered, job.wrong) == (20_000, 0),
        "{summary:?}"
    );
    ensure!(
        summary.reconnected == 1 && summary.sent_again > 0,
        "{summary:?}"
    );
    Ok(())
}

#[test]
fn a_bulk_waits_for_the_first_snapshot_and_not_longer_than_its_deadline() -> Result<()> {
    let mut bed = Bed::new(&CONFIG.replace("path = \"net\"", "path = \"later\""))?;
    bed.start()?;
    bed.wait_logged("no snapshot yet")?;
    let lid = |lid| Ok::<_, anyhow::Error>(End::Lid(Lid::new(lid)?));
    let queries = [PathQuery::between(lid(1)?, lid(2)?)];
    let mut client = Client::connect(&bed.ring())?;
    let short = Bulk {
        deadline: Duration::from_millis(50),
        ..bulk()
    };
    let (answers, _) = client.resolve(&queries, short)?;
    ensure!(answers == [Answer::None]);
    let answers = std::thread::scope(|scope| {
        let asks = scope.spawn(|| client.resolve(&queries, bulk()));
        fs::copy(bed.dir().join("net"), bed.dir().join("later"))?;
        asks.join()
            .ok()
            .context("a thread panicked")?
            .context("its answers")
    })?;
    ensure!(matches!(answers.0[..], [Answer::Found(_)]), "{answers:?}");
    Ok(())
}

#[test]
fn c_resolves_many_and_every_mistake_has_its_words() -> Result<()> {
    let bed = Bed::with_policy()?;
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/daemon/ring/resolve.c");
    let program = bed.compile(&source)?;
    let (_, gid) = bed.hosts()?[8];
    let (gid, guid) = (Gid(gid), Gid(gid).interface_id());
    let ends = [gid.to_string(), format!("0x{guid:x}")];
    let done = Command::new(&program).arg(bed.ring()).args(ends).output()?;
    let said = String::from_utf8_lossy(&done.stderr);
    ensure!(done.status.success(), "{} {said}", done.status);
    Ok(())
}
