//! What a query costs, in executed instructions: where one nanosecond of the guest is one.

use core::sync::atomic::AtomicBool;
use std::fs;
use std::io::Write;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use sa_port::umad::UmadClient;

use super::asker::{flood, path};
use super::responder::{Way, open, serve};
use super::{at, lid_of};

/// Turns requests around until it is ended.
pub(crate) fn echo(device: &str, way: &str) -> Result<()> {
    let umad = open(device)?;
    let mut port = Way::named(way)?.port(&umad)?;
    println!("serving");
    std::io::stdout().flush()?;
    Ok(serve(&mut *port, &AtomicBool::new(false))?)
}

/// Asks the responder `process` on a device. Prints the instructions for each query: of everybody,
/// and of the responder alone, with its share of the kernel.
pub(crate) fn ask(name: &str, server: &str, client: &str, process: &str) -> Result<()> {
    let to = at(server)?;
    let mut port = UmadClient::open(Some(client), Some(1))?;
    let from = lid_of(&port)?.get();
    let get = |number| path(from, to.lid.get(), number);
    for window in [1usize, 32] {
        // First those that grow tables and fill caches.
        for count in [WARM_UP, QUERIES] {
            let (began, before) = (Instant::now(), executed(process)?);
            let tally = flood(&mut port, to, count, window, get)?;
            ensure!(tally.answered == count as usize, "{tally:?}");
            let all = began.elapsed().as_nanos() / u128::from(count);
            let own = (executed(process)? - before) / u64::from(count);
            if count == QUERIES {
                println!("result {name}.{window}.all {all}");
                println!("result {name}.{window}.own {own}");
            }
        }
    }
    Ok(())
}

/// Of all threads of a process. Units: ns of a core.
fn executed(process: &str) -> Result<u64> {
    let mut sum = 0;
    for thread in fs::read_dir(format!("/proc/{process}/task"))? {
        let text = fs::read_to_string(thread?.path().join("schedstat"))?;
        let first = text.split_whitespace().next().context("a time")?;
        sum += first.parse::<u64>()?;
    }
    Ok(sum)
}

const WARM_UP: u32 = 300;
const QUERIES: u32 = 1500;
