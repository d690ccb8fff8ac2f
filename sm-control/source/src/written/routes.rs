//! Which node is at the end of a directed route.
//!
//! An SM finds each node by a NodeInfo on the route that it then goes on using, so these answers say
//! all that is needed to place the others. A route that is found to lead elsewhere after a change is
//! overwritten by the sweep that finds it, before anything is set by it.
//!
//! ```text
//!  []          H00, port 1          the SM's own node
//!  [1]         L0, port 1           found from H00 by port 1
//!  [1 4]       S1, port 1           found from L0 by port 4
//! ```

use std::collections::HashMap;

use super::kinds::NodeGuid;
use super::word::{Event, Given, attribute};

/// Routes remembered at most: all of a large fabric's cables, several times. Beyond that all are
/// forgotten, and the sweep that comes next shows them again.
const MOST: usize = 1 << 20;

/// A node, and its port by which the route enters.
type Place = (NodeGuid, u8);

/// All routes that were heard.
#[derive(Debug, Default)]
pub(super) struct Routes(HashMap<Box<[u8]>, Place>);

impl Routes {
    /// The node that an answer is of. None where its route was not heard to be found.
    pub(super) fn place(&mut self, given: Given<'_>) -> Option<Event> {
        let Given { route, told } = given;
        if told.attribute != attribute::NODE_INFO {
            let (node, port) = *self.0.get(route)?;
            return Some(Event::Told { node, port, told });
        }
        let (node, info) = told.node_info();
        let from = match route.split_last() {
            Some((port, before)) => Some((self.0.get(before)?.0, *port)),
            None => None,
        };
        self.remember(route, (node, info.local_port));
        Some(Event::Found { node, info, from })
    }

    fn remember(&mut self, route: &[u8], place: Place) {
        if let Some(known) = self.0.get_mut(route) {
            *known = place;
            return;
        }
        if self.0.len() >= MOST {
            self.0.clear();
        }
        self.0.insert(route.into(), place);
    }

    /// The node that all routes begin at.
    pub(super) fn beginning(&self) -> Option<NodeGuid> {
        self.0.get(&[][..]).map(|(node, _)| *node)
    }
}
