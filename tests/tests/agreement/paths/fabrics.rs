//! Net files of small fabrics: irregular ones, and tori with and without damage.

use std::collections::BTreeSet;
use std::fmt::Write;

use sa_fabric::generate::{TorusSpec, plan};

use sa_tests::rng::Rng;

/// The text of a net file, and of a `torus-2QoS.conf` where there is one.
pub(crate) struct FabricFiles {
    pub(crate) net: String,
    pub(crate) torus_conf: Option<String>,
}

/// Any of the first two has something in common with the default and with each other.
const WIDTHS: [&str; 5] = ["4x", "12x", "1x", "2x", "8x"];
const SPEEDS: [&str; 8] = ["SDR", "DDR", "QDR", "FDR", "EDR", "HDR", "NDR", "FDR10"];

/// A few switches in a tree with cables to spare, CAs of one or two ports, routers.
pub(crate) fn graph(rng: &mut Rng) -> FabricFiles {
    let mut graph = Graph::new(rng);
    graph.cable_switches(rng);
    for _ in 0..=rng.below(7) {
        let ports = if rng.one_in(4) { 2 } else { 1 };
        graph.add_end(rng, "Hca", ports);
    }
    for _ in 0..rng.pick(&[0, 1, 1, 2]) {
        let ports = rng.within(1, 2);
        graph.add_end(rng, "Rt", ports);
    }
    FabricFiles {
        net: graph.net(rng),
        torus_conf: None,
    }
}

/// So many hosts on a few switches that they can have as many different P_Key tables.
pub(crate) fn many_hosts(rng: &mut Rng, hosts: usize) -> FabricFiles {
    let mut graph = Graph {
        nodes: Vec::new(),
        lids: None,
    };
    for _ in 0..hosts.div_ceil(240) {
        graph.add("Switch", 0);
    }
    graph.cable_switches(rng);
    for host in 0..hosts {
        let end = graph.add("Hca", 1);
        graph.cable(rng, (host / 240, None), (end, Some(1)));
    }
    FabricFiles {
        net: graph.net(rng),
        torus_conf: None,
    }
}

/// Switches in a line, longer than the longest path that an SA gives out.
pub(crate) fn chain(rng: &mut Rng) -> FabricFiles {
    let mut graph = Graph {
        nodes: Vec::new(),
        lids: None,
    };
    for switch in 0..70 {
        graph.add("Switch", 0);
        if switch > 0 {
            graph.cable(rng, (switch - 1, None), (switch, None));
        }
    }
    for switch in [0, 1, 3, 5, 6, 64, 66, 69] {
        let end = graph.add("Hca", 1);
        graph.cable(rng, (switch, None), (end, Some(1)));
    }
    FabricFiles {
        net: graph.net(rng),
        torus_conf: None,
    }
}

struct Graph {
    nodes: Vec<Node>,
    /// LIDs that the file gives, as base and LMC, one after the other.
    lids: Option<(u16, u16)>,
}

struct Node {
    kind: &'static str,
    name: String,
    /// Least number of ports.
    ports: u8,
    cables: Vec<Cable>,
}

/// One end of a cable.
struct Cable {
    port: u8,
    far: usize,
    far_port: u8,
    /// Both ends'.
    width: Option<&'static str>,
}

impl Graph {
    fn new(rng: &mut Rng) -> Self {
        let first = rng.pick(&[1, 2, 8, 0x100, 0xbe00]);
        let lids = rng.one_in(3).then(|| (first, rng.pick(&[1, 4, 8, 16])));
        let mut graph = Self {
            nodes: Vec::new(),
            lids,
        };
        for _ in 0..=rng.below(5) {
            graph.add("Switch", rng.below(3));
        }
        graph
    }

    fn add(&mut self, kind: &'static str, ports: usize) -> usize {
        let name = format!("{}{}", &kind[..1], self.nodes.len());
        self.nodes.push(Node {
            kind,
            name,
            ports: u8::try_from(ports).unwrap(),
            cables: vec![],
        });
        self.nodes.len() - 1
    }

    fn cable_switches(&mut self, rng: &mut Rng) {
        let switches = self.nodes.len();
        for switch in 1..switches {
            let from = rng.below(switch);
            self.cable(rng, (from, None), (switch, None));
        }
        for _ in 0..rng.below(switches + 1) {
            let (from, to) = (rng.below(switches), rng.below(switches));
            if from != to || rng.one_in(8) {
                self.cable(rng, (from, None), (to, None));
            }
        }
    }

