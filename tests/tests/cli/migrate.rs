//! `sapphire migrate`: nothing of an `opensm.conf` is lost in silence, and what is written is a configuration.

use std::fs;
use std::path::Path;

use anyhow::{Result, ensure};
use sa_tests::cli::{check, sapphire_in};
use sm_control::config::Config;

/// What `opensm -c FILE` of 3.3.23, which is Debian's, writes; without its comments.
const DEFAULTS: &str = include_str!("../../../sm-control/fabric/src/options/opensm-3.3.23.conf");

/// Status, standard output, standard error.
fn migrate(directory: &Path, conf: &[u8]) -> Result<(i32, String, String)> {
    fs::write(directory.join("opensm.conf"), conf)?;
    let output = sapphire_in(directory, &["migrate", "opensm.conf"])?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let code = output.status.code().unwrap_or(-1);
    Ok((code, text(&output.stdout), text(&output.stderr)))
}

#[test]
fn opensms_defaults_come_to_nothing() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let (code, text, said) = migrate(directory.path(), DEFAULTS.as_bytes())?;
    ensure!(code == 0, "{said}");
    ensure!(
        said.contains("0 options in [sm], 0 lines left out"),
        "{said}"
    );
    let config = Config::parse(&text).map_err(anyhow::Error::msg)?;
    ensure!(
        config.sm.settings.is_empty() && config.fabric.qos == Some(false),
        "{text}"
    );
    Ok(())
}

/// As the Subnet Manager: what was written, and what was said of it.
fn as_manager(conf: &str) -> Result<(String, String)> {
    let directory = tempfile::tempdir()?;
    fs::write(directory.path().join("opensm.conf"), conf)?;
    let line = ["migrate", "opensm.conf", "--source", "sweep"];
    let output = sapphire_in(directory.path(), &line)?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let said = text(&output.stderr);
    ensure!(output.status.code() == Some(0), "{said}");
    Ok((text(&output.stdout), said))
}

#[test]
fn engines_behind_the_first_and_options_that_are_not_followed_are_named() -> Result<()> {
    let (text, said) = as_manager("routing_engine updn,minhop,no_fallback,dfsssp\n")?;
    ensure!(text.contains("engine = \"updn\""), "{text}");
    ensure!(
        said.contains("left out: routing_engine updn,minhop,no_fallback,dfsssp: updn alone routes")
            && said.contains("and minhop, dfsssp is not tried"),
        "{said}"
    );
    // One that is not here, and then one that is the last.
    let (text, said) = as_manager("routing_engine lash,ftree\n")?;
    ensure!(text.contains("engine = \"ftree\""), "{text}");
    ensure!(
        said.contains("there is no engine lash") && !said.contains("alone routes"),
        "{said}"
    );

    for (line, why) in [
        ("fdr10 2", "ports keep the FDR10"),
        ("suppress_sl2vl_mad_status_errors TRUE", "is a finding"),
        ("babbling_port_policy TRUE", "stays enabled"),
        ("drop_event_subscriptions TRUE", "end in any case"),
        ("fsync_high_avail_files FALSE", "synced always"),
    ] {
        let (text, said) = as_manager(&format!("{line}\n"))?;
        ensure!(
            said.contains(&format!("left out: {line}: ")) && said.contains(why),
            "{said}"
        );
        let key = line.split(' ').next().unwrap_or_default();
        ensure!(!text.contains(key), "{text}");
    }
    let (_, said) = as_manager("fdr10 1\nbabbling_port_policy FALSE\n")?;
    ensure!(said.contains("0 lines left out"), "{said}");
    Ok(())
}

