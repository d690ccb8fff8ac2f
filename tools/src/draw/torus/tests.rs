//! Pictures of torus-2QoS(8), and what a scene holds.

use std::fs;

use routing::placement::{Coordinate, Sign};
use sa_compiler::pipeline::{self, Compiled, Inputs, PipelineError, Stamp};
use sa_fabric::generate::{TorusSpec, plan};

use super::load::Load;
use super::path::Path;
use super::scene::{Scene, Tree};
use super::{caption, refused_scene, svg, text};
use crate::draw::paper::printable;
use crate::draw::trace::Trace;

/// The 6x5 torus of the man page.
fn man_page() -> TorusSpec {
    TorusSpec::new([6, 5, 1], 1)
}

fn try_compile(spec: &TorusSpec) -> Result<Compiled, PipelineError> {
    let directory = tempfile::tempdir().unwrap();
    let plan = plan(spec).unwrap();
    let [net, conf] = ["net", "torus-2QoS.conf"].map(|name| directory.path().join(name));
    fs::write(&net, plan.net()).unwrap();
    fs::write(&conf, plan.torus_conf()).unwrap();
    let inputs = Inputs {
        fabric: net,
        torus_conf: Some(conf),
        allow_lost_pairs: true,
        ..Inputs::default()
    };
    pipeline::compile(&inputs, Stamp::default())
}

fn compile(spec: &TorusSpec) -> Compiled {
    try_compile(spec).unwrap()
}

fn scene(compiled: &Compiled) -> Scene {
    let parts = &compiled.parts;
    Scene::of(&parts.topology, parts.routes.torus().unwrap())
}

fn with_tree(compiled: &Compiled) -> Scene {
    let routes = &compiled.parts.routes;
    let tree = Tree::of(routes.multicast_tree().unwrap(), routes.torus().unwrap());
    Scene {
        tree: Some(tree),
        ..scene(compiled)
    }
}

fn path(compiled: &Compiled, from: &str, to: &str) -> Path {
    let find = |name| compiled.parts.subnet.find(name).unwrap();
    let torus = compiled.parts.routes.torus().unwrap();
    Path::of(torus, Trace::of(compiled, find(from), find(to)).unwrap())
}

fn with_path(compiled: &Compiled, from: &str, to: &str) -> Scene {
    Scene {
        paths: vec![path(compiled, from, to)],
        ..scene(compiled)
    }
}

fn with_load(compiled: &Compiled) -> Scene {
    let (topology, routes) = (&compiled.parts.topology, &compiled.parts.routes);
    let load = Load::measure(topology, routes, routes.torus().unwrap());
    Scene {
        load: Some(load),
        ..scene(compiled)
    }
}

/// Without the blanks that indent it, and the empty line that lets it begin on a line of its own.
fn expected(picture: &str) -> String {
    let picture = picture.strip_prefix('\n').unwrap();
    let lines = picture
        .lines()
        .map(|line| line.trim_end().to_owned() + "\n");
    lines.collect()
}

/// The places that a path goes through.
fn way(path: &Path) -> Vec<[u8; 3]> {
    let hops = path.hops.iter().map(|hop| hop.step.from);
    hops.chain(path.to.at).map(|at| at.0).collect()
}

const WHOLE: &str = "
       |    |    |    |    |    |
  4  --+----+----+----+----+----+--
       |    |    |    |    |    |
  3  --+----+----+----+----+----+--
       |    |    |    |    |    |
  2  --+----+----+----+----+----+--
       |    |    |    |    |    |
  1  --+----+----+----+----+----+--
       |    |    |    |    |    |
y=0  --+----+----+----+----+----+--
       |    |    |    |    |    |

     x=0    1    2    3    4    5
";

const TREE: &str = "
  4    +    +    +    +    +    +
       |    |    |    |    |    |
  3    +    +    +    +    +    +
       |    |    |    |    |    |
  2    +----+----+----x----+----+
       |    |    |    |    |    |
  1    +    +    +    +    +    +
       |    |    |    |    |    |
y=0    +    +    +    +    +    +

     x=0    1    2    3    4    5
";

const TREE_WITHOUT_LINK: &str = "
  4    +    +    +    +    +    +
       |    |    |    |    |    |
  3    +    +    +    +    +    +
       |    |    |    |    |    |
  2  --+----+----+    x----+----+--
       |    |    |    |    |    |
  1    +    +    +    +    +    +
       |    |    |    |    |    |
y=0    +    +    +    +    +    +

     x=0    1    2    3    4    5
";

/// The man page prints the two stubs between the columns, though its words say x=3.
const TREE_WITHOUT_SWITCH: &str = "
                      |
  4    +    +    +    +    +    +
       |    |    |    |    |    |
  3    +    +    +    +    +    +
       |    |    |         |    |
  2    +    +    +         +    +
       |    |    |         |    |
  1    +----+----x----+----+----+
       |    |    |    |    |    |
y=0    +    +    +    +    +    +
                      |

     x=0    1    2    3    4    5
";

