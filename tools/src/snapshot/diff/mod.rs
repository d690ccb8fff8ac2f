//! `sapphire snapshot diff`: what another snapshot would answer otherwise.
//!
//! The comparison is the compiler's ([`sa_compiler::snapshot_change`]), which a running daemon uses
//! as well; here are the files, the names of their ports, and the words.
//!
//! `policy check --diff` compares two policies on one fabric, for every kind of request; this
//! compares all that there is, for one kind of request. There are more pairs in a large fabric than
//! anybody waits for: then some are asked about, evenly spread, `complete` is false, and the counts
//! are of those.

mod names;
mod report;

use std::path::PathBuf;

use clap::Args;
use policy::Query;
use sa_compiler::snapshot_change::{Asked, Comparison, between};

use self::names::Names;
use crate::failure::{Failure, Outcome};
use crate::inputs::open_snapshot;
use crate::json;
use crate::progress;

#[derive(Debug, Args)]
pub(crate) struct Diff {
    /// Snapshot file
    #[arg(value_name = "OLD")]
    old: PathBuf,
    /// Snapshot file that it is compared with
    #[arg(value_name = "NEW")]
    new: PathBuf,
    /// Fabric file or directory of dumps in which ports have names; without it they are called by
    /// GUID
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
    /// Ask about so many pairs at most; of more, about some, evenly spread
    #[arg(long, value_name = "N", default_value_t = 10_000_000, value_parser = clap::value_parser!(u64).range(1..))]
    most_pairs: u64,
    /// Print as JSON
    #[arg(long)]
    json: bool,
}

/// Differences are what was asked for, and no failure. Errors: a file is no snapshot, or is
/// damaged; the fabric cannot be read.
pub(crate) fn run(verb: &Diff) -> Outcome {
    let (old, new) = (open_snapshot(&verb.old)?, open_snapshot(&verb.new)?);
    let names = Names::read(verb.fabric.as_deref())?;
    let request = Query {
        service_id: verb.service_id,
        qos_class: verb.qos_class,
        pkey: verb.pkey,
        ..Query::default()
    };
    let asked = Asked {
        numbers: request.numbers(),
        most: verb.most_pairs,
        watch: progress::watch(),
    };
    let change =
        between((&old, &new), &asked).map_err(|stopped| Failure::failed(stopped.to_string()))?;
    let found = Comparison::of(&change, &|port| names.of(port));
    let sides = [(&verb.old, &old), (&verb.new, &new)].map(|(path, snapshot)| report::Side {
        path: path.display().to_string(),
        info: snapshot.info(),
    });
    if verb.json {
        return json::print(&report::Report::new(&sides, &found));
    }
    report::print(&sides, &found);
    Ok(())
}
