//! Wrong options, files and lists: each has one error that says where, and what was expected.

use anyhow::{Result, ensure};

use super::{Cluster, Told};

#[test]
fn a_wrong_option_ends_srun_and_tasks_and_drains_no_node() -> Result<()> {
    let cluster = Cluster::new()?;
    for (option, expected) in [
        ("deadline=5", "expected ring=, hosts="),
        ("deadline_ms", "expected milliseconds, 1 to 60000"),
        ("deadline_ms=0", "expected milliseconds, 1 to 60000"),
        ("deadline_ms=60001", "expected milliseconds, 1 to 60000"),
        ("deadline_ms=1s", "expected milliseconds, 1 to 60000"),
        ("pkey=0x8000", "expected a P_Key"),
        ("pkey=65536", "expected a P_Key"),
        ("pkey=-1", "expected a P_Key"),
        ("service_id=0x", "expected a service id"),
        ("service_id=0x10000000000000000", "expected a service id"),
        ("qos_class=4096", "expected a QoS class, 0 to 4095"),
        ("ring=ring", "expected a path from / on"),
        ("hosts=", "expected a path from / on"),
        ("dir=here", "expected a path from / on"),
        ("on_failure=ignore", "expected continue or fail"),
        ("export=UCX_IB_SL,", "expected at most 8 names"),
        ("export=A,B,C,D,E,F,G,H,I", "expected at most 8 names"),
        ("export=A B", "expected at most 8 names"),
    ] {
        // Behind the four that every call has.
        let words = format!(
            "error: sapphire: plugstack.conf: option 5 of this plugin, '{option}': {expected}"
        );
        let told = Told::of(cluster.slurmd("srun", &[option]).output()?)?;
        ensure!(
            told.status == Some(10) && told.log.contains(&words),
            "{words}\n{told:?}"
        );
        let told = cluster.step(&[option], &[])?;
        ensure!(told.status == Some(12) && told.task.is_empty(), "{told:?}");
        ensure!(told.log.contains(&words), "{words}\n{told:?}");
        let told = Told::of(cluster.slurmd("epilog", &[option]).output()?)?;
        ensure!(
            told.status == Some(0) && told.log.contains(&words),
            "{told:?}"
        );
    }
    let good = [
        "pkey=0xffff",
        "service_id=18446744073709551615",
        "export=A,_b1",
    ];
    let told = Told::of(cluster.slurmd("srun", &good).output()?)?;
    ensure!(told.status == Some(0) && told.log.is_empty(), "{told:?}");
    Ok(())
}

#[test]
fn mistakes_in_the_file_of_hosts_have_line_and_column() -> Result<()> {
    let cluster = Cluster::new()?;
    let ports = (1..=17).map(|lid| format!(" {lid}")).collect::<String>();
    let long = format!("# {}\n", "x".repeat(5000));
    for (text, words) in [
        (
            "H0_0_0_0 1\nother node7\n",
            "hosts:2:7: expected a port: a GUID or LID",
        ),
        (
            "\n# x\n  H0_0_0_0\n",
            "hosts:3:11: expected a port behind the name",
        ),
        (
            "H1_0_0_0 1\nH1_0_0_0 2\n",
            "hosts:2:1: expected each node once",
        ),
        (
            &format!("other{ports}\n"),
            "hosts:1:46: expected at most 16 ports",
        ),
        (&long, "hosts:1:1: expected a line of at most 4094 letters"),
        (
            "H1_0_0_0 1\n",
            "hosts: it has no line for H0_0_0_0, this node",
        ),
    ] {
        cluster.write_hosts(text)?;
        let told = cluster.step(&[], &[])?;
        ensure!(
            told.status == Some(0) && told.log.contains(words),
            "{words}\n{told:?}"
        );
        ensure!(told.task.is_empty(), "{told:?}");
    }
    Ok(())
}

#[test]
fn lists_of_nodes_are_read_within_bounds() -> Result<()> {
    let cluster = Cluster::new()?;
    for (list, words) in [
        ("a[1-2", "column 2: expected a ']'"),
        ("a[2-1]", "column 3: expected a range"),
        ("a[x]", "column 3: expected a number"),
        ("a[1-9999999999]", "column 3: expected a range"),
        ("a[1;2]", "column 4: expected ',', '-' or ']'"),
        ("a,,b", "column 3: expected a name"),
        ("a,../b", "column 5: expected a letter of a name"),
        ("n[1-70000]", "expected at most 65536 nodes"),
        ("n[1-300][1-300]", "expected at most 65536 nodes"),
        (
            "n[001-003],m",
            "this machine is called H0_0_0_0.example.org, and the job has no such node",
        ),
    ] {
        let told = cluster.step(&[], &[("SLURM_STEP_NODELIST", list)])?;
        ensure!(
            told.status == Some(0) && told.log.contains(words),
            "{list}: {words}\n{told:?}"
        );
        ensure!(told.task.is_empty(), "{told:?}");
    }
    let name = "n".repeat(256);
    let told = cluster.step(&[], &[("SLURM_STEP_NODELIST", &format!("{name},m"))])?;
    ensure!(
        told.log.contains("expected names of at most 255 letters"),
        "{told:?}"
    );
    Ok(())
}
