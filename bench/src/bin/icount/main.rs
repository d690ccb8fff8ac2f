//! Instructions per query of the answer path, simulated mispredictions, and their ceilings.
//!
//! ```text
//! icount                       prints every case beside its ceiling; fails above one
//! icount gid-1000 lid-1000     these cases
//! icount --update              writes the figures as ceilings
//! icount --ceilings FILE       another file than tests/golden/icount.toml
//! ```
//!
//! With `ICOUNT_KEEP=DIR` the profile of the last case stays in DIR, for `callgrind_annotate`.
//!
//! The program runs itself: for each case it prepares the files and starts its own executable twice
//! under valgrind with `counted DIRECTORY PASSES`. What is counted is thus the code of this build,
//! inlined as the compiler saw it here; the daemon's own build may differ by a few instructions.

mod cases;
mod ceilings;

use std::env;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// Ctrl-C ends all of it, as a terminal tells valgrind too.
static NEVER: std::sync::atomic::AtomicBool = std::sync::atomic::AtomicBool::new(false);

use cases::{CASES, Spec};
use ceilings::{Figures, Verdict};
use sa_bench::count::{Case, Counted};

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let done = match arguments.as_slice() {
        // This program under callgrind, started by itself.
        [word, directory, passes] if word == COUNTED => counted(Path::new(directory), passes),
        _ => Options::new(arguments).and_then(|options| count(&options)),
    };
    match done {
        Ok(code) => code,
        Err(error) => {
            eprintln!("icount: {error}");
            ExitCode::from(2)
        }
    }
}

/// What runs under callgrind.
///
/// Everything was prepared by the parent: what is counted is answering and as little besides as
/// possible.
fn counted(directory: &Path, passes: &str) -> Result<ExitCode, Box<dyn Error>> {
    Case::read(directory)?.answer(passes.parse()?);
    Ok(ExitCode::SUCCESS)
}

/// Beside the hidden word `counted`, which only this program gives to itself.
struct Options {
    /// Write ceilings instead of judging by them.
    update: bool,
    ceilings: PathBuf,
    /// Names; all when empty.
    cases: Vec<String>,
}

impl Options {
    fn new(arguments: Vec<String>) -> Result<Self, Box<dyn Error>> {
        let mut options = Self {
            update: false,
            ceilings: PathBuf::from(CEILINGS),
            cases: Vec::new(),
        };
        let mut arguments = arguments.into_iter();
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--update" => options.update = true,
                "--ceilings" => {
                    let file = arguments.next().ok_or("--ceilings: expected a file")?;
                    options.ceilings = file.into();
                }
                name if CASES.iter().any(|case| case.name == name) => options.cases.push(argument),
                other => {
                    let names: Vec<_> = CASES.iter().map(|case| case.name).collect();
                    let names = names.join(", ");
                    return Err(format!(
                        "{other}: expected --update, --ceilings FILE or a case: {names}"
                    )
                    .into());
                }
            }
        }
        Ok(options)
    }

    fn wants(&self, case: &Spec) -> bool {
        self.cases.is_empty() || self.cases.iter().any(|name| name == case.name)
    }
}

/// Cases that were not asked for keep their figures in the file that `--update` writes.
///
/// Exit status: failure where one is above its ceiling and nothing is written.
fn count(options: &Options) -> Result<ExitCode, Box<dyn Error>> {
    let known = match ceilings::read(&options.ceilings) {
        // The first file is made by `--update`: there is none to read yet.
        Err(_) if options.update => Figures::new(),
        known => known?,
    };
    let mut figures = known.clone();
    let mut above = 0;
    println!(
        "{:<18}{:>14}{:>10}{:>8}{:>14}{:>10}",
        "case", "instructions", "ceiling", "goal", "mispredicted", "ceiling"
    );
    // One after the other: each starts this program twice under valgrind.
    for case in CASES.iter().filter(|case| options.wants(case)) {
        let counted = counts(case)?;
        let ceiling = known.get(case.name).copied();
        let verdict = ceiling.map(|ceiling| ceilings::judge(counted, ceiling));
        println!("{}", line(case, counted, ceiling, verdict));
        // Only above fails: a figure below is told, and asks for a new ceiling.
        above += u32::from(verdict == Some(Verdict::Above));
        figures.insert(case.name.to_owned(), counted);
    }
    // No verdict then: who writes ceilings has looked at the figures.
    if options.update {
        fs::write(&options.ceilings, ceilings::text(&figures))?;
        println!("written: {}", options.ceilings.display());
        return Ok(ExitCode::SUCCESS);
    }
    if above == 0 {
        return Ok(ExitCode::SUCCESS);
    }
    eprintln!(
        "icount: {above} above their ceiling; if that is worth it, write new \
         ceilings with bench/icount --update"
    );
    Ok(ExitCode::FAILURE)
}

/// A case in a line: figures, ceilings, goal, and a remark where something is to be done.
///
/// A dash stands for what has no ceiling or goal.
fn line(
    case: &Spec,
    counted: Counted,
    ceiling: Option<Counted>,
    verdict: Option<Verdict>,
) -> String {
    let or_dash = |figure: Option<f64>, digits: usize| {
        figure.map_or_else(|| "-".to_owned(), |it| format!("{it:.digits$}"))
    };
    let remark = match verdict {
        Some(Verdict::Above) => "ABOVE its ceiling: ",
        Some(Verdict::Below) => "below, write it anew: ",
        Some(Verdict::Kept) => "",
        None => "no ceiling yet: ",
    };
    format!(
        "{:<18}{:>14.1}{:>10}{:>8}{:>14.2}{:>10}  {remark}{}",
        case.name,
        counted.instructions,
        or_dash(ceiling.map(|it| it.instructions), 1),
        or_dash(case.goal, 1),
        counted.mispredictions,
        or_dash(ceiling.map(|it| it.mispredictions), 2),
        case.what
    )
}

/// Per query, or per record.
///
/// The child is this very executable: a second program would be another build.
fn counts(spec: &Spec) -> Result<Counted, Box<dyn Error>> {
    let ready = spec.prepare()?;
    let directory = Scratch::new()?;
    let program = env::current_exe()?;
    let counted = ready
        .case
        .count(&directory.path, &NEVER, |directory, passes| {
            let mut command = Command::new(&program);
            command.arg(COUNTED).arg(directory).arg(passes.to_string());
            command
        })?;
    Ok(Counted {
        instructions: counted.instructions / ready.units,
        mispredictions: counted.mispredictions / ready.units,
    })
}

/// A directory that goes away, unless the environment names one to keep.
///
/// One per case: files of several megabytes do not pile up.
struct Scratch {
    path: PathBuf,
    is_kept: bool,
}

impl Scratch {
    fn new() -> Result<Self, Box<dyn Error>> {
        let kept = env::var_os(KEPT).map(PathBuf::from);
        let is_kept = kept.is_some();
        let path = kept.unwrap_or_else(|| {
            // By process: two runs at a time must not share files.
            env::temp_dir().join(format!("sapphire-icount-{}", std::process::id()))
        });
        fs::create_dir_all(&path)?;
        Ok(Self { path, is_kept })
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if !self.is_kept {
            // What is left in a temporary directory harms nobody.
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

/// Where the case and callgrind's profile of its longer run stay, for `callgrind_annotate`.
const KEPT: &str = "ICOUNT_KEEP";
// A word that nobody types: it is no option, so that help does not name it.
const COUNTED: &str = "counted";
// From the root of the repository.
const CEILINGS: &str = "tests/golden/icount.toml";