    /// A CA or router; its second port may have no cable, or lead to another CA.
    fn add_end(&mut self, rng: &mut Rng, kind: &'static str, ports: u8) {
        let switches = self
            .nodes
            .iter()
            .filter(|node| node.kind == "Switch")
            .count();
        let end = self.add(kind, ports.into());
        for port in 1..=ports {
            if port == 1 || rng.one_in(2) {
                let switch = rng.below(switches);
                self.cable(rng, (switch, None), (end, Some(port)));
            }
        }
        if ports == 2
            && rng.one_in(6)
            && !self.nodes[end].cables.iter().any(|cable| cable.port == 2)
        {
            let other = self.add("Hca", 1);
            self.cable(rng, (end, Some(2)), (other, Some(1)));
        }
    }

    /// Plugs a cable into two ports; by default the next free one.
    fn cable(&mut self, rng: &mut Rng, from: (usize, Option<u8>), to: (usize, Option<u8>)) {
        let port = |graph: &Self, (node, port): (usize, Option<u8>), more| {
            let used = graph.nodes[node]
                .cables
                .iter()
                .map(|cable| cable.port)
                .max();
            port.unwrap_or_else(|| used.unwrap_or(0) + 1 + more)
        };
        let near = port(self, from, 0);
        let far = port(self, to, u8::from(from.0 == to.0));
        // A router's line says no width.
        let has_router = [from.0, to.0]
            .iter()
            .any(|node| self.nodes[*node].kind == "Rt");
        let widths = if has_router { &WIDTHS[..2] } else { &WIDTHS };
        let width = rng.one_in(2).then(|| rng.pick(widths));
        let (near, far) = ((from.0, near), (to.0, far));
        for ((node, port), (far, far_port)) in [(near, far), (far, near)] {
            self.nodes[node].cables.push(Cable {
                port,
                far,
                far_port,
                width,
            });
        }
    }

    fn net(&mut self, rng: &mut Rng) -> String {
        let mut text = "# made by a test\n".to_owned();
        let mut guids = Guids::new(rng);
        for at in 0..self.nodes.len() {
            let base = guids.next(rng);
            self.node(rng, at, base, &mut guids, &mut text);
            text.push('\n');
        }
        text
    }

    fn node(&mut self, rng: &mut Rng, at: usize, base: u64, guids: &mut Guids, text: &mut String) {
        let node = &self.nodes[at];
        let used = node
            .cables
            .iter()
            .map(|cable| cable.port)
            .max()
            .unwrap_or(0);
        let ports = used.max(node.ports).max(1);
        let keyword = match node.kind {
            "Switch" => "switchguid",
            "Rt" => "rtguid",
            _ => "caguid",
        };
        let _ = writeln!(
            text,
            "{keyword}=0x{base:x}\n{} {ports} \"{}\"{}",
            node.kind,
            node.name,
            {
                let lid = if node.kind == "Switch" {
                    next_lid(&mut self.lids)
                } else {
                    0
                };
                let port0 = rng.pick(&["base", "base", "enhanced"]);
                format!(
                    " # \"{} of {}\" {port0} port 0 lid {lid} lmc 0",
                    node.name, node.kind
                )
            }
        );
        for Cable {
            port,
            far,
            far_port,
            width,
        } in &node.cables
        {
            let guid = if node.kind != "Switch" && rng.one_in(3) {
                format!("({:x})", guids.next(rng))
            } else {
                String::new()
            };
            let far = &self.nodes[*far].name;
            let _ = write!(text, "[{port}]{guid} \"{far}\"[{far_port}]");
            let lid = if node.kind == "Switch" {
                0
            } else {
                next_lid(&mut self.lids)
            };
            text.push_str(&remarks(rng, lid, *width, 3));
            text.push('\n');
        }
    }
}

/// The next LID that the file gives; 0 for none.
fn next_lid(lids: &mut Option<(u16, u16)>) -> u16 {
    let Some((next, stride)) = lids else { return 0 };
    let lid = *next;
    *next += *stride;
    lid
}

