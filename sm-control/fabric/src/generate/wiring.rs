//! A fabric of any shape before it is a file: switches, hosts and cables, by name.
//!
//! A shape (`fat_tree`, `dragonfly` and so on) adds its switches first and cables them in an order of its own; ports are
//! dealt out in that order, or named. Damage comes last and moves nothing: whoever plans the same shape
//! twice, once with a switch less, has one machine before and after a failure, with the same names, GUIDs
//! and port numbers.
//!
//! ```text
//! shape -> Wiring -> without_switch, without_cable -> net (ibsim's net file), topo (for programs)
//! ```
//!
//! Names are given by the shape and never looked at here, but to find what is damaged.

use core::ops::RangeInclusive;
use std::collections::BTreeMap;
use std::fmt::Write;

use super::GenerateError;

/// The first switch; the n-th has n more.
const SWITCH_GUIDS: u64 = 0x20_0000;
/// The first host, far above all switches; one every 16, port GUID one above the node's.
const HOST_GUIDS: u64 = 0x100_0000;
/// Ports that a switch can have: 255 is no port number.
pub(super) const MOST_PORTS: u8 = 254;
/// Switches and hosts that a subnet has unicast LIDs for, with one each.
pub(super) const MOST_NODES: usize = 0xBFFF;

/// A number of ports that a switch can have. Errors: `Ports`.
pub(super) fn ports(needed: usize) -> Result<u8, GenerateError> {
    let ports = u8::try_from(needed)
        .ok()
        .filter(|ports| *ports <= MOST_PORTS);
    ports.ok_or(GenerateError::Ports {
        needed,
        ports: MOST_PORTS,
    })
}

/// A switch of a [`Wiring`]. Shape: index into its switches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct SwitchNo(usize);

/// A switch, and what its ports lead to.
///
/// Gone ones keep their place, so that numbers and GUIDs of the others stay.
#[derive(Debug, Clone)]
struct Switch {
    /// As files and damage name it.
    name: String,
    /// How many it has, cabled or not.
    ports: u8,
    /// By port number.
    wires: BTreeMap<u8, Peer>,
    /// Taken out as damage.
    is_gone: bool,
}

/// The other end of a cable.
///
/// Kept at both ends: a cable is taken out at both.
#[derive(Debug, Clone, Copy)]
enum Peer {
    /// A switch, and the port there.
    Switch(SwitchNo, u8),
    /// A host, by its place; it has one port.
    Host(usize),
}

/// A host with one port.
#[derive(Debug, Clone)]
struct Host {
    /// As files name it.
    name: String,
    /// Where it was planned.
    switch: SwitchNo,
    /// Of that switch.
    port: u8,
}

/// A fabric that can be written as files.
#[derive(Debug, Clone)]
pub struct Wiring {
    /// For the first line of its file.
    title: String,
    /// In the order in which they were planned.
    switches: Vec<Switch>,
    /// Likewise.
    hosts: Vec<Host>,
    /// What was taken out, as it was named.
    damage: Vec<String>,
}

impl Wiring {
    /// One without nodes. `title`: what it is, for the first line of its file.
    pub fn new(title: String) -> Self {
        Self {
            title,
            switches: Vec::new(),
            hosts: Vec::new(),
            damage: Vec::new(),
        }
    }

    /// Adds a switch with so many ports, none of them cabled. Errors: `TooManyNodes`.
    ///
    /// `ports` is a bound: cables beyond it are errors, not more ports.
    pub fn add_switch(&mut self, name: String, ports: u8) -> Result<SwitchNo, GenerateError> {
        self.has_room()?;
        self.switches.push(Switch {
            name,
            ports,
            wires: BTreeMap::new(),
            is_gone: false,
        });
        Ok(SwitchNo(self.switches.len() - 1))
    }

    /// Adds hosts at the next free ports of a switch: `H<place>_0` and on. Errors: `Ports`,
    /// `TooManyNodes`.
    pub fn add_hosts(
        &mut self,
        place: &str,
        switch: SwitchNo,
        count: u8,
    ) -> Result<(), GenerateError> {
        for nth in 0..count {
            self.has_room()?;
            let port = self.next_port(switch)?;
            self.wire(switch, port, Peer::Host(self.hosts.len()));
            self.hosts.push(Host {
                name: format!("H{place}_{nth}"),
                switch,
                port,
            });
        }
        Ok(())
    }

    /// Errors: `TooManyNodes`, where there is none for another node.
    const fn has_room(&self) -> Result<(), GenerateError> {
        if self.switches.len() + self.hosts.len() < MOST_NODES {
            Ok(())
        } else {
            Err(GenerateError::TooManyNodes)
        }
    }

    /// Lays a cable between the next free ports of two different switches. Errors: `Ports`.
    pub fn connect(&mut self, one: SwitchNo, other: SwitchNo) -> Result<(), GenerateError> {
        let (near, far) = (self.next_port(one)?, self.next_port(other)?);
        self.wire(one, near, Peer::Switch(other, far));
        self.wire(other, far, Peer::Switch(one, near));
        Ok(())
    }

    /// One end of a cable; whoever calls this lays the other one too.
    fn wire(&mut self, switch: SwitchNo, port: u8, peer: Peer) {
        if let Some(switch) = self.switches.get_mut(switch.0) {
            switch.wires.insert(port, peer);
        }
    }

    /// The lowest that is free, as ports are dealt out in order. Errors: `Ports`, where none is.
    fn next_port(&self, switch: SwitchNo) -> Result<u8, GenerateError> {
        let Some(switch) = self.switches.get(switch.0) else {
            return Err(GenerateError::NoSuchSwitch(switch.0.to_string()));
        };
        let port = switch.wires.len() + 1;
        match u8::try_from(port) {
            Ok(port) if port <= switch.ports => Ok(port),
            _ => Err(GenerateError::Ports {
                needed: port,
                ports: switch.ports,
            }),
        }
    }

