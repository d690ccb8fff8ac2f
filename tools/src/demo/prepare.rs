//! Fabric, routes, policy and snapshots of the demo, through the same files and functions as in
//! operation.
//!
//! Files are written and read even though the plan of the torus is at hand: the parsers, the
//! placement by `torus-2QoS.conf` and the policy's dialect are part of what is shown.
//!
//! The fabric file is written once. A change of the policy writes the policy's file again, and a
//! failure names in the inputs what is gone, as `--fail` of other verbs does; LIDs stay as they
//! were.

use std::fs;
use std::path::Path;
use std::time::Instant;

use sa_compiler::pipeline::{self, Compiled, Inputs, Stamp};
use sa_fabric::generate::{TorusPlan, TorusSpec, plan};
use sa_fabric::store;
use sa_snapshot::Snapshot;

use super::damage::Damage;
use crate::failure::{Failure, Outcome};
use crate::inputs::{failure, or_fail};
use crate::scratch::Scratch;

/// The very file of the documentation, so that it cannot grow stale.
pub(super) const POLICY: &str = include_str!("../../../docs/examples/qos-policy.conf");
/// The same after the file servers have lost their level.
const CHANGED: &str = include_str!("../../../docs/examples/qos-policy-changed.conf");

/// Everything that the load runs on.
/// Four states of one fabric, compiled in advance: before, after, and after each failure.
pub(super) struct Prepared {
    /// The fabric.
    /// As it was made up; hosts and coordinates by name.
    pub(super) plan: TorusPlan,
    /// With the sample policy.
    /// Generation 0.
    pub(super) before: Compiled,
    /// With the policy changed.
    /// Generation 1.
    pub(super) after: Compiled,
    /// `before`, written to a file and read back.
    pub(super) mapped: Snapshot,
    /// What fails then, one after the other.
    pub(super) damages: Vec<Damage>,
    /// Where the files are that everything is compiled from.
    /// Removed when this is dropped; compiling under load reads them again.
    _directory: Scratch,
}

/// Builds all of it, telling what takes how long.
/// Errors: the temporary directory; a state that does not prove, which is a defect of ours.
pub(super) fn prepare(radix: u8) -> Outcome<Prepared> {
    let directory = or_fail(Scratch::new())?;
    let plan = or_fail(plan(&TorusSpec::new([radix; 3], 2)))?;
    let (switches, hosts) = (plan.switches.len(), plan.hosts.len());
    outln!(
        "fabric      {radix} x {radix} x {radix} torus, {switches} switches, {hosts} hosts, {} links",
        plan.links.len()
    );
    put(directory.path(), "net", &plan.net())?;
    put(directory.path(), "torus-2QoS.conf", &plan.torus_conf())?;
    let inputs = inputs(directory.path());
    let before = compile(&inputs, POLICY)?;
    tell(&before);
    let mapped = through_a_file(directory.path(), &before)?;
    let after = compile(&inputs, CHANGED)?;
    // After the changed policy has been written: failures are compiled with it.
    let damages = Damage::in_turn(&plan, &inputs)?;
    Ok(Prepared {
        plan,
        before,
        after,
        mapped,
        damages,
        _directory: directory,
    })
}

fn put(directory: &Path, name: &str, text: &str) -> Outcome {
    or_fail(fs::write(directory.join(name), text))
}

/// Everything named, nothing found by lying beside something else.
fn inputs(directory: &Path) -> Inputs {
    Inputs {
        fabric: directory.join("net"),
        torus_conf: Some(directory.join("torus-2QoS.conf")),
        policy: Some(directory.join("qos-policy.conf")),
        ..Inputs::default()
    }
}

/// The policy's text goes into the same file each time, as an operator edits it.
fn compile(inputs: &Inputs, policy: &str) -> Outcome<Compiled> {
    if let Some(file) = &inputs.policy {
        or_fail(fs::write(file, policy))?;
    }
    let compiled = pipeline::compile(inputs, Stamp::default()).map_err(failure)?;
    compiled.publishable().map_err(failure)?;
    Ok(compiled)
}

/// Five lines, with the times of each step of one compilation.
fn tell(compiled: &Compiled) {
    let (timings, proof) = (&compiled.timings, &compiled.proof);
    let ms = |time: std::time::Duration| time.as_secs_f64() * 1e3;
    outln!("read        {:.1} ms", ms(timings.read));
    outln!("routed      {:.1} ms, torus-2QoS", ms(timings.route));
    outln!(
        "proved      {:.1} ms, no credit loop, {} of {} pairs of ports reachable",
        ms(timings.check),
        proof.reachability.pairs - proof.reachability.lost,
        proof.reachability.pairs
    );
    let info = compiled.snapshot.info();
    outln!(
        "compiled    {:.1} ms, {} policy rules, {} path classes ({}), {} bytes",
        ms(timings.build),
        info.rules.unwrap_or(0),
        info.path_classes,
        info.encoding,
        info.bytes
    );
}

/// Writes the snapshot, reads the file, and makes sure that it is the same.
/// In operation this is the warm start: the daemon serves what it stored before it has read any
/// source.
fn through_a_file(directory: &Path, compiled: &Compiled) -> Outcome<Snapshot> {
    let path = directory.join("demo.snap");
    let start = Instant::now();
    or_fail(store::write(&path, &compiled.snapshot))?;
    let written = start.elapsed();
    let start = Instant::now();
    let mapped = or_fail(store::open(&path))?;
    outln!(
        "stored      written and synced in {:.1} ms, read and verified in {:.1} ms",
        written.as_secs_f64() * 1e3,
        start.elapsed().as_secs_f64() * 1e3
    );
    // Verified already; equal bytes show that nothing was added or lost on the way either.
    if mapped.as_bytes() == compiled.snapshot.as_bytes() {
        Ok(mapped)
    } else {
        Err(Failure::failed(
            "the snapshot read back differs from the one written",
        ))
    }
}
