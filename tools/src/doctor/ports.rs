//! States and LIDs of ports.
//!
//! A port serves when it is ACTIVE and has been told the SM's LID. States come in the order DOWN,
//! INIT (wired), ARMED, ACTIVE (an SM has brought it up); each step that is missing has another
//! cause and another remedy.
//!
//! ```text
//! /sys/class/infiniband/mlx5_0/ports/1/state         4: ACTIVE
//!                                      link_layer    InfiniBand
//!                                      lid           0x1
//!                                      sm_lid        0x1
//! ```

use super::finding::Finding;
use crate::machine::Machine;

/// Names of devices.
/// All, InfiniBand or RoCE; what a port is, its link layer says.
pub(super) fn devices(machine: &Machine) -> Vec<String> {
    machine.names("/sys/class/infiniband")
}

/// A finding for each port of each device.
pub(super) fn look(machine: &Machine, findings: &mut Vec<Finding>) {
    for device in devices(machine) {
        let ports = machine.names(&format!("/sys/class/infiniband/{device}/ports"));
        for port in ports {
            findings.push(Port::read(machine, &device, &port).judged());
        }
    }
}

/// True when the SM's LID is that of a port of this machine.
/// Not proof that an SM runs: one that has gone leaves its LID behind in the port.
pub(super) fn has_sm(machine: &Machine) -> bool {
    let devices = devices(machine);
    let mut ports = devices.iter().flat_map(|device| {
        let names = machine.names(&format!("/sys/class/infiniband/{device}/ports"));
        names
            .into_iter()
            .map(|port| Port::read(machine, device, &port))
    });
    ports.any(|port| port.lid.is_some_and(|lid| lid != 0) && port.lid == port.sm_lid)
}

/// As the files say at one moment.
struct Port {
    /// Device and number, for people.
    name: String,
    /// Such as `ACTIVE`.
    /// Empty where the file is missing.
    state: String,
    /// `InfiniBand` or `Ethernet`.
    link: String,
    /// 0 before an SM has given one; none where the file says none.
    lid: Option<u16>,
    /// The same of the SM that brought the port up.
    sm_lid: Option<u16>,
}

impl Port {
    /// The number before the state is its code; the word is the same in all kernels.
    fn read(machine: &Machine, device: &str, port: &str) -> Self {
        let text = |name: &str| {
            machine.text(&format!(
                "/sys/class/infiniband/{device}/ports/{port}/{name}"
            ))
        };
        let lid = |name: &str| {
            let text = text(name)?;
            u16::from_str_radix(text.strip_prefix("0x")?, 16).ok()
        };
        // As in `4: ACTIVE`.
        let state = text("state").unwrap_or_default();
        let state = state.rsplit(' ').next().unwrap_or_default().to_owned();
        Self {
            name: format!("{device} port {port}"),
            state,
            link: text("link_layer").unwrap_or_default(),
            lid: lid("lid"),
            sm_lid: lid("sm_lid"),
        }
    }

    /// RoCE first: such a port is ACTIVE too, with no LIDs.
    fn judged(&self) -> Finding {
        let Self { name, state, .. } = self;
        if self.link == "Ethernet" {
            return Finding::warning(
                "ports",
                format!("{name} is Ethernet (RoCE)"),
                "RoCE has no SA; serve on a port of link layer InfiniBand",
            );
        }
        // From good to bad; a state that is none of these is a driver's that we do not know.
        match (state.as_str(), self.lid, self.sm_lid) {
            ("ACTIVE", Some(lid), Some(sm)) if lid != 0 && sm != 0 => {
                let own = if lid == sm {
                    ", which is this port"
                } else {
                    ""
                };
                Finding::ok(
                    "ports",
                    format!("{name} is ACTIVE, LID {lid}, the SM's LID is {sm}{own}"),
                )
            }
            ("ACTIVE", ..) => Finding::problem(
                "ports",
                format!("{name} is ACTIVE but knows no SM"),
                "see that an SM is master on this subnet (sminfo)",
            ),
            ("INIT" | "ARMED", ..) => Finding::problem(
                "ports",
                format!("{name} is {state}: it is wired, and no SM has brought it up"),
                "start an SM on this subnet, and look at its log",
            ),
            // No problem by itself: HCAs with two ports often have one cable.
            ("DOWN", ..) => Finding::warning(
                "ports",
                format!("{name} is DOWN"),
                "look at the cable and the port at its other end",
            ),
            _ => Finding::warning(
                "ports",
                format!("{name} does not say its state"),
                "look at the driver's messages (dmesg)",
            ),
        }
    }
}
