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
///
/// In the order of [`Event::all`] each undoes or follows the one before, so that the subnet ends as
/// it began.
#[derive(Debug, Clone)]
pub(in crate::demo) enum Event {
    /// All devices are as at power-on.
    ///
    /// The simulator starts like that, so nothing is done here.
    PowerOn,
    /// A sweep over a subnet that is as it was left.
    ///
    /// Must not write anything; see `judge`.
    Nothing,
    /// A cable between switches is pulled.
    ///
    /// Both ends go down at once.
    Pulled(Cable),
    /// It is plugged in again.
    Plugged(Cable),
    /// A switch loses all that was written to it.
    ///
    /// Its cables stay, and its links train anew.
    Rebooted(Cable),
    /// The switch at the near end answers no Set of its forwarding table.
    ///
    /// The cable is pulled too, so that its table has to be written.
    Mute(Cable),
    /// It answers again, and the cable is plugged in.
    Heard(Cable),
}

/// A cable by its two ends.
///
/// While it is pulled it is still a cable of the drawing; see [`Site`].
#[derive(Debug, Clone)]
pub(in crate::demo) struct Cable {
    /// The lower of the two; events that happen to a switch happen to the one here.
    near: PortRef,
    /// The other end.
    far: PortRef,
    /// Of the two switches.
    ///
    /// By their descriptions, near first.
    names: [String; 2],
}

impl Event {
    /// In their order. Errors: the fabric has no two cables between switches.
    ///
    /// Two cables are used, a third and two thirds down the list, so that they lie apart.
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
    ///
    /// The Subnet Manager is not told: it finds out when it sweeps.
    pub(super) fn happen(&self, site: &mut Site) {
        match self {
            Self::PowerOn | Self::Nothing => {}
            Self::Pulled(cable) => cable.pull(site),
            Self::Plugged(cable) => cable.plug(site),
            Self::Heard(cable) => {
                // All rules are this one's, so that clearing all is right.
                site.manager.simulator.clear_rules();
                cable.plug(site);
            }
            Self::Rebooted(cable) => site.manager.simulator.reboot(cable.near.node),
            Self::Mute(cable) => {
                // With the cable in place nothing would have to be written to this switch.
                cable.pull(site);
                site.manager.simulator.add_rule(Rule {
                    node: Some(site.fabric.node(cable.near.node).guid),
                    method: Some(method::SET),
                    attribute: Some(attribute::LINEAR_TABLE),
                    ..Rule::always(Effect::Lost)
                });
            }
        }
    }

    /// False where some pair may have no path, or a switch not what was planned.
    ///
    /// Answers then follow what the switch really holds, and some hosts may be out of reach.
    pub(super) const fn must_be_whole(&self) -> bool {
        !matches!(self, Self::Mute(_))
    }
}

impl Cable {
    /// In the simulator, and for whoever walks the subnet afterwards.
    fn pull(&self, site: &mut Site) {
        site.manager.simulator.unplug(self.near);
        site.pulled.extend([self.near, self.far]);
    }

    /// The same the other way.
    fn plug(&self, site: &mut Site) {
        site.manager.simulator.plug(self.near, self.far);
        site.pulled.retain(|at| *at != self.near && *at != self.far);
    }
}

/// Each once, by its lower end.
///
/// Shape: in the order of the fabric. Cables to hosts are left out, whose loss cuts off.
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
