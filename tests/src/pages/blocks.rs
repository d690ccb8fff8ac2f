//! The blocks of commands in a document, and what stands beside them.

use anyhow::{Context, Result, bail, ensure};

/// Lines between two fences.
#[derive(Debug)]
pub struct Block {
    /// Of the opening fence, from 1.
    pub line: usize,
    /// What it is by its language.
    pub kind: Kind,
    /// Without what they are indented by.
    pub lines: Vec<String>,
    /// What the comments right above it say.
    pub marks: Vec<Mark>,
}

/// What a block is by its language.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `sh`: commands.
    Script,
    /// `console`: commands behind `$`, and what they print.
    Console,
    /// Neither.
    Other,
}

/// What a comment right above a block says of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mark {
    /// `<!-- not run: REASON -->`
    NotRun,
    /// `<!-- run by the tests of packages: REASON -->`: in a fresh Debian, and nowhere else.
    Installs,
    /// `<!-- numbers differ: REASON -->`: those of the output stand for any.
    NumbersDiffer,
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
    marks: Vec<Mark>,
}

/// Programs that documents show commands of.
const PROGRAMS: [&str; 28] = [
    "sapphire",
    "sapphired",
    "cargo",
    "systemctl",
    "journalctl",
    "useradd",
    "install",
    "udevadm",
    "saquery",
    "ibsim",
    "opensm",
    "apt",
    "apt-get",
    "modprobe",
    "podman",
    "docker",
    "buildah",
    "runuser",
    "perf",
    "python3",
    "export",
    "valgrind",
    "kill",
    "cp",
    "cc",
    "mkdir",
    "curl",
    "git",
];

/// True for a line that is a command and not prose or output.
pub fn is_command(line: &str) -> bool {
    let line = line.trim_start();
    let line = line.strip_prefix("$ ").unwrap_or(line);
    // Variables before it are of its environment.
    let is_variable = |word: &&str| {
        let name = word.split_once('=').map_or("", |(name, _)| name);
        !name.is_empty()
            && name
                .bytes()
                .all(|c| c.is_ascii_uppercase() || b"_".contains(&c))
    };
    let mut words = line.split_whitespace().skip_while(is_variable);
    let word = words.next().unwrap_or_default();
    let is_known = PROGRAMS.contains(&word) || is_of_the_clone(word);
    is_known && line != word && !line.starts_with("sapphire: ")
}

/// Programs that lie in the repository, by their path.
fn is_of_the_clone(word: &str) -> bool {
    let is_below = |folder: &&str| word.starts_with(*folder);
    let folders = ["./", "tests/", "bench/", "fuzz/", "tools/", "docs/", ".ci/"];
    folders.iter().any(is_below) && !word.ends_with([',', ':', '.', ')']) && !word.contains('`')
}

/// The blocks of a document. Errors: a mark without a reason or without a block, commands where nothing runs
/// them; each with its line.
pub fn blocks(text: &str) -> Result<Vec<Block>> {
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
                let block = Block {
                    line: number,
                    kind,
                    lines: Vec::new(),
                    marks: std::mem::take(&mut self.marks),
                };
                self.open = Some((block, indent));
            }
            (None, None) => {
                match mark(bare)? {
                    Some(mark) => self.marks.push(mark),
                    None => ensure!(
                        self.marks.is_empty(),
                        "the mark above stands above no block"
                    ),
                }
                let indented = indent >= 4 && is_command(bare);
                ensure!(!indented, "a command that nothing runs: fence it as ```sh");
            }
        }
        Ok(())
    }
}

impl Block {
    /// True for commands that a test runs where the programs are only built.
    pub fn is_run(&self) -> bool {
        let is_left_out = |mark: &Mark| matches!(mark, Mark::NotRun | Mark::Installs);
        self.kind != Kind::Other && !self.marks.iter().any(is_left_out)
    }

    /// Errors: it has commands and nothing runs them; a mark that means nothing.
    fn is_runnable(&self) -> Result<()> {
        let is_code = self.kind == Kind::Other;
        ensure!(
            !is_code || self.marks.is_empty(),
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
    for (words, mark) in [
        ("run by the tests of packages", Mark::Installs),
        ("numbers differ", Mark::NumbersDiffer),
    ] {
        if let Some(reason) = said.strip_prefix(words) {
            has_reason(reason)?;
            return Ok(Some(mark));
        }
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
            "so:\n\n    SIM_HOST=H1 LD_PRELOAD=x saquery PR\n",
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
            "<!-- numbers differ -->\n```console\nx\n```\n",
            "<!-- numbers differ: they are times -->\nx\n",
        ] {
            refused(text);
        }
        let fine = blocks(
            "1. so:\n   <!-- not run: needs an HCA -->\n   ```sh\n   a \\\n     b\n   ```\n",
        )
        .unwrap();
        assert_eq!(fine[0].lines, ["a \\", "  b"]);
        assert_eq!((fine[0].line, &fine[0].marks[..]), (3, &[Mark::NotRun][..]));
        let both = "<!-- status 3: it is refused -->\n<!-- numbers differ: it is a time -->\n```sh\na\n```\n";
        assert_eq!(blocks(both).unwrap()[0].marks.len(), 2);
    }
}
