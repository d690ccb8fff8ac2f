//! Every way in which an input can be wrong.

use std::path::PathBuf;

use super::good::Good;

/// An input that is wrong.
pub(crate) struct Damage {
    pub(crate) option: &'static str,
    pub(crate) path: PathBuf,
    pub(crate) code: i32,
    pub(crate) place: Place,
    /// What the error must contain, where that is all that is asked of it.
    pub(crate) names: &'static str,
}

/// What an error must name.
#[derive(Clone, Copy)]
pub(crate) enum Place {
    /// File, line and column.
    Line,
    /// The file.
    File,
    /// Not the file, but what in the fabric.
    Named,
}

/// The inputs of every verb that takes a fabric.
pub(crate) fn all(good: &Good) -> Vec<Damage> {
    let mut damages = Vec::new();
    for option in [
        "--fabric",
        "--torus-conf",
        "--lids",
        "--policy",
        "--partitions",
        "--opensm-conf",
    ] {
        unreadable(good, option, &mut damages);
    }
    for (option, name, content) in wrong_texts(good) {
        // What holds nothing has no line, and what is another file has none to blame.
        let place = match content.is_empty() || matches!(name, "net" | "binary") {
            true => Place::File,
            false => Place::Line,
        };
        let path = good.write(&format!("wrong{option}/{name}"), content);
        damages.push(damage(option, path, 1, place));
    }
    // Fabric files are told by their content, so that not even a line is known.
    for (name, content) in [
        ("empty", &b""[..]),
        ("binary", b"\0\x01\x02\x1b[31m"),
        ("words", b"hello\n"),
    ] {
        damages.push(damage(
            "--fabric",
            good.write(name, content),
            1,
            Place::File,
        ));
    }
    let refused = [
        ("size", "# nothing\n", "radix of x and y and z"),
        (
            "seeds",
            "torus 3t 3t 3t\nxp_link 0x200000 0x200001\n",
            "yp_link",
        ),
        (
            "far",
            "torus 3t 3t 3t\nxp_link 0x200000 0x20000d\nyp_link 0x200000 0x200003\nzp_link 0x200000 0x200009\n",
            "0x0000000000200009",
        ),
    ];
    for (name, content, names) in refused {
        let path = good.write(&format!("refused/{name}"), content);
        damages.push(Damage {
            names,
            ..damage("--torus-conf", path, 3, Place::Named)
        });
    }
    damages
}

fn damage(option: &'static str, path: String, code: i32, place: Place) -> Damage {
    Damage {
        option,
        path: path.into(),
        code,
        place,
        names: "",
    }
}

/// Missing, a directory, xz data cut off.
fn unreadable(good: &Good, option: &'static str, damages: &mut Vec<Damage>) {
    let missing = good.path("nowhere");
    damages.push(damage(option, missing, 1, Place::File));
    let directory = good.path("empty-directory");
    std::fs::create_dir_all(&directory).unwrap();
    damages.push(damage(option, directory, 1, Place::File));
    let cut = good.write("cut.xz", b"\xfd7zXZ\0\0\x04\xe6\xd6\xb4\x46");
    damages.push(damage(option, cut, 1, Place::File));
}

/// Option, name and content of texts whose error has a place.
fn wrong_texts(good: &Good) -> Vec<(&'static str, &'static str, Vec<u8>)> {
    let text = |name| String::from_utf8(good.read(name)).unwrap();
    let (net, list, policy) = (
        text("net"),
        text("dumps/opensm-subnet.lst"),
        text("policy.conf"),
    );
    let cut = |text: &str, at: usize| text.as_bytes()[..at].to_vec();
    let changed = |text: &str, from: &str, to: &str| {
        assert!(text.contains(from), "{from}");
        text.replacen(from, to, 1).into_bytes()
    };
    let twice = changed(&list, "LID:0003", "LID:0004");
    vec![
        ("--fabric", "cut", cut(&net, 300)),
        (
            "--fabric",
            "cut-between-lines",
            cut(&net, net.find("[3]").unwrap()),
        ),
        (
            "--fabric",
            "one-sided",
            changed(&net, "\"S1_0_0\"[2]", "\"S1_0_0\"[7]"),
        ),
        (
            "--fabric",
            "same-guid",
            changed(&net, "switchguid=0x200001", "switchguid=0x200000"),
        ),
        (
            "--fabric",
            "no-such-port",
            changed(&net, "[1] \"S1_0_0\"", "[99] \"S1_0_0\""),
        ),
        (
            "--fabric",
            "binary-behind",
            [net.as_bytes(), b"\0\x1b[31m\xff\n"].concat(),
        ),
        ("--fabric", "list-cut", cut(&list, 500)),
        ("--fabric", "list-lid-twice", twice.clone()),
        ("--lids", "empty", Vec::new()),
        ("--lids", "net", net.clone().into_bytes()),
        ("--lids", "binary", b"\0\x1b[31m\xff\n".to_vec()),
        ("--lids", "cut", cut(&list, 500)),
        ("--lids", "lid-twice", twice),
        ("--torus-conf", "net", net.clone().into_bytes()),
        (
            "--torus-conf",
            "cut",
            b"torus 3t 3t 3t\nxp_link 0x200000".to_vec(),
        ),
        (
            "--torus-conf",
            "two-sizes",
            b"torus 3t 3t\nxp_link 0x200000 0x2000zz\n".to_vec(),
        ),
        ("--policy", "empty", Vec::new()),
        ("--policy", "net", net.clone().into_bytes()),
        ("--policy", "binary", b"\0\x1b[31m\xff\n".to_vec()),
        ("--policy", "cut", cut(&policy, 700)),
        (
            "--policy",
            "unknown-level",
            changed(&policy, "level-name: small", "level-name: smll"),
        ),
        (
            "--policy",
            "unknown-group",
            changed(&policy, "destination: storage", "destination: x"),
        ),
        ("--policy", "no-level-sl", changed(&policy, "sl: 8\n", "\n")),
        ("--partitions", "empty", Vec::new()),
        ("--partitions", "net", net.into_bytes()),
        ("--partitions", "binary", b"\0\x1b[31m\xff\n".to_vec()),
        (
            "--partitions",
            "cut",
            b"Default=0x7fff : ALL=full;\np1=0x1, sl=3  0x100001=fu".to_vec(),
        ),
        (
            "--partitions",
            "bad-guid",
            b"Default=0x7fff : ALL=full;\np1=1 : 0x1000zz;\n".to_vec(),
        ),
        ("--opensm-conf", "lmc", b"# sixteen\nlmc 9\n".to_vec()),
        ("--opensm-conf", "cut", b"qos TRUE\nsubnet_timeout".to_vec()),
        ("--opensm-conf", "boolean", b"qos maybe\n".to_vec()),
    ]
}

