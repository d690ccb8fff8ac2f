//! A subnet of 43,904 hosts: what reading all of its ports costs. The long form, with figures, behind `SAPPHIRE_LARGE`.

use std::time::{Duration, Instant};

use sm_health::{Options, Port, Seen};

use crate::rig::{Bed, MINUTE, OPTIONS, device, end};

/// A fat tree of three levels with switches of `k` ports, by its links alone: `k^3 / 4` hosts.
fn tree(k: usize) -> Seen {
    let half = k / 2;
    let (edges, tops) = (k * half, half * half);
    let hosts = edges * half;
    let mut devices = Vec::new();
    let end = end(2, 4, 0);
    let lid = |device: usize| u16::try_from(device + 1).unwrap();
    // Edges, then middle switches, then tops, then hosts. Each link is told from both of its ends.
    let port = |at: usize, number: usize, peer: (usize, usize)| Port {
        came_up: false,
        is_active: true,
        number: u8::try_from(number + 1).unwrap(),
        lid: lid(at),
        end,
        peer: Some((peer.0, u8::try_from(peer.1 + 1).unwrap())),
    };
    let name = |at: usize| format!("N{at}");
    let (middle, top, host) = (edges, 2 * edges, 2 * edges + tops);
    for at in 0..edges {
        let (pod, nth) = (at / half, at % half);
        let down = (0..half).map(|n| port(at, n, (host + at * half + n, 0)));
        let up = (0..half).map(|n| port(at, half + n, (middle + pod * half + n, nth)));
        devices.push(device(1 + at as u64, &name(at), down.chain(up).collect()));
    }
    for at in 0..edges {
        let (pod, nth) = (at / half, at % half);
        let down = (0..half).map(|n| port(middle + at, n, (pod * half + n, half + nth)));
        let up = (0..half).map(|n| port(middle + at, half + n, (top + nth * half + n, pod)));
        devices.push(device(
            1 + (middle + at) as u64,
            &name(at),
            down.chain(up).collect(),
        ));
    }
    for at in 0..tops {
        let (nth, n) = (at / half, at % half);
        let ports = (0..k).map(|pod| port(top + at, pod, (middle + pod * half + nth, half + n)));
        devices.push(device(1 + (top + at) as u64, &name(at), ports.collect()));
    }
    for at in 0..hosts {
        let ports = vec![port(host + at, 0, (at / half, at % half))];
        devices.push(device(1 + (host + at) as u64, &name(at), ports));
    }
    Seen {
        own_lid: 1,
        devices,
    }
}

#[test]
fn every_port_of_a_tree_is_read_at_the_rate() {
    let large = std::env::var_os("SAPPHIRE_LARGE").is_some();
    let seen = tree(if large { 56 } else { 8 });
    for device in &seen.devices {
        for port in &device.ports {
            let (far, other) = seen.peer(port).unwrap();
            assert_eq!(
                seen.peer(other).unwrap().0.guid,
                device.guid,
                "{}",
                far.guid
            );
        }
    }
    let ports: usize = seen.devices.iter().map(|device| device.ports.len()).sum();
    let options = Options {
        per_second: 10_000,
        ..OPTIONS
    };
    let begun = Instant::now();
    let mut bed = Bed::new(seen, options);
    let followed = begun.elapsed();
    let begun = Instant::now();
    bed.pass(MINUTE + Duration::from_secs(1));
    let passed = begun.elapsed();
    assert_eq!(bed.report().read, ports);
    let requests = bed.log.len();
    println!(
        "{ports} ports: a sweep taken in in {followed:?}; {requests} requests in 61 s, {:.0} a second, {:.2} us of CPU each with the \
         devices' side",
        requests as f64 / 61.0,
        passed.as_secs_f64() * 1e6 / requests as f64
    );
}
