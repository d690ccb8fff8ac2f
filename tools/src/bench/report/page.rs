//! The generated part of the page: tables, the plots' places, machines and commands.

use super::lines::{Line, Lines};
use super::plots::{grouped, real};
use crate::bench::machine::{Machine, figures, or_unknown};
use crate::bench::show::AtLoad;
use crate::wrong::Wrong;

/// The page with the figures of these results between its two marks. Errors: a mark is missing.
pub(super) fn with_figures(page: &str, lines: &Lines) -> Result<String, Wrong> {
    let missing = |mark: &str| format!("expected a line {mark}, after which figures go");
    let (before, rest) = page.split_once(BEGIN).ok_or_else(|| missing(BEGIN))?;
    let (_, after) = rest.split_once(END).ok_or_else(|| missing(END))?;
    let sections = [
        goals(lines),
        rules(lines),
        kinds(lines),
        sizes(lines),
        long(lines),
        ring(lines),
        loads(lines),
        jobs(lines),
        machines(lines),
    ];
    Ok(format!(
        "{before}{BEGIN}\n\n{}\n{END}{after}",
        sections.concat().trim_end()
    ))
}

/// Where generated text begins and ends.
const BEGIN: &str = "<!-- figures: written by bench/report from performance.jsonl -->";
const END: &str = "<!-- figures end -->";

/// A goal of the project and what came of it.
struct Goal<'a> {
    what: &'static str,
    /// The result is of the case that the goal is for.
    is_its_case: bool,
    goal: &'static str,
    /// The figure, by which the goal is judged.
    measured: Option<f64>,
    is_met: fn(f64) -> bool,
    shown: String,
    line: Option<&'a Line>,
}

fn goals(lines: &Lines) -> String {
    let mut text = String::from(
        "### Goals\n\nFor a 24x24x24 torus with two hosts a switch, 1,000 rules where nothing else \
         is said. A *null record* is\nwhat a responder takes that only touches the request where an \
         answer must and writes a record. It is\nmeasured in turn with the answers: what disturbs one \
         disturbs the other.\n\n| What | Goal | Measured (least to most) | Wrong | Met |\n|---|---|---|---|---|\n",
    );
    for goal in memory_goals(lines).into_iter().chain(other_goals(lines)) {
        let met = match goal.measured {
            None => "not measured",
            Some(_) if !goal.is_its_case => "another case was measured",
            Some(figure) if (goal.is_met)(figure) => "yes",
            Some(_) => "no",
        };
        let wrong = goal.line.and_then(|line| line.number("wrong"));
        text += &format!(
            "| {} | {} | {} | {} | {met} |\n",
            goal.what,
            goal.goal,
            goal.shown,
            or_dash(wrong, 0)
        );
    }
    text + "\n"
}

/// The fabric that goals are for.
fn is_whole(line: Option<&Line>) -> bool {
    line.is_some_and(|line| line.size() == "24x24x24")
}

