//! A follower is killed, or refused by its disk, at each call with which it keeps its record and a snapshot.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use sa_fleet::highest::Highest;
use sa_fleet::identity::Position;
use tempfile::TempDir;

use crate::following::{Sample, start};
use crate::jobs::{JOBS, begun, jobs};
use crate::leading::Leader;
use crate::made::{Keys, snapshot};
use crate::oracle::Oracle;
use crate::process::Process;
use crate::replayer::Replayer;
use crate::rig::until;
use crate::steps::{each, taken};
use crate::tracer::{Fault, Step, Tracer, are_lasting, kind, steps};
use crate::witness::Witness;

/// In force before: so many that a file is removed with the next one.
const BEFORE: [u16; 3] = [9, 10, 11];
/// Published then.
const NEXT: u16 = 12;
/// The thread that keeps the record.
const DISK: &str = "sa-fleet-disk";

/// A leader as threads of this process, and a follower in one of its own. Fields go in their order.
struct Bed {
    follower: Process,
    last: Arc<Mutex<Option<Sample>>>,
    _witness: Witness,
    leader: Leader,
    url: String,
    oracle: Arc<Oracle>,
    folder: TempDir,
}

impl Bed {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let keys = Keys::new();
        keys.save(folder.path()).unwrap();
        let oracle = Oracle::new(&keys);
        let listen = "127.0.0.1:0".parse().unwrap();
        let path = folder.path().join("leader");
        let leader = Leader::open(&keys, &path, listen, |engine| Box::new(engine)).unwrap();
        let url = format!("http://{}", leader.address());
        let (follower, last) = start(folder.path(), &url, &oracle, 0);
        let bed = Self {
            follower,
            last,
            _witness: Witness::start(&oracle, &url, &Arc::default()),
            leader,
            url,
            oracle,
            folder,
        };
        for hosts in BEFORE {
            bed.publish(hosts);
            bed.follow(hosts);
        }
        bed
    }

    fn publish(&self, hosts: u16) {
        self.oracle.orders(hosts);
        self.leader.in_force.set(snapshot(hosts, 1));
    }

    fn follow(&self, hosts: u16) {
        until(&format!("answers of {hosts} hosts"), || {
            self.oracle.last_answer(0) == Some(hosts.into())
        });
    }

    /// Another process on the same directory. Its answers are judged as before.
    fn starts_again(&mut self, from: &str) {
        self.follower.kill();
        (self.follower, self.last) = start(self.folder.path(), from, &self.oracle, 0);
    }

    fn sample(&self) -> Option<Sample> {
        *self.last.lock().unwrap()
    }

    fn directory(&self) -> PathBuf {
        self.folder.path().join("follower")
    }

    fn out(&self) -> PathBuf {
        self.folder.path().join("trace")
    }

    /// What is on its disk is whole: the greatest that it has seen.
    fn record(&self) -> Position {
        let record = std::fs::read(self.directory().join("highest")).unwrap();
        Highest::from_record(&record).unwrap().position
    }

    /// Nothing that was said before is taken by the process that is started again: it refuses it, and answers nothing.
    fn takes_nothing_old(&mut self, what: &str) {
        let record = self.record();
        let answered = self.oracle.newest_answered(0);
        assert!(
            answered.is_none_or(|it| it <= record.issue),
            "{what}: {answered:?}, {record}"
        );
        let replayed = self.oracle.said_until(record);
        let replayer = Replayer::start(replayed);
        self.starts_again(&replayer.url);
        until("what is old is refused", || {
            self.sample().is_some_and(|it| it.refused > 1)
        });
        let sample = self.sample().unwrap();
        assert_eq!(sample.asked.answer, None, "{what}: {sample:?}");
        assert!(sample.asked.after >= record, "{what}: {sample:?}");
    }
}

/// The calls with which a record is kept. The next record may be of a beat, which is no other one to the disk.
fn of_record() -> Vec<Step> {
    let bed = Bed::new();
    let thread = bed.follower.thread(DISK);
    let tracer = Tracer::watch(thread, &bed.out());
    bed.publish(NEXT);
    bed.follow(NEXT);
    let all = steps(DISK, &tracer.end(), &bed.directory());
    // Records are kept all the time: one of them, from its file to its directory.
    let begins = all.iter().position(|step| step.kind == "openat").unwrap();
    let all = &all[begins..];
    let ends = all.iter().position(|step| step.kind == "renameat").unwrap();
    let one = all[..ends + 2].to_vec();
    are_lasting(&one);
    println!("a record: {} calls", one.len());
    one
}

/// The calls of all jobs from the moment on that a generation is announced. A job has a thread of its own, and a number here.
fn of_jobs() -> Vec<Step> {
    let bed = Bed::new();
    let what = ["-e", "trace=%file,%desc"].map(str::to_owned);
    let tracer = Tracer::follow(bed.follower.pid(), &bed.out(), &what, None);
    bed.publish(NEXT);
    bed.follow(NEXT);
    until(
        "what is far behind is removed, and all jobs are over",
        || {
            let trace = tracer.seen();
            let are_over = jobs(&trace).iter().all(|job| job.contains("+++ exited"));
            are_over && trace.contains("unlinkat(")
        },
    );
    let trace = tracer.end();
    let directory = bed.directory();
    let all: Vec<Step> = jobs(&trace)
        .iter()
        .enumerate()
        .flat_map(|(job, lines)| steps(&job.to_string(), lines, &directory))
        .collect();
    for needed in ["fsync", "renameat", "openat", "write", "unlinkat"] {
        assert!(
            all.iter().any(|step| step.kind == needed),
            "no {needed}: {all:#?}"
        );
    }
    are_lasting(&all);
    println!("jobs: {} calls", all.len());
    all
}

