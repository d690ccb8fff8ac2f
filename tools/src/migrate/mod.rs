//! `sapphire migrate`.
//!
//! From an `opensm.conf` to a configuration of `sapphired`, so that the daemon needs the former no
//! more. What is written is what differs from OpenSM's defaults, which are the daemon's too. Of
//! every other line it is said where it stands and why it has no place; nothing is left out in
//! silence but defaults, which are counted.
//!
//! ```text
//! opensm.conf ──> judged by the readers of the daemon ──> entries ──> fate of each ──> Written ──> judged by Config::parse
//! ```
//!
//! | line | becomes |
//! |---|---|
//! | the default of OpenSM 3.3.23, in any spelling of a number | nothing, and is counted |
//! | one of several for the same key, but the last | a warning |
//! | an option with a place | a key |
//! | any other | a warning with the reason |
//!
//! A value that cannot be read ends it, with its place: half a configuration must not be loaded by
//! mistake.

mod fate;
mod written;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use clap::Args;
use routing::EngineKind;
use sa_fabric::display::count;
use sa_fabric::intake::{self, Kind};
use sa_fabric::mistaken::{FileKind, mistaken};
use sa_fabric::options::{Entry, ManagerOptions, OpenSmOptions, Setting, default_of, entries};
use sa_fabric::outlet::{self, Readers};
use sa_text::Position;
use sm_control::config::Config;

use self::fate::{Fate, Source};
use self::written::Written;
use crate::failure::{Failure, Outcome};
use crate::inputs::or_fail;

/// Writes a configuration of sapphired from OpenSM's options.
///
/// What OpenSM's file says otherwise than OpenSM's defaults goes into the sections sm, fabric,
/// routing, policy and partitions; each line that has no place there is a warning with its place
/// and the reason. A file that OpenSM takes by default and that is not there is left out, as OpenSM
/// does without it.
#[derive(Debug, Args)]
pub(crate) struct Migrate {
    /// OpenSM's file of options, as `opensm -c FILE` writes it
    #[arg(value_name = "OPENSM.CONF")]
    file: PathBuf,
    /// Who is the Subnet Manager
    #[arg(long, value_enum, default_value = "opensm")]
    source: Source,
    /// File to write; by default standard output
    #[arg(short, long, alias = "out", value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Errors: the file cannot be read or has a wrong value; an engine is missing; the output cannot be
/// written.
pub(crate) fn run(verb: &Migrate) -> Outcome {
    let bytes = or_fail(intake::read_or_pipe(Kind::Options, &verb.file))?;
    let name = verb.file.display().to_string();
    let options = judge(&verb.file, &bytes)?;
    if verb.source == Source::Sweep {
        has_engine(&verb.file, &options, &entries(&bytes))?;
    }
    for note in &options.notes {
        errln!("{}", note.remark(&verb.file));
    }
    let moved = Moved::new(verb, &options, &entries(&bytes));
    let text = moved.written.text(&name, verb.source);
    // By the daemon's own reader: what is written is never what it refuses.
    if let Err(problem) = Config::parse(&text) {
        let what = format!("the configuration that comes of it is refused: {problem}");
        return Err(Failure::failed_in(&verb.file, what));
    }
    // On standard error: standard output may be the configuration itself.
    for (at, why) in &moved.left_out {
        errln!("{name}:{}:{}: left out: {why}", at.line, at.column);
    }
    if let Some(path) = &verb.output {
        // There may be keys of the SM inside.
        or_fail(outlet::write(path, Readers::Owner, text.as_bytes()))?;
        outln!("{}: {}", path.display(), moved.summary());
    } else {
        out!("{text}");
        errln!("{name}: {}", moved.summary());
    }
    Ok(())
}

/// What the daemon's readers make of it. Errors: another kind of file; a value that is not what its
/// key needs.
///
/// Both readers are asked: each judges its own options.
fn judge(path: &Path, bytes: &[u8]) -> Outcome<OpenSmOptions> {
    // Nearly any text is an opensm.conf with options that OpenSM does not know.
    if let Some(other) = mistaken(path, bytes, FileKind::OpenSmConf) {
        return Err(Failure::failed(other));
    }
    let at = |error: sa_fabric::error::ParseError| {
        Failure::failed_at(path, error.at, error.problem.to_string())
    };
    ManagerOptions::parse(bytes).map_err(at)?;
    OpenSmOptions::parse(bytes).map_err(at)
}

/// Errors: `routing_engine` names engines, and none of them is here: other routes than those
/// ordered are no answer.
///
/// Only where the daemon is to be the Subnet Manager: beside an OpenSM it takes the routes as they
/// are.
fn has_engine(path: &Path, options: &OpenSmOptions, lines: &[Entry]) -> Outcome {
    let names = &options.routing_engine;
    // Without a name OpenSM takes min-hop, and so does the daemon.
    let orders_none = names.iter().all(|name| name == NO_FALLBACK);
    if orders_none || names.iter().any(|name| fate::engine(name).is_some()) {
        return Ok(());
    }
    let is_it = |line: &&Entry| line.setting.key == "routing_engine";
    let at = lines.iter().rfind(is_it).map(|line| line.at);
    let what = format!(
        "there is no engine {}; choose one of minhop, updn, ftree, torus-2QoS, dfsssp, nue",
        names.join(", ")
    );
    Err(Failure::failed_at(
        path,
        at.unwrap_or(Position { line: 1, column: 1 }),
        what,
    ))
}

/// A word among engines that is none.
///
/// It says that OpenSM is not to fall back to min-hop, which the daemon never does.
const NO_FALLBACK: &str = "no_fallback";

/// What became of the lines of a file.
///
/// Each line has one fate: a key, a reason, or nothing because it is the default.
struct Moved<'a> {
    /// Decides which sections are written.
    source: Source,
    /// Relative paths begin here.
    directory: PathBuf,
    options: &'a OpenSmOptions,
    written: Written,
    left_out: Vec<(Position, String)>,
    /// Lines that say what OpenSM does without them.
    defaults: usize,
}

