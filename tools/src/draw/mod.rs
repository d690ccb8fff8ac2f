//! `sapphire draw`: a torus as a picture, for operators and for documents.
//!
//! [`scene`] says what there is to see, [`svg`] and [`text`] draw it.
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
//! A scene is plain values, so that tests compare scenes and pictures without parsing either. The
//! same scene always gives the same bytes; a picture in a document can be drawn again and compared.
//!
//! It draws tori and meshes alone: of no other fabric is it known where switches stand. What
//! torus-2QoS refuses is drawn as well, as far as the switches could be placed, because a picture
//! of the damage is what the operator needs then; the exit status is 3 all the same.
//!
//! What options add: `--path` compiles a snapshot and follows the tables, `--multicast` takes the
//! engine's tree, `--vl-load` counts the paths between all switches. All three may stand together.

mod caption;
mod layout;
mod load;
mod path;
mod scene;
mod svg;
mod text;
mod view;

#[cfg(test)]
mod tests;

use std::path::PathBuf;

use clap::{ArgAction, Args};
use routing::{Topology, Torus};
use sa_compiler::pipeline::{self, Compiled, Inputs, PipelineError, Stamp, remarks_of_engine};
use sa_compiler::state::FabricState;
use sa_fabric::outlet::{self, Readers};

use self::load::Load;
use self::path::Path;
use self::scene::{Scene, Tree};
use crate::failure::{Failure, Outcome};
use crate::inputs::{FabricArgs, failure, or_fail, warn};

#[derive(Debug, Args)]
pub(crate) struct Draw {
    #[command(flatten)]
    fabric: FabricArgs,
    /// SVG file to write; - for standard output
    #[arg(short, long, value_name = "FILE", required_unless_present = "text")]
    output: Option<PathBuf>,
    /// Print the picture as text
    #[arg(long)]
    text: bool,
    /// Draw the path between two ports, each a node name, GUID or LID; may repeat
    #[arg(long, num_args = 2, value_names = ["SRC", "DST"], action = ArgAction::Append)]
    path: Vec<String>,
    /// Draw the tree of which multicast groups use parts
    #[arg(long)]
    multicast: bool,
    /// Colour links by how many paths between switches use them
    #[arg(long)]
    vl_load: bool,
}

/// The picture is written also where something in it is wrong; the exit status tells.
pub(crate) fn run(verb: &Draw) -> Outcome {
    // A picture in the middle of the other would be of no use to anybody.
    if verb.text && is_standard_output(verb) {
        return Err(Failure::usage(
            "--text and -o - both write to standard output; leave one out".to_owned(),
        ));
    }
    check_is_svg(verb)?;
    let drawing = draw(verb)?;
    emit(verb, &drawing.scene)?;
    drawing.problem.map_or(Ok(()), |why| {
        Err(Failure::refused(why.trim_end().to_owned()))
    })
}

/// Pictures of other formats have names that promise them.
/// Found before the fabric is read and routed, which may take a while.
fn check_is_svg(verb: &Draw) -> Outcome {
    const OTHERS: [&str; 11] = [
        "png", "jpg", "jpeg", "gif", "pdf", "ps", "eps", "webp", "bmp", "tif", "tiff",
    ];
    let extension = verb.output.as_deref().and_then(std::path::Path::extension);
    let extension = extension.unwrap_or_default().to_string_lossy();
    match OTHERS
        .iter()
        .any(|other| extension.eq_ignore_ascii_case(other))
    {
        false => Ok(()),
        true => Err(Failure::usage(format!(
            "-o: only SVG is written, not {extension}; give a name that ends in .svg, and convert \
             that, as with rsvg-convert"
        ))),
    }
}

/// A picture, and what is wrong with the fabric in it.
/// The picture is written in any case, the problem told after it.
struct Drawing {
    scene: Scene,
    /// Sentences, a line each.
    problem: Option<String>,
}

/// Errors: those of reading and routing, but for a refusal with places to draw.
fn draw(verb: &Draw) -> Outcome<Drawing> {
    let inputs = verb.fabric.inputs();
    check_is_torus(&inputs)?;
    // SLs of paths are what the SA answers, policy included, which takes a snapshot; all else is in
    // the tables.
    let routed = if verb.path.is_empty() {
        route(&inputs)
    } else {
        compile(&inputs).map(Routed::Compiled)
    };
    match routed {
        Ok(routed) => draw_routed(verb, &routed),
        Err(PipelineError::Refused(refused)) => draw_refused(verb, &refused),
        Err(error) => Err(failure(error)),
    }
}

/// Only torus-2QoS knows where switches are.
/// Errors: usage, before anything is read.
fn check_is_torus(inputs: &Inputs) -> Outcome {
    if !inputs.is_open_to_torus() {
        return Err(no_places(
            "this engine knows no coordinates; leave --engine out",
        ));
    }
    if inputs.torus_conf().is_none() {
        return Err(no_places("give --torus-conf"));
    }
    Ok(())
}

