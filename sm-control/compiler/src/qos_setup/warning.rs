//! What does not suit torus-2QoS, in words.
//!
//! ```text
//! qos_swe_vlarb_high is unfair between switches: VLs 0-3 weigh 4,0,0,0, torus-2QoS needs them
//!   equal; set in opensm.conf: qos_swe_vlarb_high 0:4,1:4,2:4,3:4
//! ```
//!
//! Apart from `check`, which finds them: the same values are told as remarks of a load, as lints,
//! and as JSON documents of `sapphire setup`.

use core::fmt;

use sa_fabric::options::PortClass;
use sa_text::Remark;

use super::check::is_uniform;

/// A QoS option that does not suit torus-2QoS. OpenSM routes all the same, and so do we.
/// Source: OpenSM `osm_torus.c`, `check_qos_swe_config` and `check_qos_ep_config`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum TorusWarning {
    /// Fewer VLs than torus-2QoS has uses for.
    FewVls {
        /// Ports that the option is in force for; never empty.
        classes: Vec<PortClass>,
        /// Whose option it is.
        origin: Origin,
        /// Its value.
        max_vls: u8,
        /// How many VLs have a use: 8 between switches, 2 at end ports.
        needed: u8,
    },
    /// Between switches, VLs of one QoS level have different weights.
    UnequalWeights {
        /// Which table.
        priority: Priority,
        /// Where it comes from.
        origin: Origin,
        /// Sums of weights. Shape: VL 0 to 7.
        weights: [u32; 8],
        /// A fair value of the class's own option.
        fair: String,
    },
    /// At end ports, VLs have weight that torus-2QoS does not use there.
    UnusedVlWeights {
        /// Which table.
        priority: Priority,
        /// Ports that it is in force for.
        classes: Vec<PortClass>,
        /// Where it comes from.
        origin: Origin,
        /// Sums of weights. Shape: VL 0 to 7.
        weights: [u32; 8],
        /// A value of the classes' own options with weight for VLs 0 and 1 only.
        fair: String,
    },
    /// SL2VL tables are configured, which only the engine may make.
    SlToVlIgnored {
        /// Names of the options, the common one last.
        options: Vec<String>,
    },
}

/// Where the value in force for a class of ports comes from.
///
/// Told, because what is wrong may be a line, another line, or no line at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// The option of the class itself.
    Own,
    /// The option for all classes.
    Common,
    /// OpenSM's default.
    Default,
}

/// One of the two tables of VL arbitration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Priority {
    /// `vlarb_high`.
    High,
    /// `vlarb_low`.
    Low,
}

impl Priority {
    /// Name of the option, without its prefix.
    const fn field(self) -> &'static str {
        match self {
            Self::High => "vlarb_high",
            Self::Low => "vlarb_low",
        }
    }
}

impl TorusWarning {
    /// What is wrong, without what to do about it.
    ///
    /// Names the option that is in force, which may be the common one.
    pub fn sentence(&self) -> String {
        match self {
            Self::FewVls {
                classes,
                origin,
                max_vls,
                needed,
            } => format!(
                "{} is {max_vls}, torus-2QoS has a use for {needed} VLs {}",
                InForce(classes, *origin, "max_vls"),
                Ports(classes)
            ),
            Self::UnequalWeights {
                priority,
                origin,
                weights,
                ..
            } => format!(
                "{} is unfair between switches: {}, torus-2QoS needs them equal",
                InForce(BETWEEN_SWITCHES, *origin, priority.field()),
                Unequal(weights)
            ),
            Self::UnusedVlWeights {
                priority,
                classes,
                origin,
                weights: [_, _, weights @ ..],
                ..
            } => format!(
                "{} gives weight to VLs that torus-2QoS does not use {}: VLs 2-7 weigh {}",
                InForce(classes, *origin, priority.field()),
                Ports(classes),
                list(weights)
            ),
            Self::SlToVlIgnored { .. } => {
                "torus-2QoS makes the SL2VL tables of all ports itself, to be free of deadlock"
                    .to_owned()
            }
        }
    }

