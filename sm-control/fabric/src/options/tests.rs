use sa_snapshot::model::RateLimit;

use super::names::NOT_USED;
use super::*;
use crate::error::Oddity;

fn options(text: &str) -> OpenSmOptions {
    OpenSmOptions::parse(text.as_bytes()).unwrap_or_else(|error| panic!("{error}"))
}

fn refusal(text: &str) -> String {
    OpenSmOptions::parse(text.as_bytes())
        .unwrap_err()
        .to_string()
}

#[test]
fn names_are_sorted() {
    assert!(NOT_USED.is_sorted());
}

#[test]
fn an_empty_file_gives_the_defaults() {
    assert_eq!(options("\n# nothing\n"), OpenSmOptions::default());
    let defaults = OpenSmOptions::default();
    assert_eq!((defaults.max_rate_code(), defaults.resp_time()), (22, 16));
}

/// What `opensm -c FILE` of 3.3.23 writes, without its comments: every option with its default.
const DUMP: &str = include_str!("opensm-3.3.23.conf");

/// Every default here against OpenSM's own dump of its options. Paths of files have a default
/// there and are only taken here when a file names them; the dump gives an LMC.
#[test]
fn every_default_is_that_of_opensms_own_dump() {
    let read = options(DUMP);
    let defaults = OpenSmOptions {
        qos_given: true,
        lmc: Lmc::new(0).ok(),
        torus_config: Some("/etc/opensm/torus-2QoS.conf".into()),
        partition_config_file: Some("/etc/opensm/partitions.conf".into()),
        qos_policy_file: Some("/etc/opensm/qos-policy.conf".into()),
        prefix_routes_file: read.prefix_routes_file.clone(),
        not_used: read.not_used.clone(),
        ..OpenSmOptions::default()
    };
    assert_eq!(read, defaults);
    let unknown = read.not_used.iter().filter(|line| !line.is_known);
    assert_eq!(unknown.count(), 0, "{:?}", read.not_used);
    // Nothing that the dump sets passes unseen: another value of each option makes a difference.
    let used = DUMP.lines().filter(|line| {
        let key = line.split(' ').next().unwrap_or_default();
        NOT_USED.binary_search(&key).is_err()
    });
    assert!(used.count() > 40);
}

/// The installed OpenSM still says what the recorded dump says.
#[test]
fn the_recorded_dump_is_the_installed_opensms() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("opensm.conf");
    let mut opensm = std::process::Command::new("opensm");
    opensm.arg("-c").arg(&file).current_dir(directory.path());
    let output = match opensm.output() {
        Ok(output) => output,
        Err(error) => {
            println!("skipped: opensm -c: {error}");
            return;
        }
    };
    let text = std::fs::read_to_string(&file).unwrap_or_default();
    if !String::from_utf8_lossy(&output.stdout).contains("3.3.23") || text.is_empty() {
        println!("skipped: another version of OpenSM, or none that writes: {output:?}");
        return;
    }
    let lines = text
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    assert_eq!(lines.collect::<Vec<_>>(), DUMP.lines().collect::<Vec<_>>());
}

#[test]
fn values_are_read_as_opensm_does() {
    let read = options(
        "qos TRUE\n  lmc\t 0x2 # two bits\nsubnet_prefix 0xfec0000000000000\n\
         routing_engine torus-2QoS,no_fallback\nqos_policy_file \"/a b\"\n\
         torus_config '/etc/t'\npartition_config_file (null)\nsubnet_timeout 14\nlmc 1\n\
         qos_ca_high_limit 255\nqos_high_limit -1\nqos_max_vls 0\nqos_swe_max_vls 8\n",
    );
    assert!(read.qos);
    assert_eq!(read.lmc.map(Lmc::get), Some(1));
    assert_eq!(read.subnet_prefix.0, 0xfec0_0000_0000_0000);
    assert_eq!(read.routing_engine, ["torus-2QoS", "no_fallback"]);
    assert_eq!(read.qos_policy_file.as_deref(), Some("/a b"));
    assert_eq!(read.torus_config.as_deref(), Some("/etc/t"));
    assert_eq!(read.partition_config_file, None);
    assert_eq!(
        (read.qos_ca.high_limit, read.qos_common.high_limit),
        (Some(255), None)
    );
    assert_eq!(
        (read.qos_common.max_vls, read.qos_swe.max_vls),
        (None, Some(8))
    );
    assert!(read.not_used.is_empty() && read.notes.is_empty());
}

