//! `sapphire drain`, `undrain`, `plan`, `apply`, `lid`: what is asked of the Subnet Manager in a
//! daemon.
//!
//! | exit | what it says |
//! |---|---|
//! | 0 | done, and acknowledged by all switches |
//! | 1 | done, and not acknowledged by all: the next sweeps go on |
//! | 3 | refused: nothing has changed |
//! | 4 | nobody answers |
//!
//! Each is one request and one answer on the control socket, like `reload`; what may be done is the
//! daemon's to say. What it refuses is exit 3. Files go by their names, made absolute here, as the
//! daemon stands elsewhere.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use serde_json::{Map, Value};

use super::{Control, ask, maintenance_show as show, order, said};
use crate::failure::{Failure, Outcome};
use crate::time;
use crate::wrong::Wrong;

/// `sapphire drain`
#[derive(Debug, Args)]
pub(crate) struct Drain {
    /// A switch by its name or 0xGUID, or one end of a cable as SWITCH:PORT
    #[arg(value_name = "SWITCH|LINK", required_unless_present = "list")]
    part: Option<String>,
    /// Also where hosts have no other way: routes leave it but for these. A switch that no routes
    /// leave so is routed as if it had failed, and its hosts lose their paths
    #[arg(long)]
    force: bool,
    /// Show what is drained
    #[arg(long, conflicts_with_all = ["part", "force"])]
    list: bool,
    #[command(flatten)]
    control: Control,
}

/// `sapphire undrain`
#[derive(Debug, Args)]
pub(crate) struct Undrain {
    /// As it was drained, or by its 0xGUID
    #[arg(value_name = "SWITCH|LINK")]
    part: String,
    #[command(flatten)]
    control: Control,
}

/// `sapphire plan`
#[derive(Debug, Args)]
pub(crate) struct Plan {
    /// A QoS policy, partitions.conf, opensm.conf, torus-2QoS.conf, a whole sapphired.toml or some
    /// keys of one
    #[arg(long, value_name = "FILE")]
    change: Option<PathBuf>,
    /// Another routing engine
    #[arg(long, value_name = "NAME")]
    engine: Option<String>,
    /// Routes leave it; may be given more than once
    #[arg(long, value_name = "SWITCH|LINK")]
    drain: Vec<String>,
    /// Routes may take it again; may be given more than once
    #[arg(long, value_name = "SWITCH|LINK")]
    undrain: Vec<String>,
    #[command(flatten)]
    control: Control,
}

/// `sapphire apply`
#[derive(Debug, Args)]
pub(crate) struct Apply {
    /// What `sapphire plan` has printed behind "plan"
    plan: String,
    #[command(flatten)]
    control: Control,
}

/// `sapphire lid`
#[derive(Debug, Subcommand)]
pub(crate) enum Lid {
    /// Show which ports have which LIDs, and when they were last there
    List(LidList),
    /// Give LIDs of ports that are away back
    Forget(LidForget),
}

/// `sapphire lid list`
#[derive(Debug, Args)]
pub(crate) struct LidList {
    /// Only ports that are away
    #[arg(long)]
    away: bool,
    #[command(flatten)]
    control: Control,
}

/// `sapphire lid forget`
#[derive(Debug, Args)]
pub(crate) struct LidForget {
    /// Port GUID
    #[arg(value_name = "GUID", required_unless_present = "absent_for")]
    guid: Option<String>,
    /// All ports that were not there for so long, such as 90s, 12h or 30d
    #[arg(long, value_name = "TIME", conflicts_with = "guid", value_parser = seconds)]
    absent_for: Option<u64>,
    #[command(flatten)]
    control: Control,
}

