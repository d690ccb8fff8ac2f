//! What is asked of a person, line by line on the terminal.
//!
//! ```text
//! Where does the fabric come from?
//!   1 files     serve a fabric of files: to try, or to answer by OpenSM's dumps
//!   2 opensm    beside an OpenSM on this machine, which stays the Subnet Manager
//!   ..
//! [2]: _
//! ```
//!
//! An empty line takes what stands in brackets. What an option has said is not asked. Nothing is
//! written before the last answer, so Ctrl-C leaves nothing behind.

use std::io::BufRead;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use sa_source::SaTransport;

use super::found::Found;
use super::places::Places;
use super::{Init, Source, Wanted, via};
use crate::failure::{Failure, Outcome};

/// Asks for what no option says. Errors: standard input ends.
pub(super) fn ask(verb: &Init, found: &Found) -> Outcome<Wanted> {
    let source = match verb.source {
        Some(source) => source,
        None => ask_source(found.source(verb.fabric.is_some()))?,
    };
    let mut wanted = Wanted {
        source,
        fabric: verb.fabric.clone(),
        torus_conf: verb.torus_conf.clone(),
        opensm_conf: verb.opensm_conf.clone(),
        partitions: verb.partitions.clone(),
        policy: verb.policy.clone(),
        via: None,
        output: verb.output.clone(),
    };
    let fabric = match source {
        Source::Files => {
            Some("The wiring (a net file, an opensm-subnet.lst, or a directory of dumps)")
        }
        Source::Snapshot => Some("The snapshot that is copied here"),
        Source::Opensm | Source::Sweep => None,
    };
    if let Some(words) = fabric {
        file(&mut wanted.fabric, words, None)?;
    }
    if source != Source::Snapshot {
        let files = [
            (
                &mut wanted.torus_conf,
                "torus-2QoS.conf, if it is a torus",
                &found.torus_conf,
            ),
            (&mut wanted.opensm_conf, "opensm.conf", &found.opensm_conf),
            (&mut wanted.partitions, "partitions.conf", &found.partitions),
            (&mut wanted.policy, "QoS policy", &found.policy),
        ];
        for (file_of, words, found) in files {
            file(file_of, words, found.as_ref())?;
        }
    }
    wanted.via = match (&verb.via, source) {
        (Some(text), _) => Some(via(text)?),
        (None, Source::Snapshot) => None,
        (None, _) => Some(ask_via(source, found, &verb.output)?),
    };
    Ok(wanted)
}

fn ask_source(usual: Option<Source>) -> Outcome<Source> {
    errln!("Where does the fabric come from?");
    for (number, source) in (1..).zip(Source::value_variants()) {
        let value = source.to_possible_value();
        let help = value.as_ref().and_then(|value| value.get_help());
        let name = value.as_ref().map_or("", |value| value.get_name());
        let help = help.map(ToString::to_string).unwrap_or_default();
        errln!("  {number} {name:<10}{help}");
    }
    let place = |source: &Source| Source::value_variants().iter().position(|it| it == source);
    let usual = usual
        .as_ref()
        .and_then(place)
        .map(|place| (place + 1).to_string());
    loop {
        let answer = line("A number or a name", usual.as_deref())?;
        let nth = answer
            .parse::<usize>()
            .ok()
            .and_then(|number| number.checked_sub(1));
        let by_number = nth.and_then(|nth| Source::value_variants().get(nth).copied());
        match by_number.or_else(|| Source::from_str(&answer, true).ok()) {
            Some(source) => return Ok(source),
            None => errln!("It is one of those above."),
        }
    }
}

/// A file that is there, or none where `-` or nothing is said.
fn file(known: &mut Option<PathBuf>, words: &str, found: Option<&PathBuf>) -> Outcome {
    if known.is_some() {
        return Ok(());
    }
    let usual = found.map_or_else(|| "-".to_owned(), |path| path.display().to_string());
    loop {
        let answer = line(&format!("{words} (- for none)"), Some(&usual))?;
        if answer == "-" {
            return Ok(());
        }
        let path = PathBuf::from(answer);
        match path.metadata() {
            Ok(_) => {
                *known = Some(path);
                return Ok(());
            }
            Err(error) => errln!("{}: {error}", path.display()),
        }
    }
}

fn ask_via(source: Source, found: &Found, output: &Path) -> Outcome<SaTransport> {
    let usual = match (source, found.devices.first()) {
        (Source::Files, _) => format!("ring:{}", Places::of(source, output).ring.display()),
        (_, Some(device)) => format!("umad:{device}"),
        (_, None) => "umad".to_owned(),
    };
    if !found.devices.is_empty() {
        errln!(
            "InfiniBand ports of this machine: {}",
            found.devices.join(", ")
        );
    }
    loop {
        let answer = line(
            "Where requests come from (umad:DEVICE:PORT, ring:PATH, ibsim:NODE)",
            Some(&usual),
        )?;
        match via(&answer) {
            Ok(via) => return Ok(via),
            Err(failure) => errln!("{}", failure.text()),
        }
    }
}

/// One line. Empty: what is usual. Errors: there is no more.
fn line(words: &str, usual: Option<&str>) -> Outcome<String> {
    loop {
        match usual {
            Some(usual) => err!("{words} [{usual}]: "),
            None => err!("{words}: "),
        }
        let mut text = String::new();
        let read = std::io::stdin().lock().read_line(&mut text);
        if !matches!(read, Ok(1..)) {
            return Err(Failure::failed(
                "no more answers; nothing was written".to_owned(),
            ));
        }
        match (text.trim(), usual) {
            ("", Some(usual)) => return Ok(usual.to_owned()),
            ("", None) => {}
            (text, _) => return Ok(text.to_owned()),
        }
    }
}