/// Rates in memory, and instructions.
fn memory_goals<'a>(lines: &'a Lines) -> Vec<Goal<'a>> {
    let ruled = |workload: &'static str, rules: f64| {
        let mut of = lines.of("rules");
        of.find(|line| line.is(workload, "memory") && line.number("rules") == Some(rules))
    };
    let last_dense = lines
        .of("size")
        .filter(|line| line.is_dense() && line.is("gid", "memory"));
    let kind = |workload: &'static str| lines.of("kinds").find(|it| it.is(workload, "memory"));
    let long = |workload: &'static str| lines.of("long").find(|it| it.is(workload, "memory"));
    let ratio = |what, goal, line: Option<&'a Line>, is_met| Goal {
        what,
        is_its_case: is_whole(line),
        goal,
        measured: line.and_then(|line| line.number("ratio_to_null")),
        is_met,
        shown: line.map_or_else(dash, |line| {
            let per_core = or_dash(line.per_core(), 1);
            let ratio = spread(line, "ratio_to_null", 1.0, 2);
            let ns = spread(line, "ns_per_query", 1.0, 1);
            format!("{ratio}; {ns} ns, {per_core} M/s")
        }),
        line,
    };
    let counted = |what, goal, line: Option<&'a Line>, is_met| Goal {
        what,
        is_its_case: is_whole(line),
        goal,
        measured: line.and_then(|line| line.number("instructions")),
        is_met,
        shown: or_dash(line.and_then(|line| line.number("instructions")), 0),
        line,
    };
    let time = |what, goal, line: Option<&'a Line>, field: &'static str, is_met| Goal {
        what,
        is_its_case: is_whole(line),
        goal,
        measured: line.and_then(|line| line.number(field)),
        is_met,
        shown: format!(
            "{} ns",
            or_dash(line.and_then(|line| line.number(field)), 1)
        ),
        line,
    };
    vec![
        ratio(
            "GID-GID, 1,000 rules",
            "3.2 null records",
            ruled("gid", 1e3),
            |it| it <= 3.2,
        ),
        counted("the same, instructions", "320", ruled("gid", 1e3), |it| {
            it <= 320.0
        }),
        ratio(
            "LID-LID, 1,000 rules",
            "3.0 null records",
            ruled("lid", 1e3),
            |it| it <= 3.0,
        ),
        ratio(
            "GID-GID, no policy",
            "2.0 null records",
            ruled("gid", 0.0),
            |it| it <= 2.0,
        ),
        ratio(
            "GID-GID, rules give flow labels",
            "9 null records",
            kind("gid"),
            |it| it <= 9.0,
        ),
        ratio(
            "dense table, GID-GID, 1,000 rules",
            "5 null records",
            last_dense.last(),
            |it| it <= 5.0,
        ),
        counted(
            "as the kernel's rdma_cm asks, instructions",
            "380",
            kind("rdma-cm"),
            |it| it <= 380.0,
        ),
        time(
            "table of half the world, a record",
            "20 ns",
            long("table"),
            "ns_per_record",
            |it| it <= 20.0,
        ),
        time(
            "MultiPathRecord of four by four",
            "800 ns",
            long("mpr"),
            "ns_per_query",
            |it| it <= 800.0,
        ),
    ]
}

/// The ring, a job's start, the snapshot.
fn other_goals<'a>(lines: &'a Lines) -> Vec<Goal<'a>> {
    let ring = lines.of("ring").find(|line| line.is("gid", "ring"));
    let job = lines.of("job").find(|line| line.text("by") == "lid");
    let size = lines
        .of("size")
        .filter(|it| !it.is_dense() && it.is("gid", "memory"))
        .last();
    let number = |line: Option<&Line>, field: &str| line.and_then(|line| line.number(field));
    let best = ring
        .and_then(|line| line.range("mqps_range"))
        .map(|(_, most)| most);
    vec![
        Goal {
            what: "ring, CPU of the worker a query",
            is_its_case: is_whole(ring),
            goal: "2.3 null records",
            measured: number(ring, "ratio_to_null"),
            is_met: |it| it <= 2.3,
            shown: ring.map_or_else(dash, |it| {
                let ns = spread(it, "ns_per_query", 1.0, 1);
                format!("{}; {ns} ns", spread(it, "ratio_to_null", 1.0, 2))
            }),
            line: ring,
        },
        Goal {
            what: "ring, best rate",
            is_its_case: is_whole(ring),
            goal: "15 M/s",
            measured: best,
            is_met: |it| it >= 15.0,
            shown: ring.map_or_else(dash, |it| format!("{} M/s", spread(it, "mqps", 1.0, 1))),
            line: ring,
        },
        Goal {
            what: "ring, p50 at half load",
            is_its_case: is_whole(ring),
            goal: "2 us",
            measured: number(ring, "p50_ns").map(|ns| ns / 1e3),
            is_met: |it| it <= 2.0,
            shown: format!(
                "{} us",
                or_dash(number(ring, "p50_ns").map(|ns| ns / 1e3), 2)
            ),
            line: ring,
        },
        Goal {
            what: "start of a job, 3,996,000 queries by LID",
            is_its_case: is_whole(job) && number(job, "queries") == Some(3_996_000.0),
            goal: "1 s",
            measured: number(job, "total_seconds"),
            is_met: |it| it <= 1.0,
            shown: job.map_or_else(dash, |it| {
                format!("{} s", spread(it, "total_seconds", 1.0, 3))
            }),
            line: job,
        },
        Goal {
            what: "snapshot",
            is_its_case: is_whole(size),
            goal: "4 MB",
            measured: number(size, "snapshot_bytes").map(|bytes| bytes / 1e6),
            is_met: |it| it <= 4.0,
            shown: format!(
                "{} MB",
                or_dash(number(size, "snapshot_bytes").map(|it| it / 1e6), 2)
            ),
            line: None,
        },
        Goal {
            what: "snapshot built from routed tables",
            is_its_case: is_whole(size),
            goal: "50 ms",
            measured: number(size, "build_ms"),
            is_met: |it| it <= 50.0,
            shown: format!("{} ms", or_dash(number(size, "build_ms"), 1)),
            line: None,
        },
    ]
}