/// Returns when the switches have answered. Errors: refused (exit 3); not acknowledged by all (exit
/// 1).
pub(crate) fn drain(verb: &Drain) -> Outcome {
    let control = &verb.control;
    // What is written up already needs no patience.
    if verb.list {
        let patience = control.patience_of_a_question();
        let request = request("drained", []);
        return said(
            control,
            ask(&control.control, request, patience)?,
            show::drained,
        );
    }
    let part = verb.part.clone().unwrap_or_default();
    let fields = [("part", part.into()), ("force", verb.force.into())];
    done(
        control,
        order(control, request("drain", fields))?,
        show::drain,
    )
}

/// As [`drain`].
pub(crate) fn undrain(verb: &Undrain) -> Outcome {
    let request = request("undrain", [("part", verb.part.clone().into())]);
    done(&verb.control, order(&verb.control, request)?, show::undrain)
}

/// Writes nothing. Errors: what would be is refused (exit 3).
pub(crate) fn plan(verb: &Plan) -> Outcome {
    let mut fields = Vec::new();
    if let Some(path) = &verb.change {
        // The daemon has another working directory.
        let whole = std::path::absolute(path);
        let whole = whole.map_err(|error| Failure::failed_in(path, error.to_string()))?;
        fields.push(("change", whole.to_string_lossy().into_owned().into()));
    }
    if let Some(engine) = &verb.engine {
        fields.push(("engine", engine.clone().into()));
    }
    // An empty list is none.
    for (name, parts) in [("drain", &verb.drain), ("undrain", &verb.undrain)] {
        fields.push((name, parts.clone().into()));
    }
    let request = request("plan", fields);
    said(&verb.control, order(&verb.control, request)?, show::plan)
}

/// Errors: it is not what was planned any more (exit 3); not acknowledged by all (exit 1).
pub(crate) fn apply(verb: &Apply) -> Outcome {
    let request = request("apply", [("plan", verb.plan.clone().into())]);
    done(&verb.control, order(&verb.control, request)?, show::apply)
}

/// Errors: the port is there (exit 3).
pub(crate) fn lid(verb: &Lid) -> Outcome {
    match verb {
        Lid::List(verb) => {
            let answer = order(&verb.control, request("lid-list", []))?;
            let text = if verb.away {
                show::lids_away
            } else {
                show::lids
            };
            said(&verb.control, answer, text)
        }
        Lid::Forget(verb) => {
            let field = match (&verb.guid, verb.absent_for) {
                (Some(guid), _) => ("guid", guid.clone().into()),
                (None, seconds) => ("absent_for_s", seconds.unwrap_or(u64::MAX).into()),
            };
            let answer = order(&verb.control, request("lid-forget", [field]))?;
            said(&verb.control, answer, show::forgotten)
        }
    }
}

/// Shows the answer. Errors: the daemon did not do it; switches have not acknowledged it, and
/// scripts must not go on.
fn done(control: &Control, answer: Value, text: fn(&Value) -> String) -> Outcome {
    // Before the answer is given away to be shown.
    let is_open = answer.get("acknowledged") == Some(&Value::Bool(false));
    said(control, answer, text)?;
    match is_open {
        true => Err(Failure::failed(
            "not all of it is acknowledged; the next sweeps go on, and `sapphire drain --list` says when it is",
        )),
        false => Ok(()),
    }
}

/// A request with its fields. Shape: an object, which goes out as a line.
fn request(verb: &str, fields: impl IntoIterator<Item = (&'static str, Value)>) -> Value {
    let mut all = Map::new();
    all.insert("verb".to_owned(), verb.into());
    all.extend(
        fields
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value)),
    );
    Value::Object(all)
}

/// A second to a century. Errors: in words.
fn seconds(text: &str) -> Result<u64, Wrong> {
    let century = Duration::from_secs(36_500 * 86_400);
    time::within(text, None, time::SECOND..=century).map(|time| time.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        assert_eq!(seconds("90s"), Ok(90));
        assert_eq!(seconds("30d"), Ok(30 * 86_400));
        for wrong in ["", "d", "30", "3w", "-1h", "1hh", "99999999999999999999d"] {
            assert!(seconds(wrong).is_err(), "{wrong}");
        }
    }
}
