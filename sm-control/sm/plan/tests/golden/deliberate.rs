//! Where devices deliberately hold something else than after OpenSM's sweep: the one list of it.
//!
//! Each entry names its row of `docs/deviations.md`. A difference that is not here stops the test, and so does an entry
//! without a difference.

use std::collections::BTreeSet;
use std::path::Path;

/// SwitchInfo.LinearFDBTop.
pub(crate) const LINEAR_TOP: &str = "LinearFDBTop";
/// SwitchInfo.PortStateChange.
pub(crate) const STATE_CHANGE: &str = "PortStateChange";
/// PortInfo.LinkSpeedActive: devices come to their best when it is written.
pub(crate) const SPEED: &str = "LinkSpeedActive";
/// PortInfo.LinkWidthActive.
pub(crate) const WIDTH: &str = "LinkWidthActive";

/// Row, recording and state, field.
const DELIBERATE: &[(u32, &str, &str)] = &[
    (63, "g13-mixed-mtu-vl state-0-up.txt", STATE_CHANGE),
    (58, "g10-guid2lid state-1-from-fabric.txt", SPEED),
    (58, "g10-guid2lid state-2-reassigned.txt", SPEED),
    (58, "g10-guid2lid state-3-lmc2.txt", SPEED),
    (58, "g10-guid2lid state-4-duplid.txt", SPEED),
    (65, "g10-guid2lid state-4-duplid.txt", LINEAR_TOP),
    (58, "g19-clientrereg state-1-taken-over.txt", SPEED),
];

/// Fields that differ in a state, beside those that may.
pub(crate) fn judge(state: &str, differing: &BTreeSet<&'static str>) {
    let own = DELIBERATE.iter().filter(|(_, name, _)| *name == state);
    let deliberate: BTreeSet<&str> = own.map(|(_, _, field)| *field).collect();
    assert_eq!(*differing, deliberate, "{state}");
}

#[test]
fn each_has_a_row() {
    let above = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    let mut files = above.map(|above| above.join("docs/deviations.md"));
    let text = std::fs::read_to_string(files.find(|file| file.is_file()).unwrap()).unwrap();
    for (row, state, _) in DELIBERATE {
        let case = state.split('-').next().unwrap();
        let line = text
            .lines()
            .find(|line| line.starts_with(&format!("| {row} |")));
        assert!(
            line.is_some_and(|line| line.contains(case)),
            "row {row} does not name {case}"
        );
    }
}
