//! What happens to the subnet between two sweeps.

use std::fmt;

use fabric_simulator::{Effect, Rule};
use sa_fabric::{Fabric, PortRef};
use sa_wire::NodeType;
use sa_wire::mad::method;
use sa_wire::smp::attribute;

use super::Site;
use crate::failure::{Failure, Outcome};

/// An event, with what it happens to in words.
#[derive(Debug, Clone)]
pub(in crate::demo) enum Event {
    /// All devices are as at power-on.
    PowerOn,
    /// A sweep over a subnet that is as it was left.
    Nothing,
    /// A cable between switches is pulled.
    Pulled(Cable),
    /// It is plugged in again.
    Plugged(Cable),
    /// A switch loses all that was written to it.
    Rebooted(Cable),
    /// The switch at the near end answers no Set of its forwarding table.
    Mute(Cable),
    /// It answers again, and the cable is plugged in.
    Heard(Cable),
}

/// A cable by its two ends.
#[derive(Debug, Clone)]
pub(in crate::demo) struct Cable {
    near: PortRef,
    far: PortRef,
    /// Of the two switches.
    names: [String; 2],
}

impl Event {
    /// In their order. Errors: the fabric has no two cables between switches.
    pub(super) fn all(fabric: &Fabric) -> Outcome<Vec<Self>> {
        let cables = cables(fabric);
        let nth = |nth: usize| {
            let cable = cables.get(nth).cloned();
            cable.ok_or_else(|| Failure::failed("the fabric has too few cables"))
        };
        let (one, other) = (nth(cables.len() / 3)?, nth(cables.len() * 2 / 3)?);
        Ok(vec![
            Self::PowerOn,
            Self::Nothing,
            Self::Pulled(one.clone()),
            Self::Plugged(one.clone()),
            Self::Rebooted(one),
            Self::Mute(other.clone()),
            Self::Heard(other),
        ])
    }

    /// Does it to the simulated devices.
    pub(super) fn happen(&self, site: &mut Site) {
        let simulator = &mut site.manager.simulator;
        match self {
            Self::PowerOn | Self::Nothing => {}
            Self::Pulled(cable) => simulator.unplug(cable.near),
            Self::Plugged(cable) => simulator.plug(cable.near, cable.far),
            Self::Heard(cable) => {
                simulator.clear_rules();
                simulator.plug(cable.near, cable.far);
            }
            Self::Rebooted(cable) => simulator.reboot(cable.near.node),
            Self::Mute(cable) => {
                simulator.unplug(cable.near);
                simulator.add_rule(Rule {
                    node: Some(site.fabric.node(cable.near.node).guid),
                    method: Some(method::SET),
                    attribute: Some(attribute::LINEAR_TABLE),
                    ..Rule::always(Effect::Lost)
                });
            }
        }
    }

    /// False where some pair may have no path, or a switch not what was planned.
    pub(super) const fn must_be_whole(&self) -> bool {
        !matches!(self, Self::Mute(_))
    }
}

/// Each once, by its lower end.
fn cables(fabric: &Fabric) -> Vec<Cable> {
    let is_switch = |at: PortRef| fabric.node(at.node).kind == NodeType::Switch;
    let cabled = fabric.cabled();
    let between = cabled.filter(|(near, far)| near < far && is_switch(*near) && is_switch(*far));
    let cables = between.map(|(near, far)| Cable {
        near,
        far,
        names: [near, far].map(|end| fabric.node(end.node).description.clone()),
    });
    cables.collect()
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PowerOn => f.write_str("power on"),
            Self::Nothing => f.write_str("nothing"),
            Self::Pulled(cable) => write!(f, "cable {cable} is pulled"),
            Self::Plugged(cable) => write!(f, "cable {cable} is plugged in again"),
            Self::Rebooted(cable) => write!(f, "switch {} is rebooted", cable.names[0]),
            Self::Mute(cable) => {
                let [mute, _] = &cable.names;
                write!(
                    f,
                    "cable {cable} is pulled, and switch {mute} does not answer"
                )
            }
            Self::Heard(cable) => write!(f, "cable {cable} is plugged in, and the switch answers"),
        }
    }
}

impl fmt::Display for Cable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [near, far] = &self.names;
        write!(f, "{near} to {far}")
    }
}
