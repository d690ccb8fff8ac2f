//! Random scopes in random fabrics, against an interpreter that asks every scope about every
//! (device, input, output) one by one, straight from the words of the RFCs.

use std::fmt::Write;

use policy::ScopePrecedence;
use proptest::prelude::*;
use sa_compiler::qos_setup::TableSource;

use super::site::Site;

/// A device: a switch with so many ports, or a CA with one or two.
#[derive(Debug, Clone)]
struct Device {
    is_switch: bool,
    ports: u8,
    enhanced: bool,
    /// By port from 1: the far end.
    cables: Vec<Option<(usize, u8)>>,
    /// By port from 0: VLCap code.
    vl_caps: Vec<u8>,
}

/// A scope. Shape: groups by index, one group a device.
#[derive(Debug, Clone)]
struct Scope {
    group: Vec<usize>,
    across: Vec<usize>,
    across_from: Vec<usize>,
    across_to: Vec<usize>,
    from: Option<Vec<u8>>,
    to: Option<Vec<u8>>,
    table: [u8; 16],
}

/// Switches in a chain; CAs on random switches, with one port or two.
fn fabric() -> impl Strategy<Value = Vec<Device>> {
    let switch = (any::<bool>(), 5..8_u8);
    let ca = (
        1..3_u8,
        any::<prop::sample::Index>(),
        any::<prop::sample::Index>(),
    );
    let switches = prop::collection::vec(switch, 1..4);
    let cas = prop::collection::vec(ca, 1..4);
    let caps = prop::collection::vec(1..6_u8, 64);
    (switches, cas, caps).prop_map(|(switches, cas, caps)| {
        let mut caps = caps.into_iter().cycle();
        let mut device = |is_switch, ports: u8, enhanced| Device {
            is_switch,
            ports,
            enhanced,
            cables: vec![None; usize::from(ports)],
            vl_caps: (0..=ports).map(|_| caps.next().unwrap()).collect(),
        };
        let count = switches.len();
        let mut all: Vec<_> = switches
            .into_iter()
            .map(|(enhanced, ports)| device(true, ports, enhanced))
            .collect();
        for at in 1..count {
            connect(&mut all, (at - 1, 1), (at, 2));
        }
        for (ports, one, other) in cas {
            let ca = all.len();
            all.push(device(false, ports, false));
            for (port, switch) in (1..=ports).zip([one, other]) {
                let switch = switch.index(count);
                let free = all[switch].cables.iter().skip(2).position(Option::is_none);
                if let Some(free) = free {
                    let free = 3 + u8::try_from(free).unwrap();
                    connect(&mut all, (ca, port), (switch, free));
                }
            }
        }
        all
    })
}

fn connect(all: &mut [Device], one: (usize, u8), other: (usize, u8)) {
    all[one.0].cables[usize::from(one.1) - 1] = Some(other);
    all[other.0].cables[usize::from(other.1) - 1] = Some(one);
}

fn scopes() -> impl Strategy<Value = Vec<Scope>> {
    let groups = || prop::collection::vec(0..7_usize, 0..3);
    let ports = || prop::option::of(prop::collection::vec(0..9_u8, 1..4));
    let ways = (groups(), groups(), groups(), groups());
    let table = prop::array::uniform16(0..16_u8);
    let scope = (ways, ports(), ports(), table).prop_map(|(ways, from, to, table)| {
        let (group, across, across_from, across_to) = ways;
        Scope {
            group,
            across,
            across_from,
            across_to,
            from,
            to,
            table,
        }
    });
    let named = scope.prop_filter("names a group", |scope| {
        let ways = [
            &scope.group,
            &scope.across,
            &scope.across_from,
            &scope.across_to,
        ];
        ways.iter().any(|way| !way.is_empty())
    });
    prop::collection::vec(named, 1..5)
}

/// Switches by their node, CA ports by themselves; group n holds all of device n, modulo.
fn guid(device: usize, port: u8) -> u64 {
    0x1000 * (u64::try_from(device).unwrap() + 1) + u64::from(port)
}

