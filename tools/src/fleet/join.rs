//! `sapphire fleet join`: the whole configuration of a host that follows.
//!
//! The root file is read here as the daemon will read it, so that a signature that was not copied
//! is noticed before the host is started. Senders are not asked: they may not be there yet.

use std::path::PathBuf;

use clap::Args;
use fleet_keys::RootFiles;
use sa_fabric::outlet::{self, Readers};

use super::{root_failure, sections};
use crate::failure::Outcome;
use crate::inputs::or_fail;
use crate::wrong::Wrong;

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
    #[arg(long, value_name = "URL", required = true, value_parser = url)]
    from: Vec<String>,
    /// Hand on what comes, as a relay
    #[arg(long)]
    relay: bool,
    /// File to write, instead of standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Errors: the root file is not believed; a file is there already, or cannot be written.
pub(crate) fn run(verb: &Join) -> Outcome {
    let root = RootFiles::read(&verb.root_file).map_err(root_failure)?;
    root.installed().map_err(root_failure)?;
    let section = match verb.relay {
        true => sections::relay(&root.path, &verb.from),
        false => sections::follower(&root.path, &verb.from),
    };
    let text = whole(&section, verb.relay);
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

/// All sections.
fn whole(section: &str, is_relay: bool) -> String {
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
         # This host's kernel is answered.\n\
         [local_service]\n\
         paths = \"snapshot\"\n\
         \n\
         # Where `sapphire status` and `sapphire fleet status` ask.\n\
         [control]\n\
         path = \"control\"\n"
    )
}

/// An address without a path.
fn url(text: &str) -> Result<String, Wrong> {
    let wrong =
        "expected http:// and a host, with a port where it is not 80, such as http://leader:8042";
    let host = text
        .strip_prefix("http://")
        .map(|it| it.trim_end_matches('/'));
    let is_host = |it: &&str| {
        let is_part = |letter: char| letter.is_ascii_alphanumeric() || "-_.:[]".contains(letter);
        !it.is_empty() && !it.starts_with(':') && it.chars().all(is_part)
    };
    let host = host.filter(is_host).ok_or(wrong)?;
    Ok(format!("http://{host}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_a_host_and_no_path() {
        assert_eq!(
            url("http://leader:8042/"),
            Ok("http://leader:8042".to_owned())
        );
        for right in ["http://10.0.0.1", "http://[fe80::1]:8042"] {
            assert_eq!(url(right), Ok(right.to_owned()));
        }
        for wrong in [
            "",
            "leader:8042",
            "https://leader",
            "http://",
            "http://:80",
            "http://a/b",
            "http://a b",
            "http://a\"",
        ] {
            assert!(url(wrong).is_err(), "{wrong}");
        }
    }
}