fn rules(lines: &Lines) -> String {
    let all: Vec<&Line> = lines.of("rules").collect();
    let mut text = heading(
        "Rate by rules",
        "rules",
        "memory, MAD in and MAD out on one thread",
    );
    text += "| Rules | GID-GID ns | null records | instructions | LID-LID ns | null records | instructions | Snapshot KiB |\n\
             |---|---|---|---|---|---|---|---|\n";
    for gid in all.iter().filter(|line| line.is("gid", "memory")) {
        let rules = gid.number("rules");
        let is_other = |line: &&&Line| line.is("lid", "memory") && line.number("rules") == rules;
        text += &format!("| {} |", grouped(rules.unwrap_or(0.0)));
        for line in [Some(gid), all.iter().find(is_other)] {
            text += &line.map_or_else(|| " - | - | - |".to_owned(), |line| rate_cells(line));
        }
        let bytes = gid.number("snapshot_bytes").map(|bytes| bytes / 1024.0);
        text += &format!(" {} |\n", or_dash(bytes, 0));
    }
    text + &commands(&all)
}

/// Time, ratio and instructions.
fn rate_cells(line: &Line) -> String {
    format!(
        " {} | {} | {} |",
        spread(line, "ns_per_query", 1.0, 1),
        spread(line, "ratio_to_null", 1.0, 2),
        or_dash(line.number("instructions"), 0)
    )
}

/// Other requests, other policies.
fn kinds(lines: &Lines) -> String {
    let all: Vec<&Line> = lines.of("kinds").chain(lines.of("again")).collect();
    let mut text = String::from(
        "### Other requests and policies, and requests that come again\n\nLayer: memory; 1,000 \
         rules. Requests that come again are for comparison alone: a branch predictor learns\nthem, \
         so that they cost less than any client's.\n\n\
         | What | ns a query | null records | instructions | branches not foreseen |\n\
         |---|---|---|---|---|\n",
    );
    for line in &all {
        let named = match line.text("workload") {
            "rdma-cm" => "as the kernel's rdma_cm asks",
            "gid" => "GID-GID",
            _ => "LID-LID",
        };
        let requests = grouped(line.number("requests").unwrap_or(0.0));
        let what = match (line.text("figure"), line.text("workload")) {
            ("again", _) => format!("{named}, {requests} requests again and again"),
            (_, "gid") => format!("{named}, levels give flow labels"),
            _ => named.to_owned(),
        };
        text += &format!(
            "| {what} |{} {} |\n",
            rate_cells(line),
            or_dash(line.number("mispredictions"), 2)
        );
    }
    text + &commands(&all)
}

fn sizes(lines: &Lines) -> String {
    let all: Vec<&Line> = lines.of("size").collect();
    let mut text = heading("Rate by size", "size", "memory; 1,000 rules");
    text += "![Snapshot by size](pictures/performance/snapshot.svg)\n\n\
             | Fabric | Switches | Hosts | GID-GID ns | null records | LID-LID ns | null records | Snapshot KiB | Built in ms |\n\
             |---|---|---|---|---|---|---|---|---|\n";
    for gid in all.iter().filter(|line| line.is("gid", "memory")) {
        let fabric = gid.text("fabric");
        let is_other = |line: &&&Line| line.is("lid", "memory") && line.text("fabric") == fabric;
        let lid = all.iter().find(is_other);
        text += &format!(
            "| {fabric} | {} | {} | {} | {} | {} | {} | {} | {} |\n",
            grouped(gid.number("switches").unwrap_or(0.0)),
            grouped(gid.number("hosts").unwrap_or(0.0)),
            spread(gid, "ns_per_query", 1.0, 1),
            spread(gid, "ratio_to_null", 1.0, 2),
            lid.map_or_else(dash, |line| spread(line, "ns_per_query", 1.0, 1)),
            lid.map_or_else(dash, |line| spread(line, "ratio_to_null", 1.0, 2)),
            grouped(gid.number("snapshot_bytes").unwrap_or(0.0) / 1024.0),
            or_dash(gid.number("build_ms"), 1),
        );
    }
    text += "\n`torus`: all links are alike, and paths are computed from coordinates. `dense`: the same \
             torus with links of\nthree rates, so that paths are in a table of all pairs of \
             switches, as on a fabric of any form. Both routed by\ntorus-2QoS.\n";
    text + &commands(&all)
}

