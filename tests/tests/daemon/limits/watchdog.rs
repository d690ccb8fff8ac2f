//! What the service manager is told, and what the units ask of it.

use std::os::unix::net::UnixDatagram;

use super::*;

/// Makes the worker stand still while a file "stall" lies in the directory: yielding its core never
/// ends.
const STALL: &str = r#"
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int sched_yield(void)
{
	char name[16] = "", path[4096];
	const char *place = getenv("STALL");
	prctl(PR_GET_NAME, name);
	if (place && strncmp(name, "sa-fp-", 6) == 0) {
		snprintf(path, sizeof path, "%s/stall", place);
		while (access(path, F_OK) == 0)
			usleep(1000);
	}
	return syscall(SYS_sched_yield);
}
"#;

/// Waits for the next message of this kind. None: none came in so long.
fn told(socket: &UnixDatagram, word: &str, most: Duration) -> Result<Option<Instant>> {
    let ends = Instant::now() + most;
    loop {
        let left = ends.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(None);
        }
        socket.set_read_timeout(Some(left))?;
        let mut message = [0; 256];
        match socket.recv(&mut message) {
            Ok(length) if String::from_utf8_lossy(&message[..length]).contains(word) => {
                return Ok(Some(Instant::now()));
            }
            Ok(_) => {}
            Err(error) => match error.kind() {
                std::io::ErrorKind::WouldBlock => return Ok(None),
                // A socket with a time limit is not asked again by itself after a signal.
                std::io::ErrorKind::Interrupted => {}
                _ => return Err(error.into()),
            },
        }
    }
}

#[test]
fn a_worker_that_hangs_ends_what_the_watchdog_is_told() -> Result<()> {
    let _turn = sa_tests::turn::heavy();
    let mut bed = Bed::new(CONFIG)?;
    let library = bed.preload("stall", STALL)?;
    let (directory, stall) = (bed.dir().to_owned(), bed.dir().join("stall"));
    let notify = bed.dir().join("notify");
    let socket = UnixDatagram::bind(&notify)?;
    bed.start_with(&[
        ("LD_PRELOAD", &library),
        ("STALL", &directory),
        ("NOTIFY_SOCKET", &notify),
        ("WATCHDOG_USEC", Path::new("3000000")),
    ])?;
    bed.wait_logged("ready epoch=")?;
    ensure!(told(&socket, "READY=1", PATIENCE)?.is_some());
    for _ in 0..3 {
        ensure!(told(&socket, "WATCHDOG=1", PATIENCE)?.is_some());
    }
    fs::write(&stall, "")?;
    bed.wait_logged("the worker of port 0 has not moved for")?;
    // What was told before that.
    while told(&socket, "WATCHDOG=1", Duration::from_millis(1))?.is_some() {}
    ensure!(told(&socket, "WATCHDOG=1", Duration::from_secs(2))?.is_none());
    fs::remove_file(&stall)?;
    ensure!(told(&socket, "WATCHDOG=1", PATIENCE)?.is_some());
    fs::write(&stall, "")?;
    let took = time_to_stop(&mut bed)?;
    ensure!(took < Duration::from_secs(5), "{took:?}");
    Ok(())
}

fn unit(name: &str) -> std::path::PathBuf {
    let units = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/examples/systemd");
    units.join(name)
}

const UNITS: [&str; 2] = ["sapphired.service", "sapphired-local.service"];

#[test]
fn the_units_have_a_watchdog_and_outlive_a_load_that_memory_ends() -> Result<()> {
    for name in UNITS {
        let text = fs::read_to_string(unit(name))?;
        for line in ["WatchdogSec=20", "OOMPolicy=continue", "Restart=always"] {
            ensure!(text.lines().any(|it| it == line), "{name} lacks {line}");
        }
    }
    Ok(())
}

#[test]
fn the_units_leave_little_exposed() -> Result<()> {
    for name in UNITS {
        let mut command = Command::new("systemd-analyze");
        command.args(["security", "--offline=true", "--no-pager"]);
        let Ok(output) = command.arg(unit(name)).output() else {
            return sa_tests::skip("skipped: no systemd-analyze");
        };
        let told = String::from_utf8(output.stdout)?;
        let Some((_, level)) = told.rsplit_once("exposure level for ") else {
            return sa_tests::skip("skipped: systemd-analyze judges no files");
        };
        let level = level.split_whitespace().nth(1).context("a level")?;
        ensure!(level.parse::<f64>()? <= 2.1, "{name}: {level}");
    }
    Ok(())
}
