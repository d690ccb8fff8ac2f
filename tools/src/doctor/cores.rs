//! Cores of workers.
//!
//! A worker polls without a pause and so takes a core for itself. Shared with other threads it
//! still answers, with the scheduler's pauses in its tail; so all of this is a warning and none a
//! problem. It only says something where a configuration names cores.
//!
//! ```text
//! /sys/devices/system/cpu/isolated                            2-3,8
//! /sys/devices/system/cpu/cpu3/cpufreq/scaling_governor       performance
//! ```

use sm_control::config::Config;

use super::finding::Finding;
use crate::machine::Machine;

/// A finding for each core, in the order of the file.
pub(super) fn look(machine: &Machine, config: Option<&Config>, findings: &mut Vec<Finding>) {
    let Some(config) = config else {
        return;
    };
    let workers = &config.workers;
    if workers.cores.is_empty() {
        findings.push(Finding::warning(
            "cores",
            "[workers] cores names none: workers run wherever the kernel puts them",
            "name one core per port, and isolate these (isolcpus=, nohz_full=), where latency counts",
        ));
        return;
    }
    // A missing file means none: kernels without isolated cores have it empty.
    let isolated = machine.text("/sys/devices/system/cpu/isolated");
    let isolated = isolated.as_deref().map(listed).unwrap_or_default();
    for core in &workers.cores {
        findings.push(match isolated.contains(core) {
            true => Finding::ok("cores", format!("core {core} is isolated")),
            false => Finding::warning(
                "cores",
                format!("core {core} of [workers] is not isolated: other threads may run there"),
                format!("boot with isolcpus={core} nohz_full={core} where latency counts"),
            ),
        });
        findings.extend(governor(machine, *core));
    }
}

/// None also for machines whose clock is not the system's to set, as most virtual ones.
fn governor(machine: &Machine, core: usize) -> Option<Finding> {
    let path = format!("/sys/devices/system/cpu/cpu{core}/cpufreq/scaling_governor");
    let governor = machine.text(&path)?;
    (governor == "powersave").then(|| {
        Finding::warning(
            "cores",
            format!("core {core} is kept slow (governor powersave)"),
            format!("echo performance > {path}"),
        )
    })
}

/// As in `0-3,8`.
/// What is no number is left out: the kernel writes the file, and an empty one means none.
pub(super) fn listed(text: &str) -> Vec<usize> {
    let parts = text.split(',').filter_map(|part| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.trim().parse().ok()?..=last.trim().parse().ok()?)
    });
    parts.flatten().take(MOST_CORES).collect()
}

/// More than any kernel has.
/// A range in a made-up file must not take memory without bound.
const MOST_CORES: usize = 1 << 16;
