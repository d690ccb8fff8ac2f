//! What there is to see of a fabric without coordinates, without saying how it looks.
//!
//! Signs stand for switches, or for many of them ([`blocks`]); bundles for all cables between two
//! signs, or within one. Both are those of the whole fabric: what has failed is in them, counted.

use std::collections::{BTreeMap, HashMap};

use routing::{Peer, SwitchIx, Topology};
use sa_compiler::state::FabricState;

use crate::draw::count::{ByVl, Counts};
use crate::draw::paper::{counted, printable};
use crate::draw::trace::Trace;
use sa_layout::graph::{Detail, Layout, Shape, Signs, Stand, Wires, blocks};

/// A fabric with its damage, and what is shown on it.
///
/// Filled in steps: wires and signs first, then load, paths and tree as the command line asks for
/// them.
#[derive(Debug)]
pub(super) struct Scene {
    /// What a sign stands for.
    pub(super) detail: Detail,
    /// Levels and groups, by the number of the switch.
    pub(super) shape: Shape,
    /// Of the whole fabric.
    pub(super) wires: Wires,
    /// By switch of `wires`.
    sign_of: Vec<usize>,
    /// Numbered as [`blocks`] numbers them.
    pub(super) signs: Vec<Sign>,
    /// By ends, the lower first; both the same for cables within a sign.
    pub(super) bundles: BTreeMap<(usize, usize), Bundle>,
    /// By switch of the fabric that is left.
    here: HashMap<SwitchIx, usize>,
    /// Switches that failed or are cut off, by name.
    pub(super) lost_switches: Vec<String>,
    /// Cables that failed between switches that are there, in words.
    pub(super) lost_cables: Vec<String>,
    /// The engine does not route what is left: nothing else can be drawn on it.
    pub(super) is_refused: bool,
    /// Paths were counted, also where all counts are 0.
    pub(super) has_load: bool,
    /// In the order in which they were asked for.
    pub(super) paths: Vec<Path>,
    /// None where none was asked for, or the engine makes none.
    pub(super) tree: Option<Tree>,
}

/// A switch, or several.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Sign {
    /// Of the first switch; printable.
    pub(super) name: String,
    /// Of the first switch, as text.
    pub(super) guid: String,
    /// Shape: at least 1 once the scene is made.
    pub(super) switches: usize,
    /// Those of its switches that are lost.
    pub(super) lost: usize,
    /// CA and router ports at all of its switches.
    pub(super) hosts: usize,
    /// Of the first switch; blocks have one level each but around circles.
    pub(super) level: usize,
    /// Likewise; none for switches that join groups.
    pub(super) group: Option<usize>,
}

/// All cables between two signs.
///
/// `lost` counts all that are gone; `failed` only those that a person has to look for: the others
/// went with their switch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Bundle {
    /// Of the whole fabric.
    pub(super) cables: usize,
    /// Those of them that are gone.
    pub(super) lost: usize,
    /// Of the cables that are gone, those between switches that are there.
    pub(super) failed: usize,
    /// Of the cable and direction with most paths.
    pub(super) busiest: ByVl,
}

/// A path over signs.
///
/// With more than a switch to a sign it may begin and end in the same one.
#[derive(Debug)]
pub(super) struct Path {
    /// As it was followed over the tables, with its SL or why there is none.
    pub(super) trace: Trace,
    /// Source and destination; none where the port is at a switch that is not there.
    pub(super) ends: [Option<usize>; 2],
    /// Fewer than the trace has where a hop leads to what is not in the picture.
    pub(super) hops: Vec<Hop>,
}

/// A hop, also one within a sign.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Hop {
    /// The sign that sends.
    pub(super) from: usize,
    /// The one that receives; may be the same.
    pub(super) to: usize,
    /// By which the packet leaves `from`.
    pub(super) vl: u8,
}

/// The multicast tree, over signs.
#[derive(Debug)]
pub(super) struct Tree {
    /// None where it is at a switch that is not there.
    pub(super) root: Option<usize>,
    /// As text, as signs of several switches have another name.
    pub(super) root_name: String,
    /// Away from the root.
    pub(super) branches: Vec<(usize, usize)>,
}

