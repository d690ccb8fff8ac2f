//! Huge pages: large snapshots are read all over, and small pages cost a look-up each.
//!
//! The look-ups of an answer go to a handful of places all over a snapshot; with pages of 4 KiB
//! each of them may miss the TLB too. Snapshots ask for huge pages (`madvise`), so the setting for
//! those who ask is enough.
//!
//! The setting that is looked at is that of the machine; what one process asks for cannot go beyond
//! it.

use super::finding::Finding;
use crate::machine::Machine;

/// Reads as `always [madvise] never`, the word in brackets being in force.
const THP: &str = "/sys/kernel/mm/transparent_hugepage/enabled";

/// Never a problem: with small pages answers are slower and the same.
pub(super) fn look(machine: &Machine, findings: &mut Vec<Finding>) {
    let Some(text) = machine.text(THP) else {
        findings.push(Finding::warning(
            "memory",
            "this kernel has no transparent huge pages",
            "nothing for small fabrics; for thousands of hosts take a kernel that has them",
        ));
        return;
    };
    // As in `always [madvise] never`.
    let chosen = text.split(['[', ']']).nth(1).unwrap_or("?");
    findings.push(match chosen {
        // Snapshots ask for them.
        "always" | "madvise" => Finding::ok("memory", format!("transparent huge pages: {chosen}")),
        _ => Finding::warning(
            "memory",
            format!("transparent huge pages: {chosen}"),
            format!("for fabrics of thousands of hosts: echo madvise > {THP}"),
        ),
    });
}