    /// What to do about it.
    ///
    /// Always an option of the class itself: the common one is also for ports that need other
    /// values.
    pub fn remedy(&self) -> String {
        match self {
            Self::FewVls {
                classes, needed, ..
            } => format!(
                "remove it (it limits nothing, max_op_vls does) or {}",
                Advice(classes, "max_vls", needed)
            ),
            Self::UnequalWeights { priority, fair, .. } => {
                Advice(BETWEEN_SWITCHES, priority.field(), fair).to_string()
            }
            Self::UnusedVlWeights {
                priority,
                classes,
                fair,
                ..
            } => Advice(classes, priority.field(), fair).to_string(),
            Self::SlToVlIgnored { options } => format!(
                "remove from opensm.conf what has no effect: {}",
                options.join(", ")
            ),
        }
    }

    /// A short name that does not change.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::FewVls { .. } => "torus-few-vls",
            Self::UnequalWeights { .. } => "torus-weights-unequal",
            Self::UnusedVlWeights { .. } => "torus-weights-unused",
            Self::SlToVlIgnored { .. } => "torus-sl2vl-ignored",
        }
    }

    /// The same as a remark. It concerns options in force, which no file need have given.
    pub fn remark(&self) -> Remark {
        Remark::warning(self.code(), self.to_string())
    }
}

impl fmt::Display for TorusWarning {
    /// Shape: `what; what to do`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.sentence(), self.remedy())
    }
}

const BETWEEN_SWITCHES: &[PortClass] = &[PortClass::SwitchExternal];

/// The name of an option: that of a class, or with [`Origin::Common`] the common one.
pub(super) fn option(class: PortClass, origin: Origin, field: &str) -> String {
    let prefix = match (origin, class) {
        (Origin::Common, _) => "qos",
        (_, PortClass::Ca) => "qos_ca",
        (_, PortClass::SwitchPort0) => "qos_sw0",
        (_, PortClass::SwitchExternal) => "qos_swe",
        (_, PortClass::Router) => "qos_rtr",
    };
    format!("{prefix}_{field}")
}

/// The value in force for classes that share it.
struct InForce<'a>(&'a [PortClass], Origin, &'a str);

impl fmt::Display for InForce<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(classes, origin, field) = *self;
        let class = classes.first().copied().unwrap_or(PortClass::Ca);
        match origin {
            Origin::Own | Origin::Common => f.write_str(&option(class, origin, field)),
            Origin::Default => write!(f, "the default {field} of OpenSM"),
        }
    }
}

/// Where the ports of classes are.
struct Ports<'a>(&'a [PortClass]);

impl fmt::Display for Ports<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |class: &PortClass| match class {
            PortClass::Ca => "on CA ports",
            PortClass::SwitchPort0 => "on switch ports 0",
            PortClass::SwitchExternal => "between switches",
            PortClass::Router => "on router ports",
        };
        let names: Vec<_> = self.0.iter().map(name).collect();
        f.write_str(&names.join(", "))
    }
}

/// What to write into opensm.conf: a whole line for the first class, names for the others.
struct Advice<'a, V>(&'a [PortClass], &'a str, V);

impl<V: fmt::Display> fmt::Display for Advice<'_, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(classes, field, value) = self;
        let names = classes
            .iter()
            .map(|class| option(*class, Origin::Own, field));
        let names: Vec<_> = names.collect();
        let (first, others) = names.split_first().ok_or(fmt::Error)?;
        write!(f, "set in opensm.conf: {first} {value}")?;
        if others.is_empty() {
            return Ok(());
        }
        write!(f, " (and the same for {})", others.join(", "))
    }
}

/// The ranges of VLs whose weights differ.
pub(super) struct Unequal<'a>(pub(super) &'a [u32; 8]);

impl fmt::Display for Unequal<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (first, second) = self.0.split_at(4);
        let levels = [("VLs 0-3", first), ("VLs 4-7", second)];
        let unequal = levels.iter().filter(|(_, weights)| !is_uniform(weights));
        let words: Vec<_> = unequal
            .map(|(vls, weights)| format!("{vls} weigh {}", list(weights)))
            .collect();
        f.write_str(&words.join(" and "))
    }
}

fn list(weights: &[u32]) -> String {
    let words: Vec<_> = weights.iter().map(u32::to_string).collect();
    words.join(",")
}
