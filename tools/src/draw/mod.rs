//! `sapphire draw`: a fabric as a picture, for operators and for documents.
//!
//! Where the engine knows coordinates the picture is that of a [`torus`]. Any other fabric is drawn
//! from its cables alone, as levels and groups ([`graph`]): names and the order in files say
//! nothing about where a switch stands.
//!
//! ```text
//! Inputs -> route, or compile for --path -> FabricState
//!             trace                         the way between two ports
//!             count                         how many paths cross each cable
//!             torus | graph                 -> Picture, on the signs of paper
//! ```
//!
//! Scenes are plain values, so that tests compare scenes and pictures without parsing either. The
//! same scene always gives the same bytes; a picture in a document can be drawn again and compared.
//!
//! What an engine refuses is drawn as well, without routes, because a picture of the damage is what
//! the operator needs then; the exit status is 3 all the same.
//!
//! What options add: `--path` compiles a snapshot and follows the tables, `--multicast` takes the
//! engine's tree, `--vl-load` counts the paths. All three may stand together.

mod count;
mod graph;
mod paper;
mod torus;
mod trace;

use std::path::PathBuf;

use clap::{ArgAction, Args};
use routing::Topology;
use sa_compiler::pipeline::{self, Compiled, Inputs, PipelineError, Stamp, remarks_of_engine};
use sa_compiler::state::FabricState;
use sa_fabric::outlet::{self, Readers};

use self::trace::Trace;
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
    /// Draw the tree of which multicast groups use parts; for engines that make one
    #[arg(long)]
    multicast: bool,
    /// Colour links by how many paths use them: between switches on a torus, between hosts
    /// elsewhere
    #[arg(long)]
    vl_load: bool,
}

/// What the options ask for.
///
/// One value for both pictures, so that neither looks at the command line.
#[derive(Debug, Clone, Copy)]
struct Asked {
    /// The engine's tree.
    multicast: bool,
    /// Paths of each cable.
    load: bool,
    /// A file, or standard output.
    svg: bool,
    /// On standard output.
    text: bool,
}

/// What was drawn, of what was asked for.
#[derive(Debug, Default)]
struct Picture {
    /// The document.
    svg: Option<String>,
    /// Shape: ends with a line break.
    text: Option<String>,
}

/// The picture is written also where something in it is wrong; the exit status tells.
///
/// Errors: options that contradict each other; those of reading and routing; a path that is not
/// there (exit status 3).
pub(crate) fn run(verb: &Draw) -> Outcome {
    // A picture in the middle of the other would be of no use to anybody.
    if verb.text && is_standard_output(verb) {
        return Err(Failure::usage(
            "--text and -o - both write to standard output; leave one out".to_owned(),
        ));
    }
    check_is_svg(verb)?;
    let drawing = draw(verb)?;
    emit(verb, &drawing.picture)?;
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
    picture: Picture,
    /// Sentences, a line each.
    problem: Option<String>,
}

impl Draw {
    /// The part of the command line that pictures know.
    const fn asked(&self) -> Asked {
        Asked {
            multicast: self.multicast,
            load: self.vl_load,
            svg: self.output.is_some(),
            text: self.text,
        }
    }
}

/// Errors: those of reading and routing, but for a refusal with something to draw.
fn draw(verb: &Draw) -> Outcome<Drawing> {
    let given = verb.fabric.given()?;
    let inputs = &given.inputs;
    // SLs of paths are what the SA answers, policy included, which takes a snapshot; all else is in
    // the tables.
    let routed = if verb.path.is_empty() {
        route(inputs)
    } else {
        compile(inputs).map(Routed::Compiled)
    };
    match routed {
        Ok(routed) => draw_routed(verb, inputs, &routed),
        Err(PipelineError::Refused(refused)) => draw_refused(verb, inputs, &refused),
        Err(error) => Err(failure(error)),
    }
}

/// What the picture is made from; SLs of paths are read from a snapshot.
/// Compiling takes longer than routing, so it is done for paths alone.
enum Routed {
    // Boxed, as the two differ much in size.
    /// Routed: tables, and no snapshot.
    Parts(Box<FabricState>),
    /// With a snapshot, from which the SA answers.
    Compiled(Box<Compiled>),
}

impl Routed {
    /// What both have.
    fn parts(&self) -> &FabricState {
        match self {
            Self::Parts(parts) => parts,
            Self::Compiled(compiled) => &compiled.parts,
        }
    }
}

