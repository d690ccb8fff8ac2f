//! `sapphire snapshot diff`: what it counts is what two snapshots answer, asked pair by pair.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicI32, Ordering};

use anyhow::{Context, Result, ensure};
use policy::Query;
use sa_answer::whole;
use sa_compiler::pipeline::{Inputs, PipelineError, Stamp, compile};
use sa_compiler::snapshot_change::{Asked, Stopped, between};
use sa_compiler::watch::{Observer, Watch};
use sa_fabric::store;
use sa_snapshot::Snapshot;
use sa_tests::cli::sapphire_in;
use sa_tests::schema;
use sa_wire::path_record::PathRecord;
use sa_wire::{Guid, request};
use serde_json::Value;
use tempfile::TempDir;

/// Everybody gets the other half of the VLs on the way to two hosts.
const POLICY: &str = "port-groups\n port-group\n  name: two\n  port-guid: 0x100001-0x100011\n end-port-group\n\
    end-port-groups\nqos-levels\n qos-level\n  name: DEFAULT\n  sl: 0\n end-qos-level\n qos-level\n  name: other\n  \
    sl: 8\n  mtu-limit: 3\n end-qos-level\nend-qos-levels\nqos-match-rules\n qos-match-rule\n  destination: two\n  \
    qos-level-name: other\n end-qos-match-rule\nend-qos-match-rules\n";

/// Two limited members of a partition share none.
const PARTITIONS: &str = "Default=0x7fff : ALL=limited, SELF=full;\n";

fn run(directory: &Path, line: &str) -> Result<std::process::Output> {
    let words: Vec<&str> = line.split(' ').collect();
    sapphire_in(directory, &words)
}

fn done(directory: &Path, line: &str) -> Result<String> {
    let output = run(directory, line)?;
    ensure!(output.status.success(), "{line}: {output:?}");
    Ok(String::from_utf8(output.stdout)?)
}

/// A torus, its snapshot, and those of the same torus after a change each.
fn site() -> Result<TempDir> {
    let site = tempfile::tempdir()?;
    std::fs::write(site.path().join("policy.conf"), POLICY)?;
    std::fs::write(site.path().join("partitions.conf"), PARTITIONS)?;
    done(site.path(), "fabric torus 3 3 2 -o .")?;
    for (name, options) in [
        ("old", ""),
        ("policy", " --policy policy.conf"),
        ("partitions", " --partitions partitions.conf"),
        ("failed", " --fail 1,1,1"),
        ("lmc", " --lmc 1"),
    ] {
        done(
            site.path(),
            &format!("compile --fabric net --torus-conf torus-2QoS.conf -o {name}.snap{options}"),
        )?;
    }
    Ok(site)
}

fn diff(site: &Path, new: &str, options: &str) -> Result<Value> {
    let line = format!("snapshot diff old.snap {new}.snap --json{options}");
    let found: Value = serde_json::from_str(&done(site, &line)?)?;
    schema::judge(&found)?;
    Ok(found)
}

/// Hosts by GUID, with their LIDs.
fn hosts(snapshot: &Snapshot) -> BTreeMap<Guid, u16> {
    let hosts = snapshot.ports().filter(|(_, port)| !port.is_switch());
    hosts
        .filter_map(|(_, port)| Some((port.guid()?, port.lid)))
        .collect()
}

/// Every reply whole, one pair after the other.
fn answered(snapshot: &Snapshot, from: u16, to: u16) -> Option<PathRecord> {
    let reply = whole::respond(snapshot, &request::path_by_lids(from, to))?;
    request::parse(&reply).ok()?.1.first().copied()
}

/// How many pairs there are, lose their path, get another SL, another MTU.
fn counted(site: &Path, new: &str) -> Result<[u64; 4]> {
    let open = |name: &str| store::open(&site.join(format!("{name}.snap")));
    let (old, new) = (open("old")?, open(new)?);
    let (was, is) = (hosts(&old), hosts(&new));
    let mut counts = [0; 4];
    for (source, from) in &was {
        for (destination, to) in was.iter().filter(|(guid, _)| *guid != source) {
            let (Some(from_now), Some(to_now)) = (is.get(source), is.get(destination)) else {
                continue;
            };
            let before = answered(&old, *from, *to).context("the whole torus is routed")?;
            let after = answered(&new, *from_now, *to_now);
            let now = after.as_ref();
            let differs = [
                true,
                now.is_none(),
                now.is_some_and(|it| it.qos_class_sl.sl() != before.qos_class_sl.sl()),
                now.is_some_and(|it| it.mtu.value() != before.mtu.value()),
            ];
            for (count, is_so) in counts.iter_mut().zip(differs) {
                *count += u64::from(is_so);
            }
        }
    }
    Ok(counts)
}

#[test]
fn counts_are_those_of_the_answers() -> Result<()> {
    let site = site()?;
    let mut seen = [0; 4];
    for new in ["old", "policy", "partitions", "failed", "lmc"] {
        let found = diff(site.path(), new, "")?;
        let expected = counted(site.path(), new)?;
        let told = ["asked", "lost", "sl", "mtu"].map(|name| found["pairs"][name].as_u64());
        ensure!(told == expected.map(Some), "{new}: {expected:?}, {found}");
        ensure!(found["pairs"]["complete"] == true, "{found}");
        let transitions = found["transitions"].as_array().context("a list")?;
        let pairs: u64 = transitions
            .iter()
            .filter_map(|it| it["pairs"].as_u64())
            .sum();
        ensure!(found["pairs"]["changed"] == pairs, "{found}");
        for (sum, count) in seen.iter_mut().zip(expected) {
            *sum += count;
        }
    }
    // Otherwise nothing was compared with anything.
    ensure!(seen.iter().all(|count| *count > 0), "{seen:?}");
    Ok(())
}