/// What follows a cable in its line: options of ibsim's, or a comment of ibnetdiscover's.
///
/// Once in `few_vls` the port has its own number of VLs.
fn remarks(rng: &mut Rng, lid: u16, width: Option<&str>, few_vls: usize) -> String {
    let mut text = String::new();
    if rng.one_in(few_vls) {
        let _ = write!(text, " v={}", rng.within(1, 5));
    }
    if let Some(width) = width {
        let speed = rng.pick(&SPEEDS);
        let _ = write!(text, " # lid {lid} lmc 0 \"it\" lid 1 {width}{speed}");
    } else if lid > 0 {
        let _ = write!(text, " # lid {lid} lmc 0 \"it\"");
    }
    text
}

/// GUIDs that nobody else has.
struct Guids {
    style: usize,
    given: BTreeSet<u64>,
}

impl Guids {
    fn new(rng: &mut Rng) -> Self {
        Self {
            style: rng.below(3),
            given: BTreeSet::new(),
        }
    }

    /// A GUID with 16 behind it that nobody has either.
    fn next(&mut self, rng: &mut Rng) -> u64 {
        loop {
            let guid = match self.style {
                0 => 0x10_0000 + u64::try_from(self.given.len()).unwrap() * 0x40,
                // Byte order decides what comes first.
                1 => 1 + u64::try_from(rng.below(200)).unwrap() * 0x100 + (rng.number() << 56 >> 8),
                _ => rng.number() & !0x1f | 1,
            };
            if self.given.insert(guid) {
                return guid;
            }
        }
    }
}

/// A torus or mesh, mostly whole.
pub(crate) fn torus(rng: &mut Rng) -> FabricFiles {
    let size = rng.pick(&[
        [3, 3, 1],
        [3, 3, 2],
        [5, 4, 1],
        [4, 4, 1],
        [6, 5, 1],
        [3, 3, 3],
        [5, 3, 2],
        [4, 3, 3],
        [1, 5, 4],
        [2, 5, 3],
        [7, 4, 1],
    ]);
    let mut spec = TorusSpec::new(size, rng.pick(&[1, 1, 2]));
    spec.mesh = [rng.one_in(6), rng.one_in(6), rng.one_in(6)];
    if rng.one_in(4) {
        spec.parallel = [rng.within(1, 2), rng.within(1, 2), 1];
    }
    let anywhere = |rng: &mut Rng| size.map(|size| rng.within(0, size - 1));
    if rng.one_in(4) {
        spec.origin = anywhere(rng);
    }
    match rng.below(6) {
        0 => drop(spec.without_links.insert((anywhere(rng), rng.below(2)))),
        1 => drop(spec.without_switches.insert(anywhere(rng))),
        _ => {}
    }
    spec.without_switches.remove(&spec.origin);
    let plan = plan(&spec).unwrap();
    let mut net = annotated(rng, &plan.net());
    if rng.one_in(3) {
        net = with_guests(&net, plan.switches.len());
    }
    FabricFiles {
        net,
        torus_conf: Some(plan.torus_conf()),
    }
}

/// The same with remarks behind some of the cables.
fn annotated(rng: &mut Rng, net: &str) -> String {
    // Without four VLs there is no torus-2QoS.
    let few_vls = rng.pick(&[40, usize::MAX, usize::MAX]);
    let mut text = String::new();
    for line in net.lines() {
        text.push_str(line);
        if line.starts_with('[') && rng.one_in(4) {
            let width = rng.one_in(2).then(|| rng.pick(&WIDTHS[..2]));
            text.push_str(&remarks(rng, 0, width, few_vls));
        }
        text.push('\n');
    }
    text
}

/// The same with a router, and a host behind a switch that is not part of the torus.
fn with_guests(net: &str, switches: usize) -> String {
    let heading = net
        .lines()
        .filter(|line| line.starts_with("Switch "))
        .nth(switches / 2)
        .unwrap();
    let name = heading.split('"').nth(1).unwrap();
    let ports = format!("{heading}\n[36] \"X\"[1]\n[35] \"R\"[1]");
    let guests = format!(
        "switchguid=0x500000\nSwitch 4 \"X\"\n[1] \"{name}\"[36]\n[2] \"HX\"[1]\n\n\
         caguid=0x510000\nHca 1 \"HX\"\n[1] \"X\"[2]\n\n\
         rtguid=0x520000\nRt 1 \"R\"\n[1] \"{name}\"[35]\n\n"
    );
    net.replacen(heading, &ports, 1) + &guests
}
