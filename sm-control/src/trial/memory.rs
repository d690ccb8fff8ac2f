//! How much memory a process has, and how much it may still take.
//!
//! Three limits count: the address space (`RLIMIT_AS`, systemd's `LimitAS=`), the control groups of
//! this process and those above them (`MemoryMax=`), and what the machine has available. Where one
//! cannot be read it is taken for none: a trial would be refused for nothing otherwise. Of a
//! group's usage the page cache that nobody used lately is left out, as the kernel gives that up
//! first.
//!
//! ```text
//!  RLIMIT_AS 8 GiB, VmSize 1 GiB            space   7 GiB
//!  MemAvailable                             20 GiB
//!  /a/b memory.max 4 GiB, current 3, cache 1       2 GiB     narrower than /a
//!  room: space 7 GiB, memory 2 GiB, grouped
//! ```

use core::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use rustix::process::{Resource, getrlimit};
use serde::{Deserialize, Serialize};

/// What a process may still take, now. Units: bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Room {
    /// Of address space.
    pub(super) space: u64,
    /// Of memory.
    pub(super) memory: u64,
    /// A control group is narrower than the machine: for the words of an error.
    is_grouped: bool,
}

/// What a process has taken. Units: bytes.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub(super) struct Taken {
    /// Of address space.
    pub(super) space: u64,
    /// Of memory.
    pub(super) memory: u64,
}

impl Room {
    /// The narrowest limit. Units: bytes.
    pub(super) fn least(&self) -> u64 {
        self.space.min(self.memory)
    }

    /// The least, and what bounds it.
    pub(super) fn narrowest(&self) -> (u64, Limit) {
        match (self.space < self.memory, self.is_grouped) {
            (true, _) => (self.space, Limit::AddressSpace),
            (false, true) => (self.memory, Limit::ControlGroup),
            (false, false) => (self.memory, Limit::Machine),
        }
    }
}

/// What bounds the memory of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// RLIMIT_AS.
    AddressSpace,
    /// A control group that it is in, or one above.
    ControlGroup,
    /// What the kernel says is available.
    Machine,
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::AddressSpace => "its address space is limited, RLIMIT_AS",
            Self::ControlGroup => "the limit of its control group",
            Self::Machine => "what this machine has available",
        })
    }
}

impl Taken {
    /// So much of both.
    pub(super) const fn alike(bytes: u64) -> Self {
        Self {
            space: bytes,
            memory: bytes,
        }
    }

    /// What was taken in between.
    pub(super) const fn since(self, before: Self) -> Self {
        Self {
            space: self.space.saturating_sub(before.space),
            memory: self.memory.saturating_sub(before.memory),
        }
    }
}

/// What this process may still take. Reads a handful of files; nothing of it is kept, since others
/// take memory too.
pub(super) fn room() -> Room {
    let limit = getrlimit(Resource::As).current;
    let space = limit.map_or(u64::MAX, |limit| limit.saturating_sub(own().space));
    let machine = fs::read_to_string("/proc/meminfo");
    let machine = machine.ok().and_then(|text| kib(&text, "MemAvailable:"));
    let (machine, group) = (machine.unwrap_or(u64::MAX), left_of_groups());
    Room {
        space,
        memory: machine.min(group),
        is_grouped: group < machine,
    }
}

/// What this process has.
pub(super) fn own() -> Taken {
    status("self", "VmSize:", "VmRSS:")
}

/// The most that this process has had.
pub(super) fn peak() -> Taken {
    status("self", "VmPeak:", "VmHWM:")
}

/// What another process has; nothing once it has ended, or where it may not be looked at.
pub(super) fn of(process: u32) -> Taken {
    status(&process.to_string(), "VmSize:", "VmRSS:")
}

/// From `/proc/PID/status`.
fn status(process: &str, space: &str, memory: &str) -> Taken {
    let text = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    Taken {
        space: kib(&text, space).unwrap_or(0),
        memory: kib(&text, memory).unwrap_or(0),
    }
}

