//! From the blocks of a document to one script, whose line numbers are the document's.

use std::io::Write;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use super::blocks::{Block, Kind, Mark};

/// Output that a document promises.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Promise {
    /// Of the command, from 1; also the name of the file that the script puts the output in.
    pub(crate) line: usize,
    pub(crate) output: Vec<String>,
}

impl Promise {
    /// True where this is what was promised, of which `...` leaves out the rest; nothing is promised by showing
    /// nothing.
    pub(crate) fn is_kept(&self, printed: &str) -> bool {
        let mut printed = printed.lines().map(str::trim_end);
        for line in &self.output {
            if line == "..." {
                return true;
            }
            if printed.next() != Some(line.trim_end()) {
                return false;
            }
        }
        self.output.is_empty() || printed.next().is_none()
    }
}

/// A document as a script of bash.
#[derive(Debug, Default)]
pub(crate) struct Script {
    lines: Vec<String>,
    pub(crate) promises: Vec<Promise>,
    /// A command of a console begins there and goes on.
    open: Option<usize>,
}

impl Script {
    /// Of blocks that are to be run. Errors: a mark that cannot be followed.
    pub(crate) fn of(blocks: &[Block]) -> Result<Self> {
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
    pub(crate) fn text(&self) -> String {
        self.lines.join("\n") + "\n"
    }

    fn add(&mut self, block: &Block) -> Result<()> {
        let end = block.line + block.lines.len() + 1;
        let lines = match &block.mark {
            Some(Mark::NotRun) => return Ok(()),
            Some(Mark::With(sed)) => edited(&block.lines, sed)?,
            Some(Mark::Status(statuses)) => {
                self.put(block.line, &format!("expect {}", statuses.join(" ")));
                self.put(end, "expected");
                block.lines.clone()
            }
            None => block.lines.clone(),
        };
        let numbered = lines.iter().zip(block.line + 1..);
        match block.kind {
            Kind::Script => numbered.for_each(|(line, at)| self.put(at, &waits(line))),
            Kind::Console => {
                numbered.for_each(|(line, at)| self.say(at, line));
                self.close(end);
            }
            Kind::Other => {}
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
    use crate::commands::blocks::blocks;

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
                output: vec!["said".to_owned()]
            }
        );
    }
}
