//! The process of a relay: a real follower that hands on what it has.
//!
//! It has a host of its own, as the leader has: it is not made to wait for followers, which run at
//! nice 10. It says where it is once it has the first snapshot, since whoever asks before that is
//! told that there is nothing.

use std::io::{BufRead as _, Write as _};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use clap::Args;
use fleet_node::following;
use fleet_node::serving::Serving;
use fleet_tls::Tls;
use fleet_transfer::serve::{Desk, Limits};

use super::host::Stand;
use super::hosts::Place;
use super::installed;
use crate::follower::PREFIX;
use crate::progress::{DEADLINE, Progress};
use crate::spent::Spent;
use crate::{ANY_PORT, Failure};

/// How finely it is seen that it has something.
const LOOK: Duration = Duration::from_millis(5);

/// What this program says to itself.
#[derive(Debug, Args)]
pub(crate) struct Relay {
    /// A relay's part, in this directory of a run; for this program itself
    #[arg(long, hide = true, requires = "from")]
    pub(crate) relay: Option<PathBuf>,
    /// Whom it asks
    #[arg(long, hide = true)]
    pub(crate) from: Option<SocketAddr>,
}

/// Until standard input ends; each line is answered by what was used so far. Errors: the root file,
/// the disk, no port, no /proc; nothing comes.
pub(crate) fn run(directory: &Path, from: SocketAddr, tls: Option<Tls>) -> Result<(), Failure> {
    let folder = directory.parent().ok_or("a directory of a run")?;
    let name = directory.file_name().and_then(|name| name.to_str());
    let place = Place {
        folder,
        addresses: &[from],
        tls: tls.as_ref(),
        root: &installed::read(folder)?,
        is_planted: false,
    };
    let mut follows = place.following(name.ok_or("a name")?, 0)?;
    let desk = Desk::new(Arc::clone(&follows.shelf), Limits::default());
    let desk = Arc::new(desk);
    follows.desk = Some(Arc::clone(&desk));
    // Of itself it measures nothing.
    let progress = Arc::new(Progress::new(1, 1, 0));
    let stand = Arc::new(Stand::new(0, progress, false).ok_or("no place for a reader")?);
    let running = following::start(follows, Arc::clone(&stand))?;
    stand.says(running.said.clone());
    let serving = Serving::start(ANY_PORT, Arc::clone(&desk), tls.clone())?;
    has_something(&desk)?;
    writeln!(std::io::stdout(), "{}", serving.address())?;
    for line in std::io::stdin().lock().lines() {
        line?;
        let sent = desk.counts.bytes.load(Ordering::Relaxed);
        let spent = serde_json::to_string(&Spent::now(sent)?)?;
        writeln!(std::io::stdout(), "{spent}")?;
    }
    Ok(())
}

/// Until there is an announcement to hand on.
fn has_something(desk: &Desk) -> Result<(), Failure> {
    let begun = Instant::now();
    while desk.announced(PREFIX).is_none() {
        if begun.elapsed() > DEADLINE {
            return Err("nothing comes from the leader".into());
        }
        std::thread::sleep(LOOK);
    }
    Ok(())
}
