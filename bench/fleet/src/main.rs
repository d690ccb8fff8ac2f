//! How fast a change reaches many hosts, and what that costs.
//!
//! ```text
//! fleet                                       10,000 connections that take bytes; no fabric is compiled
//! fleet --followers 1000 --blob 2900000       fewer, a larger file
//! fleet --tls DIRECTORY                       under TLS, with ca.pem, cert.pem and key.pem of a leader at 127.0.0.1
//! fleet --daemons 1000                        from a changed fabric to answers: 1,000 of the followers are real
//! fleet --daemons 10 --relays 10              the same by relays, each in a process of its own
//! ```
//!
//! The leader's side is a process of its own, followers are another: both run on this machine, so
//! each figure has the followers' work in it. There are two measurements:
//!
//! | | [`plain`] | [`change`] |
//! |---|---|---|
//! | leader | the HTTP side of the daemon | the leader of the daemon, and the compiler before it |
//! | what is announced | bytes of a size, not signed | compiled snapshots of a torus, signed |
//! | followers | connections | connections, and some that verify, store, load and answer |
//! | time counts from | the announcement | the moment that the changed fabric is given to the compiler |
//!
//! Time is counted by one clock of the machine (CLOCK_BOOTTIME) in both processes.

#![forbid(unsafe_code)]

mod change;
mod follower;
mod plain;
mod process;
mod progress;
mod spent;
mod words;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use clap::Parser;
use fleet_tls::{Clients, Files, Tls};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Of this host, for nobody else.
const ANY_PORT: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

/// As the daemon has it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Measures how a change reaches many hosts
#[derive(Debug, Parser)]
struct Arguments {
    /// Hosts that follow, real ones included
    #[arg(long, default_value_t = 10_000)]
    followers: usize,
    /// Bytes that each fetches, one generation after the other
    #[arg(long, num_args = 1.., default_values_t = [200, 38_000, 175_000], conflicts_with = "daemons")]
    blob: Vec<usize>,
    /// How often each size, or each change, is measured
    #[arg(long, default_value_t = 1)]
    times: u64,
    /// Speak TLS with ca.pem, cert.pem and key.pem of this directory: a leader's, for 127.0.0.1
    #[arg(long, value_name = "DIRECTORY")]
    tls: Option<PathBuf>,
    #[command(flatten)]
    change: change::Wanted,
    /// The leader's part, in this directory; for this program itself
    #[arg(long, hide = true)]
    leader: Option<PathBuf>,
    #[command(flatten)]
    relay: change::relay::Relay,
}

type Failure = Box<dyn std::error::Error>;

/// Descriptors beside those of followers.
const OTHERS: u64 = 200;

fn main() -> Result<(), Failure> {
    let arguments = Arguments::parse();
    let daemons = arguments.change.daemons.unwrap_or(0);
    if daemons > arguments.followers {
        return Err("--daemons are some of --followers, and cannot be more".into());
    }
    descriptors(arguments.followers as u64 + daemons as u64 * change::DESCRIPTORS + OTHERS)?;
    let tls = opened(arguments.tls.as_deref())?;
    if let (Some(directory), Some(from)) = (&arguments.relay.relay, arguments.relay.from) {
        return change::relay::run(directory, from, tls);
    }
    match (&arguments.leader, daemons) {
        (Some(folder), 0) => plain::leader::run(folder, tls),
        (Some(folder), _) => change::leader::run(folder, &arguments.change, tls),
        (None, 0) => runtime()?.block_on(plain::measure(&arguments, tls)),
        (None, _) => runtime()?.block_on(change::measure(&arguments, tls)),
    }
}

/// One thread for all connections, as the leader has one.
fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
}

/// Has that many. Errors: the hard limit is lower.
fn descriptors(needed: u64) -> Result<(), Failure> {
    let most = getrlimit(Resource::Nofile).maximum;
    if most.is_some_and(|most| most < needed) {
        let words = "descriptors are needed, and the hard limit is";
        return Err(format!("{needed} {words} {most:?}: raise it (ulimit -Hn)").into());
    }
    let limit = Rlimit {
        current: Some(needed),
        maximum: most,
    };
    Ok(setrlimit(Resource::Nofile, limit)?)
}

/// Errors: the files.
fn opened(directory: Option<&Path>) -> Result<Option<Tls>, Failure> {
    let Some(directory) = directory else {
        return Ok(None);
    };
    let [ca, cert, key] = ["ca.pem", "cert.pem", "key.pem"].map(|name| directory.join(name));
    Ok(Some(Tls::open(Files { ca, cert, key }, Clients::Required)?))
}
