//! What is said of the sample policies stays what it is, word for word.
//!
//! The lists are in `tests/golden/policy-lint`; a list that differs is printed whole, to be looked
//! at and put there.

use std::fmt::Write;
use std::path::Path;

use policy::lint::{Finding, lint};
use policy::{ParseOptions, parse_as};
use sa_text::decode;

use super::fabric::Site;

const SAMPLES: [(&str, &str); 4] = [
    ("qos-policy", "../docs/examples/qos-policy.conf"),
    (
        "qos-policy-changed",
        "../docs/examples/qos-policy-changed.conf",
    ),
    ("rfc-0.1-example", "golden/policy-rfc/rfc-0.1-example.xml"),
    ("rfc-0.2-example", "golden/policy-rfc/rfc-0.2-example.conf"),
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn text(path: &str) -> String {
    decode(&std::fs::read(root().join(path)).unwrap()).into_owned()
}

fn listed(findings: &[Finding]) -> String {
    let mut list = String::new();
    for finding in findings {
        let place = finding.span.map_or_else(
            || String::from("-"),
            |span| format!("{}:{}", span.start.line, span.start.column),
        );
        let (severity, id) = (finding.severity, finding.id);
        let _ = writeln!(list, "{place} {severity}[{id}] {}", finding.sentence);
        let _ = writeln!(list, "    {}", finding.remedy);
    }
    list
}

fn compare(name: &str, list: &str) {
    let path = root()
        .join("golden/policy-lint")
        .join(format!("{name}.txt"));
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(list == expected, "{}: now it is\n{list}", path.display());
}

#[test]
fn findings_of_the_samples_are_stable() {
    for (name, path) in SAMPLES {
        let text = text(path);
        let policy = parse_as(&text, None, &ParseOptions::default()).unwrap();
        compare(name, &listed(&lint(&policy, None, Some(&text))));
    }
}

/// On a torus of 3 x 3 x 3 with one host each.
#[test]
fn findings_of_the_samples_in_a_fabric_are_stable() {
    for (name, path) in SAMPLES {
        let site = Site::torus().policy(text(path));
        compare(&format!("{name}-torus"), &listed(&site.findings()));
    }
}
