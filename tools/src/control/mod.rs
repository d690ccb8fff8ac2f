//! `sapphire status`, `reload`, `rollback`: what is asked and ordered on a daemon's control socket.

mod show;

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use serde_json::{Value, json};

use crate::failure::{Failure, Outcome};
use crate::json;

/// Where a daemon is asked.
#[derive(Debug, Args)]
pub(crate) struct Control {
    /// Control socket of the daemon: path of its `[control]` section
    #[arg(long, value_name = "PATH", default_value = DEFAULT)]
    control: PathBuf,
    /// Wait so long for the answer. Units: seconds
    #[arg(long, value_name = "S", default_value_t = 600, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    timeout: u64,
    /// Print one JSON line: the daemon's answer
    #[arg(long)]
    json: bool,
}

/// Where the documentation has it.
const DEFAULT: &str = "/run/sapphire/control.sock";

/// Bytes of an answer that are read at most.
const LONGEST: u64 = 16 << 20;

pub(crate) fn status(verb: &Control) -> Outcome {
    said(verb, "status", show::status)
}

pub(crate) fn reload(verb: &Control) -> Outcome {
    said(verb, "reload", show::reload)
}

pub(crate) fn rollback(verb: &Control) -> Outcome {
    said(verb, "rollback", show::rollback)
}

/// Asks, and shows the answer. Errors: nobody answers; the daemon did not do it.
fn said(verb: &Control, word: &str, text: fn(&Value) -> String) -> Outcome {
    let answer = ask(&verb.control, word, Duration::from_secs(verb.timeout))?;
    if verb.json {
        json::print(&answer)?;
    }
    if answer.get("ok") != Some(&Value::Bool(true)) {
        let error = answer.get("error").and_then(Value::as_str);
        return Err(Failure::Failed(
            error.unwrap_or("no reason given").to_owned(),
        ));
    }
    if !verb.json {
        print!("{}", text(&answer));
    }
    Ok(())
}

/// The answer of the daemon at `path`. Errors: there is none.
pub(crate) fn ask(path: &Path, verb: &str, patience: Duration) -> Outcome<Value> {
    let unreachable = |error: std::io::Error| {
        Failure::Unreachable(format!(
            "no answer from a daemon at {}: {error}; is sapphired running, with [control] path \
             there, and are you let in?",
            path.display()
        ))
    };
    let line = exchange(path, verb, patience).map_err(unreachable)?;
    serde_json::from_str(&line)
        .map_err(|error| Failure::Failed(format!("{}: {error}: {line:?}", path.display())))
}

fn exchange(path: &Path, verb: &str, patience: Duration) -> std::io::Result<String> {
    let mut stream = UnixStream::connect(path)?;
    stream.set_read_timeout(Some(patience))?;
    stream.set_write_timeout(Some(patience))?;
    stream.write_all(format!("{}\n", json!({ "verb": verb })).as_bytes())?;
    let mut line = String::new();
    BufReader::new(stream.take(LONGEST)).read_line(&mut line)?;
    match line.is_empty() {
        true => Err(std::io::Error::other("it has closed the connection")),
        false => Ok(line),
    }
}
