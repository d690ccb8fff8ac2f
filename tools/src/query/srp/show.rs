//! What was found, for people, machines and policies.
//!
//! Three readers: a person sees the tree of units, controllers and services; a program gets a line
//! of JSON per unit; and a policy's author gets the ids of all SRP services, once as a rule's
//! `service-id` and once as a line for a file of names. The last part has every id once and in
//! order, since targets with several ports report the same controllers at each.

use std::collections::BTreeSet;

use serde::Serialize;

use super::survey::{self, Unit};
use crate::failure::Outcome;
use crate::json::{self, Document};

/// In the order in which units were found.
pub(super) fn print(units: &[Unit], as_json: bool) -> Outcome {
    if as_json {
        return json::print_all(&units.iter().map(Line::new).collect::<Vec<_>>());
    }
    for unit in units {
        outln!(
            "LID {}: {} slots, controller list change {}",
            unit.lid,
            unit.slots,
            unit.change
        );
        unit.controllers.iter().for_each(print_controller);
    }
    print_for_policy(units);
    Ok(())
}

/// An I/O unit for programs.
#[derive(Debug, Serialize)]
struct Line<'a> {
    /// Of the port that was asked.
    lid: u16,
    /// Counts changes of its controllers.
    change_id: u16,
    /// That the unit has, used or not.
    slots: u8,
    /// Of slots that hold one.
    controllers: Vec<Controller<'a>>,
}

impl Document for Line<'_> {
    const SCHEMA: &'static str = "sapphire.query-srp-targets/1";
}

/// What a slot holds.
#[derive(Debug, Serialize)]
struct Controller<'a> {
    /// From 1 on.
    slot: u8,
    /// Shape: `0x` and 16 digits.
    guid: String,
    /// As the device says it.
    id: &'a str,
    /// It is an SRP target.
    srp: bool,
    /// Of a target, its service entries.
    services: Vec<Service<'a>>,
}

/// A service entry of a controller.
#[derive(Debug, Serialize)]
struct Service<'a> {
    /// As the device says it; SRP's begins with `SRP.T10:`.
    name: &'a str,
    /// Shape: as of GUIDs.
    service_id: String,
}

impl<'a> Line<'a> {
    fn new(unit: &'a Unit) -> Self {
        Self {
            lid: unit.lid,
            change_id: unit.change,
            slots: unit.slots,
            controllers: unit.controllers.iter().map(Controller::new).collect(),
        }
    }
}

impl<'a> Controller<'a> {
    fn new(controller: &'a survey::Controller) -> Self {
        let services = controller.services.iter().map(|service| Service {
            name: &service.name,
            service_id: hex(service.id),
        });
        Self {
            slot: controller.slot,
            guid: hex(controller.guid),
            id: &controller.id,
            srp: controller.is_srp,
            services: services.collect(),
        }
    }
}

/// The id string is quoted: it comes from a device and may hold anything.
///
/// A GUID says which device it is; whether it is an SRP target, its protocol does.
fn print_controller(controller: &survey::Controller) {
    let kind = if controller.is_srp { "SRP" } else { "not SRP" };
    outln!(
        "  controller {}: GUID {}, {kind}, {:?}",
        controller.slot,
        hex(controller.guid),
        controller.id
    );
    for service in &controller.services {
        outln!("    {}  {}", hex(service.id), service.name);
    }
}

/// Ready to paste: the ids in a rule, and as a name.
///
/// Prints nothing where there is no SRP service: an empty rule would match all requests.
fn print_for_policy(units: &[Unit]) {
    let controllers = units.iter().flat_map(|unit| &unit.controllers);
    let services = controllers
        .filter(|controller| controller.is_srp)
        .flat_map(|controller| &controller.services);
    let ids: BTreeSet<u64> = services.map(|service| service.id).collect();
    if ids.is_empty() {
        return;
    }
    let ids: Vec<String> = ids.into_iter().map(hex).collect();
    let ids = ids.join(",");
    outln!("# in a rule:");
    outln!("service-id: {ids}");
    outln!("# in a file of names, for `ulp: srp`:");
    outln!("srp = id {ids}");
}

/// 16 digits, as policies and files of names write service ids.
fn hex(number: u64) -> String {
    format!("0x{number:016x}")
}
