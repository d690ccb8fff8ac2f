//! A torus or mesh as a picture: every switch at its coordinate.
//!
//! Three steps, each of which knows nothing of the next:
//!
//! ```text
//! Topology, Torus, Routes        what was placed and routed
//!       |  scene, path, load     -> what there is to see: places, links, hops, counts
//!       |  view, layout          -> which axis runs where, and how much room each switch gets
//!       v  svg, text, caption    -> signs on paper
//! ```
//!
//! What torus-2QoS refuses is drawn as well, as far as the switches could be placed, because a
//! picture of the damage is what the operator needs then.

mod caption;
mod load;
mod path;
mod scene;
mod svg;
mod text;

#[cfg(test)]
mod tests;
#[cfg(test)]
pub(super) use self::tests::well_formed;

use routing::{Topology, Torus};
use sa_compiler::state::FabricState;

use self::load::Load;
use self::path::Path;
use self::scene::{Scene, Tree};
use super::trace::Trace;
use super::{Asked, Picture};

/// A torus with what was asked for on it.
pub(super) fn picture(
    asked: Asked,
    parts: &FabricState,
    torus: &Torus,
    traces: Vec<Trace>,
) -> Picture {
    let mut scene = Scene::of(&parts.topology, torus);
    if asked.multicast {
        let tree = parts.routes.multicast_tree();
        // None where the engine makes no tree; nothing is drawn then.
        scene.tree = tree.map(|tree| Tree::of(tree, torus));
    }
    if asked.load {
        scene.load = Some(Load::measure(&parts.topology, &parts.routes, torus));
    }
    let paths = traces.into_iter().map(|trace| Path::of(torus, trace));
    scene.paths = paths.collect();
    rendered(asked, &scene)
}

/// The placement alone: there are no paths, no tree and no load to draw.
pub(super) fn refused(asked: Asked, topology: &Topology, torus: &Torus) -> Picture {
    rendered(asked, &refused_scene(topology, torus))
}

fn refused_scene(topology: &Topology, torus: &Torus) -> Scene {
    Scene {
        // The caption says so in its first line.
        is_refused: true,
        ..Scene::of(topology, torus)
    }
}

fn rendered(asked: Asked, scene: &Scene) -> Picture {
    Picture {
        svg: asked.svg.then(|| svg::render(scene)),
        text: asked.text.then(|| text::render(scene)),
    }
}