fn long(lines: &Lines) -> String {
    let all: Vec<&Line> = lines.of("long").collect();
    let mut text = String::from(
        "### Replies of many records\n\nLayer: memory; 1,000 rules; the same requests in every pass.\n\n\
         | What | ns a query | Records | ns a record | Instructions a query | a record |\n\
         |---|---|---|---|---|---|\n",
    );
    for line in &all {
        let what = match line.text("workload") {
            "table" => "table of half the world",
            _ => "MultiPathRecord of four by four",
        };
        text += &format!(
            "| {what} | {} | {} | {} | {} | {} |\n",
            spread(line, "ns_per_query", 1.0, 1),
            grouped(line.number("records_per_query").unwrap_or(0.0)),
            or_dash(line.number("ns_per_record"), 1),
            or_dash(line.number("instructions"), 0),
            or_dash(line.number("instructions_per_record"), 1),
        );
    }
    text + &commands(&all)
}

fn ring(lines: &Lines) -> String {
    let all: Vec<&Line> = lines.of("ring").collect();
    let mut text = String::from(
        "### Over the ring\n\nLayer: ring, a client on one core and a worker on another; 1,000 \
         rules. CPU time is the worker's and, for\nreplies of many records, the slow lane's. \
         Latencies at half of that rate.\n\n\
         | Workload | CPU ns a query | null records | with waiting | M/s by wall time | p50 us | p99 us | p99.9 us | Wrong |\n\
         |---|---|---|---|---|---|---|---|---|\n",
    );
    for line in &all {
        let us = |field: &str| or_dash(line.number(field).map(|ns| ns / 1e3), 2);
        text += &format!(
            "| {} | {} | {} | {} | {} | {} | {} | {} | {} |\n",
            line.text("workload"),
            spread(line, "ns_per_query", 1.0, 1),
            spread(line, "ratio_to_null", 1.0, 2),
            or_dash(line.number("ns_per_query_with_waiting"), 1),
            spread(line, "mqps", 1.0, 4),
            us("p50_ns"),
            us("p99_ns"),
            us("p999_ns"),
            or_dash(line.number("wrong"), 0),
        );
    }
    text + &commands(&all)
}

fn loads(lines: &Lines) -> String {
    let all: Vec<&Line> = lines.of("load").collect();
    let mut text = heading(
        "Latency by load",
        "load",
        "ring; 1,000 rules. Microseconds since a request was due, whether it was sent late or not",
    );
    text += "| Load % | M/s | p50 | p90 | p99 | p99.9 | p99.99 | max | Samples |\n\
             |---|---|---|---|---|---|---|---|---|\n";
    for load in all.first().map(|line| line.latency()).into_iter().flatten() {
        text += &format!(
            "| {} | {} |",
            or_dash(load.percent.map(f64::from), 0),
            or_dash(load.mqps, 2)
        );
        let AtLoad {
            p50_ns,
            p90_ns,
            p99_ns,
            p999_ns,
            p9999_ns,
            max_ns,
            ..
        } = load;
        for ns in [p50_ns, p90_ns, p99_ns, p999_ns, p9999_ns, max_ns] {
            text += &format!(" {:.2} |", ns / 1e3);
        }
        text += &format!(" {} |\n", grouped(real(load.samples)));
    }
    if let Some(pauses) = all.first().and_then(|line| line.pauses()) {
        text += &format!(
            "\nPause floor of the client's core, before and after: {} pauses above 20 us, the longest \
             {:.0} us, {:.2} % of\nthe time. Tails below that, the dashed line, are the machine's.\n",
            grouped(real(pauses.gaps)),
            real(pauses.longest_ns) / 1e3,
            pauses.share * 100.0
        );
    }
    text + &commands(&all)
}

fn jobs(lines: &Lines) -> String {
    let all: Vec<&Line> = lines.of("job").collect();
    let mut text = String::from(
        "### Start of a job\n\nLayer: ring. Every process asks for the path from its node to each \
         other node; until the last reply.\n\n\
         | By | Nodes | Processes | Queries | Seconds | CPU ns a query | Wrong |\n\
         |---|---|---|---|---|---|---|\n",
    );
    for line in &all {
        let count = |field: &str| grouped(line.number(field).unwrap_or(0.0));
        text += &format!(
            "| {} | {} | {} | {} | {} | {} | {} |\n",
            line.text("by"),
            count("nodes"),
            count("processes"),
            count("queries"),
            spread(line, "total_seconds", 1.0, 3),
            or_dash(line.number("ns_per_query"), 1),
            or_dash(line.number("wrong"), 0),
        );
    }
    text + &commands(&all)
}

