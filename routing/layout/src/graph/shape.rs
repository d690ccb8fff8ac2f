//! How a fabric is laid out: its levels, its groups, and which of four forms shows them best.
//!
//! | form | when | what it looks like |
//! |---|---|---|
//! | rows | levels, joined over a top level: trees | a row per level, pods side by side |
//! | fans | levels within groups that are joined directly: dragonfly+ | groups around a circle, leaves outside |
//! | circles | no levels, but groups: dragonfly, HyperX | a small circle per group, around a large one |
//! | ring | neither: random and other fabrics | all switches around a circle |
//!
//! A level is a distance: leaves have hosts, and each switch is as far up as the nearest leaf is away. So a tree needs no names and no
//! configuration to be recognised, and a tree with damage is still one.

use super::cliques::cliques;
use super::levels::levels;
use super::wires::Wires;

/// See the table of the module.
///
/// [`Form::Ring`] fits every fabric and says least.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Levels above each other.
    Rows,
    /// Groups on rays, each with its levels.
    Fans,
    /// Groups on small circles.
    Circles,
    /// One circle.
    Ring,
}

/// Levels and groups. Shape: both lists by switch.
/// Decides the layout.
#[derive(Debug, PartialEq, Eq)]
pub struct Shape {
    /// How it is laid out.
    pub form: Form,
    /// 0 for switches with hosts.
    pub level: Vec<usize>,
    /// None for switches that join the groups, and where there are none.
    pub group: Vec<Option<usize>>,
    /// How many; 0 for none.
    pub groups: usize,
}

impl Shape {
    /// Cost: a walk over all links for each question that is asked of the form.
    pub fn of(wires: &Wires) -> Self {
        let level = levels(wires);
        let top = level.iter().copied().max().unwrap_or(0);
        // No level at all: all switches have hosts, or none has.
        if top == 0 {
            return Self::flat(wires, level);
        }
        // Without the cables within a level: a dragonfly+ falls into its groups.
        let apart = wires.pieces(|one, other| level[one] != level[other]);
        let (group, groups) = counted(&apart, |_| true);
        if groups > 1 {
            let is_joined = wires
                .links()
                .any(|(one, other, _)| apart[one] != apart[other]);
            let form = if is_joined { Form::Fans } else { Form::Rows };
            return Self {
                form,
                level,
                group,
                groups,
            };
        }
        // Without its top level a tree falls into pods.
        let below = wires.pieces(|one, other| level[one] < top && level[other] < top);
        let (group, groups) = counted(&below, |switch| level[switch] < top);
        let (group, groups) = if groups > 1 {
            (group, groups)
        } else {
            (vec![None; level.len()], 0)
        };
        Self {
            form: Form::Rows,
            level,
            group,
            groups,
        }
    }

    /// Without levels: groups that are joined with each other, or none.
    fn flat(wires: &Wires, level: Vec<usize>) -> Self {
        let Some(group) = cliques(wires) else {
            return Self {
                form: Form::Ring,
                group: vec![None; level.len()],
                level,
                groups: 0,
            };
        };
        Self {
            form: Form::Circles,
            groups: group.iter().max().map_or(0, |last| last + 1),
            group: group.into_iter().map(Some).collect(),
            level,
        }
    }

    /// How many there are.
    ///
    /// Shape: at least 1 for a fabric with a switch.
    pub fn levels(&self) -> usize {
        self.level.iter().max().map_or(0, |top| top + 1)
    }
}

/// Pieces of at least two switches, as groups numbered from 0; a switch alone is in none.
///
/// Numbered by their first switches, as pieces are.
fn counted(piece: &[usize], is_in: impl Fn(usize) -> bool) -> (Vec<Option<usize>>, usize) {
    let mut sizes = vec![0; piece.len()];
    piece.iter().for_each(|piece| sizes[*piece] += 1);
    let mut numbers = vec![None; piece.len()];
    let mut groups = 0;
    let group = piece.iter().enumerate().map(|(switch, piece)| {
        (sizes[*piece] > 1 && is_in(switch)).then(|| {
            *numbers[*piece].get_or_insert_with(|| {
                groups += 1;
                groups - 1
            })
        })
    });
    let group = group.collect();
    (group, groups)
}

#[cfg(test)]
mod tests {
    use routing::{Peer, Topology};
    use sa_compiler::pipeline::{self, Inputs};
    use sa_fabric::generate::{
        DragonflySpec, FatTreeSpec, HyperXSpec, RandomSpec, Wiring, dragonfly, fat_tree, hyperx,
        random,
    };

    use super::*;

    /// Without what names could tell: every name is replaced by one that says nothing.
    fn topology(wiring: &Wiring) -> Topology {
        let directory = tempfile::tempdir().unwrap();
        let net = directory.path().join("net");
        std::fs::write(&net, wiring.net()).unwrap();
        let inputs = Inputs {
            fabric: net,
            ..Inputs::default()
        };
        let sources = pipeline::read(&inputs).unwrap();
        let mut topology = sources.subnet.topology(&sources.options);
        for switch in &mut topology.switches {
            switch.description = String::new();
        }
        topology
    }

