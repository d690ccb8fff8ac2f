//! Options that mean the same are called the same, whichever verb has them.

use anyhow::{Context, Result, ensure};

use super::run::{READ, run, words};
use super::verbs;
use sa_tests::cli::program;
use sa_tests::ring::Bed;

/// An option of a verb, as its help has it. Shape: `-o`, `output`, `FILE`; what a word of help lacks is empty.
#[derive(Debug, Default)]
struct Option {
    short: String,
    long: String,
    value: String,
}

/// The options of a help text: `  -o, --output <FILE>`, without those of the help itself.
fn options(help: &str) -> Vec<Option> {
    let lines = help.lines().filter_map(|line| {
        let line = line.trim_start();
        let (short, rest) = match line.strip_prefix("--") {
            Some(rest) => ("", rest),
            None => line.split_once(", --")?,
        };
        let is_short = short.is_empty() || (short.len() == 2 && short.starts_with('-'));
        let end = rest.find([' ', '=', '[']).unwrap_or(rest.len());
        let (long, rest) = rest.split_at(end);
        let value = rest.split_once('<').and_then(|(_, it)| it.split_once('>'));
        is_short.then(|| Option {
            short: short.to_owned(),
            long: long.to_owned(),
            value: value.map_or_else(String::new, |(value, _)| value.to_owned()),
        })
    });
    lines.collect()
}

/// Why an option is not called as others of its kind; none where it is.
fn fault(option: &Option) -> std::option::Option<&'static str> {
    let Option { short, long, value } = option;
    let is_out = ["out", "out-dir", "outdir", "write", "destination"].contains(&long.as_str());
    match (long.as_str(), value.as_str()) {
        _ if is_out => Some("what is written is -o, --output"),
        ("output", _) if short != "-o" => Some("--output has the letter -o"),
        (name, _) if short == "-o" && name != "output" => Some("-o is --output"),
        ("output" | "snapshot", _) => None,
        (_, "FILE.snap") => Some("a snapshot is --snapshot"),
        ("via", "VIA") => None,
        ("via", _) | (_, "VIA" | "TRANSPORT") => Some("a transport is --via VIA"),
        ("sa" | "port" | "device" | "transport", value)
            if !value.is_empty() && value != "N" && value != "PORT" =>
        {
            Some("a transport is --via VIA")
        }
        // Its name is the unit.
        ("seconds", "S") => None,
        (_, "S" | "MS" | "SECONDS" | "SEC") => Some("a time is TIME, and has a unit"),
        ("timeout" | "every" | "absent-for", value) if value != "TIME" => {
            Some("a time is TIME, and has a unit")
        }
        _ => None,
    }
}

#[test]
fn options_that_mean_the_same_are_called_the_same() -> Result<()> {
    let (mut faults, mut seen) = (Vec::new(), [0; 4]);
    for verb in verbs::all()? {
        for option in options(&verb.help()?) {
            for (count, name) in seen
                .iter_mut()
                .zip(["output", "snapshot", "via", "timeout"])
            {
                *count += usize::from(option.long == name);
            }
            if let Some(why) = fault(&option) {
                faults.push(format!("{}: {option:?}: {why}", verb.name()));
            }
        }
    }
    ensure!(faults.is_empty(), "{faults:#?}");
    // Otherwise nothing was looked at.
    let least = [10, 4, 10, 20];
    let is_whole = seen.iter().zip(least).all(|(seen, least)| *seen >= least);
    ensure!(is_whole, "{seen:?}");
    Ok(())
}

/// The test above finds what it is for.
#[test]
fn options_of_other_names_are_found() -> Result<()> {
    let help = "Options:\n      --sa <VIA>\n  -o, --out <DIR>\n      --expect <FILE.snap>\n      --timeout <MS>\n  \
                -d, --output <FILE>\n  -q, --quiet\n      --wait <S>  seconds\n";
    let found = options(help);
    ensure!(found.len() == 7, "{found:?}");
    let faults = found.iter().filter_map(fault).count();
    ensure!(faults == 6, "{found:?}");
    Ok(())
}

/// Scripts go on: what was called otherwise is taken by its old name, and shown by none.
#[test]
fn old_names_and_times_without_units_are_taken() -> Result<()> {
    let bed: Bed = verbs::site()?;
    let verbs = verbs::all()?;
    for (line, old) in [
        (
            "route --fabric net --torus-conf torus-2QoS.conf --out old --tables lfts",
            "--out",
        ),
        ("man --out old-man", "--out"),
        ("migrate opensm.conf --out old.toml", "--out"),
        (
            "compare --snapshot good.snap --sa ring:ring --pairs 20 --timeout 2000",
            "--sa",
        ),
        (
            "load --via ring:ring --expect good.snap --seconds 0.1 --window 2 --pairs 64 --timeout 2000",
            "--expect",
        ),
        ("status --control control --timeout 5", "--sa"),
        ("status --control control --timeout 5000ms", "--sa"),
        (
            "query pr --slid 1 --dlid 2 --via ring:ring --timeout 2s",
            "--sa",
        ),
    ] {
        let ended = run(&program("sapphire")?, bed.dir(), &words(line), READ)?;
        ensure!(ended.code == Some(0), "{line}: {ended:?}");
        let verb = verbs.iter().find(|verb| line.starts_with(&verb.name()));
        let verb = verb.context("a verb")?;
        let names: Vec<String> = options(&verb.help()?)
            .into_iter()
            .map(|it| it.long)
            .collect();
        ensure!(
            !names.contains(&old.trim_start_matches('-').to_owned()),
            "{line}: {names:?}"
        );
    }
    for (line, said) in [
        ("status --control control --timeout 0", "from 1ms to 1d"),
        (
            "status --control control --timeout 2w",
            "such as 500ms or 2s",
        ),
        (
            "query pr --slid 1 --dlid 2 --via ring:ring --timeout=-1",
            "--timeout",
        ),
    ] {
        let ended = run(&program("sapphire")?, bed.dir(), &words(line), READ)?;
        ensure!(
            ended.code == Some(2) && ended.err.contains(said),
            "{line}: {ended:?}"
        );
    }
    Ok(())
}

/// Options of a fabric beside what has its own would change nothing, and nobody would notice.
#[test]
fn options_of_a_fabric_are_refused_beside_what_has_its_own() -> Result<()> {
    let bed: Bed = verbs::site()?;
    for (line, option) in [
        (
            "answer --snapshot good.snap --partitions none.conf",
            "--partitions",
        ),
        ("answer --snapshot good.snap --fail 1,1,1", "--fail"),
        ("answer --snapshot good.snap --no-qos", "--no-qos"),
        (
            "compare --snapshot good.snap --via ring:ring --policy policy.conf",
            "--policy",
        ),
        (
            "compare --config sapphired.toml --via ring:ring --lmc 1",
            "--lmc",
        ),
        (
            "explain H0_0_0_0 H1_1_1_0 --snapshot good.snap --lmc 1",
            "--lmc",
        ),
    ] {
        let ended = run(&program("sapphire")?, bed.dir(), &words(line), READ)?;
        ensure!(
            ended.code == Some(2) && ended.out.is_empty(),
            "{line}: {ended:?}"
        );
        let said = format!("leave {option} out");
        ensure!(ended.err.contains(&said), "{line}: {ended:?}");
    }
    Ok(())
}
