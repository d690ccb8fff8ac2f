//! `sapphire fleet join`: the whole configuration of a host that follows.
//!
//! The root file is read here as the daemon will read it, so that a signature that was not copied
//! is noticed before the host is started. Senders are not asked: they may not be there yet.

use std::path::PathBuf;

use clap::Args;
use fleet_keys::RootFiles;
use sa_fabric::outlet::{self, Readers};
use sa_fleet::address::Address;

use super::{root_failure, sections};
use crate::failure::{Failure, Outcome};
use crate::inputs::or_fail;

/// Writes the configuration of a host that follows: it answers its kernel by what the leader
/// announces.
///
/// The root file is checked first, with the signatures beside it. A relay also hands on what it
/// has, to hosts that name it by --from.
#[derive(Debug, Args)]
pub(crate) struct Join {
    /// Root file as it lies on this host, or the directory that has it under the name root
    #[arg(value_name = "ROOT")]
    root_file: PathBuf,
    /// Leader or relay to follow, such as http://leader:8042; may be given more than once, and the
    /// first that answers is asked
    #[arg(long, value_name = "URL", required = true)]
    from: Vec<Address>,
    /// Directory with ca.pem, cert.pem and key.pem of this host, for addresses with https://
    #[arg(long, value_name = "DIR")]
    tls: Option<PathBuf>,
    /// Hand on what comes, as a relay
    #[arg(long)]
    relay: bool,
    /// File to write, instead of standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Errors: an address that does not fit `--tls`; the root file is not believed; a file is there
/// already, or cannot be written.
pub(crate) fn run(verb: &Join) -> Outcome {
    schemes_fit(verb)?;
    let root = RootFiles::read(&verb.root_file).map_err(root_failure)?;
    root.installed().map_err(root_failure)?;
    let section = match verb.relay {
        true => sections::relay(&root.path, &verb.from),
        false => sections::follower(&root.path, &verb.from),
    };
    let tls = verb.tls.as_deref().map(sections::tls).unwrap_or_default();
    let text = whole(&section, &tls, verb.relay);
    let Some(output) = &verb.output else {
        out!("{text}");
        return Ok(());
    };
    super::root::is_free(output)?;
    or_fail(outlet::write(output, Readers::All, text.as_bytes()))?;
    let file = output.display();
    outln!("{file}: written. Next:");
    outln!("  sapphired --config {file} --check");
    outln!("  sapphired --config {file}");
    Ok(())
}

/// Errors: https:// without certificates, or the other way round.
fn schemes_fit(verb: &Join) -> Outcome {
    let has_tls = verb.tls.is_some();
    let Some(odd) = verb.from.iter().find(|it| it.is_secure() != has_tls) else {
        return Ok(());
    };
    let what = match has_tls {
        true => "with --tls hosts are asked by https://, or anybody could answer",
        false => {
            "https:// takes --tls DIR, the directory with ca.pem, cert.pem and key.pem of this host"
        }
    };
    Err(Failure::usage(format!("--from {}: {what}", odd.as_str())))
}

/// All sections. `tls`: that of certificates, or nothing.
fn whole(section: &str, tls: &str, is_relay: bool) -> String {
    let what = match is_relay {
        true => "follows a fleet, and hands on what it has",
        false => "follows a fleet",
    };
    format!(
        "# A sapphired that {what} (docs/fleet.md). Written by `sapphire fleet join`.\n\
         \n\
         # What is answered comes from the fleet, and from no files of this host.\n\
         [fabric]\n\
         source = \"fleet\"\n\
         \n\
         {section}\
         # What was fetched and seen is kept here, also over a restart.\n\
         directory = \"/var/lib/sapphire/fleet\"\n\
         # The subnet that is followed.\n\
         subnet = \"fe80::/64\"\n\
         \n\
         {tls}\
         # This host's kernel is answered.\n\
         [local_service]\n\
         paths = \"snapshot\"\n\
         \n\
         # Where `sapphire status` and `sapphire fleet status` ask.\n\
         [control]\n\
         path = \"control\"\n"
    )
}
