//! Why torus-2QoS refuses a fabric.
//!
//! Kept as values with their facts until they leave the engine, so that code, place, OpenSM's
//! number and text of one case stand together, and tests compare cases instead of words.

use sa_text::Position;

use super::config::TorusConfig;
use super::text::{AbsentSeedSwitch, absent_switches, list, pairs};
use crate::error::{Reason, SwitchName};
use crate::placement::{Axis, Coordinate, Direction, Shape};

/// Which links a seed lacks.
/// Told apart because OpenSM has other numbers for the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::engine) enum SeedNeed {
    /// A link in either direction, since the axis exists.
    Either,
    /// This direction, since a closed ring of four switches needs both.
    RingOfFour(Direction),
}

/// Why a fabric is refused. The text says what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(in crate::engine) enum TorusReason {
    /// The subnet runs without QoS.
    #[error(
        "torus-2QoS needs QoS, which is off; without it paths cannot use the VLs that keep \
        the torus free of deadlock. Set `qos TRUE` in opensm.conf or drop --no-qos"
    )]
    QosOff,
    /// No usable `torus` or `mesh` line.
    #[error(
        "torus-2QoS.conf gives no size: the radix of {} is missing or 0. Add a line such as \
        `torus 6 5 4` with the number of switches around each ring (1 for an axis that does not \
        exist)",
        list(axes)
    )]
    RadixMissing {
        /// Axes without a radix.
        axes: Vec<Axis>,
    },
    /// A radix that no fabric has.
    #[error(
        "the {axis} radix {radix} in torus-2QoS.conf is more than the 255 supported. Correct \
        the `torus` or `mesh` line"
    )]
    RadixTooLarge {
        axis: Axis,
        /// The radix as the file has it.
        radix: u32,
    },
    /// Fewer than two data VLs between switches.
    #[error(
        "{switch} port {port} can operate {have} data VL between switches, but the torus \
        needs at least 2 to stay free of deadlock. Raise max_op_vls, or replace the switch"
    )]
    TooFewVls {
        /// A switch with the fewest.
        switch: SwitchName,
        port: u8,
        /// How many it has.
        have: u8,
    },
    /// `port_order` names ports that a switch lacks.
    #[error(
        "port_order in torus-2QoS.conf begins with port {port}, but {switch}{} only {ports} \
        ports. Leave out ports that not every switch of the fabric has",
        match others {
            0 => " has".to_owned(),
            others => format!(" and {others} others have"),
        }
    )]
    PortOrder {
        /// A switch without that port.
        switch: SwitchName,
        /// How many more lack it.
        others: usize,
        /// How many ports it has.
        ports: usize,
        port: u32,
    },
    /// A seed lacks a link.
    #[error("seed {} of torus-2QoS.conf{} has no {}. Add it{}", seed + 1, in_line(*line),
        wanted(*need, *axis),
        if matches!(need, SeedNeed::RingOfFour(_)) {
            ": the rings of this axis have four switches, so that one link does not tell a ring \
             from a face"
        } else if *line == 0 {
            ": the seed tells where the torus begins and which way its axes run"
        } else {
            ", or remove the `next_seed` that opens this seed"
        })]
    SeedLinkMissing {
        /// Number of the seed, from 0.
        seed: usize,
        /// Its line, 0 when the file has no seed at all.
        line: u32,
        axis: Axis,
        need: SeedNeed,
    },
    /// Links of a seed do not start at one switch.
    #[error("the {first} and {second} links of seed {} of torus-2QoS.conf{} start at different \
        switches ({first_guid:#x} and {second_guid:#x}). Give the common switch as the first \
        GUID of every link of a seed", seed + 1, in_line(*line))]
    SeedSwitchesDiffer {
        /// Number of the seed, from 0.
        seed: usize,
        /// Line of the second link.
        line: u32,
        first: Direction,
        first_guid: u64,
        second: Direction,
        second_guid: u64,
    },
    /// Every seed names a switch that the fabric lacks.
    #[error(
        "no seed of torus-2QoS.conf can be used: {}. Correct the GUIDs, bring these switches \
        up, or add a `next_seed` around other switches",
        absent_switches(absent)
    )]
    NoUsableSeed {
        /// What is missing of each.
        absent: Vec<AbsentSeedSwitch>,
    },
    /// A seed switch on an absent axis is not in the fabric.
    #[error("switch {guid:#x} of the {direction} seed link (line {line} of torus-2QoS.conf) is not \
        in the fabric. Remove the link: the {} axis has radix 1", direction.axis)]
    SeedPlacement {
        direction: Direction,
        guid: u64,
        line: u32,
    },
    /// The configuration has no seed, and the torus is a single switch.
    #[error("torus-2QoS.conf has no seed link. Name a switch with `xp_link GUID GUID`")]
    NoSeed,
    /// One switch in two places.
    #[error(
        "{switch} also fits at {again}: the wiring does not match torus-2QoS.conf. Check the \
        radices, the seed links of rings of four, and the cables between these places"
    )]
    PlacedTwice {
        /// The switch and its first place.
        switch: SwitchName,
        again: Coordinate,
    },
    /// More local ports than a port group takes.
    #[error(
        "{switch} has {ports} local ports (port 0 and hosts), but portgroup_max_ports is \
        {limit}. Set `portgroup_max_ports {ports}` in torus-2QoS.conf"
    )]
    GroupFull {
        switch: SwitchName,
        /// Port 0 and the ports with a CA or router.
        ports: usize,
        limit: u32,
    },
    /// Missing switches that cannot be routed around without deadlock.
    #[error(
        "the switches missing at {} cannot be routed around without deadlock: either a \
        single one, or several that are adjacent in one z column may be missing. Bring switches \
        back{}",
        list(places),
        z_hint(shape)
    )]
    MissingSwitches {
        /// The shape of the torus.
        shape: Shape,
        places: Vec<Coordinate>,
    },
    /// A ring whose ends do not match.
    #[error("the links of the {axis} ring {} do not add up: {minus} switches lack the -{axis} \
        link and {plus} the +{axis} link. Check its cables and portgroup_max_ports",
        ring(*axis, *through))]
    RingStrange {
        axis: Axis,
        /// A place on it.
        through: Coordinate,
        /// Switches without a minus link.
        minus: usize,
        /// Switches without a plus link.
        plus: usize,
    },
    /// A ring that is broken into pieces.
    #[error("the {axis} ring {} is broken in {} places, after {}; its pieces cannot reach each \
        other within it. Repair all but one of the breaks", ring(*axis, *through), gaps.len(),
        list(gaps))]
    RingDisjoint {
        axis: Axis,
        /// A place on it.
        through: Coordinate,
        /// Places behind which there is no link in the plus direction.
        gaps: Vec<Coordinate>,
    },
    /// Pairs of switches without a route.
    #[error(
        "{count} pairs of switches have no route, such as {}. Repair missing links and \
        switches around them",
        pairs(examples)
    )]
    NoRoutes {
        /// How many ordered pairs.
        count: u64,
        examples: Vec<(SwitchName, SwitchName)>,
    },
    /// No switch can be the root of the multicast tree.
    #[error(
        "no switch can be the root of the multicast tree: every candidate has a missing \
        switch on its x or y ring. Bring back the switches missing at {}",
        list(missing)
    )]
    NoMulticastRoot { missing: Vec<Coordinate> },
    /// Switches that the multicast tree does not reach.
    #[error(
        "the multicast tree does not reach {}. Repair their links",
        list(switches)
    )]
    NotInMulticastTree { switches: Vec<SwitchName> },
}

