//! What comes when all switches have their places: local ports, and what is left over.
//!
//! Local ports come last because a switch that is placed twice must be noticed first: its hosts
//! would be at two places. Everything that found no place is named one by one, although OpenSM
//! routes on in silence: a switch outside means hosts without routes, and an operator who
//! configured a size by mistake sees it here first (`docs/routing/torus-2qos.md`, section 1.2).

use super::Discovery;
use crate::engine::torus::reason::TorusReason;
use crate::engine::torus::warning::TorusWarning;
use crate::placement::LOCAL_GROUP;

impl Discovery<'_> {
    /// Fills the local groups. Errors: switches in two places, too many local ports.
    /// In the order of places, z outermost, as OpenSM looks at them.
    pub(super) fn place_local_ports(&mut self) -> Result<(), Vec<TorusReason>> {
        let mut reasons = Vec::new();
        for at in self.shape.coordinates() {
            let Some(ix) = self.torus.pool_at(at) else {
                continue;
            };
            let switch = self.torus.get(ix).switch;
            if self
                .torus
                .coordinate(switch)
                // `coordinate` has the first place of a switch; any other that names it is the
                // second.
                .is_some_and(|first| first != at)
            {
                reasons.push(TorusReason::PlacedTwice {
                    switch: self.name(switch),
                    again: at,
                });
                continue;
            }
            let hosts = self.topology.hosts(switch).map(|(port, _)| port);
            // Port 0 counts: `portgroup_max_ports 16` leaves room for 15 hosts.
            let ports: Vec<_> = std::iter::once(0).chain(hosts).collect();
            if ports.len() > usize::try_from(self.limit).unwrap_or(usize::MAX) {
                let (switch, ports) = (self.name(switch), ports.len());
                reasons.push(TorusReason::GroupFull {
                    switch,
                    ports,
                    limit: self.limit,
                });
                continue;
            }
            *self.torus.group_mut(ix, LOCAL_GROUP) = ports;
        }
        if reasons.is_empty() {
            Ok(())
        } else {
            Err(reasons)
        }
    }

    /// Names everything that found no place.
    /// Each cable once; a cable outside is one that no place claims, also between placed switches.
    pub(super) fn report_leftovers(&mut self) {
        for switch in self.topology.switch_ixs() {
            for end in self.cables.unplaced(switch).collect::<Vec<_>>() {
                // Of the two ends the one that comes first tells.
                if (switch, end.port) < (end.far, end.far_port) {
                    self.warnings.push(TorusWarning::CableOutside {
                        from: self.name(switch),
                        from_port: end.port,
                        to: self.name(end.far),
                        to_port: end.far_port,
                    });
                }
            }
        }
        for switch in self.topology.switch_ixs() {
            if self.torus.placed(switch).is_none() {
                let hosts = self.topology.hosts(switch).count();
                self.warnings.push(TorusWarning::SwitchOutside {
                    switch: self.name(switch),
                    hosts,
                });
            }
        }
        for end in self
            .topology
            .end_ports
            .iter()
            .filter(|end| end.attached.is_none())
        {
            let (description, port) = (end.description.clone(), end.port_number);
            self.warnings
                .push(TorusWarning::HostOutside { description, port });
        }
    }
}
