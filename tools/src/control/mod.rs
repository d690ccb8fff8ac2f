//! `sapphire status`, `reload`, `rollback`, `fabric health`: what is asked and ordered on a
//! daemon's control socket.
//!
//! One line goes each way over a Unix socket (`[control] path`, which file rights guard), and the
//! connection is over:
//!
//! ```text
//! -> {"verb":"status"}
//! <- {"ok":true,"version":"..","epoch":..}       or  {"ok":false,"code":"..","error":".."}
//! ```
//!
//! What the daemon answers is its document, printed as it comes with `--json`; for people [`show`]
//! makes lines of it. A field that this version does not know is passed on, and one that is missing
//! is left out, so that tool and daemon of different versions understand each other.
//!
//! `status` is answered at once, whatever the daemon does. `reload` and `rollback` are answered
//! when they are done, which for a large fabric is minutes; meanwhile the daemon is asked for its
//! status every five seconds, so that one that has died is noticed in seconds and one that works is
//! waited for.
//!
//! A reload of 12 seconds goes so:
//!
//! ```text
//! 0 s    status -> answered           it lives
//! 0 s    reload ->
//! 5 s    status -> answered           it lives, and works
//! 10 s   status -> answered
//! 12 s          <- ok, epoch 42
//! ```
//!
//! A refusal with `--json` keeps the daemon's own word for it beside the sentence, so that a script
//! can tell refusals apart without reading English:
//!
//! ```text
//! {"schema":"sapphire.refused/1","ok":false,"code":"..","error":{"message":"..","exit_code":1,..}}
//! ```

mod dry_run;
mod fleet;
pub(crate) mod health;
mod maintenance;
mod maintenance_show;
pub(crate) mod show;

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use clap::Args;
use serde::Serialize;
use serde_json::{Value, json};

pub(crate) use self::fleet::{
    Promote as FleetPromote, promote as fleet_promote, status as fleet_status,
    withdraw as fleet_withdraw,
};
pub(crate) use self::maintenance::{
    Apply, Drain, Lid, Plan, Undrain, apply, drain, lid, plan, undrain,
};
use crate::failure::{Failure, Outcome};
use crate::json::{self, Document};
use crate::time;

/// Where a daemon is asked.
#[derive(Debug, Args)]
pub(crate) struct Control {
    /// Control socket of the daemon: path of its `[control]` section
    #[arg(long, value_name = "PATH", default_value = DEFAULT)]
    control: PathBuf,
    /// Wait so long for the answer; a number alone counts seconds [default: 5s; of orders 10m, for
    /// as long as the daemon shows every 5 seconds that it lives]
    #[arg(long, value_name = "TIME", value_parser = time::seconds)]
    timeout: Option<Duration>,
    /// Print one JSON line: the daemon's answer
    #[arg(long)]
    json: bool,
}

/// `sapphire reload`.
#[derive(Debug, Args)]
pub(crate) struct Reload {
    /// Read and compile the sources as a reload would, say what that would change, and put nothing
    /// into service
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    control: Control,
}

/// A daemon's refusal for programs, with what is wrong as every verb has it.
/// Always `ok: false`; the sentence stands in `error`, which [`json::print_with`] adds.
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

/// A request without arguments. Shape: an object, which goes out as a line.
pub(crate) fn bare(verb: &str) -> Value {
    json!({ "verb": verb })
}

impl Control {
    /// How long a question waits that is answered at once.
    fn patience_of_a_question(&self) -> Duration {
        self.timeout.unwrap_or(ALIVE)
    }
}

/// Where the documentation has it.
pub(crate) const DEFAULT: &str = "/run/sapphire/control.sock";

/// Bytes of an answer that are read at most.
/// An answer has a few lines for each port; more than this is no daemon of ours, and memory is not
/// given to it.
const LONGEST: u64 = 16 << 20;

/// A daemon that lives answers a question within this time, whatever else it does.
/// Also how often it is asked while it works.
const ALIVE: Duration = Duration::from_secs(5);

/// How long what it was told to do may take: it may have to read and compile a fabric.
const WORK: Duration = Duration::from_secs(600);

/// Errors: nobody answers (exit 4); what answers refuses (exit 1).
pub(crate) fn status(verb: &Control) -> Outcome {
    let patience = verb.patience_of_a_question();
    said(
        verb,
        ask(&verb.control, bare("status"), patience)?,
        show::status,
    )
}

/// Returns when the new snapshot is in service, or is found not to be served: the daemon then keeps
/// the one before, and says why. A dry run that is interrupted closes its connection, and with that
/// the daemon ends its work.
pub(crate) fn reload(verb: &Reload) -> Outcome {
    let control = &verb.control;
    if !verb.dry_run {
        return said(control, order(control, bare("reload"))?, show::reload);
    }
    let request = json!({ "verb": "reload", "dry_run": true });
    said(control, order(control, request)?, dry_run::text)
}

/// Automatic reloads wait afterwards, or the next one would undo it.
pub(crate) fn rollback(verb: &Control) -> Outcome {
    said(verb, order(verb, bare("rollback"))?, show::rollback)
}