    /// Takes out a switch with its hosts. Errors: `NoSuchSwitch`.
    ///
    /// Cables to it stay with the others, and lead nowhere: as in a real failure.
    pub fn without_switch(&mut self, name: &str) -> Result<(), GenerateError> {
        let found = self.switch_mut(name)?;
        found.is_gone = true;
        self.damage.push(name.to_owned());
        Ok(())
    }

    /// Takes out the cable at a port of a switch. Errors: `NoSuchSwitch`, `NoSuchCable`.
    pub fn without_cable(&mut self, name: &str, port: u8) -> Result<(), GenerateError> {
        let found = self.switch_mut(name)?;
        let peer = found.wires.remove(&port);
        match peer {
            Some(Peer::Switch(other, far)) => {
                if let Some(other) = self.switches.get_mut(other.0) {
                    other.wires.remove(&far);
                }
            }
            Some(Peer::Host(_)) => {}
            None => {
                return Err(GenerateError::NoSuchCable {
                    switch: name.to_owned(),
                    port,
                });
            }
        }
        self.damage.push(format!("{name}:{port}"));
        Ok(())
    }

    /// By name; one that is gone is not found again.
    fn switch_mut(&mut self, name: &str) -> Result<&mut Switch, GenerateError> {
        let mut switches = self.switches.iter_mut();
        let found = switches.find(|switch| switch.name == name && !switch.is_gone);
        found.ok_or_else(|| GenerateError::NoSuchSwitch(name.to_owned()))
    }

    /// Switches, cables between switches, and hosts that are left.
    pub fn counts(&self) -> [usize; 3] {
        let cables = self.present().flat_map(|(_, switch)| switch.wires.values());
        let ends = cables.filter(|peer| matches!(peer, Peer::Switch(..)) && self.has(**peer));
        let (ends, hosts) = (ends.count(), self.hosts_left().count());
        [self.present().count(), ends / 2, hosts]
    }

    /// The cables between switches that are left: name and port of the end that was planned first, in the
    /// order of switches and ports.
    pub fn cables(&self) -> impl Iterator<Item = (&str, u8)> {
        self.present().flat_map(move |(number, switch)| {
            let wires = switch.wires.iter();
            let near = wires.filter(move |(_, peer)| match peer {
                Peer::Switch(other, _) => number < other.0 as u64 && self.has(**peer),
                Peer::Host(_) => false,
            });
            near.map(|(port, _)| (switch.name.as_str(), *port))
        })
    }

    /// From the first to the last GUID of a host's port; others of the range may be nobody's.
    pub fn host_port_guids(&self) -> RangeInclusive<u64> {
        let last = self.hosts.len().saturating_sub(1) as u64;
        HOST_GUIDS + 1..=HOST_GUIDS + last * 0x10 + 1
    }

    /// Switches that are left, with their numbers.
    fn present(&self) -> impl Iterator<Item = (u64, &Switch)> {
        let numbered = (0..).zip(&self.switches);
        numbered.filter(|(_, switch)| !switch.is_gone)
    }

    /// Hosts whose switch is there, with their numbers. One without its cable is left, as in a real fabric.
    fn hosts_left(&self) -> impl Iterator<Item = (u64, &Host)> {
        let numbered = (0..).zip(&self.hosts);
        numbered.filter(|(_, host)| {
            self.switches
                .get(host.switch.0)
                .is_some_and(|it| !it.is_gone)
        })
    }

    /// The peer is there: cables to switches that are gone are not written.
    fn has(&self, peer: Peer) -> bool {
        match peer {
            Peer::Switch(switch, _) => self.switches.get(switch.0).is_some_and(|it| !it.is_gone),
            Peer::Host(_) => true,
        }
    }

    /// The ibsim net file.
    ///
    /// GUIDs follow from places, so that damage moves none.
    pub fn net(&self) -> String {
        let mut text = format!("# {}", self.title);
        for gone in &self.damage {
            let _ = write!(text, ", without {gone}");
        }
        text.push('\n');
        for (number, switch) in self.present() {
            let guid = SWITCH_GUIDS + number;
            let _ = writeln!(
                text,
                "switchguid=0x{guid:x}\nSwitch {} \"{}\"",
                switch.ports, switch.name
            );
            for (port, peer) in switch.wires.iter().filter(|(_, peer)| self.has(**peer)) {
                let (name, far) = self.named(*peer);
                let _ = writeln!(text, "[{port}] \"{name}\"[{far}]");
            }
            text.push('\n');
        }
        for (number, host) in self.hosts_left() {
            let guid = HOST_GUIDS + number * 0x10;
            let _ = writeln!(text, "caguid=0x{guid:x}\nHca 1 \"{}\"", host.name);
            if let Some(switch) = self.cabled_to(host) {
                let _ = writeln!(text, "[1] \"{}\"[{}]", switch.name, host.port);
            }
            text.push('\n');
        }
        text
    }

    /// The switch that a host hangs on; none where that cable was taken out.
    fn cabled_to(&self, host: &Host) -> Option<&Switch> {
        let switch = self.switches.get(host.switch.0)?;
        switch.wires.contains_key(&host.port).then_some(switch)
    }

    /// Name and port of the end of a cable.
    fn named(&self, peer: Peer) -> (&str, u8) {
        match peer {
            Peer::Switch(switch, port) => {
                let name = self.switches.get(switch.0).map(|it| it.name.as_str());
                (name.unwrap_or_default(), port)
            }
            Peer::Host(host) => {
                let name = self.hosts.get(host).map(|it| it.name.as_str());
                (name.unwrap_or_default(), 1)
            }
        }
    }
}
