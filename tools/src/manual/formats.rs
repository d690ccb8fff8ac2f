//! Pages of section 5: `sapphired.toml` and the formats of files that operators write or come
//! across.
//!
//! `sapphired.toml.5` is made from `docs/examples`, where tests hold that each key is shown with
//! its default and its range: it cannot name a key that is not there. The others are short texts in
//! `formats`, which say enough to read and write such a file, and where the whole account is.

use clap_mangen::roff::{Roff, bold, roman};

use super::sections::term;

/// Name of a page, its one line, its text.
#[rustfmt::skip]
const TEXTS: [(&str, &str, &str); 5] = [
    ("sapphire-policy", "QoS policies of an InfiniBand subnet", include_str!("formats/policy.txt")),
    ("sapphire-partitions", "partitions of an InfiniBand subnet", include_str!("formats/partitions.txt")),
    ("sapphire-fabric", "files that say what a fabric is made of", include_str!("formats/fabric.txt")),
    ("sapphire-ulp-names", "names for services in QoS policies", include_str!("formats/ulp-names.txt")),
    ("sapphire-snapshot", "what an SA answers from, in one file", include_str!("formats/snapshot.txt")),
];

/// Examples that a text may show whole, by the line that asks for one.
const SHOWN: [(&str, &str); 2] = [
    (
        "@qos-policy.conf",
        include_str!("../../../docs/examples/qos-policy.conf"),
    ),
    (
        "@ulp-names",
        include_str!("../../../docs/examples/ulp-names"),
    ),
];

/// An example, and which of its sections are shown: none named, all.
#[rustfmt::skip]
const CONFIGURATIONS: [(&str, &str, &[&str]); 5] = [
    ("SECTIONS", include_str!("../../../docs/examples/sapphired-umad.toml"), &[]),
    ("PORTS OF OTHER TRANSPORTS: RING", include_str!("../../../docs/examples/sapphired-ring.toml"), &["[[port]]"]),
    ("PORTS OF OTHER TRANSPORTS: IBSIM", include_str!("../../../docs/examples/sapphired-ibsim.toml"), &["[[port]]"]),
    ("BESIDE OPENSM, OR FROM A RUNNING SA", include_str!("../../../docs/examples/sapphired-opensm.toml"), &["[fabric.sa]", "[opensm]"]),
    ("ON COMPUTE NODES", include_str!("../../../docs/examples/sapphired-local-service.toml"),
        &["[local_service]", "[local_service.cache]", "[[local_service.far_subnet]]"]),
];

/// Of each page its file name, and it.
pub(super) fn pages() -> Vec<(String, Roff)> {
    let texts = TEXTS
        .iter()
        .map(|(name, line, text)| (format!("{name}.5"), page(name, line, text)));
    let mut pages: Vec<_> = texts.collect();
    pages.push(("sapphired.toml.5".to_owned(), configuration()));
    pages
}

fn head(name: &str, line: &str) -> Roff {
    let version = concat!("sapphire ", env!("CARGO_PKG_VERSION"));
    let mut roff = Roff::default();
    roff.control("TH", [name, "5", "", version]);
    // Keys with long values cannot be broken: troff complains where it should fill such lines up.
    roff.control("ad", ["l"]);
    roff.control("SH", ["NAME"]);
    roff.text([roman(format!("{name} - {line}"))]);
    roff
}

/// From text: `# WORDS` is a heading, four blanks before a line show it as it is, `@NAME` shows an
/// example, `KEY :: words` explains a key; all else is prose.
fn page(name: &str, line: &str, text: &str) -> Roff {
    let mut roff = head(name, line);
    let mut is_shown = false;
    for line in text.lines() {
        let shown = line.strip_prefix("    ");
        if is_shown != shown.is_some() && !line.is_empty() {
            is_shown = shown.is_some();
            roff.control(if is_shown { "EX" } else { "EE" }, []);
        }
        let example = SHOWN.iter().find(|(name, _)| *name == line);
        if let Some(shown) = shown {
            roff.text([roman(shown)]);
        } else if let Some((_, example)) = example {
            show(&mut roff, example);
        } else if let Some(heading) = line.strip_prefix("# ") {
            roff.control("SH", [heading]);
        } else if let Some((key, words)) = line.split_once(" :: ") {
            term(&mut roff, bold(key), words);
        } else if line.is_empty() {
            roff.control(if is_shown { "sp" } else { "PP" }, []);
        } else {
            roff.text([roman(line)]);
        }
    }
    if is_shown {
        roff.control("EE", []);
    }
    roff
}

