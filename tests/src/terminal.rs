//! A terminal that a program runs on: a pseudo-terminal, and what a person would see on it.
//!
//! ```text
//!  test ──keys──> master ══ pseudo-terminal ══ slave <──> a program
//!                   └──bytes──> Whole ──> vt100 ──> the picture, the cursor, which screen
//! ```
//!
//! A program that draws in synchronized updates (DEC mode 2026) is seen as on a terminal that knows them: never half a picture.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use anyhow::{Context, Result, ensure};
use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{Termios, Winsize, tcgetattr, tcsetwinsize};
use sa_rig::wait_for;

use crate::daemon::PATIENCE;

/// A program on its terminal; killed when dropped.
pub struct Terminal {
    child: Child,
    keys: File,
    /// Held open, so that the terminal outlives the program.
    slave: OwnedFd,
    before: Termios,
    picture: Arc<Mutex<vt100::Parser>>,
}

impl Terminal {
    /// Starts a command on a terminal of so many rows and columns.
    pub fn start(mut command: Command, (rows, columns): (u16, u16)) -> Result<Self> {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let master = openpt(flags)?;
        grantpt(&master)?;
        unlockpt(&master)?;
        let slave = ioctl_tiocgptpeer(&master, flags)?;
        let size = Winsize {
            ws_row: rows,
            ws_col: columns,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        tcsetwinsize(&master, size)?;
        let before = tcgetattr(&slave)?;
        command
            .stdin(slave.try_clone()?)
            .stdout(slave.try_clone()?)
            .stderr(slave.try_clone()?);
        let child = command.spawn()?;
        let picture = Arc::new(Mutex::new(vt100::Parser::new(rows, columns, 0)));
        let mut bytes = File::from(master.try_clone()?);
        let drawn = Arc::clone(&picture);
        // Ends when the last holder of the slave's side is gone.
        thread::spawn(move || {
            let mut buffer = [0; 4096];
            let mut whole = Whole::default();
            while let Ok(count @ 1..) = bytes.read(&mut buffer) {
                let shown = whole.take(&buffer[..count]);
                let mut picture = drawn.lock().unwrap_or_else(PoisonError::into_inner);
                picture.process(&shown);
            }
        });
        Ok(Self {
            child,
            keys: File::from(master),
            slave,
            before,
            picture,
        })
    }

    /// Something of the picture.
    fn seen<T>(&self, what: impl FnOnce(&vt100::Screen) -> T) -> T {
        what(
            self.picture
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .screen(),
        )
    }

    /// What stands on the screen.
    pub fn text(&self) -> String {
        self.seen(vt100::Screen::contents)
    }

    /// Whether anything on the screen has a colour.
    pub fn has_colour(&self) -> bool {
        self.seen(|screen| {
            let (rows, columns) = screen.size();
            let mut cells = (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column)));
            cells.any(|(row, column)| {
                let cell = screen.cell(row, column);
                cell.is_some_and(|cell| {
                    cell.fgcolor() != vt100::Color::Default
                        || cell.bgcolor() != vt100::Color::Default
                })
            })
        })
    }

    /// Presses keys.
    pub fn press(&mut self, keys: &str) -> Result<()> {
        Ok(self.keys.write_all(keys.as_bytes())?)
    }

    /// Waits until the picture is like that, and gives it. Errors: it never is; the message has the last one.
    pub fn wait(&mut self, what: &str, is_it: impl Fn(&str) -> bool) -> Result<String> {
        let waited = wait_for(what, PATIENCE, || Ok(is_it(&self.text())));
        waited.with_context(|| format!("on the screen:\n{}", self.text()))?;
        Ok(self.text())
    }

    /// Sends a signal, as `kill -NAME`.
    pub fn signal(&self, name: &str) -> Result<()> {
        let script = format!("kill -{name} {}", self.child.id());
        ensure!(Command::new("sh").args(["-c", &script]).status()?.success());
        Ok(())
    }

    /// Errors: the program has not taken the terminal: its keys are shown, or it draws where the shell wrote.
    pub fn ensure_taken(&self) -> Result<()> {
        ensure!(
            modes(&tcgetattr(&self.slave)?) != modes(&self.before),
            "keys are not raw"
        );
        ensure!(self.seen(|screen| screen.alternate_screen() && screen.hide_cursor()));
        Ok(())
    }

    /// Waits for the end. Errors: the terminal is not as it was before the program.
    pub fn wait_ended(mut self) -> Result<Ended> {
        let mut status = None;
        let waited = wait_for("the end of the program", PATIENCE, || {
            status = self.child.try_wait()?;
            Ok(status.is_some())
        });
        waited.with_context(|| format!("on the screen:\n{}", self.text()))?;
        ensure!(
            modes(&tcgetattr(&self.slave)?) == modes(&self.before),
            "keys are left raw"
        );
        // What it wrote last may be on its way through the terminal still.
        wait_for("the shell's screen and its cursor", PATIENCE, || {
            Ok(self.seen(|screen| !screen.alternate_screen() && !screen.hide_cursor()))
        })?;
        Ok(Ended(status.context("a status")?))
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// How it ended, on a terminal that is as before.
pub struct Ended(ExitStatus);

impl Ended {
    /// Its exit status; none where a signal ended it.
    pub fn code(&self) -> Option<i32> {
        self.0.code()
    }

    /// The signal that ended it.
    pub fn signal(&self) -> Option<i32> {
        self.0.signal()
    }
}

/// What a program changes to have keys at once and unseen.
fn modes(of: &Termios) -> String {
    format!(
        "{:?} {:?} {:?} {:?}",
        of.input_modes, of.output_modes, of.control_modes, of.local_modes
    )
}

/// Keeps back what is of a synchronized update that has not ended, which vt100 would show piece by piece.
#[derive(Debug, Default)]
struct Whole {
    kept: Vec<u8>,
}

impl Whole {
    const BEGIN: &[u8] = b"\x1b[?2026h";
    const END: &[u8] = b"\x1b[?2026l";

    /// What may be shown after these bytes have come.
    fn take(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.kept.extend_from_slice(bytes);
        let ended = last(&self.kept, Self::END).map_or(0, |at| at + Self::END.len());
        let after = self.kept.split_at(ended).1;
        let shown = match first(after, Self::BEGIN) {
            Some(begun) => ended + begun,
            None => self.kept.len() - begun_mark(after),
        };
        let rest = self.kept.split_off(shown);
        std::mem::replace(&mut self.kept, rest)
    }
}

fn first(bytes: &[u8], mark: &[u8]) -> Option<usize> {
    bytes.windows(mark.len()).position(|it| it == mark)
}

fn last(bytes: &[u8], mark: &[u8]) -> Option<usize> {
    bytes.windows(mark.len()).rposition(|it| it == mark)
}

/// How many bytes at the end may be those of a beginning, cut by the reading.
fn begun_mark(bytes: &[u8]) -> usize {
    let longest = bytes.len().min(Whole::BEGIN.len() - 1);
    let is_cut = |count: &usize| bytes.ends_with(&Whole::BEGIN[..*count]);
    (1..=longest).rev().find(is_cut).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn however_it_is_cut_an_update_is_shown_when_it_is_whole() {
        let written = b"ab\x1b[1mc\x1b[?2026hone\x1b[?2026l\x1b[?2026htwo\x1b[?2026ld\x1b[?2026hth";
        for size in 1..=written.len() {
            let mut whole = Whole::default();
            let mut shown = Vec::new();
            for bytes in written.chunks(size) {
                shown.extend(whole.take(bytes));
                let text = String::from_utf8_lossy(&shown);
                let (begun, ended) = (text.matches("[?2026h"), text.matches("[?2026l"));
                assert_eq!(begun.count(), ended.count(), "{size}: {text:?}");
            }
            assert!(shown.ends_with(b"\x1b[?2026ld"), "{size}");
            assert_eq!(whole.kept, b"\x1b[?2026hth", "{size}");
        }
    }

    #[test]
    fn what_is_no_update_is_shown_as_it_comes() {
        let mut whole = Whole::default();
        assert_eq!(whole.take(b"a\x1b[?2"), b"a");
        assert_eq!(whole.take(b"5h"), b"\x1b[?25h");
        assert_eq!(whole.take(b"b"), b"b");
    }
}