/// A line such as `VmSize:  12 kB`. Units: bytes.
fn kib(text: &str, name: &str) -> Option<u64> {
    number(text, name).map(|kib| kib << 10)
}

/// The first number behind a name at the beginning of a line.
fn number(text: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix(name));
    lines.next()?.split_whitespace().next()?.parse().ok()
}

/// What the control groups of this process leave it, the narrowest of them. Both versions are
/// looked at: a machine may have the memory controller in either.
fn left_of_groups() -> u64 {
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let lines = groups.lines().filter_map(|line| {
        let (_, rest) = line.split_once(':')?;
        rest.split_once(':')
    });
    let left = lines.filter_map(|(controllers, path)| match controllers {
        "" => ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"]
            .iter()
            .filter_map(|mount| left_above(mount, path, &TWO))
            .min(),
        _ if controllers.split(',').any(|name| name == "memory") => {
            left_above("/sys/fs/cgroup/memory", path, &ONE)
        }
        _ => None,
    });
    left.min().unwrap_or(u64::MAX)
}

/// Names of the files of a control group.
struct Names {
    limits: &'static [&'static str],
    usage: &'static str,
    /// What the kernel gives up at once, in `memory.stat`.
    spare: &'static str,
}

/// Of version 2.
const TWO: Names = Names {
    limits: &["memory.max", "memory.high"],
    usage: "memory.current",
    spare: "inactive_file ",
};

/// Of version 1.
const ONE: Names = Names {
    limits: &["memory.limit_in_bytes"],
    usage: "memory.usage_in_bytes",
    spare: "total_inactive_file ",
};

/// Of a group and those above it.
fn left_above(mount: &str, path: &str, names: &Names) -> Option<u64> {
    let group = PathBuf::from(format!("{mount}{path}"));
    // A group is bound by those above it as well.
    let groups = group.ancestors().filter(|group| group.starts_with(mount));
    groups.filter_map(|group| left_in(group, names)).min()
}

/// What is left in one group. None where it has no limit.
fn left_in(group: &Path, names: &Names) -> Option<u64> {
    let read = |name: &str| fs::read_to_string(group.join(name)).ok();
    let bytes = |name: &&str| read(name)?.trim().parse::<u64>().ok();
    // "max" is no number, and no limit.
    let limit = names.limits.iter().filter_map(bytes).min()?;
    let usage = bytes(&names.usage)?;
    let spare = read("memory.stat").and_then(|text| number(&text, names.spare));
    // Page cache counts as usage, and is given up before anything is killed.
    let used = usage.saturating_sub(spare.unwrap_or(0));
    Some(limit.saturating_sub(used))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_narrowest_group_counts() {
        let directory = tempfile::tempdir().unwrap();
        let put = |place: &str, name: &str, text: &str| {
            let group = directory.path().join(place);
            fs::create_dir_all(&group).unwrap();
            fs::write(group.join(name), text).unwrap();
        };
        let left = || left_above(directory.path().to_str().unwrap(), "/a/b", &TWO);
        put("a/b", "memory.max", "max\n");
        assert_eq!(left(), None);
        put("a", "memory.max", "1000\n");
        put("a", "memory.high", "900\n");
        put("a", "memory.current", "500\n");
        assert_eq!(left(), Some(400));
        put("a", "memory.stat", "anon 400\ninactive_file 70\n");
        assert_eq!(left(), Some(470));
        put("a/b", "memory.max", "300\n");
        put("a/b", "memory.current", "200\n");
        assert_eq!(left(), Some(100));
    }

    #[test]
    fn this_process_has_something_and_may_take_more() {
        let own = own();
        assert!(own.space >= own.memory && own.memory > 0, "{own:?}");
        let peak = peak();
        assert!(peak.space >= own.space && peak.memory > 0, "{peak:?}");
        assert!(room().least() > 0);
    }
}
