//! The blocks of commands in a document, and what stands beside them.

use anyhow::{Context, Result, bail, ensure};

/// Lines between two fences.
#[derive(Debug)]
pub(crate) struct Block {
    /// Of the opening fence, from 1.
    pub(crate) line: usize,
    pub(crate) kind: Kind,
    /// Without what they are indented by.
    pub(crate) lines: Vec<String>,
    pub(crate) mark: Option<Mark>,
}

/// What a block is by its language.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `sh`: commands.
    Script,
    /// `console`: commands behind `$`, and what they print.
    Console,
    /// Neither.
    Other,
}

/// What a comment right above a block says of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Mark {
    /// `<!-- not run: REASON -->`
    NotRun,
    /// `<!-- run with: SED -->`: these commands of sed make it smaller.
    With(String),
    /// `<!-- status 0 or 3: REASON -->`: how its commands may end.
    Status(Vec<String>),
}

/// Where a line stands while the document is read.
#[derive(Default)]
struct Reading {
    blocks: Vec<Block>,
    open: Option<(Block, usize)>,
    mark: Option<Mark>,
}

/// Programs that documents show commands of.
const PROGRAMS: [&str; 22] = [
    "sapphire",
    "sapphired",
    "cargo",
    "systemctl",
    "journalctl",
    "useradd",
    "install",
    "udevadm",
    "saquery",
    "opensm",
    "valgrind",
    "kill",
    "cp",
    "cc",
    "mkdir",
    "curl",
    "git",
    "bench/report",
    "bench/icount",
    "bench/versus-opensm",
    "tests/run",
    "fuzz/seeds",
];

/// True for a line that is a command and not prose or output.
pub(crate) fn is_command(line: &str) -> bool {
    let line = line.trim_start();
    let line = line.strip_prefix("$ ").unwrap_or(line);
    let word = line.split_whitespace().next().unwrap_or_default();
    PROGRAMS.contains(&word) && line != word && !line.starts_with("sapphire: ")
}

/// The blocks of a document. Errors: a mark without a reason or without a block, commands where nothing runs
/// them; each with its line.
pub(crate) fn blocks(text: &str) -> Result<Vec<Block>> {
    let mut reading = Reading::default();
    for (number, line) in text.lines().enumerate() {
        let number = number + 1;
        reading
            .take(number, line)
            .with_context(|| format!("line {number}: {line}"))?;
    }
    ensure!(reading.open.is_none(), "a block is not closed");
    Ok(reading.blocks)
}

impl Reading {
    fn take(&mut self, number: usize, line: &str) -> Result<()> {
        let bare = line.trim_start();
        let indent = line.len() - bare.len();
        match (&mut self.open, bare.strip_prefix("```")) {
            (Some((_, before)), Some("")) if *before == indent => {
                let Some((block, _)) = self.open.take() else {
                    return Ok(());
                };
                block.is_runnable()?;
                self.blocks.push(block);
            }
            (Some((block, indent)), _) => {
                let cut = line
                    .char_indices()
                    .take_while(|(at, c)| at < indent && *c == ' ');
                let cut = cut.count();
                block
                    .lines
                    .push(line.get(cut..).unwrap_or_default().to_owned());
            }
            (None, Some(language)) => {
                let kind = match language {
                    "sh" => Kind::Script,
                    "console" => Kind::Console,
                    _ => Kind::Other,
                };
                let (lines, mark) = (Vec::new(), self.mark.take());
                let block = Block {
                    line: number,
                    kind,
                    lines,
                    mark,
                };
                self.open = Some((block, indent));
            }
            (None, None) => {
                ensure!(self.mark.is_none(), "the mark above stands above no block");
                self.mark = mark(bare)?;
                let indented = indent >= 4 && is_command(bare);
                ensure!(!indented, "a command that nothing runs: fence it as ```sh");
            }
        }
        Ok(())
    }
}

impl Block {
    /// Errors: it has commands and nothing runs them; a mark that means nothing.
    fn is_runnable(&self) -> Result<()> {
        let is_code = self.kind == Kind::Other;
        ensure!(
            !(is_code && self.mark.is_some()),
            "a mark above a block that is none of commands"
        );
        if let Some(line) = self.lines.iter().find(|line| is_code && is_command(line)) {
            bail!("`{line}` is run by nobody: call the block above ```sh or ```console");
        }
        Ok(())
    }
}

fn mark(line: &str) -> Result<Option<Mark>> {
    let Some(said) = line
        .strip_prefix("<!-- ")
        .and_then(|line| line.strip_suffix(" -->"))
    else {
        return Ok(None);
    };
    if let Some(reason) = said.strip_prefix("not run") {
        has_reason(reason)?;
        return Ok(Some(Mark::NotRun));
    }
    if let Some(sed) = said.strip_prefix("run with: ") {
        return Ok(Some(Mark::With(sed.to_owned())));
    }
    let Some((statuses, reason)) = said
        .strip_prefix("status ")
        .and_then(|rest| rest.split_once(':'))
    else {
        return Ok(None);
    };
    has_reason(&format!(":{reason}"))?;
    let statuses = statuses.split(" or ").map(str::to_owned).collect();
    Ok(Some(Mark::Status(statuses)))
}

fn has_reason(words: &str) -> Result<()> {
    let reason = words.strip_prefix(": ").unwrap_or_default();
    ensure!(
        reason.split_whitespace().count() > 1,
        "the mark gives no reason"
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        format!("{:#}", blocks(text).unwrap_err())
    }

    #[test]
    fn what_nobody_would_run_is_found() {
        for text in [
            "```\nsapphire demo\n```\n",
            "```text\n$ sapphire demo\n```\n",
            "    sapphire fabric read -o now\n",
            "1. first\n\n        systemctl daemon-reload\n",
        ] {
            let said = refused(text);
            assert!(said.contains("run"), "{text}: {said}");
        }
    }

    #[test]
    fn a_mark_has_a_reason_and_a_block() {
        for text in [
            "<!-- not run -->\n```sh\nx\n```\n",
            "<!-- not run: -->\n```sh\nx\n```\n",
            "<!-- status 3: -->\n```sh\nx\n```\n",
            "<!-- not run: needs an HCA -->\n\n```sh\nx\n```\n",
            "<!-- not run: needs an HCA -->\n```toml\nx\n```\n",
        ] {
            refused(text);
        }
        let fine = blocks(
            "1. so:\n   <!-- not run: needs an HCA -->\n   ```sh\n   a \\\n     b\n   ```\n",
        )
        .unwrap();
        assert_eq!(fine[0].lines, ["a \\", "  b"]);
        assert_eq!((fine[0].line, &fine[0].mark), (3, &Some(Mark::NotRun)));
    }
}
