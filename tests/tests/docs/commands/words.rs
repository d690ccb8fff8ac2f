//! Verbs and options that documents name anywhere: in blocks that are not run and in the middle of sentences too.

use std::collections::HashMap;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::place::repository;
use sa_tests::cli::program;
use sa_tests::pages::blocks::{Block, Kind};

/// What the programs say of themselves, by the words before `--help`.
#[derive(Default)]
pub(crate) struct Help(HashMap<String, String>);

impl Help {
    /// Errors: a verb or an option that there is not, a package, test or benchmark that there is not.
    pub(crate) fn knows(&mut self, text: &str, blocks: &[Block]) -> Result<()> {
        for block in blocks.iter().filter(|block| block.kind != Kind::Other) {
            let joined = block.lines.join("\n").replace("\\\n", " ");
            for (line, at) in joined.lines().zip(block.line + 1..) {
                let command = line.trim_start().strip_prefix("$ ").unwrap_or(line);
                self.command(command)
                    .with_context(|| format!("about line {at}: {line}"))?;
            }
        }
        for span in spans(text) {
            self.command(&span).with_context(|| format!("`{span}`"))?;
        }
        Ok(())
    }

    fn command(&mut self, line: &str) -> Result<()> {
        let line = line.split(" # ").next().unwrap_or_default();
        for part in line
            .split("&&")
            .flat_map(|part| part.split([';', '|', '>', '<']))
        {
            let words = part
                .split_whitespace()
                .map(|word| word.trim_matches(['[', ']', ',']));
            let words = words.skip_while(|word| word.contains('=') && !word.starts_with('-'));
            let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
            match words.as_slice() {
                [program @ ("sapphire" | "sapphired"), rest @ ..] if !rest.is_empty() => {
                    self.of_ours(program, rest)?;
                }
                ["cargo", rest @ ..] => of_cargo(rest)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn of_ours(&mut self, program: &str, words: &[&str]) -> Result<()> {
        let mut verb = vec![program];
        let mut help = self.of(&verb)?;
        for word in words {
            if !has_verb(&help, word) {
                break;
            }
            verb.push(word);
            help = self.of(&verb)?;
        }
        let is_open = verb.len() > 1
            || words
                .first()
                .is_none_or(|word| word.starts_with(['-', '.']));
        ensure!(is_open, "`{}` has no such verb", verb.join(" "));
        if words.contains(&"...") {
            return Ok(());
        }
        for option in words
            .iter()
            .filter(|word| word.starts_with("--") && word.len() > 2)
        {
            let option = option.split(['=', '|', '`']).next().unwrap_or_default();
            let is_known = help
                .split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'))
                .any(|word| word == option);
            ensure!(is_known, "`{}` has no {option}", verb.join(" "));
        }
        Ok(())
    }

    fn of(&mut self, verb: &[&str]) -> Result<String> {
        let name = verb.join(" ");
        if let Some(help) = self.0.get(&name) {
            return Ok(help.clone());
        }
        let mut command = Command::new(program(verb.first().context("a program")?)?);
        let output = command.args(verb.iter().skip(1)).arg("--help").output()?;
        ensure!(output.status.success(), "{name} --help: {output:?}");
        let help = String::from_utf8(output.stdout)?;
        self.0.insert(name, help.clone());
        Ok(help)
    }
}

/// A line of the list of verbs.
fn has_verb(help: &str, word: &str) -> bool {
    let verbs = help.split_once("Commands:").map_or("", |(_, rest)| rest);
    let verbs = verbs.split("\nOptions:").next().unwrap_or_default();
    verbs
        .lines()
        .any(|line| line.split_whitespace().next() == Some(word) && line.starts_with("  "))
}

fn of_cargo(words: &[&str]) -> Result<()> {
    let root = repository();
    let value = |option: &str| {
        let at = words.iter().position(|word| *word == option);
        at.and_then(|at| words.get(at + 1)).copied()
    };
    let exists = |places: &[String]| places.iter().any(|place| root.join(place).exists());
    if let Some(test) = value("--test") {
        let places = [
            "tests",
            "routing",
            "policy",
            "sa-fastpath",
            "sa-fastpath/port",
            "sm-control/fleet/node",
        ]
        .map(|crate_| {
            [
                format!("{crate_}/tests/{test}.rs"),
                format!("{crate_}/tests/{test}/main.rs"),
            ]
        })
        .concat();
        ensure!(exists(&places), "there is no test {test}");
    }
    if let Some(bench) = value("--bench") {
        let places = [
            format!("bench/benches/{bench}.rs"),
            format!("bench/benches/{bench}/main.rs"),
        ];
        ensure!(exists(&places), "there is no benchmark {bench}");
    }
    if let Some(program) = value("--bin") {
        let places = [
            format!("bench/src/bin/{program}/main.rs"),
            format!("bench/src/bin/{program}.rs"),
        ];
        // The tool's own crate calls it so.
        let is_tool = value("-p") == Some("sa-tools") && program == "sapphire";
        ensure!(is_tool || exists(&places), "there is no program {program}");
    }
    if let Some(example) = value("--example") {
        ensure!(
            exists(&["fuzz", "tests"].map(|crate_| format!("{crate_}/examples/{example}.rs"))),
            "there is no example {example}"
        );
    }
    Ok(())
}

/// Commands between backticks, outside of blocks.
fn spans(text: &str) -> Vec<String> {
    let mut is_prose = true;
    let prose = text.lines().filter(|line| {
        let fence = line.trim_start().starts_with("```");
        is_prose ^= fence;
        is_prose && !fence
    });
    let prose: Vec<&str> = prose.map(str::trim).collect();
    let mut spans = Vec::new();
    for paragraph in prose.join("\n").split("\n\n") {
        let parts = paragraph.split('`').skip(1).step_by(2);
        spans.extend(parts.map(|part| part.replace('\n', " ")));
    }
    spans
}
