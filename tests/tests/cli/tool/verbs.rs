//! Every verb, by the tool's own help, and arguments under which it works.

use std::collections::BTreeMap;
use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, Result, ensure};

use super::run::words;
use sa_tests::cli::sapphire_in;
use sa_tests::ring::{Bed, CONFIG};

/// Words that reach the SA of a daemon on this node.
const VIA: &str = "--via ring:ring --timeout 2000";

/// Stands for a file that is not there yet, another one each time: see [`fresh`].
const NEW: &str = "NEW";

/// What each verb is run with in the directory of [`site`]. A verb that is not here fails the tests.
const ARGUMENTS: [(&str, &str); 62] = [
    ("demo", "--radix 3 --seconds 0.1"),
    ("fabric torus", "3 3 3 -o made"),
    ("fabric fat-tree", "--radix 4 -o made"),
    ("fabric dragonfly", "--switches 2 --global 1 -o made"),
    (
        "fabric dragonfly-plus",
        "--leaves 2 --spines 2 --global 1 -o made",
    ),
    ("fabric hyperx", "3 3 -o made"),
    ("fabric random", "--switches 8 --degree 3 -o made"),
    (
        "fabric read",
        "--via umad:none --timeout 100 --retries 0 -o read",
    ),
    ("route", "--fabric net --torus-conf torus-2QoS.conf"),
    ("check", "dumps"),
    ("setup", "--fabric net --torus-conf torus-2QoS.conf"),
    (
        "simulate",
        "--fabric net --torus-conf torus-2QoS.conf --fail 1,1,1",
    ),
    (
        "compile",
        "--fabric net --torus-conf torus-2QoS.conf -o made.snap",
    ),
    ("snapshot info", "good.snap"),
    ("snapshot verify", "good.snap"),
    ("snapshot diff", "good.snap good.snap"),
    ("snapshot export", "--public good.snap -o public.snap"),
    ("answer", "--snapshot good.snap"),
    (
        "explain",
        "H0_0_0_0 H1_1_1_0 --fabric net --torus-conf torus-2QoS.conf",
    ),
    ("migrate", "opensm.conf"),
    ("policy check", "policy.conf"),
    ("policy convert", "policy.conf --to xml"),
    ("policy lint", "policy.conf"),
    (
        "policy explain",
        "policy.conf H0_0_0_0 H1_1_1_0 --fabric net --torus-conf torus-2QoS.conf",
    ),
    ("policy partitions", "--fabric net"),
    ("draw", "--fabric net --torus-conf torus-2QoS.conf --text"),
    ("roce-entropy predict", "--qps 16 --trials 10"),
    ("roce-entropy suggest", "--qps 16"),
    ("roce-entropy decode", "--port 50000"),
    ("roce-entropy check", "ports.csv"),
    ("roce-entropy replay", "roce.json"),
    ("query pr", "--slid 1 --dlid 2 VIA"),
    ("query mpr", "--sgid 0x100001 --dgid 0x100011 VIA"),
    ("query services", "nfs"),
    (
        "query srp-targets",
        "--via umad:none --timeout 100 --retries 0",
    ),
    ("query cpi", "VIA"),
    ("query nr", "VIA"),
    ("query pir", "VIA"),
    ("query sl2vl", "VIA"),
    ("query swir", "VIA"),
    ("query lftr", "VIA"),
    ("query mftr", "VIA"),
    ("query smir", "VIA"),
    ("query lr", "VIA"),
    ("query gir", "VIA"),
    ("query pktr", "VIA"),
    ("query vlar", "VIA"),
    ("query mcmr", "VIA"),
    ("query sr", "VIA"),
    ("query iir", "VIA"),
    (
        "bench",
        "--fabric net --torus-conf torus-2QoS.conf --workload lid --layer memory --seconds 0.02 --repeat 1 --requests 64",
    ),
    ("compare", "--snapshot good.snap --sa ring:ring --pairs 20"),
    ("doctor", ""),
    ("load", "VIA --seconds 0.1 --window 2 --pairs 64"),
    ("fleet init", "NEW"),
    ("fleet key new", "NEW --name leader-2"),
    ("fleet key show", "fleet/leader.key"),
    ("fleet root check", "fleet"),
    ("fleet root next", "fleet -o NEW"),
    (
        "fleet root sign",
        "fleet/root --key fleet/root-keys/root-1.key",
    ),
    ("fleet join", "fleet --from http://leader:8042"),
    ("netlink replay", "netlink.json"),
];