/// Brings the follower to the state in which it was killed at this step of a job: each call of its kind waits a little, and when the
/// one has begun, it never ends. False: it was too late.
fn killed_in_job(bed: &mut Bed, step: &Step, wait: Duration) -> bool {
    let what = [
        "-e".to_owned(),
        // All calls, so that jobs have the same numbers as without a fault.
        "trace=%file,%desc".to_owned(),
        "-e".to_owned(),
        format!("inject={}:delay_enter={}", step.kind, wait.as_micros()),
    ];
    let tracer = Tracer::follow(bed.follower.pid(), &bed.out(), &what, None);
    bed.publish(NEXT);
    until("the call begins", || {
        begun(&tracer.seen(), step) >= step.nth
    });
    bed.follower.kill();
    let trace = tracer.end();
    let jobs = jobs(&trace);
    let lines = jobs[step.thread.parse::<usize>().unwrap()].lines();
    let mut of_kind = lines.filter(|line| kind(line) == Some(&step.kind));
    let last = of_kind.nth(step.nth - 1).unwrap();
    last.contains("<unfinished") || last.contains("= ?")
}

#[test]
fn a_follower_that_is_killed_at_any_call_takes_nothing_old_and_serves_again() {
    if !Tracer::is_there() {
        return println!("skipped: no strace, or it may not trace here");
    }
    let mut all = of_record();
    all.extend(taken(&of_jobs()));
    let cases = each(&all, |step| {
        let what = format!("killed: {step:?}");
        let mut bed = Bed::new();
        if step.thread == DISK {
            let thread = bed.follower.thread(DISK);
            let tracer = Tracer::inject(thread, &bed.out(), step, Fault::Killed);
            bed.publish(NEXT);
            tracer.strikes();
            bed.follower.ends();
        } else {
            let mut wait = Duration::from_millis(40);
            while !killed_in_job(&mut bed, step, wait) {
                assert!(wait < Duration::from_secs(1), "{what}: too late every time");
                (bed, wait) = (Bed::new(), wait * 2);
            }
        }
        bed.takes_nothing_old(&what);
        let (since, url) = (Instant::now(), bed.url.clone());
        bed.starts_again(&url);
        bed.follow(NEXT);
        let took = since.elapsed();
        (took, bed.oracle.judges(&what))
    });
    let longest = cases.iter().map(|(took, _)| *took).max().unwrap();
    println!(
        "killed: {} cases, serves again after {longest:.1?} at most",
        cases.len()
    );
}

/// Each step that an error is to be put at, and which.
fn refusals() -> Vec<(Step, &'static str)> {
    let mut all = of_record();
    // The N-th call of a kind in each job is one case: the first job that makes it meets the error.
    let mut jobs = of_jobs();
    let mut met: Vec<(String, usize)> = Vec::new();
    jobs.retain(|step| {
        let it = (step.kind.clone(), step.nth);
        let is_new = !met.contains(&it) && step.kind != "close";
        met.push(it);
        is_new
    });
    all.extend(taken(&jobs));
    let with_room = |error: &'static str| move |step: Step| (step, error);
    let full = all.iter().filter(|step| step.changes()).cloned();
    full.map(with_room("ENOSPC"))
        .chain(all.iter().cloned().map(with_room("EIO")))
        .collect()
}

#[test]
fn a_follower_whose_disk_refuses_any_call_answers_what_is_allowed_and_tries_again() {
    if !Tracer::is_there() {
        return println!("skipped: no strace, or it may not trace here");
    }
    let faults = refusals();
    let cases = each(&faults, |(step, error)| {
        let what = format!("{error}: {step:?}");
        let bed = Bed::new();
        let fault = Fault::Error(error);
        let tracer = match step.thread == DISK {
            true => Tracer::inject(bed.follower.thread(DISK), &bed.out(), step, fault),
            false => Tracer::inject_all(bed.follower.pid(), &bed.out(), step, fault),
        };
        bed.publish(NEXT);
        let since = Instant::now();
        match step.thread == DISK {
            true => tracer.strikes(),
            false => until("a job meets it", || {
                let trace = tracer.seen();
                let mut lines = trace.lines();
                lines.any(|line| line.contains(JOBS) && line.contains("(INJECTED)"))
            }),
        }
        // From now on its disk is well again.
        drop(tracer);
        bed.follow(NEXT);
        let sample = bed.sample().unwrap();
        let is_told = step.thread != DISK || !step.changes() || sample.failed_stores > 0;
        assert!(is_told, "{what}: {sample:?}");
        assert!(sample.stores > 0, "{what}: {sample:?}");
        (since.elapsed(), bed.oracle.judges(&what))
    });
    let longest = cases.iter().map(|(took, _)| *took).max().unwrap();
    println!(
        "refused: {} cases, serves again after {longest:.1?} at most",
        cases.len()
    );
}
