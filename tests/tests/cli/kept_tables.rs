//! Snapshots in place of fabrics: what `compile --keep-tables` keeps gives the same explanations as the files, and nothing of it
//! is taken on trust.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Output;

use anyhow::{Context, Result, ensure};
use sa_tests::cli::sapphire_in;
use serde_json::Value;
use tempfile::TempDir;

const POLICY: &str = include_str!("../../../docs/examples/qos-policy.conf");

/// Two limited members of a partition share none: most pairs have no path, and an explanation why.
const PARTITIONS: &str = "Default=0x7fff : ALL=limited, SELF=full;\n";

fn run(directory: &Path, line: &str) -> Result<Output> {
    let words: Vec<&str> = line.split_whitespace().collect();
    sapphire_in(directory, &words)
}

fn done(directory: &Path, line: &str) -> Result<String> {
    let output = run(directory, line)?;
    ensure!(output.status.success(), "{line}: {output:?}");
    Ok(String::from_utf8(output.stdout)?)
}

/// Error text of a line that ends with 1.
fn failed(directory: &Path, line: &str) -> Result<String> {
    let output = run(directory, line)?;
    ensure!(output.status.code() == Some(1), "{line}: {output:?}");
    ensure!(output.stdout.is_empty(), "{line}: {output:?}");
    Ok(String::from_utf8(output.stderr)?)
}

/// A folder with a torus in `t`, a fat tree in `f`, and files of an operator.
fn site() -> Result<TempDir> {
    let site = tempfile::tempdir()?;
    for (name, text) in [
        ("policy.conf", POLICY),
        ("partitions.conf", PARTITIONS),
        ("opensm.conf", "qos TRUE\nsm_key 0x1234567812345678\n"),
    ] {
        fs::write(site.path().join(name), text)?;
    }
    done(site.path(), "fabric torus 4 3 2 -o t")?;
    done(site.path(), "fabric fat-tree --radix 4 -o f")?;
    done(
        site.path(),
        "route --fabric f/net --engine updn --out dumps",
    )?;
    Ok(site)
}

fn compile(site: &Path, options: &str) -> Result<String> {
    done(site, &format!("compile {options} -o it.snap --keep-tables"))
}

/// Every case that an account tells apart: engines with and without places, levels, several LIDs, no path.
#[test]
fn a_snapshot_explains_as_its_files_do() -> Result<()> {
    let site = site()?;
    let torus = [
        "H0_0_0_0 H2_1_1_0",
        "H3_2_1_0 H0_0_0_0",
        "S0_0_0 H1_1_1_0",
        "H0_0_0_0 H0_0_0_0",
    ];
    let tree = ["H0_0_0 H1_1_1", "H1_1_1 H0_0_0"];
    let mut refused = 0;
    for (options, pairs) in [
        ("--fabric t/net --policy policy.conf", &torus[..]),
        (
            "--fabric ./t/net --torus-conf t/torus-2QoS.conf --lmc 1",
            &torus,
        ),
        ("--fabric t/net --partitions partitions.conf", &torus),
        (
            "--fabric t/net --fail 1,1,1 --engine torus-proved --allow-problems",
            &torus[..2],
        ),
        (
            "--fabric t/net --engine minhop --opensm-conf opensm.conf --allow-problems",
            &torus,
        ),
        (
            "--fabric t/net --engine dfsssp-nue --policy policy.conf",
            &torus,
        ),
        ("--fabric dumps --engine files", &tree),
        ("--fabric f/net --engine updn", &tree),
        ("--fabric f/net --engine ftree --policy policy.conf", &tree),
    ] {
        compile(site.path(), options)?;
        let options = options.replace("--allow-problems", "");
        for pair in pairs {
            for more in ["", " --json", " --service nvme --json"] {
                let files = done(site.path(), &format!("explain {pair} {options}{more}"))?;
                let kept = done(
                    site.path(),
                    &format!("explain {pair} --snapshot it.snap{more}"),
                )?;
                ensure!(files == kept, "{options} {pair}:\n{files}\n{kept}");
                refused += usize::from(files.contains("no_record\":{"));
            }
        }
    }
    // Otherwise no reason why there is no record was compared.
    ensure!(refused > 0);
    Ok(())
}

/// A pair after a failure that the snapshot does not know is routed anew, as from files.
#[test]
fn what_fails_besides_is_routed_anew() -> Result<()> {
    let site = site()?;
    compile(site.path(), "--fabric t/net --policy policy.conf")?;
    let explain = "explain H0_0_0_0 H2_1_1_0";
    let whole = done(site.path(), &format!("{explain} --snapshot it.snap"))?;
    let files = format!("{explain} --fabric t/net --policy policy.conf --fail 2,1,0");
    let files = done(site.path(), &files)?;
    let kept = done(
        site.path(),
        &format!("{explain} --snapshot it.snap --fail 2,1,0"),
    )?;
    ensure!(files == kept && files != whole, "{files}\n{kept}");
    Ok(())
}

