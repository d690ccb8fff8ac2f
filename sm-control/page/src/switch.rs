//! One switch: its ports, what is at the far ends, and what is wrong with any of it.

use maud::{Markup, html};
use routing::{EndPortIx, Peer, SwitchIx, Topology};
use sa_compiler::state::FabricState;
use sa_fabric::PortRef;

use crate::fabric::{Marks, Note};
use crate::links::switch_link;
use crate::shell::{Here, Shell};
use crate::words::{counted, escaped, name_of};

/// The page. `whole`: the topology with what is drained. `switch`: of it.
pub fn page(
    shell: Shell<'_>,
    (parts, whole): (&FabricState, &Topology),
    marks: &Marks,
    switch: SwitchIx,
) -> String {
    let of = whole.switch(switch);
    let name = name_of(&of.description);
    let notes: Vec<_> = marks.all_of(of.guid).collect();
    let main = html! {
        p class="small" { a href="/fabric" { "Fabric" } }
        h1 { "Switch " (name) }
        (facts((parts, whole), switch))
        h2 { "Findings" }
        @if notes.is_empty() { p { "None." } }
        @else { ul class="problems" { @for (port, note) in notes { (finding(port, note)) } } }
        h2 { "Ports" }
        (ports((parts, whole), marks, switch))
    };
    shell.document(Here::Fabric, &format!("Switch {name}"), &main)
}

fn facts((parts, whole): (&FabricState, &Topology), switch: SwitchIx) -> Markup {
    let of = whole.switch(switch);
    let place = parts
        .routes
        .torus()
        .and_then(|torus| torus.coordinate(switch));
    let lid = parts
        .subnet
        .by_guid(of.guid)
        .and_then(|ix| whole.end_ports.get(ix));
    let ports = of.ports.len().saturating_sub(1);
    html! {
        dl class="facts answer" {
            div { dt { "Node GUID" } dd { code { (of.guid) } } }
            div { dt { "LID" } dd { @match lid { Some(end) => (end.lid), None => "–" } } }
            @if let Some(place) = place { div { dt { "Place" } dd { (place) } } }
            div { dt { "Ports" } dd { (ports) } }
            div { dt { "Hosts" } dd { (whole.hosts(switch).count()) } }
            div { dt { "Cables to switches" } dd { (whole.cables(switch).count()) } }
        }
    }
}

/// A note of a port, or of the switch.
fn finding(port: Option<u8>, note: &Note) -> Markup {
    html! {
        li class=(note.mark.class()) {
            p {
                span class="badge" { (note.mark.word()) } " "
                @if let Some(port) = port { "Port " (port) ": " }
                (name_of(&note.words))
            }
            @if note.cause.is_some() || note.remedy.is_some() {
                dl {
                    @if let Some(cause) = note.cause { dt { "Cause" } dd { (cause) } }
                    @if let Some(remedy) = note.remedy { dt { "Remedy" } dd { (remedy) } }
                }
            }
        }
    }
}

fn ports((parts, whole): (&FabricState, &Topology), marks: &Marks, switch: SwitchIx) -> Markup {
    let of = whole.switch(switch);
    let numbers = (1..=u8::MAX).take(of.ports.len().saturating_sub(1));
    html! {
        div class="wide" role="region" aria-label="Ports" tabindex="0" {
            table class="numbers" {
                caption { (counted(of.ports.len().saturating_sub(1), "port")) }
                thead { tr { @for head in ["Port", "State", "Far end", "Far port", "LIDs", "MTU", "Rate", "Data VLs", "Notes"] { th scope="col" { (head) } } } }
                tbody {
                    @for port in numbers { (row((parts, whole), marks, (switch, port))) }
                }
            }
        }
    }
}

fn row(
    (parts, whole): (&FabricState, &Topology),
    marks: &Marks,
    (switch, port): (SwitchIx, u8),
) -> Markup {
    let of = whole.switch(switch);
    let facts = &of.ports[usize::from(port)];
    let notes: Vec<_> = marks
        .of_port(of.guid, port)
        .iter()
        .map(|note| note.mark.word())
        .collect();
    let is_used = !matches!(facts.peer, Peer::Nothing);
    html! {
        tr {
            th scope="row" { (port) }
            td { (state(parts, switch, port)) }
            (far_end((parts, whole), switch, port))
            @if is_used {
                td { (facts.capacity.mtu.bytes()) }
                td { (facts.capacity.rate.rate()) }
                td { (facts.operational_vls.get()) }
            } @else { td { "–" } td { "–" } td { "–" } }
            td { (notes.join(", ")) }
        }
    }
}

/// Of the link, as the source of the fabric tells it.
fn state(parts: &FabricState, switch: SwitchIx, port: u8) -> &'static str {
    let node = parts.subnet.switches().get(switch.index());
    let state = node.map(|node| {
        parts
            .subnet
            .fabric()
            .port(PortRef { node: *node, port })
            .state
    });
    state.map_or("–", |state| match state.name() {
        "DWN" => "Down",
        "INI" => "Init",
        "ARM" => "Armed",
        _ => "Active",
    })
}

/// Far end, its port, its LIDs: three cells.
fn far_end((parts, whole): (&FabricState, &Topology), switch: SwitchIx, port: u8) -> Markup {
    match whole.peer(switch, port) {
        Peer::Switch { switch: far, port } => {
            let far = whole.switch(far);
            html! {
                td { (switch_link(far.guid, &far.description)) }
                td { (port) }
                td { "–" }
            }
        }
        Peer::EndPort(end) => host(whole, end),
        Peer::Nothing => dark(parts, switch, port),
    }
}

/// A host, with all of its LIDs.
fn host(whole: &Topology, end: EndPortIx) -> Markup {
    let end = whole.end_port(end);
    let lids: Vec<_> = end.lids().map(|lid| lid.to_string()).collect();
    let lids = match lids.as_slice() {
        [first, .., last] => format!("{first}–{last}"),
        _ => lids.join(""),
    };
    html! {
        td { a href={ "/path?src=" (escaped(&end.guid.to_string())) } { (name_of(&end.description)) } }
        td { (end.port_number) }
        td { (lids) }
    }
}

/// A port that leads nowhere: there may be a cable whose link is down.
fn dark(parts: &FabricState, switch: SwitchIx, port: u8) -> Markup {
    let fabric = parts.subnet.fabric();
    let node = parts.subnet.switches().get(switch.index());
    let far = node.and_then(|node| fabric.port(PortRef { node: *node, port }).peer);
    html! {
        @match far {
            Some(far) => { td { (name_of(fabric.node(far.node).name())) } td { (far.port) } },
            None => { td { "nothing" } td { "–" } },
        }
        td { "–" }
    }
}
