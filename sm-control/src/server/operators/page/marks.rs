//! What stands out of the fabric, from those who know: the health of links, and what is drained.
//!
//! Both ends of a link have the note, so that either switch shows it.

use routing::Topology;
use sa_compiler::state::FabricState;
use sa_page::fabric::{Mark, Marks, Note};
use sm_health::{Finding, Severity};

use super::super::status::Status;
use super::super::sweeps::Part;

/// Everything that is known now.
pub(super) fn all(status: &Status, parts: &FabricState, whole: &Topology) -> Marks {
    let mut marks = Marks::of(parts, whole);
    if let Some(observed) = status.observed() {
        for finding in observed.report().findings {
            add_finding(&mut marks, &finding);
        }
    }
    if let Some(sweeps) = status.sweeps() {
        for (part, is_there, is_left) in sweeps.drained().iter() {
            add_drain(&mut marks, whole, part, (*is_there, *is_left));
        }
    }
    marks
}

fn add_finding(marks: &mut Marks, finding: &Finding) {
    let kind = finding.kind;
    let note = Note {
        mark: match kind.severity() {
            Severity::Fault => Mark::Fault,
            Severity::Hint => Mark::Hint,
        },
        words: finding.what.clone(),
        cause: Some(kind.cause()),
        remedy: Some(kind.remedy()),
    };
    for place in finding.peer.iter().chain([&finding.place]) {
        marks.add(place.guid, place.port, note.clone());
    }
}

/// A switch, or a cable by both of its ends.
fn add_drain(marks: &mut Marks, whole: &Topology, part: &Part, (is_there, is_left): (bool, bool)) {
    let words = match (is_there, is_left) {
        (false, _) => "drained, and not in the subnet",
        (true, true) => "drained: routes have left it",
        (true, false) => "drained: routes have not left it yet",
    };
    let note = Note {
        mark: Mark::Drained,
        words: words.to_owned(),
        cause: None,
        remedy: Some("sapphire undrain ends it"),
    };
    marks.add(part.guid, part.port, note.clone());
    let switch = whole
        .switch_ixs()
        .find(|ix| whole.switch(*ix).guid == part.guid);
    if let (Some(switch), Some(port)) = (switch, part.port)
        && let routing::Peer::Switch { switch: far, port } = whole.peer(switch, port)
    {
        marks.add(whole.switch(far).guid, Some(port), note);
    }
}