impl TorusReason {
    /// As the callers of all engines get it.
    /// After this nobody can tell cases apart but by code.
    pub(in crate::engine) fn into_reason(self, config: &TorusConfig) -> Reason {
        Reason {
            code: self.code(),
            text: self.to_string(),
            place: self.place(config),
            opensm_code: self.opensm_code(),
        }
    }

    /// A short name that does not change.
    const fn code(&self) -> &'static str {
        match self {
            Self::QosOff => "qos-off",
            Self::RadixMissing { .. } => "radix-missing",
            Self::RadixTooLarge { .. } => "radix-too-large",
            Self::TooFewVls { .. } => "too-few-vls",
            Self::PortOrder { .. } => "port-order",
            Self::SeedLinkMissing { .. } => "seed-link-missing",
            Self::SeedSwitchesDiffer { .. } => "seed-switches-differ",
            Self::NoUsableSeed { .. } => "no-usable-seed",
            Self::SeedPlacement { .. } => "seed-placement",
            Self::NoSeed => "no-seed",
            Self::PlacedTwice { .. } => "placed-twice",
            Self::GroupFull { .. } => "group-full",
            Self::MissingSwitches { .. } => "missing-switches",
            Self::RingStrange { .. } => "ring-strange",
            Self::RingDisjoint { .. } => "ring-disjoint",
            Self::NoRoutes { .. } => "no-routes",
            Self::NoMulticastRoot { .. } => "no-multicast-root",
            Self::NotInMulticastTree { .. } => "not-in-multicast-tree",
        }
    }

    /// Where the configuration says what the fabric contradicts; none when it is no matter of the
    /// configuration.
    /// A fault of the fabric alone (a broken ring, a missing switch) has none.
    fn place(&self, config: &TorusConfig) -> Option<Position> {
        let places = &config.places;
        let link = |line: u32| {
            let column = places.links.get(&line).copied()?;
            Some(Position { line, column })
        };
        match self {
            Self::RadixMissing { axes } => {
                // A radix of 0 is written somewhere; one that is missing is not.
                let first = axes.iter().find_map(|axis| places.radix[axis.index()]);
                first.or(Some(TOP))
            }
            Self::RadixTooLarge { axis, .. } => places.radix[axis.index()],
            Self::PortOrder { port, .. } => {
                let order = config.port_order.iter().position(|it| it == port);
                let listed = order.and_then(|at| places.port_order.get(at));
                listed.or_else(|| places.port_order.last()).copied()
            }
            Self::SeedLinkMissing { seed, .. } => {
                places.seeds.get(*seed).copied().or(places.radix[0])
            }
            Self::SeedSwitchesDiffer { line, .. } | Self::SeedPlacement { line, .. } => link(*line),
            Self::NoUsableSeed { absent } => absent.first().and_then(|absent| link(absent.line)),
            Self::NoSeed => places.radix[0].or(Some(TOP)),
            Self::GroupFull { .. } => places.portgroup_max_ports,
            _ => None,
        }
    }

    /// The error that OpenSM logs in this case; none when it says nothing or has no such case.
    fn opensm_code(&self) -> Option<&'static str> {
        Some(match self {
            Self::QosOff => "4E44",
            Self::RadixMissing { .. } => "4E20",
            Self::TooFewVls { .. } => "4E48",
            Self::PortOrder { .. } => "4E21",
            Self::SeedLinkMissing { axis, need, .. } => seed_link_code(*axis, *need),
            Self::SeedSwitchesDiffer { first, second, .. } => match (first.axis, second.axis) {
                (Axis::X, Axis::X) => "4E24",
                (Axis::Y, Axis::Y) => "4E27",
                (Axis::Z, Axis::Z) => "4E2A",
                (_, Axis::Z) => "4E2D",
                _ => "4E2F",
            },
            Self::NoUsableSeed { .. } => "4E30",
            Self::SeedPlacement { .. } => "4E57",
            Self::PlacedTwice { .. } => "4E1C",
            // Port 0 comes first, so it fails only when nothing may be in the group.
            // (With a limit of 0, that is.)
            Self::GroupFull { limit: 0, .. } => "4E1D",
            Self::GroupFull { .. } => "4E1E",
            Self::MissingSwitches { .. } => "4E38",
            Self::RingStrange { axis, .. } => ["4E32", "4E34", "4E36"][axis.index()],
            Self::RingDisjoint { axis, .. } => ["4E33", "4E35", "4E37"][axis.index()],
            Self::NoRoutes { .. } => "4E39",
            Self::NotInMulticastTree { .. } => "4E43",
            Self::RadixTooLarge { .. } | Self::NoSeed | Self::NoMulticastRoot { .. } => {
                return None;
            }
        })
    }
}

