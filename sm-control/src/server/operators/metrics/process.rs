//! Metrics of the process itself, by the names that all exporters give them, without `sapphire_`.
//!
//! From `/proc/self`. What cannot be read is left out: a 0 would look like a process without
//! memory.

use core::fmt;

use procfs::WithCurrentSystemInfo as _;
use procfs::process::{LimitValue, Process};

use super::page::{Page, number};

/// Everything of it, each read once.
pub(super) fn write(page: &mut Page<'_>) -> fmt::Result {
    let Ok(process) = Process::myself() else {
        return Ok(());
    };
    times(&process, page)?;
    descriptors(&process, page)
}

/// CPU, memory, threads and the start.
fn times(process: &Process, page: &mut Page<'_>) -> fmt::Result {
    let Ok(stat) = process.stat() else {
        return Ok(());
    };
    let ticks = number(procfs::ticks_per_second());
    let cpu = number(stat.utime.saturating_add(stat.stime)) / ticks;
    page.seconds("process_cpu_seconds", "CPU time of all threads", cpu)?;
    let memory = number(stat.rss_bytes().get());
    let threads = u32::try_from(stat.num_threads).unwrap_or_default();
    for (name, help, value) in [
        ("process_resident_memory_bytes", "Memory in RAM", memory),
        (
            "process_virtual_memory_bytes",
            "Memory in address space",
            number(stat.vsize),
        ),
        ("process_threads", "Threads", f64::from(threads)),
    ] {
        page.value(name, help, value)?;
    }
    // Ticks after the boot.
    let Ok(booted) = procfs::boot_time_secs() else {
        return Ok(());
    };
    let started = number(booted) + number(stat.starttime) / ticks;
    page.value(
        "process_start_time_seconds",
        "When the process was started, seconds since 1970",
        started,
    )
}

/// How many are open, and may be.
fn descriptors(process: &Process, page: &mut Page<'_>) -> fmt::Result {
    if let Ok(open) = process.fd_count() {
        let open = number(open as u64);
        page.value("process_open_fds", "Descriptors that are open", open)?;
    }
    let limits = process
        .limits()
        .map(|limits| limits.max_open_files.soft_limit);
    match limits {
        Ok(LimitValue::Value(most)) => page.value(
            "process_max_fds",
            "Descriptors that may be open",
            number(most),
        ),
        // Without a limit there is no number.
        Ok(LimitValue::Unlimited) | Err(_) => Ok(()),
    }
}
