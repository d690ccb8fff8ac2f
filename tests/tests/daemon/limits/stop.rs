//! Ending, and reloading, whatever a load is at.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use super::*;
use sa_tests::cli::sapphire_in;

/// More than a loaded machine takes for one second's work, and less than any load that these tests
/// begin would take.
const AT_ONCE: Duration = Duration::from_secs(5);

const WITH_POLICY: &str = "[policy]\nfile = \"policy.conf\"\n";

fn ends_at_once(bed: &mut Bed) -> Result<()> {
    let took = time_to_stop(bed)?;
    ensure!(took < AT_ONCE, "{took:?} to stop");
    Ok(())
}

/// A file that is written all the time.
struct Restless {
    stop: Arc<AtomicBool>,
    writer: Option<JoinHandle<std::io::Result<()>>>,
}

impl Restless {
    fn new(path: &Path) -> Self {
        let (stop, path) = (Arc::<AtomicBool>::default(), path.to_owned());
        let told = Arc::clone(&stop);
        let writer = std::thread::spawn(move || {
            while !told.load(Ordering::Relaxed) {
                let mut text = fs::read_to_string(&path)?;
                text.push('\n');
                fs::write(&path, text)?;
                std::thread::sleep(Duration::from_millis(5));
            }
            Ok(())
        });
        Self {
            stop,
            writer: Some(writer),
        }
    }
}

impl Drop for Restless {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let _ = self.writer.take().map(JoinHandle::join);
    }
}

/// Makes `read` of the policy wait for as long as a file "hold" lies beside it: what a file system
/// does whose server is away. "held" then says that it waits.
const HOLD: &str = r#"
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

ssize_t read(int fd, void *to, size_t most)
{
	char link[64], path[4096];
	const char *place = getenv("HOLD");
	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	ssize_t length = readlink(link, path, sizeof path - 1);
	if (place && length > 0) {
		path[length] = 0;
		if (strstr(path, "/policy.conf")) {
			char hold[4096], held[4096];
			snprintf(hold, sizeof hold, "%s/hold", place);
			snprintf(held, sizeof held, "%s/held", place);
			while (access(hold, F_OK) == 0) {
				close(open(held, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
				usleep(1000);
			}
		}
	}
	return syscall(SYS_read, fd, to, most);
}
"#;

/// A daemon whose policy can be held.
fn holding() -> Result<Bed> {
    let mut bed = Bed::new(&config(WITH_POLICY))?;
    let library = bed.preload("hold", HOLD)?;
    fs::write(bed.dir().join("policy.conf"), files::POLICY)?;
    let directory = bed.dir().to_owned();
    bed.start_with(&[("LD_PRELOAD", &library), ("HOLD", &directory)])?;
    bed.wait_logged("ready epoch=")?;
    fs::write(bed.dir().join("hold"), "")?;
    Ok(bed)
}

fn wait_held(bed: &mut Bed) -> Result<()> {
    let held = bed.dir().join("held");
    Ok(wait_for("a load that hangs", PATIENCE, || {
        Ok(held.exists())
    })?)
}

#[test]
fn forty_reloads_of_a_file_that_never_lies_still_do_not_hold_the_end_up() -> Result<()> {
    let _turn = sa_tests::turn::heavy();
    let mut bed = Bed::new(&config(WITH_POLICY))?;
    let policy = bed.dir().join("policy.conf");
    fs::write(&policy, files::POLICY)?;
    bed.serve()?;
    let _restless = Restless::new(&policy);
    for _ in 0..40 {
        signal(&mut bed, "HUP")?;
    }
    bed.wait_logged("reload failed")?;
    for _ in 0..40 {
        signal(&mut bed, "HUP")?;
    }
    ends_at_once(&mut bed)
}

#[test]
fn first_loads_that_are_tried_again_and_again_do_not_hold_the_end_up() -> Result<()> {
    let _turn = sa_tests::turn::heavy();
    let mut bed = Bed::new(&config(WITH_POLICY))?;
    let policy = bed.dir().join("policy.conf");
    fs::write(&policy, files::POLICY)?;
    let _restless = Restless::new(&policy);
    bed.start()?;
    bed.wait_logged("faster than they can be read")?;
    ends_at_once(&mut bed)
}

#[test]
fn a_load_of_a_large_fabric_does_not_hold_the_end_up() -> Result<()> {
    let _turn = sa_tests::turn::heavy();
    let mut bed = Bed::new(CONFIG)?;
    bed.serve()?;
    let larger = [
        "fabric", "torus", "16", "16", "16", "--hosts", "2", "-o", ".",
    ];
    let made = sapphire_in(bed.dir(), &larger)?;
    ensure!(made.status.success(), "{made:?}");
    signal(&mut bed, "HUP")?;
    answers_still(&bed)?;
    ends_at_once(&mut bed)
}

/// The daemon answers something.
fn answers_still(bed: &Bed) -> Result<()> {
    let mut client = Client::connect(&bed.ring())?;
    client.ask(1, &request::path_by_lids(1, 1))?;
    Ok(())
}

#[test]
fn a_read_that_hangs_holds_neither_answers_nor_the_end_up() -> Result<()> {
    let _turn = sa_tests::turn::heavy();
    let mut bed = holding()?;
    signal(&mut bed, "HUP")?;
    wait_held(&mut bed)?;
    answers_still(&bed)?;
    ends_at_once(&mut bed)
}

#[test]
fn reloads_asked_for_during_a_load_are_one_load_after_it() -> Result<()> {
    let mut bed = holding()?;
    signal(&mut bed, "HUP")?;
    wait_held(&mut bed)?;
    for _ in 0..40 {
        signal(&mut bed, "HUP")?;
    }
    // An answer to a signal that came after them.
    signal(&mut bed, "USR1")?;
    bed.wait_logged("received=")?;
    fs::remove_file(bed.dir().join("hold"))?;
    bed.wait_logged("reloaded epoch=3")?;
    bed.terminate()?;
    let loads = bed.printed()?.matches("reloaded epoch=").count();
    ensure!(loads == 2, "{loads} loads");
    Ok(())
}