/// The files may be gone or others by then.
#[test]
fn a_snapshot_stands_in_for_files_that_are_gone() -> Result<()> {
    let site = site()?;
    compile(site.path(), "--fabric t/net --policy policy.conf")?;
    let explained = done(site.path(), "explain H0_0_0_0 H2_1_1_0 --snapshot it.snap")?;
    let whole =
        |line: &str| -> Result<Value> { Ok(serde_json::from_str(&done(site.path(), line)?)?) };
    let files = whole("simulate --fabric t/net --policy policy.conf 1,1,1:1 --json")?;
    let drawn = done(
        site.path(),
        "draw --fabric t/net --policy policy.conf --text --path H0_0_0_0 H2_1_1_0",
    )?;
    fs::remove_dir_all(site.path().join("t"))?;
    fs::write(site.path().join("policy.conf"), "another\n")?;
    let again = done(site.path(), "explain H0_0_0_0 H2_1_1_0 --snapshot it.snap")?;
    ensure!(
        explained == again && again.contains("policy.conf:"),
        "{again}"
    );
    let kept = whole("simulate --snapshot it.snap 1,1,1:1 --json")?;
    for name in [
        "failed",
        "engine",
        "changes",
        "pairs_lost",
        "sl_changes",
        "entries_changed",
    ] {
        ensure!(kept[name] == files[name], "{name}: {kept}");
    }
    ensure!(files["entries_changed"].as_u64() > Some(0), "{files}");
    let again = done(
        site.path(),
        "draw --snapshot it.snap --text --path H0_0_0_0 H2_1_1_0",
    )?;
    ensure!(again == drawn, "{again}");
    // Compiled again it is the same snapshot, byte for byte.
    done(site.path(), "compile --snapshot it.snap -o again.snap")?;
    ensure!(fs::read(site.path().join("it.snap"))? == fs::read(site.path().join("again.snap"))?);
    Ok(())
}

#[test]
fn what_was_kept_for_another_snapshot_is_refused() -> Result<()> {
    let site = site()?;
    let explain = "explain H0_0_0_0 H2_1_1_0 --snapshot it.snap";
    compile(site.path(), "--fabric t/net")?;
    let sidecar = site.path().join("it.snap.tables");
    // A snapshot that is compiled over it keeps nothing.
    done(
        site.path(),
        "compile --fabric t/net --policy policy.conf -o it.snap",
    )?;
    let words = failed(site.path(), explain)?;
    ensure!(
        words.contains("it.snap.tables: belongs to another snapshot"),
        "{words}"
    );
    ensure!(words.contains("--keep-tables"), "{words}");
    fs::remove_file(&sidecar)?;
    let words = failed(site.path(), explain)?;
    ensure!(
        words.contains("it.snap.tables: cannot be read") && words.contains("--keep-tables"),
        "{words}"
    );
    fs::create_dir(&sidecar)?;
    let words = failed(site.path(), explain)?;
    ensure!(words.contains("it.snap.tables: is a directory"), "{words}");
    fs::remove_dir(&sidecar)?;
    fs::write(
        &sidecar,
        "something else, which is long enough to have a head of its own, and more than that\n",
    )?;
    let words = failed(site.path(), explain)?;
    ensure!(words.contains("it.snap.tables: is no file of"), "{words}");
    Ok(())
}

/// A flipped byte is refused, or lies in tables that the explanation does not need.
#[test]
fn damage_is_refused_or_does_not_matter() -> Result<()> {
    let site = site()?;
    compile(site.path(), "--fabric t/net --policy policy.conf")?;
    let explain = "explain H0_0_0_0 H2_1_1_0 --snapshot it.snap";
    let right = done(site.path(), explain)?;
    let path = site.path().join("it.snap.tables");
    let good = fs::read(&path)?;
    let (mut refused, mut harmless) = (0, 0);
    for at in (0..72)
        .step_by(4)
        .chain((72..good.len()).step_by(good.len() / 97))
    {
        let mut bad = good.clone();
        *bad.get_mut(at).context("a byte")? ^= 0x40;
        fs::write(&path, bad)?;
        let output = run(site.path(), explain)?;
        match output.status.code() {
            Some(0) => {
                harmless += 1;
                ensure!(String::from_utf8(output.stdout)? == right, "byte {at}");
            }
            Some(1) => {
                refused += 1;
                let words = String::from_utf8(output.stderr)?;
                ensure!(
                    words.starts_with("sapphire: it.snap.tables: "),
                    "byte {at}: {words}"
                );
            }
            _ => anyhow::bail!("byte {at}: {output:?}"),
        }
    }
    ensure!(refused > 20 && harmless > 0, "{refused} {harmless}");
    for length in [0, 8, 71, 72, 500, good.len() - 1] {
        fs::write(&path, good.get(..length).context("a start")?)?;
        let words = failed(site.path(), explain)?;
        ensure!(
            words.starts_with("sapphire: it.snap.tables: "),
            "{length}: {words}"
        );
    }
    Ok(())
}