impl<'a> Moved<'a> {
    fn new(verb: &Migrate, options: &'a OpenSmOptions, lines: &[Entry]) -> Self {
        let path = std::path::absolute(&verb.file).unwrap_or_else(|_| verb.file.clone());
        let mut moved = Self {
            source: verb.source,
            directory: path.parent().unwrap_or_else(|| Path::new("")).to_owned(),
            options,
            written: Written::default(),
            left_out: Vec::new(),
            defaults: 0,
        };
        moved.written.quoted("fabric", "source", verb.source.word());
        // Said in any case: without a file of options it is on for the daemon, and off for OpenSM.
        moved
            .written
            .bare("fabric", "qos", &options.qos.to_string());
        // Of several lines for one key the last counts, for OpenSM and for the reader.
        let last: HashMap<&str, Position> = lines
            .iter()
            .map(|line| (line.setting.key.as_str(), line.at))
            .collect();
        for line in lines {
            match last.get(line.setting.key.as_str()) {
                Some(last) if *last != line.at => moved.leave(
                    line,
                    format!("it stands again in line {}, which counts", last.line),
                ),
                _ => moved.line(line),
            }
        }
        moved
    }

    /// Notes a line that has no place in what is written, and why.
    fn leave(&mut self, line: &Entry, why: impl AsRef<str>) {
        let Setting { key, value } = &line.setting;
        let what = format!("{key} {value}: {}", why.as_ref());
        self.left_out.push((line.at, what));
    }

