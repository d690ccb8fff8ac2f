//! What the cables of a simulated fabric run at.
//!
//! A net file says what ports may run at. What comes of it is asked of [`agree`], for each cable
//! twice, once from each end: both must come to the same, or a path would have two rates. Ports
//! without a cable keep no link at all, so that they count as down.

use std::collections::HashMap;

use sa_text::Position;
use sa_wire::NodeType;

use crate::error::{ParseError, Problem};
use crate::link::{Link, LinkSpeed};
use crate::model::{Fabric, LinkState, PortRef};
use crate::train::{Disagreement, Enabled, End, agree, tells_fdr10};

/// Sets what every cable runs at. Errors: [`Problem::NothingInCommon`], as ibsim stops there too.
///
/// FDR10 is told only of devices that OpenSM asks for it ([`tells_fdr10`]); others show QDR.
pub(super) fn train(
    fabric: &mut Fabric,
    ends: &HashMap<PortRef, (Position, Enabled)>,
) -> Result<(), ParseError> {
    // Collected, as the fabric is changed on the way.
    let cables: Vec<_> = fabric.cabled().collect();
    for (here, there) in cables {
        let (at, one) = end(fabric, ends, here);
        let (_, other) = end(fabric, ends, there);
        let link = agree(&one, &other).map_err(|disagreement| {
            let what = match disagreement {
                Disagreement::Width => "link width",
                Disagreement::Speed => "link speed",
            };
            let (from, to) = (fabric.port_name(here), fabric.port_name(there));
            ParseError::new(at, Problem::NothingInCommon { what, from, to })
        })?;
        if let Some(node) = fabric.nodes.get_mut(here.node.get()) {
            let is_hidden =
                link.speed == LinkSpeed::Fdr10 && !tells_fdr10(node.vendor_id, node.device_id);
            let speed = if is_hidden {
                LinkSpeed::Qdr
            } else {
                link.speed
            };
            if let Some(port) = node.ports.get_mut(usize::from(here.port)) {
                port.link = Some(Link { speed, ..link });
                port.state = LinkState::Active;
            }
        }
    }
    Ok(())
}

/// What an end may run at, and its place in OpenSM's order. A port without a line of its own has
/// ibsim's defaults.
fn end(
    fabric: &Fabric,
    ends: &HashMap<PortRef, (Position, Enabled)>,
    port: PortRef,
) -> (Position, End) {
    let nowhere = (Position { line: 1, column: 1 }, Enabled::DEFAULT);
    let (at, enabled) = ends.get(&port).copied().unwrap_or(nowhere);
    let node = fabric.node(port.node);
    // OpenSM programs by port GUID; the ports of a switch have that of the node.
    let guid = fabric.port(port).guid.unwrap_or(node.guid);
    let is_switch = node.kind == NodeType::Switch;
    (
        at,
        End {
            enabled,
            is_switch,
            order: (guid.map_order(), port.port),
        },
    )
}