/// Verbs that speak to the daemon's control socket, or about the command line itself.
const OTHERS: [(&str, &str); 17] = [
    ("init", "--yes --fabric net -o /dev/null"),
    ("status", "--control control"),
    ("top", "--once --every 100ms --control control"),
    ("reload", "--control control"),
    ("rollback", "--control control"),
    ("fabric health", "--control control"),
    ("drain", "S0_0_0 --control control"),
    ("undrain", "S0_0_0 --control control"),
    ("plan", "--control control"),
    ("apply", "0123456789abcdef --control control"),
    ("lid list", "--control control"),
    ("lid forget", "0x100021 --control control"),
    ("fleet status", "--control control"),
    ("fleet promote", "--control control"),
    ("fleet withdraw", "--control control"),
    ("completions", "bash"),
    ("man", "-o man"),
];

/// A verb, word by word, and its arguments.
pub(crate) struct Verb {
    pub(crate) words: Vec<String>,
    pub(crate) arguments: Vec<String>,
}

impl Verb {
    pub(crate) fn name(&self) -> String {
        self.words.join(" ")
    }

    /// The whole command line.
    pub(crate) fn line(&self) -> Vec<String> {
        [self.words.clone(), self.arguments.clone()].concat()
    }

    /// What its help says.
    pub(crate) fn help(&self) -> Result<String> {
        help(&self.words)
    }
}

/// All of them. Errors: one has no arguments above; one above is no verb.
pub(crate) fn all() -> Result<Vec<Verb>> {
    let table = ARGUMENTS.into_iter().chain(OTHERS);
    let mut table: BTreeMap<&str, &str> = table.collect();
    let mut verbs = Vec::new();
    for verb in leaves(&[])? {
        let name = verb.join(" ");
        let arguments = table.remove(name.as_str());
        let arguments = arguments.with_context(|| {
            format!("{name} is a new verb: give it arguments under which it works, in verbs.rs")
        })?;
        let arguments = arguments.replace("VIA", VIA);
        verbs.push(Verb {
            words: verb,
            arguments: words(&arguments),
        });
    }
    ensure!(table.is_empty(), "no verbs any more: {table:?}");
    Ok(verbs)
}

/// A line with names of files that were not there before: keys are not written over.
pub(crate) fn fresh(line: &[String]) -> Vec<String> {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let name = |word: &String| match word == NEW {
        true => format!("new-{}", COUNT.fetch_add(1, Ordering::Relaxed)),
        false => word.clone(),
    };
    line.iter().map(name).collect()
}

/// The verbs with an option `--json`.
pub(crate) fn for_programs() -> Result<Vec<Verb>> {
    let mut some = Vec::new();
    for verb in all()? {
        // A line of its own: other verbs may speak of the option.
        let help = verb.help()?;
        if help
            .lines()
            .any(|line| line.trim_start().starts_with("--json"))
        {
            some.push(verb);
        }
    }
    ensure!(some.len() > 40, "{} verbs", some.len());
    Ok(some)
}

/// Verbs below these words that have none below them.
fn leaves(above: &[String]) -> Result<Vec<Vec<String>>> {
    let help = help(above)?;
    let Some((_, listed)) = help.split_once("Commands:\n") else {
        return Ok(vec![above.to_vec()]);
    };
    // Groups of verbs have blank lines between them, and headings that are not indented.
    let lines = listed.lines().take_while(|line| *line != "Options:");
    // What goes on below a verb's name is indented further.
    let names = lines.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    let mut all = Vec::new();
    for name in names.filter(|name| !name.is_empty() && *name != "help") {
        all.extend(leaves(&[above, &[name.to_owned()]].concat())?);
    }
    Ok(all)
}

fn help(verb: &[String]) -> Result<String> {
    let mut line: Vec<&str> = verb.iter().map(String::as_str).collect();
    line.push("--help");
    let output = sapphire_in(".".as_ref(), &line)?;
    ensure!(output.status.success(), "{line:?}: {output:?}");
    Ok(String::from_utf8(output.stdout)?)
}

/// Files for every verb, and a daemon that answers.
pub(crate) fn site() -> Result<Bed> {
    let mut bed = Bed::new(&format!("{CONFIG}[control]\npath = \"control\"\n"))?;
    let policy = include_str!("../../../../docs/examples/qos-policy.conf");
    let roce = include_str!("../../../golden/roce/vectors.json");
    let netlink = include_str!("../../../golden/netlink/own.json");
    for (name, text) in [
        ("policy.conf", policy),
        ("ports.csv", "50000 7\n50001 5\n50002 6\n"),
        ("opensm.conf", "sm_sl 1\nsweep_interval 5\n"),
        ("roce.json", roce),
        ("netlink.json", netlink),
    ] {
        fs::write(bed.dir().join(name), text)?;
    }
    for line in [
        "route --fabric net --torus-conf torus-2QoS.conf --out dumps",
        "compile --fabric net --torus-conf torus-2QoS.conf -o good.snap",
        "fleet init fleet",
    ] {
        let line = words(line);
        let line: Vec<&str> = line.iter().map(String::as_str).collect();
        let output = sapphire_in(bed.dir(), &line)?;
        ensure!(output.status.success(), "{line:?}: {output:?}");
    }
    bed.serve()?;
    Ok(bed)
}