    /// A line that counts.
    fn line(&mut self, line: &Entry) {
        let Setting { key, value } = &line.setting;
        let unknown = |key: &str| {
            let mut not_used = self.options.not_used.iter();
            not_used.any(|line| line.key == key && !line.is_known)
        };
        let Some(fate) = fate::of(key, self.source, |key| !unknown(key)) else {
            return self.leave(line, "OpenSM has no such option");
        };
        let default = default_of(key);
        let is_default = default.is_some_and(|default| is_same(default, value));
        match fate {
            Fate::File(section, file) => self.file(line, section, file, is_default),
            _ if is_default || value == "(null)" => self.defaults += 1,
            Fate::Bare => self.bare(key, value),
            Fate::Quoted => self.written.quoted("sm", key, value),
            // It is written already.
            Fate::Qos => {}
            Fate::Engine => self.engine(line),
            Fate::LeftOut(why) => self.leave(line, why),
        }
    }

    /// A number or a truth as TOML has it.
    fn bare(&mut self, key: &str, value: &str) {
        let written = match value {
            "TRUE" => "true".to_owned(),
            "FALSE" => "false".to_owned(),
            // A limit below 0 is none to OpenSM.
            _ => match number(value) {
                Some(number) => number.to_string(),
                None => {
                    self.defaults += 1;
                    return;
                }
            },
        };
        self.written.bare("sm", key, &written);
    }

    /// The first engine of those named that is here. Beside an OpenSM only torus-2QoS says more
    /// about paths than its tables do.
    fn engine(&mut self, line: &Entry) {
        let names = self.options.routing_engine.iter();
        let mut names = names.filter(|name| *name != NO_FALLBACK);
        // OpenSM tries them in this order until one routes; here the first counts, and a refusal is one.
        while let Some(name) = names.next() {
            match fate::engine(name) {
                Some(kind) if self.source == Source::Sweep || kind == EngineKind::Torus2Qos => {
                    self.written.quoted("routing", "engine", kind.name());
                    let others: Vec<&str> = names.map(String::as_str).collect();
                    if !others.is_empty() {
                        let others = others.join(", ");
                        self.leave(
                            line,
                            format!("{kind} alone routes: where it refuses the subnet, that is told, and {others} is not tried"),
                        );
                    }
                    return;
                }
                None if self.source == Source::Sweep => {
                    self.leave(line, format!("there is no engine {name}"));
                }
                _ => return self.leave(line, fate::MADE),
            }
        }
    }

    /// A file that is named. Where OpenSM looks by default there may be none.
    fn file(&mut self, line: &Entry, section: &'static str, key: &str, is_default: bool) {
        let value = &line.setting.value;
        let is_of_torus = |name: &String| name.eq_ignore_ascii_case("torus-2qos");
        let has_torus = self.options.routing_engine.first().is_some_and(is_of_torus);
        if value == "(null)" || (is_default && !Path::new(value).is_file()) {
            self.defaults += 1;
        } else if key == "torus_conf" && !has_torus {
            self.leave(line, "routing_engine does not begin with torus-2QoS");
        } else if section == "policy" && !self.options.qos {
            // Else the daemon would follow rules that OpenSM's answers do not.
            self.leave(line, "QoS is off, so OpenSM does not read it");
        } else {
            let path = self.directory.join(value);
            self.written
                .quoted(section, key, &path.display().to_string());
            if section == "policy" {
                self.written.quoted("policy", "dialect", "opensm");
            }
        }
    }

    /// How much became what, in one line.
    fn summary(&self) -> String {
        format!(
            "{} in [sm], {} left out, {} OpenSM's default",
            count(self.written.of_sm(), "option", "options"),
            count(self.left_out.len(), "line", "lines"),
            count(self.defaults, "line is", "lines are"),
        )
    }
}

/// The same value, whether a number is written in this way or that.
fn is_same(one: &str, other: &str) -> bool {
    one == other || (number(one).is_some() && number(one) == number(other))
}

/// A number as C reads it.
fn number(text: &str) -> Option<u64> {
    // A leading 0 is that of base 8, but alone.
    let hexadecimal = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
    match (hexadecimal, text.strip_prefix('0')) {
        (Some(digits), _) => u64::from_str_radix(digits, 16).ok(),
        (None, Some(digits)) if !digits.is_empty() => u64::from_str_radix(digits, 8).ok(),
        _ => text.parse().ok(),
    }
}