    fn shape(wiring: &Wiring) -> Shape {
        Shape::of(&Wires::of(&topology(wiring)))
    }

    /// Switches on each level, from those with hosts.
    fn levels(shape: &Shape) -> Vec<usize> {
        let on = |level| shape.level.iter().filter(|it| **it == level).count();
        (0..shape.levels()).map(on).collect()
    }

    /// Switches in each group, ascending.
    fn sizes(shape: &Shape) -> Vec<usize> {
        let of = |group| shape.group.iter().filter(|it| **it == Some(group)).count();
        let mut sizes: Vec<_> = (0..shape.groups).map(of).collect();
        sizes.sort_unstable();
        sizes
    }

    const DRAGONFLY: DragonflySpec = DragonflySpec {
        switches: 4,
        spines: None,
        hosts: 2,
        global: 2,
        groups: None,
    };

    #[test]
    fn trees_have_levels_and_pods() {
        let three = shape(&fat_tree(&FatTreeSpec::new(3, 8)).unwrap());
        assert_eq!(three.form, Form::Rows);
        assert_eq!(levels(&three), [32, 32, 16]);
        assert_eq!(sizes(&three), [8; 8]);
        let two = shape(&fat_tree(&FatTreeSpec::new(2, 12)).unwrap());
        assert_eq!((levels(&two), two.groups), (vec![12, 6], 0));
    }

    /// A host of a leaf moves to a free port of each kind of switch above; another leaf loses all of its hosts.
    #[test]
    fn idle_leaves_and_hosts_above_leaves_change_no_level() {
        let mut wiring = fat_tree(&FatTreeSpec::new(3, 8)).unwrap();
        wiring.without_cable("T0_0", 1).unwrap();
        let whole = topology(&wiring);
        let expected = Shape::of(&Wires::of(&whole));
        let leaf = |nth| {
            let mut leaves = whole.switch_ixs();
            leaves.find(|ix| whole.hosts(*ix).count() == 4 && ix.index() % 7 == nth)
        };
        let (from, idle) = (leaf(0).unwrap(), leaf(1).unwrap());
        let above = whole.switch_ixs().filter(|ix| {
            // Both ends of the cable that was taken away: a middle switch, and a top switch.
            whole.hosts(*ix).count() == 0 && whole.cables(*ix).count() == 7
        });
        let above: Vec<_> = above.collect();
        assert_eq!(above.len(), 2);
        for above in above {
            let mut moved = whole.clone();
            let (port, host) = whole.hosts(from).next().unwrap();
            moved.switches[from.index()].ports[usize::from(port)].peer = Peer::Nothing;
            for (port, _) in whole.hosts(idle) {
                moved.switches[idle.index()].ports[usize::from(port)].peer = Peer::Nothing;
            }
            let mut free = moved.switches[above.index()].ports.iter_mut().skip(1);
            let free = free.find(|port| port.peer == Peer::Nothing);
            free.unwrap().peer = Peer::EndPort(host);
            assert_eq!(Shape::of(&Wires::of(&moved)), expected);
        }
    }

    #[test]
    fn dragonflies_have_groups() {
        let plain = shape(&dragonfly(&DRAGONFLY).unwrap());
        assert_eq!((plain.form, sizes(&plain)), (Form::Circles, vec![4; 9]));
        let plus = DragonflySpec {
            spines: Some(4),
            ..DRAGONFLY
        };
        let plus = shape(&dragonfly(&plus).unwrap());
        assert_eq!((plus.form, sizes(&plus)), (Form::Fans, vec![8; 9]));
        assert_eq!(levels(&plus), [36, 36]);
    }

    #[test]
    fn a_dragonfly_that_lost_switches_and_cables_keeps_its_groups() {
        let spec = DragonflySpec {
            switches: 8,
            global: 4,
            ..DRAGONFLY
        };
        let mut wiring = dragonfly(&spec).unwrap();
        wiring.without_switch("S3_2").unwrap();
        wiring.without_cable("S0_0", 1).unwrap();
        wiring.without_cable("S5_1", 3).unwrap();
        let shape = shape(&wiring);
        let mut expected = vec![8; 33];
        expected[0] = 7;
        assert_eq!(sizes(&shape), expected);
    }

    #[test]
    fn a_hyperx_falls_into_its_largest_lines() {
        let spec = HyperXSpec {
            size: vec![4, 3, 6],
            hosts: 1,
            parallel: 1,
        };
        let shape = shape(&hyperx(&spec).unwrap());
        assert_eq!((shape.form, sizes(&shape)), (Form::Circles, vec![6; 12]));
    }

    #[test]
    fn a_random_fabric_has_neither() {
        let spec = RandomSpec {
            switches: 64,
            degree: 6,
            hosts: 2,
            seed: 1,
        };
        let shape = shape(&random(&spec).unwrap());
        assert_eq!((shape.form, shape.groups), (Form::Ring, 0));
        assert_eq!(levels(&shape), [64]);
    }
}