impl Bundle {
    /// Paths on the busiest cable.
    ///
    /// Units: paths of all VLs together.
    pub(super) fn load(&self) -> u32 {
        self.busiest.iter().sum()
    }
}

impl Scene {
    /// A fabric and its damage, with nothing on it.
    /// `left` is what is left of `whole`, by GUID.
    pub(super) fn of(left: &Topology, whole: &Topology) -> Self {
        let wires = Wires::of(whole);
        let shape = Shape::of(&wires);
        let (detail, sign_of) = blocks(&wires, &shape);
        let by_guid: HashMap<_, _> = left
            .switch_ixs()
            .map(|ix| (left.switch(ix).guid, ix))
            .collect();
        let left_of = |ix: SwitchIx| by_guid.get(&whole.switch(ix).guid).copied();
        let mut here = HashMap::new();
        for (number, ix) in wires.switches.iter().enumerate() {
            here.extend(left_of(*ix).map(|ix| (ix, number)));
        }
        // Signs are made empty and filled, as their number is known before their switches are.
        let mut scene = Self {
            detail,
            signs: vec![Sign::default(); sign_of.iter().max().map_or(0, |last| last + 1)],
            sign_of,
            shape,
            wires,
            bundles: BTreeMap::new(),
            here,
            lost_switches: Vec::new(),
            lost_cables: Vec::new(),
            is_refused: false,
            has_load: false,
            paths: Vec::new(),
            tree: None,
        };
        scene.add_switches(whole, left_of);
        scene.add_cables(left, whole, left_of);
        scene
    }

    /// Puts each switch into its sign. `left`: what is left of one.
    fn add_switches(&mut self, whole: &Topology, left: impl Fn(SwitchIx) -> Option<SwitchIx>) {
        for (number, ix) in self.wires.switches.iter().enumerate() {
            let switch = whole.switch(*ix);
            let sign = &mut self.signs[self.sign_of[number]];
            // The first switch that comes gives the name: numbers follow names, so it is the lowest.
            if sign.switches == 0 {
                sign.name = printable(&switch.description);
                sign.guid = switch.guid.to_string();
                sign.level = self.shape.level[number];
                sign.group = self.shape.group[number];
            }
            sign.switches += 1;
            sign.hosts += self.wires.hosts[number];
            if left(*ix).is_none() {
                sign.lost += 1;
                self.lost_switches.push(printable(&switch.description));
            }
        }
    }

    /// Counts cables by the signs at their ends, those that are not there apart.
    fn add_cables(
        &mut self,
        left: &Topology,
        whole: &Topology,
        left_of: impl Fn(SwitchIx) -> Option<SwitchIx>,
    ) {
        // Topology's index to our number: both orders meet here.
        let mut numbers = vec![0; self.wires.len()];
        for (number, ix) in self.wires.switches.iter().enumerate() {
            numbers[ix.index()] = number;
        }
        let cables = whole.switch_ixs().flat_map(|ix| {
            let cables = whole.cables(ix).map(move |cable| (ix, cable));
            // Each cable from its lower end, or it would be counted twice.
            cables.filter(|(near, (port, far, far_port))| (near, port) < (far, far_port))
        });
        for (near, (port, far, far_port)) in cables {
            // A cable of a switch that is not there is lost with it, and has not failed by itself.
            let ends = [near, far].map(|ix| self.sign_of[numbers[ix.index()]]);
            let bundle = self.bundles.entry(ordered(ends[0], ends[1])).or_default();
            bundle.cables += 1;
            // A switch that is gone has no peer; one that stays may have lost the cable alone.
            let there = left_of(near).map(|near| left.peer(near, port));
            if matches!(there, Some(Peer::Switch { .. })) {
                continue;
            }
            bundle.lost += 1;
            if left_of(near).is_some() && left_of(far).is_some() {
                bundle.failed += 1;
                let name = |ix| printable(&whole.switch(ix).description);
                let (near, far) = (name(near), name(far));
                self.lost_cables
                    .push(format!("{near} port {port} and {far} port {far_port}"));
            }
        }
    }

