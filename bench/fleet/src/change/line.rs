//! What is printed of a change: one line of JSON.
//!
//! Its fields are in the order in which things happen: what changed, what the compiler took, when
//! it was where, what that cost, and what the oracle saw. `docs/schemas` has the same order.

use std::path::Path;

use serde::Serialize;

use super::fabric::Kind;
use super::leader::Published;
use super::oracle::Judged;
use crate::Arguments;
use crate::progress::Progress;
use crate::spent::Spent;

/// What all lines of a run have in common.
pub(super) struct Run<'a> {
    /// As it was ordered.
    pub(super) arguments: &'a Arguments,
    /// With the directories of all hosts.
    pub(super) folder: &'a Path,
    /// Until all had the first snapshot.
    pub(super) joined_s: f64,
}

/// What all had come to: two of these are what a change took.
pub(super) struct Moment {
    pub(super) leader: Spent,
    /// Of all relays; the peak is the largest one's.
    pub(super) relays: Spent,
    pub(super) followers: Spent,
    pub(super) judged: Judged,
}

/// Units: in the names; times from the moment that the changed fabric was given to the compiler.
/// Names are an interface, as of the other programs here.
///
/// Parts, each with a function that makes it: fields of all of them are the line's.
#[derive(Debug, Serialize)]
pub(super) struct Line {
    /// Name and version; see `docs/schemas`.
    schema: &'static str,
    #[serde(flatten)]
    what: What,
    #[serde(flatten)]
    made: Made,
    #[serde(flatten)]
    times: Times,
    #[serde(flatten)]
    cost: Cost,
    #[serde(flatten)]
    judged: Judged,
}

/// What is measured.
#[derive(Debug, Serialize)]
struct What {
    /// Switches on each axis.
    fabric: String,
    /// On each switch.
    hosts: u8,
    /// Of the policy.
    rules: u16,
    /// What changes.
    kind: String,
    /// It is whole again.
    back: bool,
    /// All of them.
    followers: usize,
    /// Followers that run the daemon's code.
    daemons: usize,
    /// Between the leader and all of them; 0: they ask the leader.
    relays: usize,
    /// Where their directories are.
    file_system: String,
    /// Until all had the first snapshot, once for a run.
    joined_s: f64,
}

/// What the leader did before anybody could hear of it.
#[derive(Debug, Serialize)]
struct Made {
    /// Of the whole.
    snapshot_bytes: u64,
    /// What each follower fetches; none where the whole is smaller.
    patch_bytes: Option<u32>,
    /// Files, parsed.
    read_ms: f64,
    /// Forwarding tables.
    route_ms: f64,
    /// The proof.
    check_ms: f64,
    /// Policy, path classes, the snapshot.
    build_ms: f64,
    /// Samples asked of the reference.
    compare_ms: f64,
    /// The five before, and what lies between them.
    compile_ms: f64,
    /// From the snapshot to the announcement.
    publish_ms: f64,
}

/// When followers were how far.
#[derive(Debug, Serialize)]
struct Times {
    /// Of all followers: they have heard of it, and the real ones have verified it.
    know_50_ms: f64,
    know_99_ms: f64,
    know_100_ms: f64,
    /// Of all followers: they have its bytes, and the real ones have loaded it.
    have_50_ms: f64,
    have_99_ms: f64,
    have_100_ms: f64,
    /// Of the real ones.
    real_have_99_ms: f64,
    /// Of the real ones: a worker would answer from it.
    answer_50_ms: f64,
    answer_99_ms: f64,
    answer_100_ms: f64,
}

/// What it took, in both processes.
#[derive(Debug, Serialize)]
struct Cost {
    /// Compiling included.
    leader_cpu_ms: f64,
    /// Since its start.
    leader_peak_rss_mb: f64,
    /// Of files, heads not counted.
    leader_sent_mb: f64,
    /// Of all relays.
    relays_cpu_ms: f64,
    /// Of the largest one, since its start.
    relay_peak_rss_mb: f64,
    /// By all relays, as `leader_sent_mb`.
    relays_sent_mb: f64,
    /// The oracle's looks included.
    followers_cpu_ms: f64,
    /// Since their start.
    followers_peak_rss_mb: f64,
}

impl Line {
    /// Of a generation that all have now.
    pub(super) fn of(
        (kind, back): (Kind, bool),
        run: &Run<'_>,
        published: &Published,
        progress: &Progress,
        (before, after): &(Moment, Moment),
    ) -> Self {
        Self {
            schema: "bench.fleet-change/1",
            what: what(kind, back, run),
            made: made(published),
            times: times(progress, published.word_ns),
            cost: cost(before, after),
            judged: after.judged.since(&before.judged),
        }
    }
}

fn what(kind: Kind, back: bool, run: &Run<'_>) -> What {
    let wanted = &run.arguments.change;
    What {
        fabric: wanted.fabric.to_string(),
        hosts: wanted.hosts,
        rules: wanted.rules,
        kind: kind.to_string(),
        back,
        followers: run.arguments.followers,
        daemons: wanted.daemons.unwrap_or(0),
        relays: wanted.relays,
        file_system: file_system(run.folder),
        joined_s: run.joined_s,
    }
}

const fn made(published: &Published) -> Made {
    Made {
        snapshot_bytes: published.snapshot_bytes,
        patch_bytes: published.patch_bytes,
        read_ms: published.read_ms,
        route_ms: published.route_ms,
        check_ms: published.check_ms,
        build_ms: published.build_ms,
        compare_ms: published.compare_ms,
        compile_ms: published.compile_ms,
        publish_ms: published.publish_ms,
    }
}

/// `word`: from when on they count.
fn times(progress: &Progress, word: u64) -> Times {
    let (know, have) = (progress.knew(word), progress.had(word));
    let (real, answers) = (progress.real_had(word), progress.answered(word));
    Times {
        know_50_ms: know.of_hundred(50),
        know_99_ms: know.of_hundred(99),
        know_100_ms: know.of_hundred(100),
        have_50_ms: have.of_hundred(50),
        have_99_ms: have.of_hundred(99),
        have_100_ms: have.of_hundred(100),
        real_have_99_ms: real.of_hundred(99),
        answer_50_ms: answers.of_hundred(50),
        answer_99_ms: answers.of_hundred(99),
        answer_100_ms: answers.of_hundred(100),
    }
}

fn cost(before: &Moment, after: &Moment) -> Cost {
    Cost {
        leader_cpu_ms: after.leader.cpu_ms - before.leader.cpu_ms,
        leader_peak_rss_mb: after.leader.peak_rss_mb,
        leader_sent_mb: after.leader.sent_mb_since(&before.leader),
        relays_cpu_ms: after.relays.cpu_ms - before.relays.cpu_ms,
        relay_peak_rss_mb: after.relays.peak_rss_mb,
        relays_sent_mb: after.relays.sent_mb_since(&before.relays),
        followers_cpu_ms: after.followers.cpu_ms - before.followers.cpu_ms,
        followers_peak_rss_mb: after.followers.peak_rss_mb,
    }
}

/// By name, where it is one that a disk of a host would have.
fn file_system(folder: &Path) -> String {
    match rustix::fs::statfs(folder).map(|about| about.f_type) {
        Ok(0x0102_1994) => "tmpfs".to_owned(),
        Ok(0xef53) => "ext4".to_owned(),
        Ok(0x5846_5342) => "xfs".to_owned(),
        Ok(0x9123_683e) => "btrfs".to_owned(),
        Ok(other) => format!("{other:#x}"),
        Err(_) => "unknown".to_owned(),
    }
}
