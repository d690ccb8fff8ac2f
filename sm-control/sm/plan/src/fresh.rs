//! What switches hold through which no data passes yet, where what they lack waits for the stages of a change.
//!
//! ```text
//!  a switch was off: its links come up before routes change elsewhere
//!     with its whole table:   old entries of others lead to it, its new ones lead on      may close a loop from the first moment
//!     with what it holds:     old entries of others end there, as they did while it was off
//! ```

use routing::SwitchIx;
use sa_compiler::state::FabricState;
use sa_sm::model::Subnet;
use sa_sm::wanted::linear;

use crate::places::Index;

/// By switch: its table without entries that it does not hold as planned. Empty where all such switches hold what is planned.
pub(crate) fn rows(found: &Subnet, parts: &FabricState) -> Vec<(SwitchIx, Vec<u8>)> {
    let fresh = found.nodes().iter().filter(|node| node.is_fresh());
    let mut fresh = fresh.peekable();
    if fresh.peek().is_none() {
        return Vec::new();
    }
    let index = Index::new(found, parts);
    let rows = fresh.filter_map(|node| {
        let switch = index.switch(node.guid())?;
        let wanted = parts.routes.lft(switch);
        let mut row = linear::known(&node.tables, wanted.len());
        for (held, wanted) in row.iter_mut().zip(wanted) {
            if held != wanted {
                *held = linear::NO_PATH;
            }
        }
        (row != *wanted).then_some((switch, row))
    });
    rows.collect()
}
