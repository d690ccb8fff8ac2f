//! Pages of metrics: read as their two formats have them, and judged by `golden/metrics.txt`, which is the interface.
//!
//! ```text
//!  NAME                     KIND     LABELS        WHEN
//!  sapphire_queries_total   counter  port,result   always
//!  sapphire_query_seconds   histogram attribute,method,port   sampled
//! ```
//!
//! WHEN is a part of the daemon, or of its configuration, without which the family is not there. Whatever a test reads has to be in that file
//! as it is; that nothing is missing, tests of each part ask ([`golden`]).

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};

/// What is told of a family.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Family {
    /// `counter`, `gauge` or `histogram`.
    pub kind: String,
    /// Of its rows.
    pub labels: BTreeSet<String>,
}

/// A page, as far as it keeps to its format.
#[derive(Debug, Default)]
pub struct Page {
    /// By the name of their samples; of histograms by that without `_bucket`, `_sum` and `_count`.
    pub families: BTreeMap<String, Family>,
    /// By name and labels, as they are written.
    pub samples: BTreeMap<String, f64>,
}

/// Reads a page in OpenMetrics, or in the older format, which has no end. Errors: what is not as the format says.
pub fn read(page: &str) -> Result<Page> {
    let is_open = page.ends_with("# EOF\n");
    let mut read = Page::default();
    let mut open: Option<String> = None;
    for line in page.lines() {
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').context("a type")?;
            let suffix = if is_open && kind == "counter" {
                "_total"
            } else {
                ""
            };
            let name = format!("{name}{suffix}");
            ensure!(
                (kind == "counter") == name.ends_with("_total"),
                "{line}: only counters end in _total"
            );
            let family = Family {
                kind: kind.to_owned(),
                labels: BTreeSet::new(),
            };
            let before = read.families.insert(name.clone(), family);
            ensure!(before.is_none(), "twice: {line}");
            open = Some(name);
        } else if !line.starts_with("# HELP ") && line != "# EOF" {
            let name = open.as_ref().with_context(|| format!("no type: {line}"))?;
            read.sample(name, line)?;
        }
    }
    Ok(read)
}

impl Page {
    /// A row of the family whose type was told last.
    fn sample(&mut self, family: &str, line: &str) -> Result<()> {
        let (sample, value) = line.rsplit_once(' ').context("a value")?;
        let (name, labels) = match sample.split_once('{') {
            Some((name, labels)) => (name, labels.strip_suffix('}').context("a brace")?),
            None => (sample, ""),
        };
        let suffix = name.strip_prefix(family);
        let suffix = suffix.with_context(|| format!("{line} of {family}"))?;
        let of = self.families.get_mut(family).context("a family")?;
        let suffixes: &[&str] = match of.kind.as_str() {
            "histogram" => &["_bucket", "_sum", "_count"],
            "counter" | "gauge" => &[""],
            other => anyhow::bail!("{family} is a {other}"),
        };
        ensure!(suffixes.contains(&suffix), "{line}");
        // No value of ours has a quotation mark in it.
        let names = labels
            .split("\",")
            .filter_map(|label| label.split_once("=\""));
        let names = names.map(|(name, _)| name.to_owned());
        of.labels.extend(names.filter(|name| name != "le"));
        let before = self.samples.insert(sample.to_owned(), value.parse()?);
        ensure!(before.is_none(), "twice: {line}");
        Ok(())
    }
}

/// Families that are there with all of these parts. Errors: the file cannot be read.
pub fn golden(parts: &[&str]) -> Result<BTreeMap<String, Family>> {
    let all = all()?.into_iter();
    let these = all.filter(|(_, (_, when))| parts.contains(&when.as_str()));
    Ok(these.map(|(name, (family, _))| (name, family)).collect())
}

/// Errors: what only one side has, or both have otherwise.
pub fn same(told: &BTreeMap<String, Family>, wanted: &BTreeMap<String, Family>) -> Result<()> {
    let lacks = |one: &BTreeMap<String, Family>, other: &BTreeMap<String, Family>| {
        let all = one
            .iter()
            .filter(|(name, family)| other.get(*name) != Some(family));
        all.map(|(name, family)| format!("{name} {family:?}"))
            .collect::<Vec<_>>()
    };
    let (more, less) = (lacks(told, wanted), lacks(wanted, told));
    ensure!(
        more.is_empty() && less.is_empty(),
        "told {more:#?}, not told {less:#?}"
    );
    Ok(())
}

/// Errors: a family that is not in the file, or is otherwise there.
pub fn judge(page: &str) -> Result<()> {
    let all = all()?;
    for (name, family) in read(page)?.families {
        let known = all.get(&name);
        let known = known.with_context(|| format!("{name} is not in golden/metrics.txt"))?;
        ensure!(known.0 == family, "{name}: {family:?}, not {:?}", known.0);
    }
    Ok(())
}

/// The file: each family, and when it is there.
fn all() -> Result<BTreeMap<String, (Family, String)>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/metrics.txt");
    let text = fs::read_to_string(path)?;
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let families = lines.map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [name, kind, labels, when] = words[..] else {
            anyhow::bail!("golden/metrics.txt: {line}");
        };
        let labels = labels.split(',').filter(|label| *label != "-");
        let family = Family {
            kind: kind.to_owned(),
            labels: labels.map(str::to_owned).collect(),
        };
        Ok((name.to_owned(), (family, when.to_owned())))
    });
    families.collect()
}
