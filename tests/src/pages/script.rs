//! From the blocks of a document to one script, whose line numbers are the document's.

use std::io::Write;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use super::blocks::{Block, Kind, Mark};

/// Output that a document promises.
#[derive(Debug, PartialEq, Eq)]
pub struct Promise {
    /// Of the command, from 1; also the name of the file that the script puts the output in.
    pub line: usize,
    /// What the document shows below it.
    pub output: Vec<String>,
    /// Numbers in it stand for any.
    pub numbers_differ: bool,
}

impl Promise {
    /// True where this is what was promised, of which `...` leaves out any lines; nothing is promised by showing
    /// nothing.
    pub fn is_kept(&self, printed: &str) -> bool {
        let seen = |line: &str| match self.numbers_differ {
            true => without_numbers(line),
            false => line.trim_end().to_owned(),
        };
        let shown: Vec<String> = self.output.iter().map(|line| seen(line)).collect();
        let printed: Vec<String> = printed.lines().map(seen).collect();
        shown.is_empty() || is_alike(&shown, &printed)
    }
}

fn is_alike(shown: &[String], printed: &[String]) -> bool {
    match shown.split_first() {
        None => printed.is_empty(),
        Some((left_out, rest)) if left_out == "..." => {
            let mut ends = (0..=printed.len()).filter_map(|from| printed.get(from..));
            ends.any(|end| is_alike(rest, end))
        }
        Some((line, rest)) => printed
            .split_first()
            .is_some_and(|(first, more)| first == line && is_alike(rest, more)),
    }
}

/// The line with `#` for each number, and one blank for some: columns are as wide as their numbers.
fn without_numbers(line: &str) -> String {
    let mut text = String::new();
    let mut rest = line.trim_end();
    while let Some(c) = rest.chars().next() {
        let end = match c {
            '0'..='9' => rest.find(|c: char| !(c.is_ascii_digit() || c == '.')),
            ' ' => rest.find(|c| c != ' '),
            _ => Some(c.len_utf8()),
        };
        let (part, after) = rest.split_at(end.unwrap_or(rest.len()));
        text.push_str(match c {
            '0'..='9' => "#",
            ' ' => " ",
            _ => part,
        });
        rest = after;
    }
    text
}

/// A document as a script of bash.
#[derive(Debug, Default)]
pub struct Script {
    lines: Vec<String>,
    /// What its commands are to print.
    pub promises: Vec<Promise>,
    /// A command of a console begins there and goes on.
    open: Option<usize>,
}

impl Script {
    /// Of blocks that are run where the programs are built. Errors: a mark that cannot be followed.
    pub fn of(blocks: &[Block]) -> Result<Self> {
        Self::of_those(blocks.iter().filter(|block| block.is_run()))
    }

    /// The same with what installs. Errors: a mark that cannot be followed.
    pub fn of_installing(blocks: &[Block]) -> Result<Self> {
        let installs = |block: &Block| block.marks.contains(&Mark::Installs);
        Self::of_those(blocks.iter().filter(|it| it.is_run() || installs(it)))
    }

    fn of_those<'b>(blocks: impl Iterator<Item = &'b Block>) -> Result<Self> {
        let mut script = Self::default();
        // A document begins with its title.
        script.put(1, ". \"$PRELUDE\"");
        for block in blocks {
            script
                .add(block)
                .with_context(|| format!("line {}", block.line))?;
        }
        Ok(script)
    }

    /// The text for bash.
    pub fn text(&self) -> String {
        self.lines.join("\n") + "\n"
    }

    fn add(&mut self, block: &Block) -> Result<()> {
        let end = block.line + block.lines.len() + 1;
        let mut lines = block.lines.clone();
        for mark in &block.marks {
            match mark {
                Mark::With(sed) => lines = edited(&lines, sed)?,
                Mark::Status(statuses) => {
                    self.put(block.line, &format!("expect {}", statuses.join(" ")));
                    self.put(end, "expected");
                }
                Mark::NotRun | Mark::Installs | Mark::NumbersDiffer => {}
            }
        }
        let first = self.promises.len();
        let numbered = lines.iter().zip(block.line + 1..);
        match block.kind {
            Kind::Script => numbered.for_each(|(line, at)| self.put(at, &waits(line))),
            Kind::Console => {
                numbered.for_each(|(line, at)| self.say(at, line));
                self.close(end);
            }
            Kind::Other => {}
        }
        let differ = block.marks.contains(&Mark::NumbersDiffer);
        for promise in self.promises.iter_mut().skip(first) {
            promise.numbers_differ = differ;
        }
        Ok(())
    }

    /// A line of a console: a command, more of it, or what it prints.
    fn say(&mut self, at: usize, line: &str) {
        let goes_on = self.lines.last().is_some_and(|line| line.ends_with('\\'))
            && self.lines.len() == at - 1;
        if let Some(command) = line.strip_prefix("$ ") {
            self.close(at);
            self.put(at, &format!("{{ {command}"));
            self.open = Some(at);
            self.promises.push(Promise {
                line: at,
                output: Vec::new(),
                numbers_differ: false,
            });
        } else if goes_on {
            self.put(at, line);
        } else {
            self.close(at);
            if let Some(promise) = self.promises.last_mut() {
                promise.output.push(line.to_owned());
            }
        }
    }

    fn close(&mut self, at: usize) {
        if let Some(command) = self.open.take() {
            self.put(at, &format!("}} >\"$CONSOLE/{command}\";"));
        }
    }

    /// Puts something on the line of that number, from 1.
    fn put(&mut self, at: usize, text: &str) {
        let room = self.lines.len().max(at);
        self.lines.resize(room, String::new());
        if let Some(line) = self.lines.get_mut(at - 1) {
            line.push_str(text);
        }
    }
}

