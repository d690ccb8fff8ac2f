//! Fat trees with damage, and irregular fabrics of switches with many ports.

use super::build::FabricBuilder;
use sa_rig::rng::Rng;

/// A fat tree of switches with `k` ports, three levels, whole. `shuffle` deals GUIDs, and with
/// them the order of switches and LIDs, at random.
pub(crate) fn fat_tree(k: u8, lmc: u8, shuffle: Option<u64>) -> FabricBuilder {
    let half = k / 2;
    let mut fabric = FabricBuilder {
        op_vls: 4,
        lmc,
        ..Default::default()
    };
    let (pods, halves) = (u64::from(k), u64::from(half));
    let mut guids: Vec<u64> = (1..=pods * halves * 2 + halves * halves).collect();
    if let Some(seed) = shuffle {
        Rng::new(seed).shuffle(&mut guids);
    }
    let guid = |nth: u64| guids[usize::try_from(nth).unwrap()];
    let leaf = |pod: u8, nth: u8| guid(u64::from(pod) * halves + u64::from(nth));
    let middle = |pod: u8, nth: u8| guid((pods + u64::from(pod)) * halves + u64::from(nth));
    let top = |a: u8, b: u8| guid((pods * 2 + u64::from(a)) * halves + u64::from(b));
    for guid in &guids {
        fabric.switch(*guid, k, &format!("switch {guid}"));
    }
    for pod in 0..k {
        for (a, b) in (0..half).flat_map(|a| (0..half).map(move |b| (a, b))) {
            fabric.cable((leaf(pod, a), half + b + 1), (middle(pod, b), a + 1));
            fabric.cable((middle(pod, a), half + b + 1), (top(a, b), pod + 1));
            let host = 0x10_0000 + leaf(pod, a) * 0x100 + u64::from(b);
            fabric.host(host, 1, host, "host");
            fabric.cable((host, 1), (leaf(pod, a), b + 1));
        }
    }
    fabric
}

/// Takes out some cables, of switches and of hosts.
pub(crate) fn cut(fabric: &mut FabricBuilder, cables: usize, random: &mut Rng) {
    for _ in 0..cables {
        let ends: Vec<_> = fabric.cables.keys().copied().collect();
        if !ends.is_empty() {
            let nth = random.below(ends.len() as u64);
            fabric.uncable(ends[usize::try_from(nth).unwrap()]);
        }
    }
}

/// Switches of up to 250 ports, many cables in parallel, islands, cables of a switch to itself,
/// hosts of up to 4 LIDs.
pub(crate) fn wide_graph(seed: u64) -> FabricBuilder {
    let mut random = Rng::new(seed);
    let mut fabric = FabricBuilder {
        op_vls: 4,
        lmc: random.below(3),
        ..Default::default()
    };
    let ports = [20, 70, 140, 250][random.below(4)];
    let switches = 2 + random.below(12);
    let mut free = Vec::new();
    for switch in 1..=switches {
        fabric.switch(switch, ports, &format!("switch {switch}"));
        let mut numbers: Vec<u8> = (1..=ports).collect();
        random.shuffle(&mut numbers);
        free.push(numbers);
    }
    // Few cables make long ways, many make bundles.
    let cables = random.below(switches * u64::from(ports) / 3);
    // Every second fabric is a row of neighbours, so that there is more to choose than one hop.
    let is_row = random.below(2) == 0;
    for _ in 0..cables {
        let a = random.below(switches);
        let b = match is_row {
            true => (a + 1 + random.below(2)) % switches,
            false => random.below(switches),
        };
        connect(&mut fabric, &mut free, a, b);
    }
    for host in 0..random.below(80) {
        let (switch, guid) = (random.below(switches), 0x10_0000 + 0x10 * host);
        fabric.host(guid, 1, guid, "host");
        if let Some(port) = free[usize::try_from(switch).unwrap()].pop() {
            fabric.cable((guid, 1), (switch + 1, port));
        }
    }
    fabric
}

fn connect(fabric: &mut FabricBuilder, free: &mut [Vec<u8>], a: u64, b: u64) {
    let (near, far) = (usize::try_from(a).unwrap(), usize::try_from(b).unwrap());
    let Some(port) = free[near].pop() else { return };
    match free[far].pop() {
        Some(far_port) => fabric.cable((a + 1, port), (b + 1, far_port)),
        None => free[near].push(port),
    }
}
