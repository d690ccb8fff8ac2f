//! `sapphire netlink`: the messages by which the kernel asks a local service.
//!
//! Both ends of the protocol are of this project: the agent (`sa-local`) and an emulated kernel
//! (`sa_wire::netlink_ls::kernel`). A recording pins both to what a real kernel sent and accepted:
//!
//! ```text
//! direction         played to                     compared
//! kernel-to-agent   a new agent, asked            what it read, how it replied
//! agent-to-kernel   an emulated kernel, told      what became of the kernel's query
//! ```
//!
//! Nothing is sent to the kernel of this machine, so that no privilege is needed.

mod asked;
mod replay;
mod told;
mod vector;

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use kernel_emulator::Flavour;

use crate::failure::Outcome;

#[derive(Debug, Subcommand)]
pub(crate) enum Netlink {
    /// Play recorded messages: those of a kernel to the agent, those of an agent to an emulated
    /// kernel
    ///
    /// Prints a JSON line per message: what the agent did (resolve, ip-resolve, reply-err, ignore),
    /// or what became of the kernel's query (accepted, fallback-to-sa, failed-eio, failed-route,
    /// ignored-timeout-then-sa) or of the message (ack N).
    ///
    /// Exit status: 0 all as expected; 1 the file cannot be read; 3 some differ, named on standard
    /// error.
    Replay(Replay),
}

#[derive(Debug, Args)]
pub(crate) struct Replay {
    /// Messages in hexadecimal digits with their meaning, as tests/golden/netlink/vectors.json
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Version whose behaviour the emulated kernel has
    #[arg(long, value_enum, default_value_t, value_name = "VERSION")]
    kernel: KernelVersion,
    /// Accepted for symmetry with the other verbs: output is JSON lines in any case
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, Default, ValueEnum)]
enum KernelVersion {
    /// 4.3 to 5.5
    #[value(name = "4.3")]
    V4_3,
    /// 6.1
    #[default]
    #[value(name = "6.1")]
    V6_1,
    /// From 6.3 on
    #[value(name = "6.3")]
    V6_3,
}

impl KernelVersion {
    const fn flavour(self) -> Flavour {
        match self {
            Self::V4_3 => Flavour::V4_3,
            Self::V6_1 => Flavour::V6_1,
            Self::V6_3 => Flavour::V6_3,
        }
    }
}

pub(crate) fn run(verb: &Netlink) -> Outcome {
    match verb {
        Netlink::Replay(verb) => replay::run(verb),
    }
}
