//! Values of the fabric, a switch, and snapshots.
//!
//! ```text
//!  state of the epoch in force ──> fabric, switch          status ──> snapshots
//! ```
//!
//! Both are looked up for each page: nothing is kept between two, so a page is never older than
//! what it was asked of.

use axum::http::StatusCode;
use routing::SwitchIx;
use sa_compiler::state::FabricState;
use sa_page::snapshots::{Kept, Snapshots};
use sa_page::{Here, fabric, switch};
use sa_wire::{Lid, NodeType};

use super::super::status::{InService, Rollback};
use super::{Page, Reply, marks, nothing, value};

/// The fabric, or a part of it.
pub(super) fn fabric(page: &Page, query: Option<&str>) -> Reply {
    let force = match page.force() {
        Ok(force) => force,
        Err(why) => return nothing(page, StatusCode::OK, Here::Fabric, "Fabric", why),
    };
    let parts = &force.state.parts;
    let whole = parts.subnet.topology(&parts.options);
    let marks = marks::all(&page.status, parts, &whole);
    let part = value(query, "part").parse().ok();
    page.shown(|shell| fabric::page(shell, (parts, &whole), &marks, part))
        .into()
}

/// A switch, by whatever names it.
pub(super) fn switch(page: &Page, query: Option<&str>) -> Reply {
    let force = match page.force() {
        Ok(force) => force,
        Err(why) => return nothing(page, StatusCode::OK, Here::Fabric, "Switch", why),
    };
    let parts = &force.state.parts;
    let name = value(query, "name");
    match find(parts, &name) {
        Ok(found) => {
            let whole = parts.subnet.topology(&parts.options);
            let marks = marks::all(&page.status, parts, &whole);
            page.shown(|shell| switch::page(shell, (parts, &whole), &marks, found))
                .into()
        }
        Err(why) => nothing(
            page,
            StatusCode::NOT_FOUND,
            Here::Fabric,
            "No such switch",
            &why,
        ),
    }
}

/// The switch of that name, GUID or LID, or the one that a host is plugged into. Errors: in words.
fn find(parts: &FabricState, name: &str) -> Result<SwitchIx, String> {
    let subnet = &parts.subnet;
    let by_lid = || {
        let lid = Lid::new(name.parse().ok()?).ok()?;
        let at = subnet.end_ports().get(subnet.by_lid(lid)?)?.at.node;
        (subnet.fabric().node(at).kind == NodeType::Switch).then_some(at)
    };
    let node = match subnet.find_switch(name) {
        Ok(node) => Ok(node),
        Err(why) => by_lid().ok_or(why),
    };
    let of_node = |node| subnet.switches().iter().position(|switch| *switch == node);
    match node {
        Ok(node) => of_node(node)
            .and_then(nth)
            .ok_or_else(|| "The Subnet Manager does not reach this switch.".to_owned()),
        Err(why) => {
            let end = subnet.find(name).map_err(|_| format!("{why}."))?;
            let attached = parts
                .topology
                .end_ports
                .get(end)
                .and_then(|end| end.attached);
            attached
                .map(|(switch, _)| switch)
                .ok_or_else(|| format!("{why}."))
        }
    }
}

fn nth(index: usize) -> Option<SwitchIx> {
    u32::try_from(index).ok().map(SwitchIx)
}

/// What was in force lately, with what may be returned to.
pub(super) fn snapshots(page: &Page) -> Snapshots {
    let status = &page.status;
    let (rollback, published) = (status.rollback(), status.published_lately());
    let newest = status.service().map(|service| service.epoch);
    let kept = published.iter().rev().map(|it| {
        let role = match () {
            () if Some(it.epoch) == newest => "in force",
            () if Some(it.epoch) == rollback.previous => "a rollback returns to it",
            () => "was in force",
        };
        kept(it, role)
    });
    Snapshots {
        kept: kept.collect(),
        held: Rollback::clone(&rollback).held.map(|epoch| epoch.get()),
        disk: disk(page),
    }
}

fn kept(it: &InService, role: &'static str) -> Kept {
    Kept {
        epoch: it.epoch.get(),
        role,
        built_unix: it.built_unix,
        age: it.age(),
        bytes: it.bytes,
        digest: format!("{:016x}", it.digest),
        engine: it.engine.clone(),
        switches: it.switches,
        hosts: it.hosts,
        rules: it.rules,
    }
}

/// What a restart would find, in words.
fn disk(page: &Page) -> String {
    let Some(directory) = &page.status.state_directory else {
        return "No [state] directory: a restart begins with nothing.".to_owned();
    };
    let kept = page.status.kept();
    let stored = match kept.stored {
        Some(epoch) => format!("Epoch {epoch} is in {directory}."),
        None => format!("Nothing is in {directory} yet."),
    };
    match &kept.problem {
        Some(problem) => format!("{stored} The last write failed: {problem}."),
        None => stored,
    }
}
