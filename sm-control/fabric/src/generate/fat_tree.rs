//! Fat trees of two and three levels.
//!
//! ```text
//! two levels                     three levels, one pod of several
//!   T0  T1     tops                T0_0 T0_1  T1_0 T1_1     tops, in one group per middle switch of a pod
//!   | \/ |                           |    |     |    |
//!   | /\ |                         M0_0 ------- M0_1        middle switches of pod 0
//!   L0  L1     leaves                |  \     /  |
//!  hosts hosts                     L0_0         L0_1        leaves of pod 0, with their hosts
//! ```
//!
//! The n-th middle switch of every pod leads to group n of the tops and to no other: so there is one way from a
//! top switch down to a leaf, and as many ways up as a leaf has cables. Whole trees of switches with k ports have k pods of
//! k / 2 leaves: k^3 / 4 hosts. What is bought is often less: fewer pods (`pods`), fewer cables up than hosts
//! (`oversubscription`), and cables that run in parallel between fewer switches above (`parallel`).

use super::wiring::{MOST_PORTS, SwitchNo, Wiring};
use super::{GenerateError, need};

/// What to build.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FatTreeSpec {
    /// Levels of switches: 2 or 3.
    pub levels: u8,
    /// Ports of a switch.
    pub radix: u8,
    /// Hosts of a leaf for so many cables up, as 2 to 1; 1 to 1 is a tree without oversubscription.
    pub oversubscription: (u8, u8),
    /// Cables between two switches that are joined; it divides the cables up of a leaf and of a middle switch.
    pub parallel: u8,
    /// Pods of three levels, leaves of two; none for as many as the tops have ports for.
    pub pods: Option<u8>,
}

impl FatTreeSpec {
    /// A whole tree of switches with so many ports.
    pub const fn new(levels: u8, radix: u8) -> Self {
        Self {
            levels,
            radix,
            oversubscription: (1, 1),
            parallel: 1,
            pods: None,
        }
    }

    /// Cables up of a leaf; the ports that are left are for hosts.
    fn up(&self) -> u8 {
        let (hosts, cables) = (
            u16::from(self.oversubscription.0),
            u16::from(self.oversubscription.1),
        );
        let up = u16::from(self.radix) * cables / (hosts + cables).max(1);
        // Whole bundles of parallel cables.
        u8::try_from(up - up % u16::from(self.parallel.max(1))).unwrap_or(u8::MAX)
    }
}

/// Plans the tree. Errors: a number that fits no tree; more hosts than a subnet has LIDs.
pub fn fat_tree(spec: &FatTreeSpec) -> Result<Wiring, GenerateError> {
    need(matches!(spec.levels, 2 | 3), "levels", "2 or 3")?;
    need((4..=MOST_PORTS).contains(&spec.radix), "radix", "4 to 254")?;
    let (down, up) = spec.oversubscription;
    need(
        down > 0 && up > 0,
        "oversubscription",
        "two numbers above 0, as 2:1",
    )?;
    need(spec.parallel > 0, "parallel", "at least 1")?;
    need(
        spec.up() > 0,
        "parallel",
        "at most as many as a leaf has cables up",
    )?;
    let most = spec.radix / spec.parallel;
    let pods = spec.pods.unwrap_or(most);
    need(
        (1..=most).contains(&pods),
        "pods",
        "at least 1, at most as many as a top switch has ports for",
    )?;
    let mut wiring = Wiring::new(title(spec, pods));
    if spec.levels == 2 {
        two_levels(spec, pods, &mut wiring)?;
    } else {
        let half = spec.radix / 2;
        need(
            half.is_multiple_of(spec.parallel),
            "parallel",
            "a divisor of the cables up of a middle switch, which are half of its ports",
        )?;
        three_levels(spec, pods, &mut wiring)?;
    }
    Ok(wiring)
}

fn title(spec: &FatTreeSpec, pods: u8) -> String {
    let (down, up) = spec.oversubscription;
    let unit = if spec.levels == 2 { "leaves" } else { "pods" };
    format!(
        "fat tree of {} levels, {} ports per switch, {down}:{up}, {} parallel, {pods} {unit}",
        spec.levels, spec.radix, spec.parallel
    )
}