fn net(fabric: &[Device]) -> String {
    let mut text = String::new();
    for (at, device) in fabric.iter().enumerate() {
        let (kind, node) = match device.is_switch {
            true => ("Switch", format!("switchguid=0x{:x}", guid(at, 0))),
            false => ("Hca", format!("caguid=0x{:x}", guid(at, 0))),
        };
        let enhanced = match device.enhanced {
            true => format!(" # \"D{at}\" enhanced port 0 lid 0 lmc 0"),
            false => String::new(),
        };
        writeln!(text, "{node}\n{kind} {} \"D{at}\"{enhanced}", device.ports).unwrap();
        for (port, far) in (1..).zip(&device.cables) {
            let Some((to, far)) = far else { continue };
            let own = match device.is_switch {
                true => String::new(),
                false => format!("({:x}) ", guid(at, port)),
            };
            let cap = device.vl_caps[usize::from(port)];
            writeln!(text, "[{port}] {own}\"D{to}\"[{far}] v={cap}").unwrap();
        }
        text.push('\n');
    }
    text
}

fn policy(fabric: &[Device], scopes: &[Scope]) -> String {
    let mut text = String::from("port-groups\n");
    for group in 0..7 {
        let device = group % fabric.len();
        let guids: Vec<_> = match fabric[device].is_switch {
            true => vec![format!("0x{:x}", guid(device, 0))],
            false => {
                let ports = 1..=fabric[device].ports;
                ports
                    .map(|port| format!("0x{:x}", guid(device, port)))
                    .collect()
            }
        };
        let guids = guids.join(",");
        writeln!(
            text,
            "port-group\nname: G{group}\nport-guid: {guids}\nend-port-group"
        )
        .unwrap();
    }
    text.push_str("end-port-groups\nqos-setup\nsl2vl-tables\n");
    for scope in scopes {
        text.push_str("sl2vl-scope\n");
        let ways = [
            ("group", &scope.group),
            ("across", &scope.across),
            ("across-from", &scope.across_from),
            ("across-to", &scope.across_to),
        ];
        for (keyword, groups) in ways.into_iter().filter(|(_, groups)| !groups.is_empty()) {
            let names: Vec<_> = groups.iter().map(|group| format!("G{group}")).collect();
            writeln!(text, "{keyword}: {}", names.join(",")).unwrap();
        }
        for (keyword, ports) in [("from", &scope.from), ("to", &scope.to)] {
            if let Some(ports) = ports {
                writeln!(text, "{keyword}: {}", listed(ports)).unwrap();
            }
        }
        writeln!(
            text,
            "sl2vl-table: {}\nend-sl2vl-scope",
            listed(&scope.table)
        )
        .unwrap();
    }
    text.push_str("end-sl2vl-tables\nvlarb-tables\n");
    for (vl, scope) in (1..).zip(arbitrating(scopes)) {
        text.push_str("vlarb-scope\n");
        for (keyword, groups) in [("group", &scope.group), ("across", &scope.across)] {
            if !groups.is_empty() {
                let names: Vec<_> = groups.iter().map(|group| format!("G{group}")).collect();
                writeln!(text, "{keyword}: {}", names.join(",")).unwrap();
            }
        }
        writeln!(text, "vlarb-low: {vl}:99\nend-vlarb-scope").unwrap();
    }
    text.push_str("end-vlarb-tables\nend-qos-setup\nqos-levels\nqos-level\nsl: 0\n");
    text.push_str("end-qos-level\nend-qos-levels\n");
    text
}

fn listed(numbers: &[u8]) -> String {
    let words: Vec<_> = numbers.iter().map(u8::to_string).collect();
    words.join(",")
}

/// Those that make a scope of VL arbitration, too: without port numbers.
fn arbitrating(scopes: &[Scope]) -> impl DoubleEndedIterator<Item = &Scope> {
    let named = |scope: &&Scope| !scope.group.is_empty() || !scope.across.is_empty();
    scopes.iter().filter(named)
}

