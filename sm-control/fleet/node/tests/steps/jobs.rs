//! Calls of threads that come and go: each job of a follower has one of its own.

use crate::tracer::{Step, kind};

/// Their name.
pub(crate) const JOBS: &str = "sa-fleet-job";

/// What strace wrote of each job's thread, in the order in which they began.
pub(crate) fn jobs(trace: &str) -> Vec<String> {
    let mut jobs: Vec<(&str, String)> = Vec::new();
    for line in trace.lines() {
        let Some((who, what)) = line.split_once(' ') else {
            continue;
        };
        let Some((thread, name)) = who.split_once('<') else {
            continue;
        };
        if name != format!("{JOBS}>") {
            continue;
        }
        let at = jobs.iter().position(|(of, _)| *of == thread);
        let at = at.unwrap_or_else(|| {
            jobs.push((thread, String::new()));
            jobs.len() - 1
        });
        jobs[at].1 += what.trim_start();
        jobs[at].1 += "\n";
    }
    jobs.into_iter().map(|(_, lines)| lines).collect()
}

/// How often a job has begun a call of this kind.
pub(crate) fn begun(trace: &str, step: &Step) -> usize {
    let job: usize = step.thread.parse().unwrap();
    let jobs = jobs(trace);
    let lines = jobs.get(job).map_or("", String::as_str).lines();
    lines.filter(|line| kind(line) == Some(&step.kind)).count()
}
