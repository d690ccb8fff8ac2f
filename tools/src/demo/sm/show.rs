//! What a person watching sees: three lines an event.

use std::time::Duration;

use super::{SERVICE, Site, Step};

/// What is simulated.
pub(super) fn site(site: &Site, radix: u8) {
    let nodes = site.fabric.nodes().len();
    outln!(
        "subnet      {radix} x {radix} x {radix} torus, {nodes} nodes, one host on each switch; devices are simulated in this \
         process, {} us an SMP",
        SERVICE.as_micros()
    );
}

/// One event: what the sweep took, what the devices hold, what a person should know.
pub(super) fn step(step: &Step) {
    let took = &step.took;
    outln!("\n{}", step.event);
    outln!(
        "  swept     {} SMPs, {} of them Sets: {:.0} ms on such devices, {:.0} ms of this processor; planned and proved in {:.0} ms",
        took.counts.sent,
        took.counts.sets,
        ms(took.simulated),
        ms(took.core),
        ms(took.plan),
    );
    let walked = &step.walked;
    outln!(
        "  walked    {} pairs of hosts through the tables read back: {} lost, {} without an answer, {} VLs, {}",
        walked.pairs,
        walked.lost,
        walked.unanswered,
        walked.vls.count_ones(),
        if walked.credit_loop {
            "A CREDIT LOOP"
        } else {
            "no credit loop"
        },
    );
    if took.not_held > 0 {
        outln!(
            "  not held  {} blocks of tables: answers follow what the switch holds",
            took.not_held
        );
    }
    if let [first, more @ ..] = took.findings.as_slice() {
        outln!("  finding   {first}");
        if !more.is_empty() {
            outln!("            and {} more", more.len());
        }
    }
}

/// The sums.
pub(super) fn end(steps: &[Step], is_interrupted: bool) {
    if is_interrupted {
        outln!(
            "\ninterrupted after {} events; what was under way does not count",
            steps.len()
        );
    }
    let pairs: u64 = steps.iter().map(|step| step.walked.pairs).sum();
    let links: u64 = steps.iter().map(|step| step.walked.links).sum();
    let lost: u64 = steps.iter().map(|step| step.walked.lost).sum();
    outln!(
        "\n{pairs} packets over {links} links, {lost} lost; every path was asked for, and every table read from the device"
    );
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
