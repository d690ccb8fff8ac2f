//! A changed fabric, from the moment that the compiler is given it to answers on all hosts.
//!
//! ```text
//!  leader's process                                    followers' process
//!    fabric ─> compiler ─> in force ─> packing          daemons: fleet-node, gate and publisher of workers
//!                                        v                 ^
//!                             signed announcement ─ HTTP ──┤
//!                                                          v
//!                                                       connections that take the bytes
//! ```
//!
//! | file | |
//! |---|---|
//! | `fabric`, `policy` | the torus, what changes of it, the rules |
//! | `compiling`, `in_force`, `leader` | the leader's process: the compiler as the daemon calls it, and the daemon's leader behind it |
//! | `installed` | keys and root file, as an operator makes them |
//! | `host`, `hosts` | real followers, each with threads and a directory of its own |
//! | `relay` | the process of a relay between leader and followers |
//! | `oracle` | whether one of them answers from what it knows to be over |
//! | `line` | what is printed |

mod compiling;
mod fabric;
mod host;
mod hosts;
mod in_force;
mod installed;
pub(crate) mod leader;
mod line;
mod oracle;
mod policy;
pub(crate) mod relay;
#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::io::Write as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;
use fleet_tls::Tls;

use self::fabric::{Kind, Size};
use self::hosts::{Daemons, Place};
use self::leader::Published;
use self::line::{Line, Moment, Run};
use self::oracle::Oracle;
use crate::follower::{Whom, follow};
use crate::process::Part;
use crate::progress::{DEADLINE, Progress};
use crate::spent::Spent;
use crate::words::Words;
use crate::{Arguments, Failure};

/// Descriptors of a real follower, beside one of a connection: of two connections, two directories,
/// and files that are being made.
pub(crate) const DESCRIPTORS: u64 = 9;
/// Until all followers have the first snapshot: whole, verified, and by thousands of threads that
/// are begun.
const JOINED: Duration = Duration::from_secs(300);

/// Of the followers' process.
const NICE: i32 = 10;

/// What is to be measured.
#[derive(Debug, Args)]
pub(crate) struct Wanted {
    /// From a changed fabric to answers: so many of the followers run the daemon's code
    #[arg(long, value_name = "N")]
    pub(crate) daemons: Option<usize>,
    /// The torus, as XxYxZ
    #[arg(long, default_value = "16x16x16", requires = "daemons")]
    fabric: Size,
    /// Hosts on each of its switches
    #[arg(long, default_value_t = 2, requires = "daemons")]
    hosts: u8,
    /// Rules of its policy, over a fifth as many groups
    #[arg(long, default_value_t = 1000, requires = "daemons")]
    rules: u16,
    /// What changes, and changes back
    #[arg(long, num_args = 1.., default_values_t = Kind::ALL, value_enum, requires = "daemons")]
    kind: Vec<Kind>,
    /// Where directories of leader and followers are; their disk is in the figures
    #[arg(long, value_name = "DIRECTORY", requires = "daemons")]
    directory: Option<PathBuf>,
    /// Relays between the leader and all followers, of which each asks one
    #[arg(long, value_name = "N", default_value_t = 0, requires = "daemons")]
    pub(crate) relays: usize,
    /// Workers that look at no gate: the run must find their answers, and fail
    #[arg(long, hide = true, requires = "daemons")]
    planted: bool,
}

impl Wanted {
    /// For the leader's process.
    fn arguments(&self) -> Vec<OsString> {
        let Self { fabric, hosts, .. } = self;
        let daemons = self.daemons.unwrap_or(0).to_string();
        let words = [
            ("--daemons", daemons),
            ("--fabric", fabric.to_string()),
            ("--hosts", hosts.to_string()),
            ("--rules", self.rules.to_string()),
        ];
        let words = words
            .into_iter()
            .flat_map(|(name, value)| [name.into(), value.into()]);
        words.collect()
    }
}

/// All changes, one line each. Errors: the leader has ended; a follower came not through; somebody
/// has answered from what it knew to be over.
pub(crate) async fn measure(arguments: &Arguments, tls: Option<Tls>) -> Result<(), Failure> {
    let wanted = &arguments.change;
    let directory = wanted.directory.clone().unwrap_or_else(std::env::temp_dir);
    let folder = tempfile::tempdir_in(directory)?;
    let role = ("--leader", folder.path());
    let mut leader = Part::start(role, arguments, &wanted.arguments())?;
    let leader_at = leader.line()?.parse()?;
    let first: Published = leader.value()?;
    let (relays, asked) = relays(arguments, folder.path(), leader_at)?;
    // Leader and relays have hosts of their own, elsewhere: of these cores they get first what they
    // need.
    rustix::process::nice(NICE)?;
    let daemons = wanted.daemons.unwrap_or(0);
    let progress = Arc::new(Progress::new(arguments.followers, daemons, first.seq));
    let oracle = Arc::new(Oracle::default());
    oracle.announced(&first);
    let begun = Instant::now();
    let (folder, whom) = (folder.path(), (asked.as_slice(), tls));
    let daemons = follow_all(arguments, folder, whom, (&progress, &oracle))?;
    progress.all_through(JOINED).await?;
    let run = Run {
        arguments,
        folder,
        joined_s: begun.elapsed().as_secs_f64(),
    };
    let mut measured = Measured {
        leader,
        relays,
        progress: &progress,
        oracle: &oracle,
    };
    let changed = change(&run, &mut measured, first.seq).await;
    daemons.end();
    measured.leader.end()?;
    measured.relays.into_iter().try_for_each(Part::end)?;
    changed?;
    match oracle.judge().violations {
        0 => Ok(()),
        count => Err(format!("{count} answers of a generation that was known to be over").into()),
    }
}