/// Another value than the default, which OpenSM takes too.
fn another(key: &str, value: &str) -> String {
    match value {
        "TRUE" => "FALSE".to_owned(),
        "FALSE" => "TRUE".to_owned(),
        "both" => "off".to_owned(),
        "off" => "local".to_owned(),
        _ if key == "routing_engine" => "torus-2QoS".to_owned(),
        _ if key.contains("vlarb") => "0:1,1:2".to_owned(),
        _ if key.ends_with("sl2vl") => "0,1,2".to_owned(),
        "(null)" => "some".to_owned(),
        _ if value.starts_with('/') => "other".to_owned(),
        _ if value.starts_with("0xfe") => "0xfe80000000000001".to_owned(),
        // Within the range of each number.
        "2" | "0x02" => "1".to_owned(),
        _ => "2".to_owned(),
    }
}

#[test]
fn each_option_is_written_or_named() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let (mut written, mut named) = (0, 0);
    for line in DEFAULTS.lines() {
        let (key, value) = line.split_once(' ').unwrap_or((line, ""));
        let conf = format!("# a line before\n{key} {}\n", another(key, value));
        let (code, text, said) = migrate(directory.path(), conf.as_bytes())?;
        ensure!(code == 0, "{key}: {said}");
        Config::parse(&text).map_err(anyhow::Error::msg)?;
        let is_named = said.contains(&format!("opensm.conf:2:1: left out: {key} "));
        let own = match key {
            "routing_engine" => "engine = \"torus-2qos\"".to_owned(),
            "partition_config_file" => "[partitions]\nfile = ".to_owned(),
            "prefix_routes_file" => "prefix_routes = ".to_owned(),
            "qos" => "qos = true".to_owned(),
            _ => format!("\n{key} = "),
        };
        ensure!(is_named != text.contains(&own), "{key}: {text}{said}");
        named += usize::from(is_named);
        written += usize::from(!is_named);
    }
    println!("{written} written, {named} named");
    ensure!(written > 70 && named > 60);
    Ok(())
}

#[test]
fn values_reach_the_configuration() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let conf = "m_key 0xffffffffffffffff\nlmc 1 # two\nlmc 010\nlmc 2\npart_enforce \"in\"\nqos TRUE\n\
                qos_policy_file qos.conf\nlog_file /tmp/x\nsweep_intervall 3\nrouting_engine lash\n\
                sweep_interval 0x10\n";
    let (code, text, said) = migrate(directory.path(), conf.as_bytes())?;
    ensure!(code == 1 && said.contains("opensm.conf:3:5: "), "{said}");
    let conf = conf.replace("lmc 010\n", "");
    let (code, text_again, said) = migrate(directory.path(), conf.as_bytes())?;
    ensure!(code == 0 && text.is_empty(), "{said}");
    let config = Config::parse(&text_again).map_err(anyhow::Error::msg)?;
    let manager = &config.sm.manager;
    ensure!(manager.m_key == u64::MAX && manager.lmc.get() == 2);
    ensure!(manager.sweeps.interval == 16 && manager.part_enforce.bits() == 2);
    ensure!(config.policy.file == Some(fs::canonicalize(directory.path())?.join("qos.conf")));
    for left_out in [
        ":2:1: left out: lmc 1: it stands again in line 3, which counts",
        ":7:1: left out: log_file /tmp/x: the log goes to standard error",
        ":8:1: left out: sweep_intervall 3: OpenSM has no such option",
        ":9:1: left out: routing_engine lash: paths are those that the SM has made",
    ] {
        ensure!(said.contains(left_out), "{left_out}: {said}");
    }
    Ok(())
}

#[test]
fn what_it_cannot_read_is_refused_and_nothing_is_written() -> Result<()> {
    let directory = tempfile::tempdir()?;
    for (conf, expected) in [
        ("\nsm_priority 16\n", "opensm.conf:2:13: "),
        ("m_key none\n", "opensm.conf:1:7: "),
        ("qos yes\n", "opensm.conf:1:5: "),
        ("[fabric]\nsource = \"files\"\n", "configuration"),
    ] {
        fs::write(directory.path().join("opensm.conf"), conf)?;
        let line = ["migrate", "opensm.conf", "--out", "made.toml"];
        let output = sapphire_in(directory.path(), &line)?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        ensure!(
            output.status.code() == Some(1) && said.contains(expected),
            "{conf}: {said}"
        );
        ensure!(!directory.path().join("made.toml").exists());
    }
    Ok(())
}

