//! `sapphire snapshot diff`: what another snapshot would answer otherwise.
//!
//! Two layers, from what is in the files to what it does. Ports are compared by GUID, as everything else of a port may change.
//! Answers are compared by asking: both snapshots are asked for the path of each ordered pair of hosts that both have, by the
//! functions that answer requests, so that nothing of how answers come about is said here a second time.
//!
//! ```text
//! ports        by GUID: come, gone, other LID, other partitions, slower or faster link
//! rules        how many, levels by name
//! pairs        12 of 240: SL 1, MTU 2048, .. -> no path     such as H1 port 1 to H2 port 1
//! ```
//!
//! `policy check --diff` compares two policies on one fabric, for every kind of request; this compares all that there is, for
//! one kind of request. There are more pairs in a large fabric than anybody waits for: then pairs of some sources are asked
//! about, `complete` is false, and the counts are of those.

mod names;
mod pairs;
mod ports;
mod report;
mod show;

use std::path::PathBuf;

use clap::Args;
use policy::Query;
use sa_snapshot::Snapshot;

use self::names::Names;
use self::pairs::Pairs;
use self::ports::Ports;
use crate::failure::Outcome;
use crate::inputs::open_snapshot;
use crate::json;

#[derive(Debug, Args)]
pub(crate) struct Diff {
    /// Snapshot file
    #[arg(value_name = "OLD")]
    old: PathBuf,
    /// Snapshot file that it is compared with
    #[arg(value_name = "NEW")]
    new: PathBuf,
    /// Fabric file or directory of dumps in which ports have names; without it they are called by GUID
    #[arg(long, value_name = "FILE|DIR")]
    fabric: Option<PathBuf>,
    /// Service id that requests name
    #[arg(long, value_name = "ID", value_parser = crate::explain::number)]
    service_id: Option<u64>,
    /// QoS class that requests name
    #[arg(long, value_name = "CLASS", value_parser = clap::value_parser!(u16).range(0..4096))]
    qos_class: Option<u16>,
    /// P_Key that requests name
    #[arg(long, value_name = "PKEY", value_parser = crate::explain::pkey)]
    pkey: Option<u16>,
    /// Ask about so many pairs at most; of more, those of some sources
    #[arg(long, value_name = "N", default_value_t = 10_000_000, value_parser = clap::value_parser!(u64).range(1..))]
    most_pairs: u64,
    /// Print as JSON
    #[arg(long)]
    json: bool,
}

/// What differs.
struct Difference {
    ports: Ports,
    levels: Levels,
    pairs: Pairs,
}

/// Levels of the two policies, by name.
struct Levels {
    added: Vec<String>,
    removed: Vec<String>,
}

/// Differences are what was asked for, and no failure. Errors: a file is no snapshot, or is damaged; the fabric cannot be read.
pub(crate) fn run(verb: &Diff) -> Outcome {
    let (old, new) = (open_snapshot(&verb.old)?, open_snapshot(&verb.new)?);
    let names = Names::read(verb.fabric.as_deref())?;
    let request = Query {
        service_id: verb.service_id,
        qos_class: verb.qos_class,
        pkey: verb.pkey,
        ..Query::default()
    };
    let found = Difference {
        ports: Ports::compare(&old, &new),
        levels: Levels::compare(&old, &new),
        pairs: Pairs::compare((&old, &new), &request.numbers(), verb.most_pairs),
    };
    let sides = [(&verb.old, &old), (&verb.new, &new)].map(|(path, snapshot)| show::Side {
        path: path.display().to_string(),
        info: snapshot.info(),
    });
    let shown = show::Shown {
        sides: &sides,
        found: &found,
        names: &names,
    };
    if verb.json {
        return json::print(&shown.report());
    }
    shown.print();
    Ok(())
}

impl Levels {
    fn compare(old: &Snapshot, new: &Snapshot) -> Self {
        let names = |snapshot: &Snapshot| -> Vec<String> {
            let levels = (0..).map_while(|level| snapshot.level_name(level));
            levels.map(str::to_owned).collect()
        };
        let (old, new) = (names(old), names(new));
        let only = |these: &[String], those: &[String]| {
            let only = these.iter().filter(|name| !those.contains(name));
            only.cloned().collect()
        };
        Self {
            added: only(&new, &old),
            removed: only(&old, &new),
        }
    }
}