/// opensm.conf may have a key inside.
#[test]
fn options_of_an_sm_are_kept_for_their_owner() -> Result<()> {
    let site = site()?;
    let mode = |name: &str| -> Result<u32> {
        Ok(fs::metadata(site.path().join(name))?.permissions().mode() & 0o077)
    };
    compile(site.path(), "--fabric t/net --opensm-conf opensm.conf")?;
    ensure!(mode("it.snap.tables")? == 0);
    Ok(())
}

#[test]
fn what_cannot_be_kept_or_added_is_said() -> Result<()> {
    let site = site()?;
    compile(site.path(), "--fabric t/net")?;
    for (line, says) in [
        (
            "explain H0_0_0_0 H2_1_1_0 --snapshot it.snap --fabric t/net",
            "cannot be used with",
        ),
        (
            "explain H0_0_0_0 H2_1_1_0 --snapshot it.snap --policy policy.conf",
            "leave --policy out",
        ),
        (
            "explain H0_0_0_0 H2_1_1_0 --snapshot it.snap --on-policy-error none",
            "--on-policy-error",
        ),
        (
            "compile --snapshot it.snap --keep-tables -o b.snap",
            "cannot be used with",
        ),
        ("explain H0_0_0_0 H2_1_1_0", "--fabric"),
    ] {
        let output = run(site.path(), line)?;
        let words = String::from_utf8(output.stderr)?;
        ensure!(
            output.status.code() == Some(2) && words.contains(says),
            "{line}: {words}"
        );
    }
    Ok(())
}

/// What `check` finds in tables that were kept is what it finds in the same tables as dumps.
#[test]
fn kept_tables_are_checked_as_dumps_are() -> Result<()> {
    let site = site()?;
    let mut loops = 0;
    for options in [
        "--fabric t/net --policy policy.conf",
        "--fabric t/net --torus-conf t/torus-2QoS.conf --lmc 1",
        "--fabric t/net --engine minhop",
        "--fabric t/net --engine dfsssp-nue",
        "--fabric f/net --engine updn",
    ] {
        run(
            site.path(),
            &format!("compile {options} -o it.snap --keep-tables --allow-problems"),
        )?;
        run(site.path(), &format!("route {options} --psl -o same"))?;
        let kept = run(site.path(), "check --snapshot it.snap --json")?;
        let dumps = run(site.path(), "check same --json")?;
        let told = |output: &Output| -> Result<Value> {
            let text = String::from_utf8(output.stdout.clone())?;
            Ok(serde_json::from_str(&text)?)
        };
        let (from_kept, from_dumps) = (told(&kept)?, told(&dumps)?);
        sa_tests::schema::judge(&from_kept)?;
        ensure!(from_kept["sls"] == "the snapshot", "{from_kept}");
        for field in ["acyclic", "switches", "pairs", "lost", "pairs_lost"] {
            ensure!(
                from_kept[field] == from_dumps[field],
                "{options}: {field}: {from_kept} {from_dumps}"
            );
        }
        ensure!(
            kept.status.code() == dumps.status.code(),
            "{options}: {kept:?} {dumps:?}"
        );
        loops += usize::from(kept.status.code() == Some(3));
        fs::remove_dir_all(site.path().join("same"))?;
    }
    // Otherwise no bad verdict was compared.
    ensure!(loops > 0);
    Ok(())
}

#[test]
fn a_snapshot_alone_cannot_be_checked_and_it_is_said_what_to_do() -> Result<()> {
    let site = site()?;
    done(site.path(), "compile --fabric t/net -o alone.snap")?;
    let said = failed(site.path(), "check --snapshot alone.snap")?;
    ensure!(
        said.contains("alone.snap.tables") && said.contains("compile --keep-tables"),
        "{said}"
    );
    for line in [
        "check dumps --snapshot alone.snap",
        "check --snapshot alone.snap --members everywhere",
        "check",
    ] {
        let output = run(site.path(), line)?;
        ensure!(output.status.code() == Some(2), "{line}: {output:?}");
    }
    // A table that is damaged is none that is proved.
    compile(site.path(), "--fabric t/net")?;
    let tables = site.path().join("it.snap.tables");
    let mut bytes = fs::read(&tables)?;
    *bytes.last_mut().context("bytes")? ^= 1;
    fs::write(&tables, bytes)?;
    let said = failed(site.path(), "check --snapshot it.snap")?;
    ensure!(said.contains("is damaged or cut off"), "{said}");
    Ok(())
}