/// What the results were measured on: once, where all agree.
fn machines(lines: &Lines) -> String {
    let mut text = String::from("### Machine\n\n");
    let mut known: Vec<String> = Vec::new();
    let (mut least, mut most) = (f64::INFINITY, 0.0_f64);
    for line in lines.all() {
        let Some(machine) = line.machine() else {
            continue;
        };
        if let Some(load) = machine.load {
            (least, most) = (least.min(load), most.max(load));
        }
        let words = machine_in_words(&machine);
        if !known.contains(&words) {
            known.push(words);
        }
    }
    for words in known {
        text += &format!("* {words}\n");
    }
    if least.is_finite() {
        text += &format!("\nLoad average when runs ended: {least:.1} to {most:.1}.\n");
    }
    text
}

fn machine_in_words(machine: &Machine) -> String {
    let weaknesses = machine.mitigations.as_ref().map(|all| {
        let words = all.iter().map(|(name, state)| format!("{name}: {state}"));
        words.collect::<Vec<_>>().join("; ")
    });
    let built = match machine.optimised {
        true => "",
        false => ", a debug build: figures mean nothing",
    };
    format!(
        "Commit `{}`{built}. {}, cores {} (worker and client each pinned to one), L1d {}, L2 {}, \
         L3 {}, Linux {}, huge pages {}. Mitigations: {}.",
        or_unknown(machine.commit.as_ref()),
        or_unknown(machine.cpu.as_ref()),
        figures(&machine.pinned),
        or_unknown(machine.l1d.as_ref()),
        or_unknown(machine.l2.as_ref()),
        or_unknown(machine.l3.as_ref()),
        or_unknown(machine.kernel.as_ref()),
        or_unknown(machine.huge_pages.as_ref()),
        or_unknown(weaknesses.as_ref()),
    )
}

fn heading(name: &str, file: &str, layer: &str) -> String {
    format!("### {name}\n\nLayer: {layer}.\n\n![{name}](pictures/performance/{file}.svg)\n\n")
}

/// For the test that runs what documents show: small fabrics, short runs.
const SMALLER: &str = "<!-- run with: s/:[0-9]+x[0-9]+x[0-9]+/:3x3x3/; s/ --(instructions|hot)//; \
                       s/--rules 10000/--rules 99/; s/job-start/& --nodes 8/; \
                       s/bench/bench --repeat 1 --seconds 0.02 --requests 256 --instructions never/ -->";

/// Those that gave these results, each once.
fn commands(lines: &[&Line]) -> String {
    let mut known: Vec<&str> = Vec::new();
    for line in lines {
        let command = line.text("command");
        if !known.contains(&command) && !command.is_empty() {
            known.push(command);
        }
    }
    format!("\n{SMALLER}\n```sh\n{}\n```\n\n", known.join("\n"))
}

/// The median, with the least and the most where they are known.
fn spread(line: &Line, field: &str, scale: f64, digits: usize) -> String {
    let median = or_dash(line.number(field).map(|it| it * scale), digits);
    match line.range(&format!("{field}_range")) {
        None => median,
        Some((least, most)) => {
            let (least, most) = (least * scale, most * scale);
            format!("{median} ({least:.digits$} to {most:.digits$})")
        }
    }
}

fn or_dash(figure: Option<f64>, digits: usize) -> String {
    figure.map_or_else(dash, |figure| format!("{figure:.digits$}"))
}

fn dash() -> String {
    "-".to_owned()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn only_what_lies_between_the_marks_changes() {
        let page = format!("before\n\n{BEGIN}\nold\n{END}\n\nafter\n");
        let lines = Lines::read(Path::new("none"), "").unwrap();
        let once = with_figures(&page, &lines).unwrap();
        assert!(
            once.starts_with("before\n") && once.ends_with("\nafter\n"),
            "{once}"
        );
        assert!(
            !once.contains("old") && once.contains("not measured"),
            "{once}"
        );
        assert_eq!(with_figures(&once, &lines).unwrap(), once);
        assert!(with_figures("no marks", &lines).is_err());
    }
}
