//! An account from a running daemon, of the snapshot that it answers from.
//!
//! ```text
//! > {"verb":"explain","source":"H0","destination":"H5","pkey":32767}
//! < {"ok":true,"schema":"sapphired.explain/1","epoch":7,"not_ready":null,"account":{..}}
//! ```
//!
//! The daemon looks up the names, since its fabric and its services are meant. What is printed is
//! the account as it came: the same document and the same text as from files.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use sa_compiler::account::Account;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Question;
use crate::control;
use crate::failure::{Failure, Outcome};
use crate::json::{self, Document};
use crate::time;

/// In place of a fabric: a daemon that has one.
#[derive(Debug, Args)]
pub(super) struct Live {
    /// In place of a fabric and its options: what a running sapphired serves now
    #[arg(long, conflicts_with_all = ["fabric", "snapshot"])]
    live: bool,
    /// With --live: control socket of the daemon, path of its `[control]` section
    #[arg(long, value_name = "PATH", requires = "live", default_value = control::DEFAULT)]
    control: PathBuf,
    /// With --live: wait so long for the answer; a number alone counts seconds
    #[arg(long, value_name = "TIME", requires = "live", default_value = "10s", value_parser = time::seconds)]
    timeout: Duration,
}

impl Live {
    pub(super) const fn is_asked(&self) -> bool {
        self.live
    }
}

/// What a daemon says. Fields that are not here are passed over: it may be newer.
#[derive(Deserialize)]
struct Told {
    /// Why what is explained is not what clients get just now.
    not_ready: Option<String>,
    account: Value,
}

/// The daemon's own account, field by field.
#[derive(Serialize)]
#[serde(transparent)]
struct AsTold(Value);

impl Document for AsTold {
    const SCHEMA: &'static str = Account::SCHEMA;
}

/// Asks and prints. Errors: nobody answers; the daemon refuses; what answers is another version.
pub(super) fn explain(live: &Live, question: &Question) -> Outcome {
    let request = serde_json::to_value(question.words()?).map_err(Failure::failed)?;
    let mut asked = control::bare("explain");
    if let (Value::Object(asked), Value::Object(question)) = (&mut asked, request) {
        asked.extend(question);
    }
    let answer = control::ask(&live.control, asked, live.timeout)?;
    let answer = control::granted(answer, question.json)?;
    let told: Told = serde_json::from_value(answer).map_err(|error| another(live, &error))?;
    if let Some(why) = told.not_ready {
        errln!("warning: sapphired is not ready: {why}");
    }
    if question.json {
        return json::print(&AsTold(told.account));
    }
    let account = serde_json::from_value(told.account).map_err(|error| another(live, &error))?;
    super::print(&account);
    Ok(())
}

/// What was answered is no account as this version knows it.
fn another(live: &Live, error: &serde_json::Error) -> Failure {
    Failure::failed_in(
        &live.control,
        format!("the daemon there is of another version: {error}; use the sapphire of its package"),
    )
}