fn two_levels(spec: &FatTreeSpec, leaves: u8, wiring: &mut Wiring) -> Result<(), GenerateError> {
    let below = row(wiring, "L", leaves, spec.radix)?;
    let tops = row(wiring, "T", spec.up() / spec.parallel, spec.radix)?;
    for (leaf, switch) in below.iter().enumerate() {
        wiring.add_hosts(&leaf.to_string(), *switch, spec.radix - spec.up())?;
    }
    join(wiring, &below, &tops, spec.parallel)
}

fn three_levels(spec: &FatTreeSpec, pods: u8, wiring: &mut Wiring) -> Result<(), GenerateError> {
    let half = spec.radix / 2;
    let (leaves, middles) = (half / spec.parallel, spec.up() / spec.parallel);
    // The n-th middle switches of all pods.
    let mut groups: Vec<Vec<SwitchNo>> = vec![Vec::new(); middles.into()];
    for pod in 0..pods {
        let below = row(wiring, &format!("L{pod}_"), leaves, spec.radix)?;
        let above = row(wiring, &format!("M{pod}_"), middles, spec.radix)?;
        for (leaf, switch) in below.iter().enumerate() {
            wiring.add_hosts(&format!("{pod}_{leaf}"), *switch, spec.radix - spec.up())?;
        }
        join(wiring, &below, &above, spec.parallel)?;
        for (group, middle) in groups.iter_mut().zip(above) {
            group.push(middle);
        }
    }
    for (number, group) in groups.iter().enumerate() {
        let tops = row(
            wiring,
            &format!("T{number}_"),
            half / spec.parallel,
            spec.radix,
        )?;
        join(wiring, group, &tops, spec.parallel)?;
    }
    Ok(())
}

/// Switches that are named by a number behind `prefix`.
fn row(
    wiring: &mut Wiring,
    prefix: &str,
    count: u8,
    ports: u8,
) -> Result<Vec<SwitchNo>, GenerateError> {
    let names = (0..count).map(|nth| format!("{prefix}{nth}"));
    names.map(|name| wiring.add_switch(name, ports)).collect()
}

/// Joins each switch below with each above.
fn join(
    wiring: &mut Wiring,
    below: &[SwitchNo],
    above: &[SwitchNo],
    parallel: u8,
) -> Result<(), GenerateError> {
    for (one, other) in below
        .iter()
        .flat_map(|one| above.iter().map(move |other| (one, other)))
    {
        for _ in 0..parallel {
            wiring.connect(*one, *other)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(spec: FatTreeSpec) -> [usize; 3] {
        fat_tree(&spec).unwrap().counts()
    }

    #[test]
    fn a_whole_tree_has_as_many_switches_and_hosts_as_the_formulas_say() {
        // 5 k^2 / 4 switches, k^3 / 4 hosts.
        assert_eq!(counts(FatTreeSpec::new(3, 4)), [20, 32, 16]);
        assert_eq!(counts(FatTreeSpec::new(3, 8)), [80, 256, 128]);
        // 3 k / 2 switches, k^2 / 2 hosts.
        assert_eq!(counts(FatTreeSpec::new(2, 36)), [54, 648, 648]);
    }

    #[test]
    fn oversubscription_pods_and_parallel_cables_make_it_smaller() {
        let spec = FatTreeSpec {
            oversubscription: (2, 1),
            ..FatTreeSpec::new(2, 36)
        };
        assert_eq!(counts(spec), [36 + 12, 36 * 12, 36 * 24]);
        let spec = FatTreeSpec {
            parallel: 2,
            pods: Some(3),
            ..FatTreeSpec::new(3, 8)
        };
        // Two leaves and two middle switches a pod, two groups of two tops.
        assert_eq!(counts(spec), [3 * 4 + 4, 3 * 8 + 3 * 8, 3 * 8]);
    }

    #[test]
    fn what_fits_no_tree_is_said() {
        for (spec, word) in [
            (FatTreeSpec::new(4, 8), "levels"),
            (FatTreeSpec::new(3, 3), "radix"),
            (
                FatTreeSpec {
                    pods: Some(9),
                    ..FatTreeSpec::new(3, 8)
                },
                "pods",
            ),
            (
                FatTreeSpec {
                    parallel: 3,
                    ..FatTreeSpec::new(3, 8)
                },
                "parallel",
            ),
            (
                FatTreeSpec {
                    oversubscription: (1, 0),
                    ..FatTreeSpec::new(2, 8)
                },
                "oversubscription",
            ),
        ] {
            let message = fat_tree(&spec).unwrap_err().to_string();
            assert!(message.contains(word), "{message}");
        }
    }
}