/// S-n-I-r-D, where T failed.
const PATH_WITHOUT_SWITCH: &str = "
       |    |    |    |    |    |
  4  --+----+----+----+----+----+--
       |    |    |    |    |    |
  3  --+----+----+----D----+----+--
       |    |    |    #    |    |
  2  --+----+----I####*----+----+--
       |    |    #         |    |
  1  --+----S####*         +----+--
       |    |    |         |    |
y=0  --+----+----+----+----+----+--
       |    |    |    |    |    |

     x=0    1    2    3    4    5
";

#[test]
fn the_torus_looks_as_in_the_man_page() {
    let compiled = compile(&man_page());
    assert_eq!(text::picture(&scene(&compiled), 0), expected(WHOLE));
}

#[test]
fn trees_look_as_in_the_man_page() {
    let whole = compile(&man_page());
    assert_eq!(text::picture(&with_tree(&whole), 0), expected(TREE));

    let mut spec = man_page();
    spec.without_links.insert(([2, 2, 0], 0));
    let without_link = with_tree(&compile(&spec));
    assert_eq!(text::picture(&without_link, 0), expected(TREE_WITHOUT_LINK));

    let mut spec = man_page();
    spec.without_switches.insert([3, 2, 0]);
    let without_switch = with_tree(&compile(&spec));
    assert_eq!(
        text::picture(&without_switch, 0),
        expected(TREE_WITHOUT_SWITCH)
    );
}

#[test]
fn the_path_around_a_failed_switch_turns_as_in_the_man_page() {
    let mut spec = man_page();
    spec.without_switches.insert([3, 1, 0]);
    let scene = with_path(&compile(&spec), "H1_1_0_0", "H3_3_0_0");
    assert_eq!(text::picture(&scene, 0), expected(PATH_WITHOUT_SWITCH));
    let path = &scene.paths[0];
    assert_eq!(path.sl, Ok(0));
    let vls: Vec<_> = path.hops.iter().map(|hop| hop.vl).collect();
    assert_eq!(vls, [0, 0, 2, 0]);
    assert_eq!(scene.turns().collect::<Vec<_>>(), [Coordinate([2, 2, 0])]);
    assert_eq!(
        scene.empty_places().collect::<Vec<_>>(),
        [Coordinate([3, 1, 0])]
    );
    assert_eq!(scene.missing_links().count(), 0, "its links went with it");
}

#[test]
fn paths_take_the_ways_of_the_man_page() {
    let whole = path(&compile(&man_page()), "H1_1_0_0", "H3_3_0_0");
    let rest = [[3, 1, 0], [3, 2, 0], [3, 3, 0]];
    assert_eq!(way(&whole), [&[[1, 1, 0], [2, 1, 0]][..], &rest].concat());

    let mut spec = man_page();
    spec.without_links.insert(([1, 1, 0], 0));
    let broken = path(&compile(&spec), "H1_1_0_0", "H3_3_0_0");
    let around = [[1, 1, 0], [0, 1, 0], [5, 1, 0], [4, 1, 0]];
    assert_eq!(way(&broken), [&around[..], &rest].concat());
    assert_eq!(broken.sl, whole.sl, "the SL stays");
}

#[test]
fn a_missing_link_is_seen_once() {
    let mut spec = TorusSpec::new([4, 4, 4], 1);
    spec.parallel = [2, 1, 1];
    spec.without_links.insert(([3, 1, 2], 0));
    let scene = scene(&compile(&spec));
    let missing: Vec<_> = scene.missing_links().collect();
    assert_eq!(missing.len(), 1);
    assert_eq!(missing[0].low, Coordinate([3, 1, 2]));
    assert!(missing[0].closes_ring(scene.shape));
    assert_eq!(scene.links.len(), 3 * 64);
}

#[test]
fn open_axes_have_no_closing_links() {
    let mut spec = TorusSpec::new([4, 3, 2], 1);
    spec.mesh = [true, false, false];
    let scene = scene(&compile(&spec));
    assert_eq!(scene.links.len(), 3 * 6 + 12 * 2 - 12 + 12 + 12);
    assert_eq!(scene.missing_links().count(), 0);
    let title = caption::title(&scene);
    assert!(
        title.starts_with("4 x 3 x 2 torus open along x and z: 24 switches"),
        "{title}"
    );
}

#[test]
fn switches_without_a_place_are_named() {
    let mut spec = TorusSpec::new([5, 5, 1], 1);
    spec.without_links.insert(([1, 2, 0], 0));
    spec.without_links.insert(([2, 2, 0], 0));
    let compiled = compile(&spec);
    let scene = scene(&compiled);
    assert_eq!(scene.outside.len(), 1, "{:?}", scene.outside);
    assert!(scene.outside[0].starts_with("switch S2_2_0 (0x"));
    let lost = path(&compiled, "H0_0_0_0", "H2_2_0_0");
    let problem = lost.problem().unwrap();
    assert!(problem.starts_with("no path from H0_0_0_0"), "{problem}");
    assert!(text::render(&scene).contains("Outside the torus: switch S2_2_0"));
}