/// Warnings of reading are told before routing, which may fail.
///
/// Errors: those of reading and routing.
fn route(inputs: &Inputs) -> Result<Routed, PipelineError> {
    let sources = pipeline::read(inputs)?;
    warn(&sources.warnings);
    let parts = pipeline::route(sources)?;
    warn(&remarks_of_engine(parts.routes.warnings()));
    Ok(Routed::Parts(Box::new(parts)))
}

/// With the snapshot that `--path` needs. Errors: those of compiling.
fn compile(inputs: &Inputs) -> Result<Box<Compiled>, PipelineError> {
    let compiled = pipeline::compile(inputs, Stamp::default())?;
    warn(&compiled.warnings);
    Ok(Box::new(compiled))
}

/// Puts onto the scene what was asked for, and collects the paths that there are not.
fn draw_routed(verb: &Draw, inputs: &Inputs, routed: &Routed) -> Outcome<Drawing> {
    let (asked, parts) = (verb.asked(), routed.parts());
    let traces = match routed {
        Routed::Compiled(compiled) => traces(verb, compiled)?,
        Routed::Parts(_) => Vec::new(),
    };
    // Told after the picture, which shows the other paths.
    let missing: Vec<_> = traces.iter().filter_map(Trace::problem).collect();
    let picture = match parts.routes.torus() {
        Some(torus) => torus::picture(asked, parts, torus, traces),
        None => {
            if asked.multicast && parts.routes.multicast_tree().is_none() {
                return Err(no_tree(parts));
            }
            let whole = undamaged(inputs, &parts.topology)?;
            graph::picture(asked, parts, &whole, traces)
        }
    };
    Ok(Drawing {
        picture,
        problem: Some(missing.join("\n")).filter(|problem| !problem.is_empty()),
    })
}

/// A picture without the tree that was asked for would look as if there were one of no branches.
fn no_tree(parts: &FabricState) -> Failure {
    Failure::usage(format!(
        "--multicast: the engine {} makes no multicast tree; leave the option out",
        parts.routes.engine()
    ))
}

/// In the order of the command line. Errors: a name that no port has, or that several have.
fn traces(verb: &Draw, compiled: &Compiled) -> Outcome<Vec<Trace>> {
    let find = |text: &String| or_fail(compiled.parts.subnet.find(text));
    // Clap takes two values per `--path`, so nothing is left over.
    let pairs = verb.path.chunks_exact(2);
    pairs
        .map(|pair| Trace::of(compiled, find(&pair[0])?, find(&pair[1])?))
        .collect()
}

/// The fabric before `--fail`: what has failed stays in the picture, crossed out.
///
/// Errors: it cannot be read, which it could a moment ago.
fn undamaged(inputs: &Inputs, damaged: &Topology) -> Outcome<Topology> {
    if inputs.failed.is_empty() {
        return Ok(damaged.clone());
    }
    let whole = Inputs {
        failed: Vec::new(),
        ..inputs.clone()
    };
    let sources = pipeline::read(&whole).map_err(|error| failure(error.into()))?;
    Ok(sources.subnet.topology(&sources.options))
}

/// The fabric alone: there are no paths, no tree and no load to draw.
///
/// Errors: a torus whose switches could not be placed.
fn draw_refused(verb: &Draw, inputs: &Inputs, refused: &pipeline::Refused) -> Outcome<Drawing> {
    warn(&remarks_of_engine(&refused.refusal.warnings));
    let picture = match refused.refusal.torus.as_deref() {
        Some(torus) => torus::refused(verb.asked(), &refused.topology, torus),
        // Without places a torus would be a tangle, and the refusal is all that is said.
        None if inputs.torus_conf().is_some() => {
            return Err(Failure::refused(format!(
                "{refused}\nthe switches could not be placed, so there is nothing to draw"
            )));
        }
        None => {
            let whole = undamaged(inputs, &refused.topology)?;
            graph::refused(verb.asked(), &refused.topology, &whole)
        }
    };
    Ok(Drawing {
        picture,
        problem: Some(format!("{refused}\n{}", refused_note(verb))),
    })
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
///
/// Errors: the file cannot be written.
fn emit(verb: &Draw, picture: &Picture) -> Outcome {
    if let Some(text) = &picture.text {
        out!("{text}");
    }
    match (&verb.output, &picture.svg) {
        (Some(_), Some(svg)) if is_standard_output(verb) => {
            out!("{svg}");
            Ok(())
        }
        (Some(path), Some(svg)) => or_fail(outlet::write(path, Readers::All, svg.as_bytes())),
        _ => Ok(()),
    }
}
