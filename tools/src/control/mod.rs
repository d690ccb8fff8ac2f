//! `sapphire status`, `reload`, `rollback`: what is asked and ordered on a daemon's control socket.

mod show;

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use clap::Args;
use serde::Serialize;
use serde_json::Value;

use crate::failure::{Failure, Outcome};
use crate::json::{self, Document};

/// Where a daemon is asked.
#[derive(Debug, Args)]
pub(crate) struct Control {
    /// Control socket of the daemon: path of its `[control]` section
    #[arg(long, value_name = "PATH", default_value = DEFAULT)]
    control: PathBuf,
    /// Wait so long for the answer. Units: seconds [default: 5; of reload and rollback 600, for as
    /// long as the daemon shows every 5 seconds that it lives]
    #[arg(long, value_name = "S", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    timeout: Option<u64>,
    /// Print one JSON line: the daemon's answer
    #[arg(long)]
    json: bool,
}

/// What a daemon is asked. Shape: a line.
#[derive(Debug, Serialize)]
struct Request<'a> {
    verb: &'a str,
}

/// A daemon's refusal for programs, with what is wrong as every verb has it.
#[derive(Debug, Serialize)]
struct Refused {
    ok: bool,
    /// Why, in a word; none from what is no daemon of ours.
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<String>,
}

impl Document for Refused {
    const SCHEMA: &'static str = "sapphire.refused/1";
}

/// Where the documentation has it.
const DEFAULT: &str = "/run/sapphire/control.sock";

/// Bytes of an answer that are read at most.
const LONGEST: u64 = 16 << 20;

/// A daemon that lives answers a question within this time, whatever else it does.
const ALIVE: Duration = Duration::from_secs(5);

/// How long what it was told to do may take: it may have to read and compile a fabric.
const WORK: Duration = Duration::from_secs(600);

pub(crate) fn status(verb: &Control) -> Outcome {
    let patience = verb.timeout.map_or(ALIVE, Duration::from_secs);
    said(verb, ask(&verb.control, "status", patience)?, show::status)
}

pub(crate) fn reload(verb: &Control) -> Outcome {
    said(verb, order(verb, "reload")?, show::reload)
}

pub(crate) fn rollback(verb: &Control) -> Outcome {
    said(verb, order(verb, "rollback")?, show::rollback)
}

/// Has something done that takes its time. Errors: nobody answers, before or while it is done.
fn order(verb: &Control, word: &'static str) -> Outcome<Value> {
    let patience = verb.timeout.map_or(WORK, Duration::from_secs);
    let end = Instant::now() + patience;
    let is_alive = || ask(&verb.control, "status", ALIVE.min(patience)).map(drop);
    is_alive()?;
    let answer = begin(&verb.control, word, patience);
    loop {
        let left = end.saturating_duration_since(Instant::now());
        match answer.recv_timeout(left.min(ALIVE)) {
            Ok(line) => return parsed(&verb.control, line),
            Err(_) if left.is_zero() => return Err(too_slow(&verb.control, patience)),
            Err(_) => is_alive()?,
        }
    }
}

/// Shows the answer. Errors: the daemon did not do it.
fn said(verb: &Control, answer: Value, text: fn(&Value) -> String) -> Outcome {
    if answer.get("ok") == Some(&Value::Bool(true)) {
        if verb.json {
            return json::print_value(&answer);
        }
        out!("{}", text(&answer));
        return Ok(());
    }
    let error = answer.get("error").and_then(Value::as_str);
    let failure = Failure::failed(error.unwrap_or("no reason given").to_owned());
    if verb.json {
        let code = answer.get("code").and_then(Value::as_str);
        let code = code.map(str::to_owned);
        json::print_with(&Refused { ok: false, code }, Some(&failure))?;
    }
    Err(failure)
}

/// The answer of the daemon at `path`. Errors: there is none.
pub(crate) fn ask(path: &Path, verb: &'static str, patience: Duration) -> Outcome<Value> {
    match begin(path, verb, patience).recv_timeout(patience) {
        Ok(line) => parsed(path, line),
        Err(_) => Err(too_slow(path, patience)),
    }
}

/// Where the answer comes. The system gives connecting no time limit, hence the thread, which
/// nobody waits for.
fn begin(path: &Path, verb: &'static str, patience: Duration) -> Receiver<io::Result<String>> {
    let (sender, answer) = mpsc::channel();
    let path = path.to_owned();
    std::thread::spawn(move || sender.send(exchange(&path, verb, patience)));
    answer
}

fn parsed(path: &Path, line: io::Result<String>) -> Outcome<Value> {
    let line = line.map_err(|error| {
        Failure::unreachable(format!(
            "no answer from a daemon at {}: {error}; is sapphired running, with [control] path \
             there, and are you let in?",
            path.display()
        ))
    })?;
    serde_json::from_str(&line)
        .map_err(|error| Failure::failed_in(path, format!("{error}: {line:?}")))
}

fn too_slow(path: &Path, patience: Duration) -> Failure {
    Failure::unreachable(format!(
        "no answer from the daemon at {} within {} s: it is stopped, hangs or is overloaded; look at \
         the process, or wait longer with --timeout",
        path.display(),
        patience.as_secs()
    ))
}

fn exchange(path: &Path, verb: &str, patience: Duration) -> io::Result<String> {
    let mut stream = UnixStream::connect(path)?;
    stream.set_read_timeout(Some(patience))?;
    stream.set_write_timeout(Some(patience))?;
    let request = serde_json::to_string(&Request { verb })?;
    stream.write_all(format!("{request}\n").as_bytes())?;
    let mut line = String::new();
    BufReader::new(stream.take(LONGEST)).read_line(&mut line)?;
    match line.is_empty() {
        true => Err(io::Error::other("it has closed the connection")),
        false => Ok(line),
    }
}