/// What is looked at before and after a change.
struct Measured<'a> {
    leader: Part,
    relays: Vec<Part>,
    progress: &'a Progress,
    oracle: &'a Oracle,
}

impl Measured<'_> {
    /// What all of them have used and seen so far. Errors: one has ended.
    fn moment(&mut self) -> Result<Moment, Failure> {
        let mut relays = self.relays.iter_mut();
        let relays = relays.try_fold(Spent::default(), |sum, relay| {
            Ok::<_, Failure>(sum.and(relay.spent()?))
        });
        Ok(Moment {
            leader: self.leader.spent()?,
            relays: relays?,
            followers: Spent::now(0)?,
            judged: self.oracle.judge(),
        })
    }
}

/// Starts relays, if any are wanted, each of which has the first snapshot then. Gives whom followers
/// ask. Errors: one cannot be started, or gets nothing.
fn relays(
    arguments: &Arguments,
    folder: &Path,
    leader: SocketAddr,
) -> Result<(Vec<Part>, Vec<SocketAddr>), Failure> {
    let (mut relays, mut asked) = (Vec::new(), Vec::new());
    for nth in 0..arguments.change.relays {
        let directory = folder.join(format!("r{nth}"));
        let from = ["--from".into(), leader.to_string().into()];
        let mut relay = Part::start(("--relay", &directory), arguments, &from)?;
        asked.push(relay.line()?.parse()?);
        relays.push(relay);
    }
    if asked.is_empty() {
        asked.push(leader);
    }
    Ok((relays, asked))
}

/// Starts all followers: real ones, then connections. Errors: the root file; no thread; the disk.
fn follow_all(
    arguments: &Arguments,
    folder: &Path,
    (asked, tls): (&[SocketAddr], Option<Tls>),
    (progress, oracle): (&Arc<Progress>, &Arc<Oracle>),
) -> Result<Daemons, Failure> {
    let root = installed::read(folder)?;
    let place = Place {
        folder,
        addresses: asked,
        tls: tls.as_ref(),
        root: &root,
        is_planted: arguments.change.planted,
    };
    let count = arguments.change.daemons.unwrap_or(0);
    let daemons = Daemons::start(count, &place, progress, oracle)?;
    let words = Arc::new(Words::signed(installed::judge(&root)));
    let places = (0..arguments.followers).zip(asked.iter().cycle());
    for (place, address) in places.skip(count) {
        let whom = Whom {
            address: *address,
            words: Arc::clone(&words),
            tls: tls.clone(),
            progress: Arc::clone(progress),
        };
        tokio::spawn(follow(whom, place));
    }
    Ok(daemons)
}

/// Each kind, there and back, a line for each way. `seq`: of the generation that all have. Errors:
/// as [`measure`]'s.
async fn change(run: &Run<'_>, measured: &mut Measured<'_>, mut seq: u64) -> Result<(), Failure> {
    let Arguments { times, change, .. } = run.arguments;
    let kinds = change.kind.iter();
    let kinds = kinds.flat_map(|kind| (0..*times).map(move |time| (*kind, time)));
    let ways = kinds.flat_map(|(kind, time)| [false, true].map(|is_back| (kind, time, is_back)));
    for (kind, time, is_back) in ways {
        seq += 1;
        measured.progress.begin(seq);
        let before = measured.moment()?;
        measured.leader.say(&match is_back {
            false => format!("{kind} {time}"),
            true => "back".to_owned(),
        })?;
        // Connections are this thread's own: it must not wait for the leader while these could go
        // on.
        measured.progress.all_through(DEADLINE).await?;
        let published: Published = measured.leader.value()?;
        if published.seq != seq {
            return Err(format!("generation {} and not {seq} was published", published.seq).into());
        }
        measured.oracle.announced(&published);
        let after = measured.moment()?;
        let moments = (before, after);
        let line = Line::of(
            (kind, is_back),
            run,
            &published,
            measured.progress,
            &moments,
        );
        writeln!(std::io::stdout(), "{}", serde_json::to_string(&line)?)?;
    }
    Ok(())
}