#[test]
fn what_changes_nothing_is_listed() {
    let read = options("log_flags 0x43\nqos_foo 1\nlash_start_vl 0\nmax_vls 3\n");
    let listed: Vec<_> = read
        .not_used
        .iter()
        .map(|line| (line.at.line, line.key.as_str(), line.is_known))
        .collect();
    let expected = [
        (1, "log_flags", true),
        (2, "qos_foo", false),
        (3, "lash_start_vl", true),
        (4, "max_vls", false),
    ];
    assert_eq!(listed, expected);
}

#[test]
fn bad_values_are_refused_with_their_place() {
    assert_eq!(
        refusal("qos TRUE\nlmc 8\n"),
        "line 2, column 5: lmc is 0 to 7, not 8"
    );
    assert_eq!(
        refusal("  sa_key x1\n"),
        "line 1, column 10: expected a number, found \"x1\""
    );
    assert!(refusal("qos true\n").contains("TRUE or FALSE"));
    assert!(refusal("qos\n").contains("the end of the line"));
    assert!(refusal("max_op_vls 0\n").contains("1 to 255"));
    assert!(refusal("qos_sw0_high_limit 256\n").contains("0 to 255"));
    assert!(refusal("qos_policy_file\n").contains("expected a value"));
    assert!(refusal("lmc 1x\n").contains("expected a number"));
}

#[test]
fn odd_tables_are_noted_and_used() {
    let read = options("qos_ca_sl2vl 0,1,2\nqos_swe_vlarb_low 1:300,x,15:1\n");
    let whats: Vec<_> = read.notes.iter().map(|note| note.what.clone()).collect();
    let expected = [
        Oddity::SlToVlCount(3),
        Oddity::VlArbEntry("1:300".into()),
        Oddity::VlArbEntry("x".into()),
        Oddity::VlArbEntry("15:1".into()),
    ];
    assert_eq!(whats, expected);
    assert_eq!(read.qos_tables(PortClass::Ca).sl2vl.0[2..4], [2, 0]);
    assert_eq!(read.qos_tables(PortClass::Router).sl2vl.0[15], 7);
}

#[test]
fn the_largest_rate_follows_both_options() {
    let seen = |text: &str| {
        let options = options(text);
        (options.max_rate_code(), options.rate_limit())
    };
    let original = "use_original_extended_sa_rates_only TRUE\n";
    assert_eq!(seen(""), (22, RateLimit::Ports));
    assert_eq!(seen(original), (22, RateLimit::Original));
    assert_eq!(seen("max_rate_enum 63\n"), (24, RateLimit::Ports));
    assert_eq!(seen("max_rate_enum 10\n"), (24, RateLimit::Code(10)));
    let both = |limit| seen(&format!("{original}max_rate_enum {limit}\n"));
    assert_eq!(both(63), (24, RateLimit::Code(18)));
    assert_eq!(both(12), (24, RateLimit::Code(12)));
    assert!(refusal("max_rate_enum 25\n").contains("2 to 24"));
}

#[test]
fn response_time_follows_the_table() {
    let code = |ms: u32| options(&format!("transaction_timeout {ms}\n")).resp_time();
    assert_eq!(
        [1, 2, 3, 16, 17, 33, 34, 200, 268, 269, 536].map(code),
        [8, 9, 10, 12, 13, 13, 14, 16, 16, 17, 17]
    );
}
