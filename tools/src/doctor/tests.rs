//! Machines made of files.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use super::*;

/// A machine with one HCA, whose OpenSM has the split.
struct Made(tempfile::TempDir);

impl Made {
    fn bare() -> Self {
        let made = Self(tempfile::tempdir().unwrap());
        made.file(
            "/sys/kernel/mm/transparent_hugepage/enabled",
            "[always] madvise never\n",
        );
        made.file("/proc/1/comm", "systemd\n");
        made
    }

    fn whole() -> Self {
        let made = Self::bare();
        for module in ["ib_core", "ib_umad"] {
            made.file(&format!("/sys/module/{module}/refcnt"), "1\n");
        }
        let port = "/sys/class/infiniband/mlx5_0/ports/1";
        for (name, text) in [
            ("state", "4: ACTIVE\n"),
            ("link_layer", "InfiniBand\n"),
            ("lid", "0x1\n"),
            ("sm_lid", "0x1\n"),
        ] {
            made.file(&format!("{port}/{name}"), text);
        }
        made.link(
            "/sys/class/infiniband/mlx5_0/device/driver",
            "../../bus/drivers/mlx5_core",
        );
        made.file("/sys/class/infiniband_mad/abi_version", "5\n");
        made.file("/sys/class/infiniband_mad/umad0/ibdev", "mlx5_0\n");
        made.file("/sys/class/infiniband_mad/umad0/port", "1\n");
        made.file("/dev/infiniband/umad0", "");
        made.mode("/dev/infiniband/umad0", 0o600);
        made.file("/proc/40/comm", "opensm\n");
        made.file("/proc/40/maps", "7f00 r-xp /usr/lib/libsapphire_split.so\n");
        made.link("/proc/40/fd/5", "/dev/infiniband/umad0");
        made
    }

    fn file(&self, path: &str, text: &str) {
        let path = self.0.path().join(path.trim_start_matches('/'));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn link(&self, path: &str, target: &str) {
        let path = self.0.path().join(path.trim_start_matches('/'));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(target, path).unwrap();
    }

    fn gone(&self, path: &str) {
        let path = self.0.path().join(path.trim_start_matches('/'));
        if path.is_dir() {
            fs::remove_dir_all(path).unwrap();
        } else {
            fs::remove_file(path).unwrap();
        }
    }

    fn mode(&self, path: &str, mode: u32) {
        let path = self.0.path().join(path.trim_start_matches('/'));
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    fn findings(&self) -> Vec<Finding> {
        look(&Doctor {
            config: None,
            root: self.0.path().to_owned(),
            json: false,
        })
    }

    /// What is not ok. Shape: verdict and sentence.
    fn complaints(&self) -> Vec<(Verdict, String)> {
        let all = self.findings().into_iter();
        let all = all.filter(|finding| finding.verdict != Verdict::Ok);
        all.map(|finding| {
            assert!(finding.remedy.is_some(), "{finding:?}");
            (finding.verdict, finding.what)
        })
        .collect()
    }
}

#[test]
fn a_machine_without_infiniband_says_so() {
    let complaints = Made::bare().complaints();
    assert!(
        matches!(&complaints[..], [(Verdict::Warning, what)] if what.contains("no InfiniBand device")),
        "{complaints:?}"
    );
}

#[test]
fn a_whole_machine_has_nothing_to_complain_about() {
    let made = Made::whole();
    assert_eq!(made.complaints(), []);
    let all: Vec<String> = made.findings().iter().map(ToString::to_string).collect();
    let all = all.join("\n");
    for said in [
        "mlx5_0 is driven by mlx5_core",
        "umad ABI version 5",
        "/dev/infiniband/umad0 (mlx5_0 port 1), mode 0600",
        "opensm (process 40) has /dev/infiniband/umad0 open",
        "ACTIVE, LID 1, the SM's LID is 1, which is this port",
        "has the split",
    ] {
        assert!(all.contains(said), "{said:?} in\n{all}");
    }
}

#[test]
fn huge_pages_for_who_asks_are_enough() {
    let made = Made::whole();
    made.file(
        "/sys/kernel/mm/transparent_hugepage/enabled",
        "always [madvise] never\n",
    );
    assert!(made.complaints().is_empty(), "{:?}", made.complaints());
}

#[test]
fn each_fault_is_found_and_no_other() {
    use Verdict::{Problem, Warning};
    type Break = fn(&Made);
    let faults: [(Break, Verdict, &str); 12] = [
        (
            |it| it.gone("/sys/module/ib_umad"),
            Problem,
            "ib_umad is not loaded",
        ),
        (
            |it| it.file("/sys/class/infiniband_mad/abi_version", "6\n"),
            Problem,
            "umad ABI version 6",
        ),
        (
            |it| it.gone("/dev/infiniband/umad0"),
            Problem,
            "umad0 (mlx5_0 port 1) is missing",
        ),
        (
            |it| it.mode("/dev/infiniband/umad0", 0o666),
            Warning,
            "open to every user, mode 0666",
        ),
        (
            |it| {
                it.file(
                    "/sys/class/infiniband/mlx5_0/ports/2/link_layer",
                    "Ethernet\n",
                )
            },
            Warning,
            "port 2 is Ethernet",
        ),
        (
            |it| it.file("/sys/class/infiniband/mlx5_0/ports/2/state", "2: INIT\n"),
            Problem,
            "port 2 is INIT",
        ),
        (
            |it| it.file("/sys/class/infiniband/mlx5_0/ports/2/state", "1: DOWN\n"),
            Warning,
            "port 2 is DOWN",
        ),
        (
            |it| it.file("/sys/class/infiniband/mlx5_0/ports/1/sm_lid", "0x7\n"),
            Warning,
            "another SM is master",
        ),
        (
            |it| it.file("/proc/40/maps", "7f00 r-xp /lib/libc.so\n"),
            Warning,
            "has no split",
        ),
        (
            |it| {
                it.file("/proc/40/maps", "7f00 r-xp /lib/libc.so\n");
                it.file(
                    "/proc/40/environ",
                    "A=b\0LD_PRELOAD=/x/libsapphire_split.so\0",
                );
            },
            Problem,
            "but it is not loaded",
        ),
        (
            |it| {
                it.file("/proc/77/comm", "ibacm\n");
                it.link("/proc/77/fd/3", "/dev/infiniband/umad0");
            },
            Warning,
            "ibacm (process 77) has /dev/infiniband/umad0 open",
        ),
        (
            |it| {
                it.file(
                    "/sys/kernel/mm/transparent_hugepage/enabled",
                    "always madvise [never]\n",
                )
            },
            Warning,
            "huge pages: never",
        ),
    ];
    for (fault, verdict, said) in faults {
        let made = Made::whole();
        fault(&made);
        let complaints = made.complaints();
        assert!(
            matches!(&complaints[..], [(its, what)] if *its == verdict && what.contains(said)),
            "{said}: {complaints:?}"
        );
    }
}

#[test]
fn lists_of_cores_are_read() {
    assert_eq!(cores::listed("0-2,5"), [0, 1, 2, 5]);
    assert_eq!(cores::listed(""), Vec::<usize>::new());
}