/// Has something done that takes its time. Errors: nobody answers, before or while it is done.
/// The order goes out once and is never repeated; only the question whether the daemon lives is.
fn order(verb: &Control, request: Value) -> Outcome<Value> {
    let patience = verb.timeout.unwrap_or(WORK);
    let end = Instant::now() + patience;
    // Within a short `--timeout` a question has no more time than the whole.
    let is_alive = || ask(&verb.control, bare("status"), ALIVE.min(patience)).map(drop);
    // Before anything is ordered: nobody there is told in five seconds, not in ten minutes.
    is_alive()?;
    let answer = begin(&verb.control, request, patience);
    loop {
        let left = end.saturating_duration_since(Instant::now());
        // Whichever is first: the answer, the next look, the end.
        match answer.recv_timeout(left.min(ALIVE)) {
            Ok(line) => return parsed(&verb.control, line),
            Err(_) if left.is_zero() => return Err(too_slow(&verb.control, patience)),
            // It works still, or it has gone: its status tells.
            Err(_) => is_alive()?,
        }
    }
}

/// A question with a node, answered at once. Errors: nobody answers.
fn conversation(verb: &Control, word: &str, node: Option<&str>) -> Outcome<Value> {
    let patience = verb.timeout.unwrap_or(ALIVE);
    let mut request = bare(word);
    if let (Some(node), Value::Object(fields)) = (node, &mut request) {
        fields.insert("node".to_owned(), node.into());
    }
    match begin(&verb.control, request, patience).recv_timeout(patience) {
        Ok(line) => parsed(&verb.control, line),
        Err(_) => Err(too_slow(&verb.control, patience)),
    }
}

/// Shows the answer. Errors: the daemon did not do it.
/// `text` is not called for a refusal, so it may take for granted what a success holds.
fn said(verb: &Control, answer: Value, text: fn(&Value) -> String) -> Outcome {
    if answer.get("ok") == Some(&Value::Bool(true)) {
        if verb.json {
            return json::print_value(&answer);
        }
        out!("{}", text(&answer));
        return Ok(());
    }
    Err(failure_of(verb, &answer)?)
}

/// A refusal as a failure, told to programs. Errors: what is printed cannot be.
fn failure_of(verb: &Control, answer: &Value) -> Outcome<Failure> {
    refusal(answer, verb.json)
}

/// What is granted passes. Errors: it is a refusal, which is printed for programs too.
pub(crate) fn granted(answer: Value, as_json: bool) -> Outcome<Value> {
    match answer.get("ok") {
        Some(Value::Bool(true)) => Ok(answer),
        _ => Err(refusal(&answer, as_json)?),
    }
}

fn refusal(answer: &Value, as_json: bool) -> Outcome<Failure> {
    // What is not ours may say anything, or nothing.
    let error = answer.get("error").and_then(Value::as_str);
    let mut failure = Failure::failed(error.unwrap_or("no reason given").to_owned());
    if answer.get("code").and_then(Value::as_str) == Some("refused") {
        failure = Failure::refused(error.unwrap_or("no reason given").to_owned());
    }
    if as_json {
        let code = answer.get("code").and_then(Value::as_str);
        let code = code.map(str::to_owned);
        json::print_with(&Refused { ok: false, code }, Some(&failure))?;
    }
    Ok(failure)
}

/// The answer of the daemon at `path`. Errors: there is none.
/// Also for `sapphire doctor`. Never longer than `patience`, whatever the other side does.
pub(crate) fn ask(path: &Path, request: Value, patience: Duration) -> Outcome<Value> {
    match begin(path, request, patience).recv_timeout(patience) {
        Ok(line) => parsed(path, line),
        Err(_) => Err(too_slow(path, patience)),
    }
}

/// Where the answer comes. The system gives connecting no time limit, hence the thread, which
/// nobody waits for.
/// A socket whose daemon is stopped takes connections until its queue is full, and then `connect`
/// waits for ever. The thread ends with the process, at the latest.
fn begin(path: &Path, request: Value, patience: Duration) -> Receiver<io::Result<String>> {
    let (sender, answer) = mpsc::channel();
    let path = path.to_owned();
    std::thread::spawn(move || sender.send(exchange(&path, &request, patience)));
    answer
}

/// Errors: no line came, which is exit 4; a line that is no JSON, which is exit 1, as somebody was
/// there.
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

/// Unlike a socket that nobody listens on this one was there, so the advice is another.
fn too_slow(path: &Path, patience: Duration) -> Failure {
    Failure::unreachable(format!(
        "no answer from the daemon at {} within {}: it is stopped, hangs or is overloaded; look at \
         the process, or wait longer with --timeout",
        path.display(),
        time::words(patience)
    ))
}

/// The whole conversation, on a thread of its own. Errors: those of the socket; an answer of no
/// bytes.
fn exchange(path: &Path, request: &Value, patience: Duration) -> io::Result<String> {
    let mut stream = UnixStream::connect(path)?;
    // The caller's patience ends first, and its words say more than those of a socket.
    let longest = Some(patience.saturating_add(Duration::from_secs(1)));
    stream.set_read_timeout(longest)?;
    stream.set_write_timeout(longest)?;
    stream.write_all(format!("{request}\n").as_bytes())?;
    let mut line = String::new();
    // A line without end is cut off there, and is no JSON then.
    BufReader::new(stream.take(LONGEST)).read_line(&mut line)?;
    match line.is_empty() {
        true => Err(io::Error::other("it has closed the connection")),
        false => Ok(line),
    }
}
