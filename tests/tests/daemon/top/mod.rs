//! `sapphire top` on a terminal: what a person sees of a daemon that works, is loaded, dies and comes back; and the terminal afterwards.

use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, ensure};
use sa_tests::cli::{program, sapphire_in};
use sa_tests::ring::{Bed, CONFIG};
use sa_tests::terminal::Terminal;

/// What a terminal has that nobody has enlarged.
const ORDINARY: (u16, u16) = (24, 80);

fn bed() -> Result<Bed> {
    Bed::new(&format!("{CONFIG}[control]\npath = \"control\"\n"))
}

/// `sapphire top` of the bed's daemon.
fn top(bed: &Bed, environment: &[(&str, &str)]) -> Result<Terminal> {
    let mut command = Command::new(program("sapphire")?);
    command
        .args(["top", "--control", "control", "--every", "200ms"])
        .current_dir(bed.dir())
        .env_remove("NO_COLOR")
        .env("TERM", "xterm-256color")
        .envs(environment.iter().copied());
    Terminal::start(command, ORDINARY)
}

/// A load on the ring, ended with the test.
struct Load(Child);

impl Load {
    fn start(bed: &Bed) -> Result<Self> {
        let mut command = Command::new(program("sapphire")?);
        command
            .args([
                "load",
                "--via",
                "ring:ring",
                "--seconds",
                "300",
                "--window",
                "4",
            ])
            .current_dir(bed.dir())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        Ok(Self(command.spawn()?))
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Queries a second of port 0; none where there is a dash, or no such line.
fn queries(picture: &str) -> Option<u64> {
    let row = picture.lines().find(|line| line.starts_with("0  ring"))?;
    row.split_whitespace().nth(6)?.parse().ok()
}

/// All that were answered since the daemon's start.
fn answered(picture: &str) -> Option<u64> {
    let row = picture.lines().find(|line| line.starts_with("answered"))?;
    row.split_whitespace().nth(2)?.parse().ok()
}

#[test]
fn figures_move_under_load_and_a_daemon_that_dies_is_told() -> Result<()> {
    let _turn = sa_tests::turn::heavy();
    let mut bed = bed()?;
    bed.serve()?;
    let mut top = top(&bed, &[])?;
    let idle = top.wait("a daemon without load", |it| {
        it.starts_with("LIVE") && queries(it) == Some(0)
    })?;
    ensure!(
        idle.contains("ready, epoch 1") && idle.contains("-- Findings --"),
        "{idle}"
    );
    top.ensure_taken()?;
    ensure!(top.has_colour());
    let load = Load::start(&bed)?;
    let first = top.wait("queries", |it| queries(it) > Some(0))?;
    top.wait("more of them", |it| {
        answered(it) > answered(&first) && queries(it) > Some(0)
    })?;
    still(&mut top)?;
    bed.kill()?;
    drop(load);
    let lost = top.wait("the loss", |it| it.starts_with("LOST"))?;
    ensure!(
        queries(&lost).is_none() && lost.contains("the daemon answers no more"),
        "{lost}"
    );
    // What was counted stays, with its age; a rate would be of nobody.
    ensure!(answered(&lost).is_some(), "{lost}");
    top.wait("an age", |it| {
        it.starts_with("LOST") && !it.contains("the figures are 0 s old")
    })?;
    bed.serve()?;
    let back = top.wait("another daemon", |it| {
        it.starts_with("LIVE") && queries(it) == Some(0)
    })?;
    ensure!(back.contains("another daemon answers: process"), "{back}");
    top.press("?")?;
    top.wait("the help", |it| it.contains("stand still"))?;
    top.press("x")?;
    top.wait("the picture", |it| it.starts_with("LIVE"))?;
    top.press("q")?;
    let ended = top.wait_ended()?;
    ensure!(
        ended.code() == Some(0),
        "{:?} {:?}",
        ended.code(),
        ended.signal()
    );
    Ok(())
}

/// A picture that stands still is of one moment, and says so; it moves again.
fn still(top: &mut Terminal) -> Result<()> {
    top.press("p")?;
    let paused = top.wait("a pause", |it| it.starts_with("PAUSED"))?;
    let later = top.wait("its age", |it| {
        it.starts_with("PAUSED") && !it.contains("figures are 0 s old")
    })?;
    let is_same = queries(&paused) == queries(&later) && answered(&paused) == answered(&later);
    ensure!(is_same && queries(&paused).is_some(), "{paused}\n{later}");
    top.press("p")?;
    top.wait("figures of now", |it| {
        it.starts_with("LIVE") && answered(it) > answered(&later)
    })?;
    Ok(())
}

#[test]
fn the_terminal_is_given_back_on_every_way_out() -> Result<()> {
    let bed = bed()?;
    for (key, name, number) in [
        ("\u{3}", "", 0),
        ("\u{1b}", "", 0),
        ("", "TERM", 15),
        ("", "HUP", 1),
        ("", "INT", 2),
    ] {
        let mut top = top(&bed, &[("NO_COLOR", "1")])?;
        // Nobody is there yet, which is no reason to end.
        let absent = top.wait("nobody", |it| it.starts_with("ABSENT"))?;
        ensure!(absent.contains("sapphired running, with"), "{absent}");
        top.ensure_taken()?;
        ensure!(!top.has_colour(), "NO_COLOR");
        if number == 0 {
            top.press(key)?;
        } else {
            top.signal(name)?;
        }
        let ended = top.wait_ended()?;
        let expected = if number == 0 {
            (Some(0), None)
        } else {
            (None, Some(number))
        };
        ensure!(
            (ended.code(), ended.signal()) == expected,
            "{key:?} {name}: {:?} {:?}",
            ended.code(),
            ended.signal()
        );
    }
    Ok(())
}

#[test]
fn without_a_terminal_there_is_one_frame_or_one_error() -> Result<()> {
    let mut bed = bed()?;
    let line = ["top", "--control", "control", "--every", "100ms"];
    let refused = sapphire_in(bed.dir(), &line)?;
    let said = String::from_utf8(refused.stderr)?;
    ensure!(
        refused.status.code() == Some(2) && refused.stdout.is_empty(),
        "{said}"
    );
    ensure!(
        said.lines().count() == 1 && said.contains("--once"),
        "{said}"
    );
    let once = [&line[..], &["--once"]].concat();
    let nobody = sapphire_in(bed.dir(), &once)?;
    ensure!(
        nobody.status.code() == Some(4) && nobody.stdout.is_empty(),
        "{nobody:?}"
    );
    bed.serve()?;
    let output = sapphire_in(bed.dir(), &once)?;
    let frame = String::from_utf8(output.stdout)?;
    ensure!(
        output.status.success() && output.stderr.is_empty(),
        "{frame}"
    );
    ensure!(
        frame.starts_with("LIVE control, every 100ms\n") && !frame.contains('\u{1b}'),
        "{frame}"
    );
    queries(&frame).with_context(|| frame.clone())?;
    Ok(())
}

/// The text pieces of an SVG, in order.
fn pieces(svg: &str) -> Vec<&str> {
    let inside = svg.split("</text>").map(|it| it.rsplit('>').next());
    inside.flatten().map(str::trim).collect()
}

/// The picture of the documents is looked at too: it has the panes and the columns of today.
#[test]
fn a_frame_is_written_as_a_picture() -> Result<()> {
    let mut bed = bed()?;
    bed.serve()?;
    let line = ["top", "--control", "control", "--every", "100ms"];
    let alone = sapphire_in(bed.dir(), &[&line[..], &["--svg", "top.svg"]].concat())?;
    ensure!(alone.status.code() == Some(2), "{alone:?}");
    let both = [&line[..], &["--once", "--svg", "top.svg"]].concat();
    let output = sapphire_in(bed.dir(), &both)?;
    ensure!(
        output.status.success() && output.stdout.is_empty(),
        "{output:?}"
    );
    let svg = std::fs::read_to_string(bed.dir().join("top.svg"))?;
    let documents = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/pictures/top/top.svg");
    let shown = std::fs::read_to_string(documents).context(documents)?;
    let fixed = [
        "LIVE",
        "Workers",
        "Answers",
        "Attributes",
        "Findings",
        "Events",
        "queries/s",
        "answered",
    ];
    for (name, svg) in [("now", &svg), ("docs", &shown)] {
        let pieces = pieces(svg);
        for word in fixed {
            let is_there = pieces.iter().any(|it| it.split(' ').any(|it| it == word));
            ensure!(
                is_there,
                "{name}: no {word}: docs/pictures/top/make draws it\n{svg}"
            );
        }
    }
    // A place that cannot be written is named, and nothing is left there.
    let nowhere = [&line[..], &["--once", "--svg", "none/top.svg"]].concat();
    let output = sapphire_in(bed.dir(), &nowhere)?;
    let said = String::from_utf8(output.stderr)?;
    ensure!(
        output.status.code() == Some(1) && said.contains("none/top.svg"),
        "{said}"
    );
    Ok(())
}
