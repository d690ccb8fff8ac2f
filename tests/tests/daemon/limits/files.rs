//! What is named as an input and is no regular file, or is too large.

use std::collections::BTreeMap;

use super::*;

/// Every key that names a file, in its section.
const KEYS: [(&str, &str); 9] = [
    ("fabric", "path"),
    ("fabric", "lids"),
    ("fabric", "opensm_conf"),
    ("fabric", "prefix_routes"),
    ("fabric", "aliases"),
    ("routing", "torus_conf"),
    ("policy", "file"),
    ("policy", "ulp_names"),
    ("partitions", "file"),
];

/// The smallest.
pub(crate) const POLICY: &str =
    "qos-levels\n qos-level\n  name: DEFAULT\n  sl: 0\n end-qos-level\nend-qos-levels\n";

/// A configuration where one key names this path.
fn naming(section: &str, key: &str, path: &str) -> String {
    let mut keys = BTreeMap::from([
        (("fabric", "source"), "files"),
        (("fabric", "path"), "net"),
        (("routing", "torus_conf"), "torus-2QoS.conf"),
        (("policy", "file"), "policy.conf"),
    ]);
    keys.insert((section, key), path);
    let mut text = String::new();
    let mut last = "";
    for ((section, key), value) in keys {
        if section != last {
            text += &format!("[{section}]\n");
        }
        text += &format!("{key} = {value:?}\n");
        last = section;
    }
    text + "[[port]]\ntransport = \"ring\"\npath = \"ring\"\n"
}

#[test]
fn no_input_that_is_a_pipe_or_a_device_is_waited_for() -> Result<()> {
    let bed = Bed::new(CONFIG)?;
    fs::write(bed.dir().join("policy.conf"), POLICY)?;
    pipe(&bed.dir().join("pipe"))?;
    for (section, key) in KEYS {
        for (path, what) in [("pipe", "pipe: is a pipe"), ("/dev/zero", "is a device")] {
            fs::write(bed.config(), naming(section, key, path))?;
            let said = complaint(&bed)?;
            ensure!(said.contains(what), "{section}.{key} = {path}: {said}");
        }
    }
    let copy = "[fabric]\nsource = \"snapshot\"\npath = \"pipe\"\n[[port]]\ntransport = \"ring\"\n\
                path = \"ring\"\n";
    fs::write(bed.config(), copy)?;
    ensure!(complaint(&bed)?.contains("pipe: is a pipe"));
    Ok(())
}

#[test]
fn a_configuration_or_a_snapshot_that_is_a_pipe_is_not_waited_for() -> Result<()> {
    let bed = Bed::new(CONFIG)?;
    let path = bed.dir().join("pipe");
    pipe(&path)?;
    let mut daemon = Command::new(program("sapphired")?);
    let mut verify = Command::new(program("sapphire")?);
    let mut explain = Command::new(program("sapphire")?);
    let commands = [
        daemon.args(["--check", "--config"]).arg(&path),
        verify.args(["snapshot", "verify"]).arg(&path),
        explain.args(["route", "--fabric"]).arg(&path),
    ];
    for command in commands {
        let output = ended(command)?;
        let said = String::from_utf8(output.stderr)?;
        ensure!(output.status.code() == Some(1), "{said}");
        ensure!(said.contains("pipe: is a pipe"), "{said}");
    }
    Ok(())
}

#[test]
fn a_policy_that_became_a_pipe_leaves_serving_and_stopping_alone() -> Result<()> {
    let _turn = sa_tests::turn::heavy();
    let mut bed = Bed::new(&config("[policy]\nfile = \"policy.conf\"\n"))?;
    let policy = bed.dir().join("policy.conf");
    fs::write(&policy, POLICY)?;
    bed.serve()?;
    fs::remove_file(&policy)?;
    pipe(&policy)?;
    signal(&mut bed, "HUP")?;
    bed.wait_logged("policy.conf: is a pipe")?;
    bed.wait_logged("reload failed")?;
    fs::remove_file(&policy)?;
    fs::write(&policy, POLICY)?;
    answers(&bed)?;
    let took = time_to_stop(&mut bed)?;
    ensure!(took < Duration::from_secs(5), "{took:?}");
    Ok(())
}

#[test]
fn a_file_over_its_limit_is_refused_by_its_size() -> Result<()> {
    let mut bed = Bed::new(&config(
        "[policy]\nfile = \"policy.conf\"\n[limits]\npolicy_mib = 1\n",
    ))?;
    let policy = bed.dir().join("policy.conf");
    fs::write(&policy, POLICY)?;
    bed.serve()?;
    // A hole of 8 TiB, which nobody could take in.
    fs::File::options()
        .write(true)
        .open(&policy)?
        .set_len(8 << 40)?;
    signal(&mut bed, "HUP")?;
    bed.wait_logged("policy.conf: has 8796093022208 bytes, more than the 1 MiB")?;
    bed.wait_logged("raise policy_mib in [limits]")?;
    fs::write(&policy, POLICY)?;
    answers(&bed)?;
    bed.terminate()
}

#[test]
fn limits_out_of_range_are_refused_at_their_line() -> Result<()> {
    let bed = Bed::new(&config("[limits]\npolicy_mib = 16\nfabric_mib = 0\n"))?;
    let said = complaint(&bed)?;
    let lines = CONFIG.lines().count();
    let place = format!("sapphired.toml:{}:14: ", lines + 3);
    ensure!(said.contains(&place), "{said}");
    ensure!(said.contains("1 to 1048576 MiB"), "{said}");
    Ok(())
}
