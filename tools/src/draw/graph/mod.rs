//! A fabric without coordinates as a picture: levels and groups, found from its cables.
//!
//! ```text
//! Topology          whole, and what is left of it (the next four are of `sa_layout::graph`)
//!   | wires         -> a graph
//!   | levels        -> steps from the switches with hosts
//!   | shape         -> groups, and the form: rows, fans, circles, ring
//!   | blocks        -> what a sign stands for: a switch, or in large fabrics many
//!   | scene         -> signs and bundles, with damage, paths, tree and load on them
//!   | layout        -> places on paper
//!   v svg, words    -> lines, boxes, or cells of a matrix; text
//! ```
//!
//! Names put switches of a row into the order that people expect, and nothing else: what a fabric
//! is called by `sapphire fabric` and what it is called by whoever built a machine look the same
//! here.

mod scene;
mod svg;
mod words;

#[cfg(test)]
mod tests;

use routing::Topology;
use sa_compiler::state::FabricState;

use self::scene::Scene;
use super::count::{Counts, Destination, Source};
use super::trace::Trace;
use super::{Asked, Picture};

/// A fabric with what was asked for on it. `whole` is what it was before parts of it failed.
pub(super) fn picture(
    asked: Asked,
    parts: &FabricState,
    whole: &Topology,
    traces: Vec<Trace>,
) -> Picture {
    let mut scene = Scene::of(&parts.topology, whole);
    if asked.load {
        scene.add_load(&parts.topology, &measured(parts));
    }
    if asked.multicast {
        scene.add_tree(parts);
    }
    scene.add_paths(traces);
    rendered(asked, &scene)
}

/// The fabric alone: there are no paths, no tree and no load to draw.
pub(super) fn refused(asked: Asked, left: &Topology, whole: &Topology) -> Picture {
    let mut scene = Scene::of(left, whole);
    scene.is_refused = true;
    rendered(asked, &scene)
}

fn rendered(asked: Asked, scene: &Scene) -> Picture {
    Picture {
        svg: asked.svg.then(|| svg::render(scene)),
        text: asked.text.then(|| words::text(scene)),
    }
}

/// Paths from every host to every other one. Switches with hosts are few in a tree, and hosts of
/// one leaf go different ways, so that paths between switches would say little.
fn measured(parts: &FabricState) -> Counts {
    let topology = &parts.topology;
    let hosts = topology.switch_ixs().flat_map(|switch| {
        let hosts = topology.hosts(switch);
        hosts.map(move |(input, end)| Source {
            switch,
            input,
            lid: topology.end_port(end).lid,
        })
    });
    let sources: Vec<_> = hosts.collect();
    let destinations: Vec<_> = sources
        .iter()
        .map(|host| Destination {
            switch: host.switch,
            lid: host.lid,
        })
        .collect();
    Counts::measure(topology, &parts.routes, &sources, &destinations)
}
