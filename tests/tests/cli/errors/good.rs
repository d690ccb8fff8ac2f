//! A 3x3x3 torus with every kind of input file, all of them fine.

use std::path::Path;
use std::process::Command;

use sa_compiler::export::{self, Psl};
use sa_compiler::pipeline::{self, Inputs, Stamp};
use sa_fabric::generate::{TorusSpec, plan};
use sa_fabric::store;

use sa_tests::cli::program;

const POLICY: &str = include_str!("../../../../docs/examples/qos-policy.conf");
const PARTITIONS: &str = "Default=0x7fff : ALL=full;\np1=0x1, sl=3 : 0x100001=full, 0x100011;\n";
const OPENSM_CONF: &str = "qos TRUE\nsubnet_timeout 17\nqos_sl2vl 0,1,2,3,4,5,6,7\n";

/// Option and file of each input.
const OPTIONS: [(&str, &str); 6] = [
    ("--fabric", "net"),
    ("--torus-conf", "torus-2QoS.conf"),
    ("--lids", "dumps/opensm-subnet.lst"),
    ("--policy", "policy.conf"),
    ("--partitions", "partitions.conf"),
    ("--opensm-conf", "opensm.conf"),
];

pub(crate) struct Good {
    directory: tempfile::TempDir,
}

impl Good {
    pub(crate) fn new() -> Self {
        let good = Self {
            directory: tempfile::tempdir().unwrap(),
        };
        let plan = plan(&TorusSpec::new([3, 3, 3], 1)).unwrap();
        good.write("net", plan.net());
        good.write("torus-2QoS.conf", plan.torus_conf());
        good.write("policy.conf", POLICY);
        good.write("partitions.conf", PARTITIONS);
        good.write("opensm.conf", OPENSM_CONF);
        let inputs = Inputs {
            fabric: good.path("net").into(),
            torus_conf: Some(good.path("torus-2QoS.conf").into()),
            ..Inputs::default()
        };
        let compiled = pipeline::compile(&inputs, Stamp::default()).unwrap();
        let dumps = good.path("dumps");
        export::all(
            Path::new(&dumps),
            &compiled.parts,
            &compiled.snapshot,
            Psl::Always,
        )
        .unwrap();
        store::write(Path::new(&good.path("good.snap")), &compiled.snapshot).unwrap();
        good
    }

    pub(crate) fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// A file of it, there or not.
    pub(crate) fn path(&self, name: &str) -> String {
        self.directory().join(name).to_str().unwrap().to_owned()
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap()
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let path = self.path(name);
        std::fs::create_dir_all(Path::new(&path).parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path
    }

    /// All inputs but one.
    pub(crate) fn options_but(&self, left_out: &str) -> Vec<String> {
        let others = OPTIONS.iter().filter(|(option, _)| *option != left_out);
        others
            .flat_map(|(option, file)| [(*option).to_owned(), self.path(file)])
            .collect()
    }

    /// Runs where no file can grow over 4 KiB, as on a full disk. Gives standard error.
    pub(crate) fn run_with_full_disk(&self, arguments: &[&str]) -> String {
        let output = Command::new("sh")
            .args(["-c", "trap '' XFSZ; ulimit -f 8; exec \"$@\"", "sh"])
            .arg(program("sapphire").unwrap())
            .args(arguments)
            .current_dir(self.directory())
            .output()
            .unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{said}");
        said
    }
}
