//! What the signs of a torus mean.
//!
//! Only signs that occur are explained, so that the legend of a whole torus is short.

use std::collections::BTreeSet;

use routing::placement::Axis;

use super::super::scene::Scene;
use super::links::scale;
use crate::draw::paper::{Sign, colours};
use sa_layout::torus::LinkState;
use sa_layout::torus::{HopLabel, Layout};

/// Only signs that occur.
/// In the order of the picture: damage, form, hosts, then what was asked for.
pub(super) fn signs(scene: &Scene, layout: &Layout) -> Vec<(Sign, String)> {
    let mut signs = damage(scene);
    let shape = scene.shape;
    // Datelines of the third axis lie between planes and are not drawn.
    let on_paper = [layout.view.across, layout.view.up];
    let is_ring = |axis: &Axis| shape.radix_of(*axis) > 2 && !shape.is_mesh(*axis);
    if on_paper.into_iter().flatten().any(|axis| is_ring(&axis)) {
        let words = "dateline: rings are closed across it, by links that show as stubs";
        signs.push((
            Sign::line(colours::DATELINE, "1", "8 3 2 3"),
            words.to_owned(),
        ));
    }
    // Numbers beside switches are left out where there is no room, and so is their explanation.
    let has_hosts = |hosts: usize| hosts > 0;
    let mut switches = scene
        .places
        .iter()
        .filter_map(|place| place.switch.as_ref());
    if layout.room.letters.is_some() && switches.any(|switch| has_hosts(switch.hosts)) {
        signs.push((Sign::Words("1, 2, .."), "hosts of a switch".to_owned()));
    }
    let is_bundle =
        |state: &LinkState| matches!(state, LinkState::Wired(cables) if cables.len() > 1);
    if layout.room.letters.is_some() && scene.links.iter().any(|link| is_bundle(&link.state)) {
        signs.push((Sign::Words("\u{d7}2, .."), "parallel cables".to_owned()));
    }
    // Arrows as characters: drawn ones would have to be told apart from those on paths.
    if let Some(axis) = layout.view.through
        && has_slants(scene, axis)
    {
        let words = format!("links to the next {axis}, and to the one before");
        signs.push((Sign::Words("\u{2196} \u{2199}"), words));
    }
    signs.extend(of_tree(scene));
    signs.extend(of_paths(scene, layout));
    signs.extend(of_load(scene));
    signs
}

/// Links to other planes show when there is something to say about them.
/// Without any of these, slanted stubs at every switch would say nothing.
///
/// `through` is the axis that leads out of the paper.
fn has_slants(scene: &Scene, through: Axis) -> bool {
    let mut hops = scene.paths.iter().flat_map(|path| &path.hops);
    scene.tree.is_some()
        || scene.load.is_some()
        || hops.any(|hop| hop.step.direction.axis == through)
        || scene.missing_links().any(|link| link.axis == through)
}

/// Places without a switch, and links that should be there and are not.
fn damage(scene: &Scene) -> Vec<(Sign, String)> {
    let mut signs = Vec::new();
    if scene.empty_places().next().is_some() {
        signs.push((Sign::Empty, "no switch".to_owned()));
    }
    if scene.missing_links().next().is_some() {
        let sign = Sign::line(colours::MISSING, "2", "5 4");
        signs.push((sign, "no link".to_owned()));
    }
    signs
}

/// Nothing where no tree was asked for, or the engine has none.
fn of_tree(scene: &Scene) -> Vec<(Sign, String)> {
    if scene.tree.is_none() {
        return Vec::new();
    }
    vec![
        (Sign::Letter('R'), "root of the multicast tree".to_owned()),
        (
            Sign::line(colours::TREE, "3.5", "none"),
            "multicast tree".to_owned(),
        ),
    ]
}

/// A line for each VL that occurs.
fn of_paths(scene: &Scene, layout: &Layout) -> Vec<(Sign, String)> {
    let mut signs = Vec::new();
    if scene.paths.iter().any(|path| path.sl.is_ok()) {
        signs.push((Sign::Letter('S'), "source of a path".to_owned()));
        signs.push((Sign::Letter('D'), "destination of a path".to_owned()));
    }
    if scene.turns().next().is_some() {
        let words = "turn against the dimension order".to_owned();
        signs.push((Sign::Letter('I'), words));
    }
    let hops = scene.paths.iter().flat_map(|path| &path.hops);
    // Sorted, each once.
    let vls: BTreeSet<u8> = hops.map(|hop| hop.vl).collect();
    for vl in vls {
        let labels = match layout.room.hop_label {
            HopLabel::Short => "; labels are SL/VL",
            HopLabel::Full | HopLabel::None => "",
        };
        let (colour, _) = colours::vl(vl);
        let words = format!("path on VL {vl}{labels}");
        signs.push((Sign::line(colour, "6", "none"), words));
    }
    signs
}

/// The steps that links of this scene can have.
///
/// The scale is that of the links, so that legend and picture cannot disagree.
fn of_load(scene: &Scene) -> Vec<(Sign, String)> {
    let Some(load) = &scene.load else {
        return Vec::new();
    };
    let steps = scale(scene, load).steps().into_iter();
    let signs = steps.map(|(colour, width, range)| {
        let words = format!("{range} paths per cable in the busier direction");
        (Sign::line(colour, width, "none"), words)
    });
    signs.collect()
}