/// Whether a scope of VL arbitration means a port.
fn means_port(fabric: &[Device], scope: &Scope, (device, port): (usize, u8)) -> bool {
    let holds = |groups: &[usize], device: usize| groups.iter().any(|g| g % fabric.len() == device);
    let cable = port
        .checked_sub(1)
        .and_then(|port| fabric[device].cables[usize::from(port)]);
    holds(&scope.group, device) || cable.is_some_and(|(far, _)| holds(&scope.across, far))
}

/// Whether a scope means a table. Shape: CA tables have port 0 as input and output, and are named
/// by their port.
fn means(fabric: &[Device], scope: &Scope, (device, port): (usize, u8), i: u8, o: u8) -> bool {
    let is_switch = fabric[device].is_switch;
    let holds = |groups: &[usize], device: usize| groups.iter().any(|g| g % fabric.len() == device);
    let listed =
        |ports: &Option<Vec<u8>>, port: u8| ports.as_ref().is_none_or(|p| p.contains(&port));
    // True when the cable in a port leads into the groups.
    let faces = |groups: &[usize], side: u8| {
        let own = if is_switch { side } else { port };
        let far = own
            .checked_sub(1)
            .and_then(|own| fabric[device].cables[usize::from(own)]);
        far.is_some_and(|(far, _)| holds(groups, far))
    };
    let (from, to) = (listed(&scope.from, i), listed(&scope.to, o));
    let beside = faces(&scope.across, i) || faces(&scope.across, o);
    (holds(&scope.group, device) || beside) && from && to
        || faces(&scope.across_to, o) && from
        || faces(&scope.across_from, i) && to
}

const VLS: [u8; 6] = [0, 1, 2, 4, 8, 15];

/// The VLs that both ends of a cable have.
fn operational(fabric: &[Device], device: usize, port: u8) -> u8 {
    let cap = |device: usize, port: u8| match port {
        // The file says nothing about port 0: ibsim's 8 VLs.
        0 => 8,
        _ => VLS[usize::from(fabric[device].vl_caps[usize::from(port)])],
    };
    let far = port
        .checked_sub(1)
        .and_then(|port| fabric[device].cables[usize::from(port)]);
    match far {
        None => cap(device, port),
        Some((far, at)) => cap(device, port).min(cap(far, at)),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn tables_are_those_of_the_naive_interpreter(
        fabric in fabric(),
        scopes in scopes(),
        is_last in any::<bool>(),
    ) {
        let (net, policy) = (net(&fabric), policy(&fabric, &scopes));
        let mut site = Site { net: &net, policy: &policy, ..Site::default() };
        if is_last {
            site.reading.scope_precedence = Some(ScopePrecedence::Last);
        }
        let applied = site.apply();
        for port in &applied.tables {
            let device: usize = applied.name(port)[1..].parse().unwrap();
            let vls = operational(&fabric, device, port.at.port);
            let arbitrating: Vec<_> = (1..).zip(arbitrating(&scopes).collect::<Vec<_>>()).collect();
            let mut meant = arbitrating.iter().filter(|(_, scope)| {
                means_port(&fabric, scope, (device, port.at.port))
            });
            let winner = if is_last { meant.next_back() } else { meant.next() };
            let first = port.vlarb_low.first().map(|entry| (entry.vl, entry.weight));
            let is_scoped = port.vlarb_source != TableSource::Options;
            let found = first.filter(|_| is_scoped);
            let expected = winner.filter(|_| vls > 1).map(|(vl, _): &(u8, _)| (*vl, 99));
            prop_assert_eq!(found, expected, "{} {}\n{}\n{}", device, port.at.port, net, policy);
            for row in &port.sl2vl {
                let at = (device, port.at.port);
                let mut meant = scopes.iter().filter(|scope| {
                    means(&fabric, scope, at, row.input, row.output)
                });
                let winner = if is_last { meant.next_back() } else { meant.next() };
                let expected = winner.filter(|_| vls > 1).map(|scope| {
                    scope.table.map(|vl| if vl < vls { vl } else { 15 })
                });
                let is_scoped = matches!(row.source, TableSource::Scope { .. });
                let found = is_scoped.then_some(row.table.0);
                prop_assert_eq!(found, expected, "{} {:?}\n{}\n{}", device, row, net, policy);
            }
        }
    }
}
