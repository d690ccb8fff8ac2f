//! What a relay has on its way, for who asks it too early.

use fleet_transfer::serve::Desk;
use sa_fleet::follower::Action;
use sa_fleet::identity::Digest;

/// Before what is announced is handed on: whoever hears of it asks at once.
pub(super) fn expect(desk: &Desk, actions: &[Action]) {
    match actions.iter().rev().find_map(wanted) {
        Some(blob) => desk.expects(Some(blob)),
        None if actions.iter().any(is_end) => desk.expects(None),
        None => {}
    }
}

/// The blob that is to be here.
const fn wanted(action: &Action) -> Option<Digest> {
    match action {
        Action::Load { blob, .. }
        | Action::FetchPatch { blob, .. }
        | Action::FetchWhole { blob, .. } => Some(blob.digest),
        _ => None,
    }
}

const fn is_end(action: &Action) -> bool {
    matches!(action, Action::Cancel { .. })
}