fn show(roff: &mut Roff, example: &str) {
    roff.control("EX", []);
    for line in example.lines() {
        roff.text([roman(line)]);
    }
    roff.control("EE", []);
}

fn configuration() -> Roff {
    let mut roff = head("sapphired.toml", "configuration of sapphired");
    let text = include_str!("formats/configuration.txt");
    roff.control("SH", ["DESCRIPTION"]);
    roff.text([roman(text)]);
    for (heading, example, sections) in CONFIGURATIONS {
        roff.control("SH", [heading]);
        keys(&mut roff, example, sections);
    }
    roff.control("SH", ["EXAMPLES"]);
    let installed = include_str!("../../package/sapphired.toml");
    let keys = installed.lines().filter(|line| !line.starts_with('#'));
    show(&mut roff, keys.collect::<Vec<_>>().join("\n").trim());
    roff.control("SH", ["FILES"]);
    for (file, what) in [
        ("/etc/sapphire/sapphired.toml", "read by sapphired.service"),
        (
            "/etc/sapphire/sapphired-local.toml",
            "read by sapphired-local.service",
        ),
        (
            "/usr/share/doc/sapphire/examples",
            "a whole configuration for each transport",
        ),
    ] {
        term(&mut roff, bold(file), what);
    }
    roff.control("SH", ["SEE ALSO"]);
    roff.text([roman(
        "sapphired(8), sapphire-policy(5), sapphire-partitions(5), sapphire-fabric(5)",
    )]);
    roff
}

/// The keys of some sections of an example, each with its default and the comment above it.
fn keys(roff: &mut Roff, example: &str, sections: &[&str]) {
    let mut comment: Vec<&str> = Vec::new();
    let mut is_in = false;
    for line in example.lines() {
        // `#key = value` shows a key without a default; `# words` are words.
        let bare = line
            .strip_prefix('#')
            .filter(|rest| !rest.starts_with(' ') && !rest.is_empty());
        let shown = bare.unwrap_or(line);
        if let Some(words) = line.strip_prefix("# ") {
            comment.push(words);
        } else if shown.starts_with('[') {
            is_in = sections.is_empty() || sections.contains(&shown);
            if is_in {
                roff.control("SS", [shown]);
                said(roff, &mut comment);
            }
        } else if is_in && shown.contains(" = ") {
            roff.control("TP", []);
            let absent = if bare.is_some() {
                "   (absent unless given)"
            } else {
                ""
            };
            roff.text([bold(shown), roman(absent)]);
            said(roff, &mut comment);
        } else if line.is_empty() {
            if is_in {
                roff.control("PP", []);
                said(roff, &mut comment);
            }
            comment.clear();
        }
    }
}

fn said(roff: &mut Roff, comment: &mut Vec<&str>) {
    if !comment.is_empty() {
        roff.text([roman(comment.join(" "))]);
        comment.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_has_examples_and_files() {
        for (name, page) in pages() {
            let text = page.to_roff();
            for heading in [
                ".SH NAME",
                ".SH DESCRIPTION",
                ".SH EXAMPLES",
                ".SH FILES",
                ".SH \"SEE ALSO\"",
            ] {
                assert!(text.contains(heading), "{name} lacks {heading}");
            }
            assert_eq!(
                text.matches("\n.EX").count(),
                text.matches("\n.EE").count(),
                "{name}"
            );
            assert!(
                !text.contains("\n@"),
                "{name} shows an example that is not there"
            );
        }
    }

    /// Every key of every section that is shown.
    #[test]
    fn the_configuration_is_that_of_the_examples() {
        let text = configuration().to_roff().replace('\\', "");
        let (_, whole, _) = CONFIGURATIONS[0];
        let mut count = 0;
        for line in whole
            .lines()
            .filter(|line| line.contains(" = ") && !line.starts_with("# "))
        {
            let (key, _) = line
                .trim_start_matches('#')
                .split_once(" = ")
                .unwrap_or_default();
            assert!(text.contains(&format!("{key} = ")), "{line}");
            count += 1;
        }
        assert!(count > 100, "{count}");
        for section in [
            "[fabric.sa]",
            "[opensm]",
            "[local_service.cache]",
            "[[local_service.far_subnet]]",
        ] {
            assert!(text.contains(section), "{section}");
        }
    }
}