    /// The sign of a switch of the fabric that is left.
    ///
    /// None for one that is not in the whole: then the two fabrics are not of one file.
    fn sign(&self, switch: SwitchIx) -> Option<usize> {
        let number = self.here.get(&switch)?;
        self.sign_of.get(*number).copied()
    }

    /// Puts on each bundle what its busiest cable carries.
    ///
    /// Both directions are looked at; a bundle has the busier one.
    pub(super) fn add_load(&mut self, left: &Topology, counts: &Counts) {
        self.has_load = true;
        for ix in left.switch_ixs() {
            for (port, far, _) in left.cables(ix) {
                let (Some(one), Some(other)) = (self.sign(ix), self.sign(far)) else {
                    continue;
                };
                // Of one direction; the other one comes when the far switch is walked.
                let leaving = counts.leaving(ix, port);
                let Some(bundle) = self.bundles.get_mut(&ordered(one, other)) else {
                    continue;
                };
                if leaving.iter().sum::<u32>() > bundle.load() {
                    bundle.busiest = leaving;
                }
            }
        }
    }

    /// Hops between signs; what lies within one sign is no line.
    ///
    /// Hops within a sign are kept, as the text tells how many there are.
    pub(super) fn add_paths(&mut self, traces: Vec<Trace>) {
        let paths = traces.into_iter().map(|trace| {
            let hops = trace.hops.iter().filter_map(|hop| {
                Some(Hop {
                    from: self.sign(hop.switch)?,
                    to: self.sign(hop.next)?,
                    vl: hop.vl,
                })
            });
            let ends = [&trace.from, &trace.to].map(|end| self.sign(end.switch?));
            Path {
                hops: hops.collect(),
                ends,
                trace,
            }
        });
        self.paths = paths.collect();
    }

    /// The multicast tree of the engine; nothing where it has none.
    ///
    /// A branch within a sign is kept; whoever draws leaves it out.
    pub(super) fn add_tree(&mut self, parts: &FabricState) {
        self.tree = parts.routes.multicast_tree().map(|tree| {
            let branches = tree.branches().iter();
            let branches = branches.filter_map(|it| Some((self.sign(it.from)?, self.sign(it.to)?)));
            Tree {
                root: self.sign(tree.root()),
                root_name: printable(&parts.topology.switch(tree.root()).description),
                branches: branches.collect(),
            }
        });
    }

    /// Where its signs stand on paper.
    ///
    /// By level and group of each sign, which is all that a layout knows of it.
    pub(super) fn layout(&self) -> Layout {
        let stands = self.signs.iter().map(|sign| Stand {
            level: sign.level,
            group: sign.group,
        });
        Layout::of(Signs {
            detail: self.detail,
            shape: &self.shape,
            wires: &self.wires,
            signs: &stands.collect::<Vec<_>>(),
        })
    }

    /// Those between two signs.
    pub(super) fn between(&self) -> impl Iterator<Item = ((usize, usize), &Bundle)> {
        let all = self.bundles.iter().map(|(ends, bundle)| (*ends, bundle));
        all.filter(|((one, other), _)| one != other)
    }

    /// Name, GUID and hosts; of several switches how many there are.
    ///
    /// For who points at it, so it has what the sign itself has no room for.
    pub(super) fn title(&self, number: usize) -> String {
        let sign = &self.signs[number];
        let hosts = counted(sign.hosts, "host");
        let lost = match sign.lost {
            0 => String::new(),
            lost if sign.switches == 1 && lost == 1 => ", not there".to_owned(),
            lost => format!(", {lost} not there"),
        };
        if self.detail == Detail::Switches {
            return format!("{} ({}), {hosts}{lost}", sign.name, sign.guid);
        }
        let switches = counted(sign.switches, "switch");
        let within = self.bundles.get(&(number, number));
        let within = within.map_or(0, |bundle| bundle.cables);
        let within = counted(within, "cable");
        let name = &sign.name;
        format!("{switches} from {name} on, {hosts}, {within} among them{lost}")
    }
}

/// The lower first.
///
/// Cables have no direction in a picture, so both ends share a key.
pub(super) const fn ordered(one: usize, other: usize) -> (usize, usize) {
    if one < other {
        (one, other)
    } else {
        (other, one)
    }
}
