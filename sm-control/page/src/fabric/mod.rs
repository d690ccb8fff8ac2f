//! The fabric in force as a picture, or as parts that lead to pictures.
//!
//! ```text
//!  FabricState ── subnet.topology ──> whole: with what is drained ── parts ─┬─ one, or one is chosen ──> plan ──> svg
//!                                              Marks ───────────────────────┴─ many ──> density
//! ```
//!
//! Routes know nothing of what is drained, so a picture is made from the subnet and not from what
//! routing saw. What stands out is told below the picture once more as a list: nobody has to see
//! colours, or to point at anything.

mod density;
mod marks;
mod svg;

use maud::{Markup, html};
use routing::{SwitchIx, Topology};
use sa_compiler::state::FabricState;
use sa_layout::plan::{self, Part, Plan};

pub use self::marks::{Mark, Marks, Note};
use self::svg::Picture;
use crate::links::switch_link;
use crate::shell::{Here, Shell};
use crate::words::{counted, name_of};

/// Most switches of a list below a picture.
const LISTED: usize = 200;

/// The page. `whole`: the topology with what is drained. `part`: which, of a fabric in parts; none:
/// all of it.
///
/// Cost: what the plan takes, some milliseconds for 1,000 switches; a search for groups in the
/// whole fabric above that.
pub fn page(
    shell: Shell<'_>,
    (parts, whole): (&FabricState, &Topology),
    marks: &Marks,
    part: Option<usize>,
) -> String {
    let torus = parts.routes.torus();
    let cut = plan::parts(whole, torus);
    let chosen = match cut.as_slice() {
        [only] => Some(only),
        many => part.and_then(|part| many.get(part)),
    };
    let outside = plan::outside(whole, torus);
    let main = html! {
        h1 { "Fabric" }
        (lead(parts, whole))
        (search())
        @match chosen {
            Some(part) => (drawn((parts, whole), marks, part, cut.len() > 1)),
            None => { h2 { "Parts" } (density::tiles(whole, marks, &cut)) (legend()) },
        }
        (list(whole, marks, chosen))
        @if !outside.is_empty() {
            h2 { "Without a place in the torus" }
            (switches(whole, &outside))
        }
    };
    shell.document(Here::Fabric, "Fabric", &main)
}

fn lead(parts: &FabricState, whole: &Topology) -> Markup {
    let hosts = whole
        .end_ports
        .iter()
        .filter(|end| end.attached.is_some_and(|(_, port)| port != 0));
    html! {
        p class="lead" {
            (counted(whole.switches.len(), "switch")) ", " (counted(hosts.count(), "host port")) ", routes by "
            (parts.routes.engine().to_string()) "."
        }
        @if let Some(refused) = &parts.refusal {
            p class="note error" { "The engine refuses this fabric; what is left of the routes before is in force: " (name_of(&refused.words)) }
        }
    }
}

/// By name, for who does not want to look for a dot.
fn search() -> Markup {
    html! {
        form action="/switch" method="get" class="form line" {
            p {
                label for="name" { "Switch" }
                input type="text" id="name" name="name" required maxlength="200" autocomplete="off" spellcheck="false"
                    placeholder="name, GUID or LID";
                button type="submit" { "Show" }
            }
        }
    }
}

/// One part, or the whole.
fn drawn(
    (parts, whole): (&FabricState, &Topology),
    marks: &Marks,
    part: &Part,
    is_part: bool,
) -> Markup {
    let plan: Plan = part.plan(whole, parts.routes.torus());
    let down: Vec<_> = marks::down(parts, whole).collect();
    let picture = Picture {
        whole,
        plan: &plan,
        marks,
        down: &down,
    };
    let cables: usize = plan.lines.iter().map(|line| line.cables.len()).sum();
    let desc = format!(
        "{} and {} among them. Each switch leads to its page; what stands out is listed below.",
        counted(plan.switches.len(), "switch"),
        counted(cables, "cable"),
    );
    html! {
        @if is_part {
            h2 { "Part " (name_of(&part.name)) }
            p { a href="/fabric" { "All parts" } ". " (counted(plan.leaving, "cable")) " lead to other parts." }
        }
        (legend())
        p class="skips" { a class="skip" href="#list" { "Skip the picture" } }
        div class="sheet" role="region" aria-label="Picture of the fabric" tabindex="0" { (svg::svg(picture, &desc)) }
    }
}

/// What the colours mean; in words, too.
fn legend() -> Markup {
    html! {
        ul class="legend" aria-label="Legend" {
            li { span class="key" {} "as it should be" }
            @for mark in Mark::ALL { li { span class={ "key " (mark.class()) } {} (mark.word()) } }
        }
    }
}

/// What stands out, switch by switch.
fn list(whole: &Topology, marks: &Marks, part: Option<&Part>) -> Markup {
    let all: Vec<SwitchIx> = match part {
        Some(part) => part.switches.clone(),
        None => whole.switch_ixs().collect(),
    };
    let worst = |ix: &SwitchIx| marks.worst(whole.switch(*ix).guid);
    let mut marked: Vec<_> = all
        .iter()
        .filter_map(|ix| Some((worst(ix)?, *ix)))
        .collect();
    marked.sort();
    html! {
        h2 id="list" { "What stands out" }
        @if marked.is_empty() { p { "Nothing." } }
        @else {
            ul class="columns" {
                @for (mark, ix) in marked.iter().take(LISTED) {
                    @let of = whole.switch(*ix);
                    li { span class={ "badge " (mark.class()) } { (mark.word()) } " " (switch_link(of.guid, &of.description)) }
                }
            }
            @if marked.len() > LISTED { p { "And " (counted(marked.len() - LISTED, "switch")) " more." } }
        }
    }
}

fn switches(whole: &Topology, some: &[SwitchIx]) -> Markup {
    html! {
        ul class="columns" {
            @for ix in some { @let of = whole.switch(*ix); li { (switch_link(of.guid, &of.description)) } }
        }
    }
}
