//! Options against what torus-2QoS needs.
//!
//! Between switches torus-2QoS spreads the paths of one QoS level over four VLs, so these four need
//! equal weights: a path's VL follows from where it crosses a dateline, and no path should be
//! slower for that. At end ports each level has one VL, 0 and 1, and weight for others is lost.
//!
//! OpenSM's defaults do neither: `0:4,1:0,2:0,...` in the high table prefers VL 0 to VLs 1 to 3 of
//! the same level. So a fabric without QoS options in its `opensm.conf` is unfair, and the warning
//! for that is short.
//!
//! Each warning carries a value that would be fair, with the shares between the levels as they were
//! written. Source: OpenSM `osm_torus.c`, `check_qos_swe_config`, `check_qos_ep_config`.

use sa_fabric::OpenSmOptions;
use sa_fabric::options::{PortClass, QosSet, QosTables, VlArbEntry};

use super::warning::{Origin, Priority, TorusWarning, option};

/// Where OpenSM warns about the QoS options once torus-2QoS has routed, classes of ports with the
/// same trouble put together; and the common `qos_sl2vl`, which it ignores without a word.
///
/// In OpenSM's order: VLs and weights between switches, then at end ports, then SL2VL.
pub fn torus_warnings(options: &OpenSmOptions) -> Vec<TorusWarning> {
    let priorities = [Priority::High, Priority::Low];
    let mut found = Vec::new();
    // Two levels of four VLs each; at end ports one VL for each level.
    found.extend(few_vls(options, vec![PortClass::SwitchExternal], 8));
    found.extend(
        priorities
            .map(|priority| between_switches(options, priority))
            .into_iter()
            .flatten(),
    );
    for classes in groups(options, |set| set.max_vls.is_some()) {
        found.extend(few_vls(options, classes, 2));
    }
    for priority in priorities {
        for classes in groups(options, |set| priority.of(set).is_some()) {
            found.extend(at_end_ports(options, priority, classes));
        }
    }
    found.extend(sl2vl(options));
    found
}

/// The classes of end ports: those with a value of their own one by one, the others together.
///
/// So that a common option is told once and not three times.
fn groups(options: &OpenSmOptions, has_own: impl Fn(&QosSet) -> bool) -> Vec<Vec<PortClass>> {
    let classes = [PortClass::Ca, PortClass::SwitchPort0, PortClass::Router];
    let (own, others): (Vec<_>, Vec<_>) = classes
        .into_iter()
        .partition(|class| has_own(options.qos_set(*class)));
    let own = own.into_iter().map(|class| vec![class]);
    own.chain([others])
        .filter(|group| !group.is_empty())
        .collect()
}

/// None where `max_vls` is not given: the default limits nothing.
fn few_vls(options: &OpenSmOptions, classes: Vec<PortClass>, needed: u8) -> Option<TorusWarning> {
    let own = options.qos_set(*classes.first()?).max_vls;
    let origin = if own.is_some() {
        Origin::Own
    } else {
        Origin::Common
    };
    let max_vls = own.or(options.qos_common.max_vls)?;
    (max_vls < needed).then_some(TorusWarning::FewVls {
        classes,
        origin,
        max_vls,
        needed,
    })
}

/// None where each level has equal weights.
fn between_switches(options: &OpenSmOptions, priority: Priority) -> Option<TorusWarning> {
    let (origin, weights) = weights(options, PortClass::SwitchExternal, priority);
    let levels = [&weights[..4], &weights[4..]];
    if levels.into_iter().all(is_uniform) {
        return None;
    }
    // Whoever configured it meant something by the levels' shares; the default means nothing here.
    let shares = match origin {
        Origin::Default => [DEFAULT_WEIGHT; 2],
        Origin::Own | Origin::Common => {
            levels.map(|level| level.iter().copied().max().unwrap_or(0))
        }
    };
    let [low, high] = shares;
    // The largest weight of a level for all its VLs: nobody gets less than before.
    let fair = [low, low, low, low, high, high, high, high];
    Some(TorusWarning::UnequalWeights {
        priority,
        origin,
        weights,
        fair: written(&fair),
    })
}

/// None where VLs 2 to 7 have no weight.
fn at_end_ports(
    options: &OpenSmOptions,
    priority: Priority,
    classes: Vec<PortClass>,
) -> Option<TorusWarning> {
    let (origin, weights) = weights(options, *classes.first()?, priority);
    let [first, second, unused @ ..] = weights;
    if unused.iter().all(|weight| *weight == 0) {
        return None;
    }
    // A level without any weight would starve.
    let fair = match (origin, first, second) {
        (Origin::Default, ..) | (_, 0, 0) => [DEFAULT_WEIGHT; 2],
        (_, one, 0) | (_, 0, one) => [one; 2],
        (_, first, second) => [first, second],
    };
    Some(TorusWarning::UnusedVlWeights {
        priority,
        classes,
        origin,
        weights,
        fair: written(&fair),
    })
}

/// Options that the engine's own tables take the place of.
fn sl2vl(options: &OpenSmOptions) -> Option<TorusWarning> {
    let classes = [
        PortClass::Ca,
        PortClass::SwitchPort0,
        PortClass::SwitchExternal,
        PortClass::Router,
    ];
    let own = classes
        .into_iter()
        .filter(|class| options.qos_set(*class).sl2vl.is_some());
    let mut names: Vec<_> = own
        .map(|class| option(class, Origin::Own, "sl2vl"))
        .collect();
    if options.qos_common.sl2vl.is_some() {
        names.push(option(PortClass::Ca, Origin::Common, "sl2vl"));
    }
    (!names.is_empty()).then_some(TorusWarning::SlToVlIgnored { options: names })
}

/// The weight that OpenSM's own default tables give.
const DEFAULT_WEIGHT: u32 = 4;

/// The weights in force for a class, and where they come from.
///
/// Sums, as a table may name a VL several times; VLs 8 to 14 have no use here.
fn weights(options: &OpenSmOptions, class: PortClass, priority: Priority) -> (Origin, [u32; 8]) {
    let own = priority.of(options.qos_set(class));
    let common = priority.of(&options.qos_common);
    let (origin, text) = match (own, common) {
        (Some(own), _) => (Origin::Own, own),
        (None, Some(common)) => (Origin::Common, common),
        (None, None) => (Origin::Default, priority.default()),
    };
    let [a, b, c, d, e, f, g, h, ..] = VlArbEntry::weights_by_vl(text);
    (origin, [a, b, c, d, e, f, g, h])
}

impl Priority {
    /// The option's text in a set.
    fn of(self, set: &QosSet) -> Option<&str> {
        match self {
            Self::High => set.vlarb_high.as_deref(),
            Self::Low => set.vlarb_low.as_deref(),
        }
    }

    const fn default(self) -> &'static str {
        match self {
            Self::High => QosTables::DEFAULT_HIGH,
            Self::Low => QosTables::DEFAULT_LOW,
        }
    }
}

/// True when all are the same.
pub(super) fn is_uniform(weights: &[u32]) -> bool {
    weights.iter().all(|weight| Some(weight) == weights.first())
}

/// As an option's value: VLs without weight are left out.
///
/// At most 255, which is what an entry can hold.
fn written(weights: &[u32]) -> String {
    const MOST: u32 = 255;
    let weighty = (0..).zip(weights).filter(|(_, weight)| **weight > 0);
    let entries: Vec<_> = weighty
        .map(|(vl, weight): (u8, _)| format!("{vl}:{}", (*weight).min(MOST)))
        .collect();
    entries.join(",")
}

#[cfg(test)]
mod tests;