/// The two ways to have no coordinates share this sentence.
fn no_places(advice: &str) -> Failure {
    Failure::usage(format!(
        "draw needs the place of every switch in a torus, which a torus configuration tells: \
         {advice}"
    ))
}

/// What the picture is made from; SLs of paths are read from a snapshot.
/// Compiling takes longer than routing, so it is done for paths alone.
enum Routed {
    Parts(Box<FabricState>),
    Compiled(Box<Compiled>),
}

impl Routed {
    fn parts(&self) -> &FabricState {
        match self {
            Self::Parts(parts) => parts,
            Self::Compiled(compiled) => &compiled.parts,
        }
    }
}

/// Warnings of reading are told before routing, which may fail.
fn route(inputs: &Inputs) -> Result<Routed, PipelineError> {
    let sources = pipeline::read(inputs)?;
    warn(&sources.warnings);
    let parts = pipeline::route(sources)?;
    warn(&remarks_of_engine(parts.routes.warnings()));
    Ok(Routed::Parts(Box::new(parts)))
}

fn compile(inputs: &Inputs) -> Result<Box<Compiled>, PipelineError> {
    let compiled = pipeline::compile(inputs, Stamp::default())?;
    warn(&compiled.warnings);
    Ok(Box::new(compiled))
}

/// Puts onto the scene what was asked for, and collects the paths that there are not.
fn draw_routed(verb: &Draw, routed: &Routed) -> Outcome<Drawing> {
    let parts = routed.parts();
    let Some(torus) = parts.routes.torus() else {
        return Err(no_places("this engine knows no coordinates"));
    };
    let mut scene = Scene::of(&parts.topology, torus);
    if verb.multicast {
        let tree = parts.routes.multicast_tree();
        // None where the engine makes no tree; nothing is drawn then.
        scene.tree = tree.map(|tree| Tree::of(tree, torus));
    }
    if verb.vl_load {
        scene.load = Some(Load::measure(&parts.topology, &parts.routes, torus));
    }
    if let Routed::Compiled(compiled) = routed {
        scene.paths = paths(verb, compiled, torus)?;
    }
    // Told after the picture, which shows the other paths.
    let missing = scene.paths.iter().filter_map(Path::problem);
    let problem = missing.collect::<Vec<_>>().join("\n");
    Ok(Drawing {
        scene,
        problem: Some(problem).filter(|problem| !problem.is_empty()),
    })
}

/// In the order of the command line. Errors: a name that no port has, or that several have.
fn paths(verb: &Draw, compiled: &Compiled, torus: &Torus) -> Outcome<Vec<Path>> {
    let find = |text: &String| or_fail(compiled.parts.subnet.find(text));
    // Clap takes two values per `--path`, so nothing is left over.
    let pairs = verb.path.chunks_exact(2);
    pairs
        .map(|pair| Path::trace(compiled, torus, find(&pair[0])?, find(&pair[1])?))
        .collect()
}

/// The placement alone: there are no paths, no tree and no load to draw.
/// Without places there is nothing to draw, and the refusal is all that is said.
fn draw_refused(verb: &Draw, refused: &pipeline::Refused) -> Outcome<Drawing> {
    warn(&remarks_of_engine(&refused.refusal.warnings));
    let Some(torus) = refused.refusal.torus.as_deref() else {
        return Err(Failure::refused(format!(
            "{refused}\nthe switches could not be placed, so there is nothing to draw"
        )));
    };
    Ok(Drawing {
        scene: refused_scene(&refused.topology, torus),
        problem: Some(format!("{refused}\n{}", refused_note(verb))),
    })
}

/// Also for the tests, which refuse fabrics on purpose.
fn refused_scene(topology: &Topology, torus: &Torus) -> Scene {
    Scene {
        // The caption says so in its first line.
        is_refused: true,
        ..Scene::of(topology, torus)
    }
}

/// Whoever asked for paths is told why there are none.
fn refused_note(verb: &Draw) -> &'static str {
    if verb.path.is_empty() && !verb.multicast && !verb.vl_load {
        "the picture shows where the switches are and what is missing"
    } else {
        "the picture shows where the switches are and what is missing; there are no routes to draw"
    }
}

/// `-` is no file's name here; `./-` is.
fn is_standard_output(verb: &Draw) -> bool {
    verb.output.as_deref() == Some(std::path::Path::new("-"))
}

/// Text and file may both be asked for.
fn emit(verb: &Draw, scene: &Scene) -> Outcome {
    if verb.text {
        out!("{}", text::render(scene));
    }
    match &verb.output {
        Some(_) if is_standard_output(verb) => {
            out!("{}", svg::render(scene));
            Ok(())
        }
        Some(path) => {
            let picture = svg::render(scene);
            or_fail(outlet::write(path, Readers::All, picture.as_bytes()))
        }
        None => Ok(()),
    }
}