/// As the SM itself it takes the first engine that is here, and refuses where none is.
#[test]
fn an_sm_gets_an_engine_of_those_named() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let with = |conf: &str| -> Result<(bool, String, String)> {
        fs::write(directory.path().join("opensm.conf"), conf)?;
        let line = ["migrate", "opensm.conf", "--source", "sweep"];
        let output = sapphire_in(directory.path(), &line)?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ok((
            output.status.success(),
            text(&output.stdout),
            text(&output.stderr),
        ))
    };
    let (is_done, text, said) = with("routing_engine lash,updn,minhop\nroot_guid_file roots\n")?;
    ensure!(
        is_done && said.contains("opensm.conf:1:1: left out"),
        "{said}"
    );
    let config = Config::parse(&text).map_err(anyhow::Error::msg)?;
    ensure!(
        config
            .routing
            .engine
            .is_some_and(|engine| engine.name() == "updn")
    );
    ensure!(
        config.routing.root_guids.is_some() && config.opensm.is_none(),
        "{text}"
    );
    let (is_done, _, said) = with("\nrouting_engine lash,dor\n")?;
    ensure!(
        !is_done && said.contains("opensm.conf:2:1: there is no engine lash, dor"),
        "{said}"
    );
    Ok(())
}

/// Lines of the real file, cut, mixed and overwritten: an answer or an error, never a panic.
#[test]
fn garbage_is_answered() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % below as u64).unwrap_or(0)
    };
    let (mut taken, mut refused) = (0, 0);
    for _ in 0..200 {
        let lines: Vec<&str> = DEFAULTS.lines().collect();
        let mut conf: Vec<u8> = (0..random(8))
            .flat_map(|_| format!("{}\n", lines[random(lines.len())]).into_bytes())
            .collect();
        for _ in 0..random(4) {
            if !conf.is_empty() {
                let at = random(conf.len());
                conf[at] = u8::try_from(random(256))?;
            }
        }
        let (code, text, said) = migrate(directory.path(), &conf)?;
        match code {
            0 => drop(Config::parse(&text).map_err(anyhow::Error::msg)?),
            1 => ensure!(said.contains("opensm.conf") && text.is_empty(), "{said}"),
            _ => anyhow::bail!("{code}: {said}"),
        }
        taken += usize::from(code == 0);
        refused += usize::from(code == 1);
    }
    println!("{taken} taken, {refused} refused");
    ensure!(taken > 20 && refused > 5);
    Ok(())
}

/// What only a Subnet Manager follows is no slip in the configuration of one.
#[test]
fn a_check_knows_that_a_subnet_manager_follows_its_options() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let conf = directory.path().join("opensm.conf");
    fs::write(
        &conf,
        "qos FALSE\nsminfo_polling_timeout 500\nm_key 0x12\nsweeping_interval 3\nbabble TRUE\n",
    )?;
    let config = directory.path().join("sapphired.toml");
    let text = format!(
        "[fabric]\nsource = \"sweep\"\nopensm_conf = {conf:?}\n[sm]\nsm_priority = 3\n\
         [[port]]\ntransport = \"ibsim\"\nnode = \"H0\"\n"
    );
    fs::write(&config, text)?;
    let (is_good, said) = check(&config)?;
    ensure!(is_good, "{said}");
    for followed in ["sminfo_polling_timeout", "m_key", "sm_priority"] {
        ensure!(!said.contains(followed), "{said}");
    }
    // A slip is one here too.
    ensure!(said.contains("babble is no option"), "{said}");
    Ok(())
}