#[test]
fn what_differs_is_named() -> Result<()> {
    let site = site()?;
    let same = diff(site.path(), "old", "")?;
    ensure!(
        same["same"] == true && same["pairs"]["changed"] == 0,
        "{same}"
    );
    let failed = diff(site.path(), "failed", " --fabric net")?;
    // The host and its switch.
    ensure!(failed["ports_removed"]["count"] == 2, "{failed}");
    let names = failed["ports_removed"]["names"].to_string();
    ensure!(
        names.contains("H1_1_1") && names.contains("S1_1_1"),
        "{failed}"
    );
    ensure!(failed["lid_changes"] == 0, "{failed}");
    ensure!(
        failed["inputs_added"].to_string().contains("failed 1,1,1"),
        "{failed}"
    );
    let policy = diff(site.path(), "policy", "")?;
    ensure!(
        policy["levels_added"].to_string().contains("other"),
        "{policy}"
    );
    ensure!(
        policy["old"]["rules"].is_null() && policy["new"]["rules"] == 1,
        "{policy}"
    );
    let partitions = diff(site.path(), "partitions", "")?;
    ensure!(
        partitions["partition_changes"]["count"].as_u64() > Some(0),
        "{partitions}"
    );
    let lmc = diff(site.path(), "lmc", "")?;
    ensure!(lmc["lmc_changes"]["count"] == 18, "{lmc}");
    let text = done(
        site.path(),
        "snapshot diff old.snap policy.snap --fabric net",
    )?;
    ensure!(
        text.contains("another SL") && text.contains(" -> SL "),
        "{text}"
    );
    Ok(())
}

/// Of more pairs than are to be asked about some are, evenly spread, and the document says so.
#[test]
fn too_many_pairs_are_asked_in_part() -> Result<()> {
    let site = site()?;
    let part = diff(site.path(), "policy", " --most-pairs 40")?;
    // Every eighth of them.
    ensure!(part["pairs"]["all"] == 18 * 17, "{part}");
    ensure!(part["pairs"]["asked"] == 39, "{part}");
    ensure!(part["pairs"]["complete"] == false, "{part}");
    let text = done(
        site.path(),
        "snapshot diff old.snap policy.snap --most-pairs 40",
    )?;
    ensure!(text.contains("asked about 39 of 306"), "{text}");
    Ok(())
}

/// Under a rule for services only requests that name one get another answer.
#[test]
fn requests_may_name_a_service() -> Result<()> {
    let site = site()?;
    let rule = POLICY.replace("destination: two", "service-id: 0x1234");
    std::fs::write(site.path().join("service.conf"), rule)?;
    done(
        site.path(),
        "compile --fabric net --torus-conf torus-2QoS.conf --policy service.conf -o service.snap",
    )?;
    let without = diff(site.path(), "service", "")?;
    ensure!(without["pairs"]["changed"] == 0, "{without}");
    let with = diff(site.path(), "service", " --service-id 0x1234")?;
    ensure!(with["pairs"]["sl"] == 18 * 17, "{with}");
    Ok(())
}

#[test]
fn a_damaged_file_is_named() -> Result<()> {
    let site = site()?;
    let path = site.path().join("old.snap");
    let mut bytes = std::fs::read(&path)?;
    *bytes.last_mut().context("bytes")? ^= 1;
    std::fs::write(site.path().join("broken.snap"), bytes)?;
    for line in [
        "snapshot diff old.snap broken.snap",
        "snapshot diff broken.snap old.snap",
    ] {
        let output = run(site.path(), line)?;
        let words = String::from_utf8(output.stderr)?;
        ensure!(output.status.code() == Some(1), "{words}");
        ensure!(words.starts_with("sapphire: broken.snap: "), "{words}");
    }
    Ok(())
}

/// Has had enough after so many looks.
struct Enough(AtomicI32);

impl Observer for Enough {
    fn begin(&self, _: &str) {}

    fn reach(&self, _: u64, _: u64) {}

    fn end(&self) {}

    fn is_stopped(&self) -> bool {
        self.0.fetch_sub(1, Ordering::SeqCst) <= 0
    }
}

fn enough(after: i32) -> Watch {
    Watch::by(Box::leak(Box::new(Enough(AtomicI32::new(after)))))
}

/// What a daemon does for somebody who has left is ended between any two steps, and no half of it is given.
#[test]
fn who_watches_ends_a_compilation_and_a_comparison() -> Result<()> {
    let site = site()?;
    let inputs = |watch| Inputs {
        fabric: site.path().join("net"),
        watch,
        ..Inputs::default()
    };
    let mut steps = 0;
    let whole = loop {
        match compile(&inputs(enough(steps)), Stamp::default()) {
            Ok(compiled) => break compiled,
            Err(PipelineError::Stopped) => steps += 1,
            Err(error) => return Err(error.into()),
        }
    };
    ensure!(steps >= 4, "{steps}");
    let other = compile(&inputs(Watch::default()), Stamp::default())?;
    ensure!(whole.snapshot.digest() == other.snapshot.digest());
    let asked = |watch| Asked {
        numbers: Query::default().numbers(),
        most: u64::MAX,
        watch,
    };
    let snapshots = (&whole.snapshot, &other.snapshot);
    ensure!(between(snapshots, &asked(enough(0))).is_err_and(|error| error == Stopped));
    let change = between(snapshots, &asked(enough(1)))?;
    ensure!(
        change.pairs.asked == 18 * 17 && change.pairs.ways.is_empty(),
        "{change:?}"
    );
    Ok(())
}
