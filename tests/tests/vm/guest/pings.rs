//! A program that pings without end, and how long it had no reply.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

/// Runs a ping until the file `until` exists. Prints a line at the first reply, and one at the end. What is under way when it ends is not lost: packets count up to
/// the last one with a reply.
pub(super) fn run(until: &str, ping: &[&str]) -> Result<()> {
    let (program, arguments) = ping.split_first().context("a command")?;
    let mut command = Command::new(program);
    command.args(arguments).stdout(Stdio::piped());
    let mut child = Running(command.spawn().context("ping")?);
    let replies = numbers(child.0.stdout.take().context("its output")?);
    let mut seen = BTreeSet::new();
    let mut longest = Duration::ZERO;
    let mut last = Instant::now();
    loop {
        match replies.recv_timeout(LOOK) {
            Ok((number, at)) => {
                if seen.is_empty() {
                    println!("pings begun");
                }
                longest = longest.max(at.duration_since(last));
                last = at;
                seen.insert(number);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        if Path::new(until).exists() {
            break;
        }
    }
    let longest = longest.max(last.elapsed()).as_millis();
    let sent = seen.last().map_or(0, |last| last + 1);
    println!(
        "pings sent={sent} lost={} longest_ms={longest}",
        sent - seen.len()
    );
    Ok(())
}

/// Numbers of packets with a reply, and when that came.
fn numbers(output: ChildStdout) -> Receiver<(usize, Instant)> {
    let (to, from) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            let rest = line.split_once(" seq=").map(|(_, rest)| rest);
            let number = rest.and_then(|rest| rest.split(' ').next()?.parse().ok());
            if number.is_some_and(|number| to.send((number, Instant::now())).is_err()) {
                break;
            }
        }
    });
    from
}

/// Ended when dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// How often it is looked whether that is all.
const LOOK: Duration = Duration::from_millis(20);
