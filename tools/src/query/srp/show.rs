//! What was found, for people, machines and policies.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::survey::{Controller, Unit};
use crate::failure::Outcome;
use crate::json;

pub(super) fn print(units: &[Unit], as_json: bool) -> Outcome {
    if as_json {
        return json::print(&Value::from(units.iter().map(value).collect::<Vec<_>>()));
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

fn value(unit: &Unit) -> Value {
    let controllers = unit.controllers.iter().map(|controller| {
        let services = controller
            .services
            .iter()
            .map(|service| json!({ "name": service.name, "service_id": hex(service.id) }));
        json!({
            "slot": controller.slot,
            "guid": hex(controller.guid),
            "id": controller.id,
            "srp": controller.is_srp,
            "services": services.collect::<Vec<_>>(),
        })
    });
    json!({
        "lid": unit.lid,
        "change_id": unit.change,
        "slots": unit.slots,
        "controllers": controllers.collect::<Vec<_>>(),
    })
}

fn print_controller(controller: &Controller) {
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

fn hex(number: u64) -> String {
    format!("0x{number:016x}")
}