/// Where there is nothing to point at.
const TOP: Position = Position::START;

/// OpenSM's own code for a seed that lacks a link.
fn seed_link_code(axis: Axis, need: SeedNeed) -> &'static str {
    match need {
        SeedNeed::Either => ["4E2B", "4E2E", "4E2C"][axis.index()],
        SeedNeed::RingOfFour(direction) => {
            // By group: -x, +x, -y, +y, -z, +z.
            ["4E23", "4E22", "4E26", "4E25", "4E29", "4E28"][usize::from(direction.group())]
        }
    }
}

/// The keywords of which a seed needs one.
fn wanted(need: SeedNeed, axis: Axis) -> String {
    match need {
        SeedNeed::Either => format!("`{axis}p_link` and no `{axis}m_link`"),
        SeedNeed::RingOfFour(direction) => {
            let sign = if direction.group() % 2 == 1 { 'p' } else { 'm' };
            format!("`{axis}{sign}_link`")
        }
    }
}

/// Where it stands; nothing where the file has no such line.
fn in_line(line: u32) -> String {
    if line == 0 {
        String::new()
    } else {
        format!(" (line {line})")
    }
}

/// A ring by its two other coordinates.
fn ring(axis: Axis, through: Coordinate) -> String {
    let others = Axis::ALL.into_iter().filter(|other| *other != axis);
    let at: Vec<_> = others
        .map(|other| format!("{other}={}", through.on(other)))
        .collect();
    format!("at {}", at.join(" "))
}

/// Along y, neighbours in a flat torus are refused; along z they are not.
fn z_hint(shape: &Shape) -> &'static str {
    if shape.radix_of(Axis::Z) == 1 {
        ", or, if they are adjacent in one y column, configure the torus as y and z with an x \
         radix of 1"
    } else {
        ""
    }
}