/// What comes behind a daemon that is started waits until it answers, as a reader would.
fn waits(line: &str) -> String {
    let (command, comment) = line.split_once(" # ").unwrap_or((line, ""));
    match command.trim_end().strip_suffix(" &") {
        Some(command) if command.starts_with("sapphired ") => {
            format!("{command} & until_ready # {comment}")
        }
        _ => line.to_owned(),
    }
}

/// The lines after `sed -E`. Errors: it changes nothing, or their number.
fn edited(lines: &[String], sed: &str) -> Result<Vec<String>> {
    let mut child = Command::new("sed")
        .args(["-E", "-e", sed])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut stdin = child.stdin.take().context("a pipe")?;
    stdin.write_all((lines.join("\n") + "\n").as_bytes())?;
    drop(stdin);
    let output = child.wait_with_output()?;
    ensure!(output.status.success(), "sed -E {sed:?}: {}", output.status);
    let text = String::from_utf8(output.stdout)?;
    let edited: Vec<String> = text.lines().map(str::to_owned).collect();
    ensure!(
        edited.len() == lines.len() && edited != lines,
        "`{sed}` changes nothing, or the number of lines"
    );
    Ok(edited)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pages::blocks::blocks;

    #[test]
    fn lines_stay_where_they_are() {
        let text =
            "# T\n```console\n$ a \\\n    b\nsaid\n$ c\n```\n```sh\nsapphired -c x &  # it\n```\n";
        let script = Script::of(&blocks(text).unwrap()).unwrap();
        assert_eq!(
            script.text(),
            ". \"$PRELUDE\"\n\n{ a \\\n    b\n} >\"$CONSOLE/3\";\n{ c\n} >\"$CONSOLE/6\";\n\n\
             sapphired -c x & until_ready # it\n"
        );
        assert_eq!(
            script.promises[0],
            Promise {
                line: 3,
                output: vec!["said".to_owned()],
                numbers_differ: false,
            }
        );
    }

    fn promise(output: &[&str], numbers_differ: bool) -> Promise {
        Promise {
            line: 1,
            output: output.iter().map(|&line| line.to_owned()).collect(),
            numbers_differ,
        }
    }

    #[test]
    fn what_is_left_out_is_any_lines_and_no_others() {
        let some = promise(&["a", "...", "c"], false);
        assert!(some.is_kept("a\nb\nb\nc\n") && some.is_kept("a\nc\n"));
        assert!(!some.is_kept("a\nc\nd\n") && !some.is_kept("b\nc\n") && !some.is_kept("a\n"));
        assert!(promise(&["a", "..."], false).is_kept("a\nb\n"));
    }

    #[test]
    fn numbers_differ_where_the_document_says_so() {
        let shown = "ready, epoch 1,   12 ms old";
        let printed = "ready, epoch 2, 1.5 ms old\n";
        assert!(promise(&[shown], true).is_kept(printed));
        assert!(!promise(&[shown], false).is_kept(printed));
        assert!(!promise(&[shown], true).is_kept("failed, epoch 2, 1.5 ms old\n"));
        assert!(!promise(&[shown], true).is_kept("ready, epoch , 1.5 ms old\n"));
    }
}
