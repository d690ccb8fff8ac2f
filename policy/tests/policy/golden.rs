//! Against what OpenSM 3.3.23 did with recorded policies.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use crate::common;

use common::{Scenario, load, scenarios};
use policy::{Partitions, Policy, Query, interpret};
use serde_json::Value;

/// OpenSM takes a policy exactly when we do.
///
/// No exceptions: the `reload` scenario, in which OpenSM puts rules of a refused file in front of
/// the next one, has the same files accepted.
#[test]
fn the_same_policies_are_accepted() {
    let mut steps = 0;
    for scenario in scenarios().iter().filter(|scenario| scenario.qos()) {
        let partitions = scenario.partitions();
        for (number, file, in_force) in scenario.steps() {
            let loaded = load(&file, &scenario.ports, &partitions);
            let name = &scenario.name;
            assert_eq!(
                loaded.is_ok(),
                in_force,
                "{name} step {number}: {:?}",
                loaded.err()
            );
            steps += 1;
        }
    }
    assert!(steps > 70, "{steps}");
}

/// Where OpenSM found paths, it gave them the SL of the level that the interpreter chooses, and
/// a P_Key of the source's table when neither request nor level names one.
#[test]
fn levels_explain_recorded_service_levels() {
    let mut records = 0;
    let without_engine = scenarios()
        .into_iter()
        .filter(|s| s.qos() && !s.has_engine());
    for scenario in without_engine {
        let partitions = scenario.partitions();
        let cases = scenario.cases();
        for (number, file, in_force) in scenario.steps() {
            // Step 2 answers by rules that leaked from the refused file of step 1.
            if !in_force || (scenario.name == "reload" && number == 2) {
                continue;
            }
            let policy = load(&file, &scenario.ports, &partitions).unwrap();
            let step = u64::try_from(number).unwrap();
            for case in cases
                .iter()
                .filter(|c| c["step"].as_u64().unwrap_or(0) == step)
            {
                records += check(&scenario, &policy, &partitions, case);
            }
        }
    }
    assert!(records > 900, "{records}");
}

fn check(scenario: &Scenario, policy: &Policy, partitions: &Partitions, case: &Value) -> usize {
    let asked = Asked::new(&case["query"]);
    let records = case["expect"]["records"].as_array().unwrap();
    let mut checked = 0;
    for record in records {
        let ends = ["sgid", "dgid"].map(|end| port_of(scenario, &record[end]));
        let [Some(source), Some(destination)] = ends else {
            continue;
        };
        let query = Query {
            source,
            destination,
            ..asked.query
        };
        let chosen = interpret(policy, &scenario.ports, partitions, &query);
        let level = policy.level(chosen.level);
        assert_eq!(
            record["sl"],
            *level.sl.unwrap(),
            "{} {chosen:?}",
            case["id"]
        );
        if asked.query.pkey.is_none() && level.pkeys.is_none() {
            let pkey = parse_hex(&record["pkey"]);
            let table = partitions.pkey_table(source);
            assert!(
                table.iter().any(|p| u64::from(p.get()) == pkey),
                "{}",
                case["id"]
            );
        }
        checked += 1;
    }
    checked
}

fn port_of(scenario: &Scenario, gid: &Value) -> Option<usize> {
    let address: std::net::Ipv6Addr = gid.as_str()?.parse().ok()?;
    let guid = u64::from_be_bytes(address.octets()[8..].try_into().ok()?);
    scenario
        .ports
        .iter()
        .position(|port| port.guid.get() == guid)
}

fn parse_hex(value: &Value) -> u64 {
    u64::from_str_radix(value.as_str().unwrap().trim_start_matches("0x"), 16).unwrap()
}

struct Asked {
    query: Query,
}

impl Asked {
    /// What the component mask lets through.
    fn new(query: &Value) -> Self {
        let mask = parse_hex(&query["comp_mask"]);
        let multipath = query["attr"] == "mpr";
        let (class, pkey, service) = if multipath {
            (1 << 8, 1 << 7, 1 << 16 | 1 << 21)
        } else {
            (1 << 14, 1 << 13, 0b11)
        };
        let field = |name: &str, bits: u64| {
            (mask & bits == bits).then(|| match &query["fields"][name] {
                Value::String(_) => parse_hex(&query["fields"][name]),
                number => number.as_u64().unwrap_or(0),
            })
        };
        let narrow = |value: u64| u16::try_from(value).unwrap();
        Self {
            query: Query {
                qos_class: field("qos_class", class).map(narrow),
                service_id: field("service_id", service),
                pkey: field("pkey", pkey).map(narrow),
                ..Query::default()
            },
        }
    }
}