/// Path of a damaged snapshot, and a word of what must be said about it.
pub(crate) fn snapshots(good: &Good) -> Vec<(String, &'static str)> {
    let whole = good.read("good.snap");
    let changed = |at: usize, value: u8| {
        let mut bytes = whole.clone();
        bytes[at] = value;
        bytes
    };
    let put = |name: &str, content: &[u8]| good.write(&format!("snapshots/{name}"), content);
    vec![
        (good.path("nowhere.snap"), "cannot be read"),
        (put("empty", &[]), "truncated"),
        (put("header", &whole[..20]), "truncated"),
        (put("half", &whole[..whole.len() / 2]), "truncated"),
        (
            put("longer", &[&whole[..], b"more"].concat()),
            "4 bytes follow",
        ),
        (put("magic", &changed(0, b'X')), "not a snapshot"),
        (
            put("bit", &changed(5000, whole[5000] ^ 1)),
            "digest mismatch",
        ),
        (put("digest", &changed(8, whole[8] ^ 1)), "digest mismatch"),
        (good.path("net"), "this looks like a fabric file"),
    ]
}

/// Path of a directory of dumps, the file that is to blame, and the exit status.
pub(crate) fn dumps(good: &Good) -> Vec<(String, Option<&'static str>, i32)> {
    let lfts = good.read("dumps/opensm-lfts.dump");
    let sl2vl = good.read("dumps/opensm-sl2vl.dump");
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let with = |name: &str, file: &str, content: &[u8]| {
        for file in [
            "opensm-subnet.lst",
            "opensm-lfts.dump",
            "opensm-sl2vl.dump",
            "psl",
        ] {
            good.write(
                &format!("{name}/{file}"),
                good.read(&format!("dumps/{file}")),
            );
        }
        good.write(&format!("{name}/{file}"), content);
        good.path(name)
    };
    let no_such_port = text(&lfts).replacen("\n0x0005 0", "\n0x0005 2", 1);
    let flat = text(&sl2vl)
        .lines()
        .map(|line| line.to_owned() + "x\n")
        .collect::<String>();
    let psl = text(&good.read("dumps/psl"));
    let foreign = text(&lfts).replacen("guid 0x0000000000200000", "guid 0x0000000000900000", 1);
    good.write("bare/opensm-lfts.dump", &lfts);
    vec![
        (good.path("nowhere"), None, 1),
        (good.path("bare"), None, 1),
        (
            with("lfts-cut", "opensm-lfts.dump", &lfts[..5000]),
            Some("opensm-lfts.dump"),
            1,
        ),
        (
            with("lfts-foreign", "opensm-lfts.dump", foreign.as_bytes()),
            Some("opensm-lfts.dump"),
            1,
        ),
        (
            with("lfts-port", "opensm-lfts.dump", no_such_port.as_bytes()),
            None,
            3,
        ),
        (
            with("sl2vl-words", "opensm-sl2vl.dump", flat.as_bytes()),
            Some("opensm-sl2vl.dump"),
            1,
        ),
        (
            with("psl-cut", "psl", &psl.as_bytes()[..1000]),
            Some("psl"),
            1,
        ),
        (
            with("psl-sl", "psl", (psl + "0x100000 5 77\n").as_bytes()),
            Some("psl"),
            1,
        ),
        (
            with("list-cut", "opensm-subnet.lst", b"{ CA Ports:01"),
            Some("opensm-subnet.lst"),
            1,
        ),
    ]
}
