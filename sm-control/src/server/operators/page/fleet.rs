//! Values of the fleet: its page, and what the overview says of it.
//!
//! ```text
//!  FleetView: said, verdict as of now, children ──> the page | a finding where nobody is answered | a fact
//! ```

use core::sync::atomic::Ordering;
use std::time::Duration;

use fleet_node::said::Said;
use fleet_transfer::clocks;
use fleet_transfer::serve::children::Child;
use sa_fleet::identity::Digest;
use sa_fleet::offer::LONGEST_HOLD;
use sa_page::age;
use sa_page::fleet::{Children, Fleet, Host, Refused, Standing, meaning};
use sa_page::overview::{Fact, Problem};

use super::super::status::Status;
use crate::server::fleet::FleetView;

/// Who has not asked for so long is late: a poll is answered before, and the next one follows at
/// once.
const LATE: Duration = Duration::from_secs(LONGEST_HOLD.as_secs() + 5);

/// As it is now.
pub(super) fn fleet(view: &FleetView) -> Fleet {
    let said = view.said();
    let refused = said.refused.iter().map(|(refusal, count)| Refused {
        name: refusal.name(),
        why: refusal.to_string(),
        count: *count,
    });
    Fleet {
        role: view.role.name(),
        subnet: view.prefix.to_string(),
        state: view.state(&said),
        answers: view.silent().is_none(),
        fresh_ms: view.fresh_ms(&said),
        announced: said.position.to_string(),
        term: said.term,
        root_version: said.root_version,
        snapshot: said.blob.as_ref().map(short),
        refused: refused.collect(),
        alert: said
            .alert
            .as_ref()
            .map(|(at, what)| (what.clone(), clocks::now().since(*at).as_secs())),
        children: children(view, &said),
    }
}

/// Of a leader or relay.
fn children(view: &FleetView, said: &Said) -> Option<Children> {
    let counts = &view.desk.as_ref()?.counts;
    let hosts = view.children();
    let host = |(node, child): (String, Child)| {
        let since = clocks::now().since(child.at);
        let standing = match FleetView::is_fresh(said, &child) {
            _ if since > LATE => Standing::Late,
            true => Standing::Fresh,
            false => Standing::NotFresh,
        };
        Host {
            node,
            standing,
            age: since.as_secs(),
            snapshot: child.blob.as_ref().map(short),
            below: child.below,
            state: child.state,
        }
    };
    Some(Children {
        connections: counts.connections.load(Ordering::Relaxed),
        sent_bytes: counts.bytes.load(Ordering::Relaxed),
        hosts: hosts.into_iter().map(host).collect(),
    })
}

/// So much of a digest as tells two of them apart.
fn short(digest: &Digest) -> String {
    digest.to_string().chars().take(16).collect()
}

/// Of the overview: where the fleet holds all answers back, why and what to do.
pub(super) fn problem(status: &Status) -> Option<Problem> {
    let view = status.fleet()?;
    view.silent()?;
    let state = view.state(&view.said());
    let meaning = meaning(state);
    Some(Problem {
        is_fault: true,
        what: format!("nobody is answered, because of the fleet: {state}"),
        cause: meaning.map(|it| it.what.to_owned()),
        remedy: meaning.and_then(|it| it.remedy).map(str::to_owned),
        since: None,
        switch: None,
    })
}

/// Of the overview: role and state.
pub(super) fn fact(status: &Status) -> Option<Fact> {
    let view = status.fleet()?;
    let said = view.said();
    let fresh = view
        .fresh_ms(&said)
        .map_or_else(String::new, |ms| format!(", fresh for {}", age(ms / 1000)));
    let (role, state) = (view.role.name(), view.state(&said));
    Some(Fact::new("Fleet", format!("{role}, {state}{fresh}")))
}

#[cfg(test)]
mod tests {
    use fleet_node::following::word;
    use sa_fleet::time::Boot;
    use sa_fleet::verdict::{Reason, Verdict};

    use super::*;

    #[test]
    fn every_state_has_a_meaning() {
        let stops = [
            Reason::PortChanged,
            Reason::Contradicted,
            Reason::Unannounced,
            Reason::Withdrawn,
            Reason::NoSnapshot,
            Reason::OtherGeneration,
            Reason::Unconfirmed,
            Reason::StaleLease,
        ];
        for verdict in stops.map(Verdict::Stop) {
            let meaning = meaning(word(verdict));
            assert!(
                meaning.is_some_and(|it| it.remedy.is_some()),
                "{}",
                word(verdict)
            );
        }
        let answers = [Verdict::Answer(Boot::ALWAYS), Verdict::AnswerStale];
        for state in answers.map(word).into_iter().chain(["leads", "candidate"]) {
            assert!(meaning(state).is_some(), "{state}");
        }
        assert_eq!(meaning("unheard_of"), None);
    }
}