#[test]
fn planes_show_the_links_between_them() {
    let compiled = compile(&TorusSpec::new([3, 3, 3], 1));
    let scene = with_path(&compiled, "H0_0_0_0", "H1_1_1_0");
    let first = "
       |    |    |
  2  --+----+----+--
       |    |    |
  1  --+----*^---+--
       |    #    |
y=0  --S####*----+--
       |    |    |

     x=0    1    2
";
    let second = "
       |    |    |
  2  --+----+----+--
       |    |    |
  1  --+----D-v--+--
       |    |    |
y=0  --+----+----+--
       |    |    |

     x=0    1    2
";
    assert_eq!(text::picture(&scene, 0), expected(first));
    assert_eq!(text::picture(&scene, 1), expected(second));
}

#[test]
fn load_counts_every_hop_of_every_pair() {
    let scene = with_load(&compile(&man_page()));
    let load = scene.load.as_ref().unwrap();
    let of_link = |link| load.one_way(link, Sign::Plus) + load.one_way(link, Sign::Minus);
    let hops: u32 = scene.links.iter().map(|link| of_link(link.id)).sum();
    // Along a ring of six to all others 9 hops, along one of five 6.
    assert_eq!(hops, 30 * (9 * 5 + 6 * 6));
    let crossing = scene
        .links
        .iter()
        .filter(|link| link.id.closes_ring(scene.shape));
    for link in crossing {
        assert_eq!(
            load.by_vl(link.id, Sign::Plus)[0],
            0,
            "datelines are crossed on VL 1"
        );
    }
}

#[test]
fn a_refused_torus_shows_its_damage() {
    let mut spec = TorusSpec::new([6, 6, 1], 1);
    spec.without_switches.extend([[3, 1, 0], [3, 2, 0]]);
    let Err(PipelineError::Refused(refused)) = try_compile(&spec) else {
        panic!("not refused");
    };
    let scene = refused_scene(&refused.topology, refused.refusal.torus.as_deref().unwrap());
    assert_eq!(scene.empty_places().count(), 2);
    assert!(text::render(&scene).contains("Not routed"));
    well_formed(&svg::render(&scene));
}

#[test]
fn documents_are_well_formed_and_equal_each_time() {
    let mut spec = TorusSpec::new([5, 5, 5], 2);
    spec.without_switches.insert([2, 2, 2]);
    spec.without_links.insert(([0, 4, 1], 0));
    let compiled = compile(&spec);
    let mut large = TorusSpec::new([9, 9, 9], 1);
    large.without_links.insert(([0, 4, 1], 2));
    let large = compile(&large);
    for compiled in [&compiled, &large] {
        let mut scene = Scene {
            load: with_load(compiled).load,
            tree: with_tree(compiled).tree,
            ..with_path(compiled, "H4_4_4_0", "H1_1_0_0")
        };
        let name = printable("<&\"'>\u{1}\u{7f}\n]]>");
        scene.places[0].switch.as_mut().unwrap().name = name;
        let document = svg::render(&scene);
        well_formed(&document);
        assert_eq!(document, svg::render(&scene));
        assert!(document.contains("<title id=\"title\">"));
    }
}

/// Elements nest, attributes are quoted and no two of an element alike, nothing stands bare that
/// XML reserves.
pub(in crate::draw) fn well_formed(document: &str) {
    let mut open = Vec::new();
    let body = document.strip_prefix("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let mut rest = body.unwrap();
    while let Some(at) = rest.find('<') {
        words(&rest[..at]);
        let end = at + rest[at..].find('>').unwrap();
        let tag = &rest[at + 1..end];
        rest = &rest[end + 1..];
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name));
        } else {
            let (name, is_empty) = element(tag);
            assert!(!open.is_empty() || name == "svg", "{name} at the top");
            if !is_empty {
                open.push(name);
            }
        }
    }
    words(rest);
    assert!(open.is_empty(), "{open:?}");
}

fn element(tag: &str) -> (&str, bool) {
    let (tag, is_empty) = match tag.strip_suffix('/') {
        Some(tag) => (tag, true),
        None => (tag, false),
    };
    let (name, mut rest) = tag.split_once(' ').unwrap_or((tag, ""));
    assert!(name.chars().all(|c| c.is_ascii_alphabetic()), "{tag}");
    let mut seen = Vec::new();
    while !rest.is_empty() {
        let (key, value) = rest.split_once("=\"").unwrap();
        let (value, after) = value.split_once('"').unwrap();
        assert!(
            key.chars().all(|c| c.is_ascii_alphabetic() || c == '-'),
            "{tag}"
        );
        assert!(!seen.contains(&key), "{key} twice in {tag}");
        seen.push(key);
        words(value);
        rest = after.strip_prefix(' ').unwrap_or(after);
    }
    (name, is_empty)
}

fn words(text: &str) {
    assert!(!text.contains(['<', '>']), "{text}");
    assert!(
        text.chars().all(|c| c == '\n' || !c.is_control()),
        "{text:?}"
    );
    for reference in text.split('&').skip(1) {
        let known = ["amp;", "lt;", "gt;", "quot;", "#39;"];
        assert!(
            known.iter().any(|known| reference.starts_with(known)),
            "{text}"
        );
    }
}
