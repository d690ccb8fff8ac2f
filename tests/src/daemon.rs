//! `sapphired` as a process: started, watched by what it prints and logs, asked by signals, ended.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use sa_rig::{Fabric, wait_for};

use crate::cli::program;

/// For what takes the daemon a moment: a reload, an end.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A running `sapphired`; killed when dropped.
#[derive(Debug)]
pub struct Daemon {
    child: Child,
    out: PathBuf,
    err: PathBuf,
    /// Lines of standard output that were waited for.
    seen: usize,
}

impl Daemon {
    /// Starts it with a configuration file, as a client of the fabric.
    pub fn start(fabric: &Fabric, config: &Path) -> Result<Self> {
        // Its workers poll: on a machine with few cores they would take them from their clients.
        let mut command = Command::new("nice");
        command.args(["-n", "19"]);
        command.arg(program("sapphired")?);
        command
            .env("IBSIM_SOCKNAME", fabric.base())
            .current_dir(fabric.dir());
        Self::spawn(command, config)
    }

    /// Starts it under the simulator's preload library, as if it ran on `node`.
    pub fn preloaded(fabric: &Fabric, node: &str, config: &Path) -> Result<Self> {
        Self::spawn(fabric.preloaded(&program("sapphired")?, node)?, config)
    }

    /// Starts what ends in `sapphired`, with its configuration file and its log beside that.
    pub fn spawn(mut command: Command, config: &Path) -> Result<Self> {
        command.arg("--config").arg(config);
        let files = (config.with_extension("out"), config.with_extension("err"));
        let (out, err) = (File::create(&files.0)?, File::create(&files.1)?);
        Self::run(command, (out, err), files)
    }

    /// Starts a command that is complete, with all that it prints and logs in one file.
    pub fn spawn_into(command: Command, said: PathBuf) -> Result<Self> {
        let file = File::create(&said)?;
        let (out, err) = (file.try_clone()?, file);
        Self::run(command, (out, err), (said.clone(), said))
    }

    fn run(
        mut command: Command,
        (to_out, to_err): (File, File),
        (out, err): (PathBuf, PathBuf),
    ) -> Result<Self> {
        command
            .env_remove("RUST_LOG")
            .stdin(Stdio::null())
            .stdout(to_out)
            .stderr(to_err);
        let child = command.spawn()?;
        Ok(Self {
            child,
            out,
            err,
            seen: 0,
        })
    }

    /// What it printed so far: `ready`, `reloaded`, `reload failed`.
    pub fn printed(&self) -> String {
        fs::read_to_string(&self.out).unwrap_or_default()
    }

    /// What it logged so far.
    pub fn logged(&self) -> String {
        fs::read_to_string(&self.err).unwrap_or_default()
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Errors: it has ended; the message has what it logged.
    pub fn alive(&mut self) -> io::Result<()> {
        match self.child.try_wait()? {
            None => Ok(()),
            Some(status) => {
                let logged = self.logged();
                Err(io::Error::other(format!(
                    "sapphired ended ({status}):\n{logged}"
                )))
            }
        }
    }

    /// Waits for its next line on standard output.
    pub fn next_line(&mut self) -> Result<String> {
        let nth = self.seen;
        let mut line = None;
        let waited = wait_for("sapphired's next line", PATIENCE, || {
            let printed = self.printed();
            line = whole_lines(&printed).nth(nth).map(str::to_owned);
            // In this order: a process that has just ended may have printed before.
            if line.is_none() {
                self.alive()?;
            }
            Ok(line.is_some())
        });
        waited.with_context(|| self.logged())?;
        self.seen += 1;
        line.context("a line")
    }

    /// Waits for `ready epoch=N` or `reloaded epoch=N`; gives N.
    pub fn next_epoch(&mut self, word: &str) -> Result<u64> {
        let line = self.next_line()?;
        let epoch = line
            .strip_prefix(word)
            .and_then(|rest| rest.strip_prefix(" epoch="));
        let epoch = epoch.and_then(|digits| digits.parse().ok());
        epoch.with_context(|| {
            format!(
                "expected \"{word} epoch=N\", got {line:?}:\n{}",
                self.logged()
            )
        })
    }

    /// Waits until it has logged `text`.
    pub fn wait_logged(&mut self, text: &str) -> Result<()> {
        let waited = wait_for(text, PATIENCE, || {
            self.alive()?;
            Ok(self.logged().contains(text))
        });
        waited.with_context(|| self.logged())
    }

    /// Sends a signal, such as `HUP`.
    pub fn signal(&self, name: &str) -> Result<()> {
        let id = self.pid().to_string();
        let script = ["-c", "kill -\"$1\" \"$2\"", "sh", name, &id];
        ensure!(
            Command::new("sh").args(script).status()?.success(),
            "kill -{name} {id}"
        );
        Ok(())
    }

    /// Asks for its counters and gives the line of its first port.
    pub fn counters(&mut self) -> Result<String> {
        let lines = |logged: &str| {
            let all = whole_lines(logged).filter(|line| line.contains("counters port=0"));
            all.map(str::to_owned).collect::<Vec<_>>()
        };
        let before = lines(&self.logged()).len();
        self.signal("USR1")?;
        let mut now = None;
        wait_for("sapphired's counters", PATIENCE, || {
            self.alive()?;
            now = lines(&self.logged()).into_iter().nth(before);
            Ok(now.is_some())
        })?;
        now.context("counters")
    }

    /// Ends it by SIGTERM.
    pub fn terminate(self) -> Result<(ExitStatus, String)> {
        self.signal("TERM")?;
        self.ended()
    }

    /// Waits until it has ended by itself. Gives how, and what it logged.
    pub fn ended(mut self) -> Result<(ExitStatus, String)> {
        let mut status = None;
        wait_for("sapphired's end", PATIENCE, || {
            status = self.child.try_wait()?;
            Ok(status.is_some())
        })?;
        Ok((status.context("a status")?, self.logged()))
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Stops a process (SIGSTOP), and waits until all of its threads stand. The signal stops a process when one of its threads next runs, which
/// on a busy machine is a while after it was sent; the others go on until then.
pub fn stop(pid: u32) -> Result<()> {
    let sent = Command::new("kill")
        .args(["-STOP", &pid.to_string()])
        .status()?;
    ensure!(sent.success(), "kill -STOP {pid}");
    let stands = |task: &Path| -> io::Result<bool> {
        let stat = fs::read_to_string(task.join("stat"))?;
        let state = stat.rsplit_once(") ").map(|(_, rest)| rest);
        Ok(state.is_some_and(|state| state.starts_with(['T', 'Z'])))
    };
    wait_for("a process that stands", PATIENCE, || {
        for task in fs::read_dir(format!("/proc/{pid}/task"))? {
            if !stands(&task?.path())? {
                return Ok(false);
            }
        }
        Ok(true)
    })?;
    Ok(())
}

/// A number in a line of counters: after `received=`, or after `dropped=not_ready:`.
pub fn count(counters: &str, name: &str) -> Result<u64> {
    let rest = counters
        .split_once(&format!(" {name}"))
        .map(|(_, rest)| rest);
    let digits = rest.and_then(|rest| rest.split(|c: char| !c.is_ascii_digit()).next());
    digits
        .and_then(|digits| digits.parse().ok())
        .with_context(|| format!("no {name}NUMBER in {counters:?}"))
}

/// Lines that are finished.
fn whole_lines(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive('\n')
        .filter_map(|line| line.strip_suffix('\n'))
}
