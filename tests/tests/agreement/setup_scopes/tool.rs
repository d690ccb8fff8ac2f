//! `sapphire setup` with a policy.

use std::path::{Path, PathBuf};
use std::process::Output;

use serde_json::{Value, json};

use super::site::{NET, text_policy};
use sa_tests::cli::sapphire;

struct Files {
    directory: tempfile::TempDir,
}

impl Files {
    fn new(policy: &str) -> Self {
        let files = Self {
            directory: tempfile::tempdir().unwrap(),
        };
        std::fs::write(files.path("net"), NET).unwrap();
        std::fs::write(files.path("policy"), policy).unwrap();
        files
    }

    fn path(&self, name: &str) -> PathBuf {
        Path::new(self.directory.path()).join(name)
    }

    fn run(&self, more: &[&str]) -> (Output, String) {
        let (net, policy) = (self.path("net"), self.path("policy"));
        let mut arguments = vec!["setup", "--fabric", net.to_str().unwrap(), "--policy"];
        arguments.push(policy.to_str().unwrap());
        arguments.extend(more);
        let output = sapphire(&arguments, "");
        let said = String::from_utf8(output.stderr.clone()).unwrap();
        let said = said.replace(policy.to_str().unwrap(), "P");
        (output, said)
    }
}

fn policy(vl: u8) -> String {
    let table = format!("{vl},1,1,1,1,1,1,1,1,1,1,1,1,1,1,1");
    text_policy(&format!(
        "sl2vl-tables\nsl2vl-scope\ngroup: Second\nacross-to: Second\nsl2vl-table: {table}\n\
         end-sl2vl-scope\nend-sl2vl-tables\nvlarb-tables\nvlarb-scope\ngroup: Second\n\
         vlarb-high: 1:7\nend-vlarb-scope\nend-vlarb-tables\n"
    ))
}

fn line(output: &Output, node: &str, port: u8) -> Value {
    let printed = String::from_utf8(output.stdout.clone()).unwrap();
    let lines = printed
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let mut found = lines.filter(|line| line["node"] == node && line["port"] == port);
    found.next().unwrap()
}

#[test]
fn tables_come_as_lines_of_json() {
    let (output, said) = Files::new(&policy(2)).run(&["--json"]);
    assert!(output.status.success(), "{said}");
    assert_eq!(
        said,
        "warning: P:26:1: no port is in group \"Nobody\"\n\
         warning: P:28:12: no port has the GUID 0x0000000000009999\n",
        "nothing about scopes"
    );
    let port = line(&output, "H2", 2);
    assert_eq!(port["guid"], "0x0000000000000014");
    let vls = json!([2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]);
    assert_eq!(port["sl2vl"], json!([{"in": 0, "out": 0, "vl": vls}]));
    let none = json!([0, 0]);
    let high = json!([[1, 7], none, none, none, none, none, none, none]);
    assert_eq!(
        (&port["vlarb_high"], &port["high_limit"]),
        (&high, &json!(0))
    );
    let port = line(&output, "S2", 4);
    assert_eq!(port["sl2vl"][3], json!({"in": 3, "out": 4, "vl": vls}));
}

#[test]
fn errors_of_scopes_are_exit_status_3() {
    let files = Files::new(&policy(9));
    let (output, said) = files.run(&["--json"]);
    assert_eq!(output.status.code(), Some(3));
    let error = "error: P:33:1: the table maps SL 0 to VL 9 on ports that operate VLs 0 to 7 only, \
                 where these SLs are dropped (VL 15): H2 port 2, S2 port 4 (choose VLs from 0 to \
                 7, or 15 to drop packets)\nsapphire: the scopes have an error\n";
    assert!(said.ends_with(error), "{said}");
    assert_eq!(line(&output, "H2", 2)["sl2vl"][0]["vl"][0], 15);
    let (output, said) = files.run(&["--json", "--scopes", "masked"]);
    assert!(output.status.success(), "{said}");
    assert_eq!(line(&output, "H2", 2)["sl2vl"][0]["vl"][0], 1);
    let (output, said) = files.run(&["--json", "--scopes", "ignored"]);
    assert!(output.status.success(), "{said}");
    let port = line(&output, "H2", 2);
    assert_eq!(
        (&port["sl2vl"][0]["vl"][2], &port["vlarb_high"][0]),
        (&json!(2), &json!([0, 4]))
    );
}

/// A scope that the parser drops, too, and what it says is said once.
#[test]
fn refused_scopes_are_told_once() {
    let policy = policy(2).replace("group: Second\nacross-to", "group: Other\nacross-to");
    let (output, said) = Files::new(&policy).run(&[]);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert_eq!(
        said.matches("there is no port-group 'Other'").count(),
        1,
        "{said}"
    );
    assert!(
        said.contains("error: P:34:8: there is no port-group 'Other'"),
        "{said}"
    );
}

#[test]
fn people_see_where_tables_come_from() {
    let (output, _) = Files::new(&policy(2)).run(&[]);
    let printed = String::from_utf8(output.stdout).unwrap();
    let words: Vec<Vec<&str>> = printed
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    let vlarb = ["CA", "1", "0", "1:7"];
    let found = words.iter().find(|line| line.starts_with(&vlarb)).unwrap();
    assert!(found.ends_with(&["line", "40", "H2", "2"]), "{printed}");
    let sl2vl = ["switch", "to", "host", "2", "1", "1"];
    let found = words.iter().find(|line| line.starts_with(&sl2vl)).unwrap();
    let behind = [
        "5", "line", "33", "S2", "from", "port", "0", "to", "port", "4",
    ];
    assert!(found.ends_with(&behind), "{printed}");
    assert!(
        words.iter().any(|line| line.contains(&"opensm.conf")),
        "{printed}"
    );
}
