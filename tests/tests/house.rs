//! The figures of the house, read from the source text: no module circles but those that are
//! known, no `#[path]` out of a package, short functions and files, documentation beside the code.
//!
//! It reads text, as a newcomer does, and needs no compiler: an arrow from one module to another is
//! a path that names it after `crate::`, or after as many `super::` as lead to the root. Test code is
//! left out. `cargo test -p sa-tests --test house -- --nocapture` prints the table.
//!
//! The bounds are there to be tightened: whoever betters a figure lowers its bound.
#![allow(clippy::unwrap_used, reason = "a test that cannot read the tree fails")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Packages with circles among their top-level modules, and how many modules lie on these.
const KNOWN_CIRCLES: [(&str, usize); 0] = [];
/// Lines of a function from `fn` to its closing brace, over all packages.
const FUNCTION_MEDIAN: usize = 8;
const FUNCTION_P95: usize = 33;
/// Lines of a file, over all packages.
const FILE_P95: usize = 350;
/// Per thousand lines that are not blank: documentation, and reasons beside the code.
const DOCUMENTED: usize = 215;
const REASONED: usize = 22;

#[test]
fn modules_form_no_new_circles() {
    let mut new = Vec::new();
    for package in packages() {
        let circles = package.circles();
        if circles.len() > known(&KNOWN_CIRCLES, &package.name) {
            new.push(format!(
                "{}: {} modules: {circles:#?}",
                package.name,
                circles.len()
            ));
        }
    }
    assert!(
        new.is_empty(),
        "circles among top-level modules:\n{}",
        new.join("\n")
    );
}

#[test]
fn no_path_attribute_leaves_its_package() {
    let mut new = Vec::new();
    for package in packages() {
        let leaving = package.paths_out();
        if !leaving.is_empty() {
            new.push(format!(
                "{}: {} of them: {leaving:#?}",
                package.name,
                leaving.len()
            ));
        }
    }
    assert!(
        new.is_empty(),
        "#[path] that leads out of a package:\n{}",
        new.join("\n")
    );
}

#[test]
fn functions_and_files_are_short_and_documented() {
    let mut all = Figures::default();
    println!("package: files, lines p95; function lines median, p95; ‰ documentation, reasons");
    for package in packages().iter().filter(|it| !it.name.starts_with("tests")) {
        let figures = package.figures();
        println!("{}: {figures}", package.name);
        all.add(figures);
    }
    println!("all: {all}");
    assert!(percentile(&all.functions, 50) <= FUNCTION_MEDIAN);
    assert!(percentile(&all.functions, 95) <= FUNCTION_P95);
    assert!(percentile(&all.files, 95) <= FILE_P95);
    assert!(all.per_mille(all.documentation) >= DOCUMENTED);
    assert!(all.per_mille(all.reasons) >= REASONED);
}

fn known(table: &[(&str, usize)], package: &str) -> usize {
    let mut known = table.iter().filter(|(name, _)| *name == package);
    known.next().map_or(0, |(_, most)| *most)
}

/// A member of the workspace.
struct Package {
    /// Its folder, below the root.
    name: String,
    folder: PathBuf,
    /// Below `src`, without tests.
    sources: Vec<Source>,
}

/// A file of source.
struct Source {
    /// From the crate's root; empty for the root itself.
    module: Vec<String>,
    /// Without its tests.
    text: String,
    /// The same with blanks for comments and literals.
    code: String,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap()
        .to_owned()
}

fn packages() -> Vec<Package> {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let (_, members) = manifest.split_once("members = [").unwrap();
    let (members, _) = members.split_once(']').unwrap();
    let names = members.split('"').skip(1).step_by(2);
    names.map(Package::read).collect()
}

impl Package {
    fn read(name: &str) -> Self {
        let folder = root().join(name);
        let files = rust_files(&folder.join("src"));
        let sources = files.iter().filter_map(|file| {
            let module = module_of(file.strip_prefix(folder.join("src")).unwrap())?;
            let text = without_tests(fs::read_to_string(file).unwrap());
            let code = code_of(&text);
            Some(Source { module, text, code })
        });
        Self {
            name: name.to_owned(),
            sources: sources.collect(),
            folder,
        }
    }

    /// From a top-level module to the others that it names.
    fn arrows(&self) -> BTreeMap<&str, BTreeSet<String>> {
        let tops = self.sources.iter().filter_map(|it| it.module.first());
        let tops: BTreeSet<&str> = tops.map(String::as_str).collect();
        let exported = self.exported(&tops);
        let mut arrows: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
        for source in &self.sources {
            let Some(from) = source.module.first() else {
                continue;
            };
            for name in source.names_at_root() {
                let to = match exported.get(&name) {
                    Some(module) if !tops.contains(name.as_str()) => module.clone(),
                    _ => name,
                };
                if tops.contains(to.as_str()) && to != *from {
                    arrows.entry(from).or_default().insert(to);
                }
            }
        }
        arrows
    }

    /// What the root hands on, by the module that it comes from.
    fn exported(&self, tops: &BTreeSet<&str>) -> BTreeMap<String, String> {
        let roots = self.sources.iter().filter(|it| it.module.is_empty());
        let uses = roots
            .flat_map(|root| after(&root.code, "pub use "))
            .collect::<Vec<_>>();
        let paths = uses.iter().flat_map(|tree| flat(tree));
        let own = paths.filter(|path| tops.contains(path[0].as_str()));
        own.map(|path| (path[path.len() - 1].clone(), path[0].clone()))
            .collect()
    }

    /// Top-level modules from which arrows lead back to themselves.
    fn circles(&self) -> Vec<String> {
        let arrows = self.arrows();
        let comes_back = |start: &&&str| {
            let mut open: Vec<&str> = vec![**start];
            let mut seen = BTreeSet::new();
            while let Some(here) = open.pop() {
                for next in arrows.get(here).into_iter().flatten() {
                    if next == **start {
                        return true;
                    }
                    if seen.insert(next.as_str()) {
                        open.push(next);
                    }
                }
            }
            false
        };
        let on_circles = arrows.keys().filter(comes_back);
        on_circles.map(ToString::to_string).collect()
    }

    /// `#[path]` attributes, also of tests, that lead out of the package's folder.
    fn paths_out(&self) -> Vec<String> {
        let mut out = Vec::new();
        for part in ["src", "tests", "benches"] {
            for file in rust_files(&self.folder.join(part)) {
                let text = fs::read_to_string(&file).unwrap();
                let targets = text.split("#[path = \"").skip(1);
                let targets = targets.filter_map(|rest| Some(rest.split_once('"')?.0));
                let beside = file.parent().unwrap();
                let leaves = |target: &&str| !is_below(&beside.join(target), &self.folder);
                out.extend(
                    targets
                        .filter(leaves)
                        .map(|it| format!("{}: {it}", file.display())),
                );
            }
        }
        out
    }

    fn figures(&self) -> Figures {
        let mut figures = Figures::default();
        for source in &self.sources {
            figures.read(source);
        }
        figures
    }
}

/// True when a path, with `..` worked out, lies in a folder and in no package inside it.
fn is_below(path: &Path, folder: &Path) -> bool {
    let path = fs::canonicalize(path).unwrap();
    let folder = fs::canonicalize(folder).unwrap();
    let mut above = path.ancestors().skip(1);
    above.find(|it| it.join("Cargo.toml").exists()) == Some(&folder)
}

impl Source {
    /// Names that follow `crate::`, or as many `super::` as lead to the root.
    fn names_at_root(&self) -> Vec<String> {
        let up = "super::".repeat(self.module.len());
        let mut trees = after(&self.code, "crate::");
        for tree in after(&self.code, &up) {
            if !tree.starts_with("super") {
                trees.push(tree);
            }
        }
        let paths = trees.iter().flat_map(|tree| flat(tree));
        paths.filter_map(|path| path.into_iter().next()).collect()
    }
}

/// What follows a word, to the end of the path or tree of paths.
fn after(code: &str, word: &str) -> Vec<String> {
    let is_inside = |before: &str| {
        let last = before.chars().next_back();
        last.is_some_and(|it| it.is_alphanumeric() || it == '_' || it == ':')
    };
    let places = code.match_indices(word);
    let places = places.filter(|(at, _)| !is_inside(&code[..*at]));
    let tree = |(at, _): (usize, &str)| {
        let mut depth = 0;
        let rest = code[at + word.len()..].chars();
        let tree = rest.take_while(|it| {
            depth += i32::from(*it == '{') - i32::from(*it == '}');
            let is_path = it.is_alphanumeric() || "_:*".contains(*it);
            depth > 0 || is_path || *it == '}'
        });
        tree.collect()
    };
    places.map(tree).collect()
}

/// The paths of a tree such as `a::{b, c::d}`. Never empty ones.
fn flat(tree: &str) -> Vec<Vec<String>> {
    let tree = tree.trim();
    let (head, group) = match tree.split_once('{') {
        Some((head, group)) => (head, Some(group.rsplit_once('}').map_or(group, |it| it.0))),
        None => (tree, None),
    };
    let head = head
        .split("::")
        .map(|it| it.trim().split(' ').next().unwrap());
    let head: Vec<String> = head
        .filter(|it| !it.is_empty())
        .map(str::to_owned)
        .collect();
    let tails = group.map_or_else(
        || vec![Vec::new()],
        |group| items(group).iter().flat_map(|item| flat(item)).collect(),
    );
    let paths = tails.into_iter().map(|tail| [head.clone(), tail].concat());
    paths.filter(|path| !path.is_empty()).collect()
}

/// The items of a group, apart at commas that are in no group inside it.
fn items(group: &str) -> Vec<String> {
    let mut depth = 0;
    let mut items = vec![String::new()];
    for letter in group.chars() {
        depth += i32::from(letter == '{') - i32::from(letter == '}');
        if letter == ',' && depth == 0 {
            items.push(String::new());
        } else if let Some(item) = items.last_mut() {
            item.push(letter);
        }
    }
    items
}

/// Counts over source text.
#[derive(Default)]
struct Figures {
    functions: Vec<usize>,
    files: Vec<usize>,
    lines: usize,
    documentation: usize,
    reasons: usize,
}

impl Figures {
    fn read(&mut self, source: &Source) {
        self.files.push(source.text.lines().count());
        self.functions.extend(function_lines(&source.code));
        for line in source.text.lines().map(str::trim_start) {
            let is_documentation = line.starts_with("///") || line.starts_with("//!");
            self.lines += usize::from(!line.is_empty());
            self.documentation += usize::from(is_documentation);
            self.reasons += usize::from(line.starts_with("//") && !is_documentation);
        }
    }

    fn add(&mut self, other: Self) {
        self.functions.extend(other.functions);
        self.files.extend(other.files);
        self.lines += other.lines;
        self.documentation += other.documentation;
        self.reasons += other.reasons;
    }

    fn per_mille(&self, lines: usize) -> usize {
        (lines * 1000).checked_div(self.lines).unwrap_or(0)
    }
}

impl std::fmt::Display for Figures {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{}, {}; {}, {}; {}, {}",
            self.files.len(),
            percentile(&self.files, 95),
            percentile(&self.functions, 50),
            percentile(&self.functions, 95),
            self.per_mille(self.documentation),
            self.per_mille(self.reasons),
        )
    }
}

fn percentile(values: &[usize], percent: usize) -> usize {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    let place = (sorted.len() * percent / 100).min(sorted.len().saturating_sub(1));
    sorted.get(place).copied().unwrap_or(0)
}

/// Lines of each function with a body, from `fn` to its closing brace.
fn function_lines(code: &str) -> Vec<usize> {
    let starts = code.match_indices("fn ").filter(|(at, _)| {
        let before = code[..*at].chars().next_back();
        before.is_none_or(|it| it.is_whitespace() || it == '(')
    });
    let body = |(at, _): (usize, &str)| {
        let rest = &code[at..];
        let open = rest
            .find(['{', ';'])
            .filter(|it| rest[*it..].starts_with('{'))?;
        let mut depth = 0;
        let close = rest[open..].find(|it| {
            depth += i32::from(it == '{') - i32::from(it == '}');
            depth == 0
        })?;
        Some(rest[..=open + close].lines().count())
    };
    starts.filter_map(body).collect()
}

/// All files of source below a folder, in the order of their names.
fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut entries: Vec<PathBuf> = entries.map(|it| it.unwrap().path()).collect();
    entries.sort();
    let files = entries.into_iter().flat_map(|path| {
        if path.is_dir() {
            return rust_files(&path);
        }
        let is_source = path.extension().is_some_and(|it| it == "rs");
        Vec::from_iter(is_source.then_some(path))
    });
    files.collect()
}

/// The path of a module from that of its file; none for tests.
fn module_of(file: &Path) -> Option<Vec<String>> {
    let parts = file.with_extension("");
    let mut parts: Vec<String> = parts
        .iter()
        .map(|part| part.to_string_lossy().into_owned())
        .collect();
    if parts.iter().any(|part| part == "tests") {
        return None;
    }
    // A program of its own below `bin` has a root of its own: its modules are counted apart.
    if parts[0] == "bin" {
        parts.drain(..parts.len().min(2));
    }
    if parts
        .last()
        .is_some_and(|last| ["mod", "lib", "main"].contains(&last.as_str()))
    {
        parts.pop();
    }
    Some(parts)
}

/// Cut before the tests at its end.
fn without_tests(mut text: String) -> String {
    if let Some(at) = text.find("#[cfg(test)]\nmod tests {") {
        text.truncate(at);
    }
    text
}

/// Source with blanks for comments and literals, as many bytes and lines as before.
fn code_of(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let skipped = literal_or_comment(rest);
        let (taken, left) = rest.split_at(skipped.unwrap_or_else(|| first.len_utf8()));
        match skipped {
            Some(_) => code.extend(taken.chars().map(|it| if it == '\n' { '\n' } else { ' ' })),
            None => code.push(first),
        }
        rest = left;
    }
    code
}

/// Length of the comment or literal at the beginning of a text.
fn literal_or_comment(text: &str) -> Option<usize> {
    if text.starts_with("//") {
        return Some(text.find('\n').unwrap_or(text.len()));
    }
    if text.starts_with("/*") {
        return Some(text.find("*/").map_or(text.len(), |end| end + 2));
    }
    if text.starts_with("r\"") || text.starts_with("r#") {
        let hashes = text[1..].len() - text[1..].trim_start_matches('#').len();
        let end = format!("\"{}", "#".repeat(hashes));
        let body = text
            .get(hashes + 2..)
            .filter(|_| text[1 + hashes..].starts_with('"'))?;
        return Some(
            body.find(&end)
                .map_or(text.len(), |at| hashes + 2 + at + end.len()),
        );
    }
    if text.starts_with('"') {
        return Some(quoted(text));
    }
    // A letter in quotes, not a lifetime.
    let mut letters = text.chars();
    let is_letter = letters.next() == Some('\'')
        && match letters.next() {
            Some('\\') => true,
            Some(_) => letters.next() == Some('\''),
            None => false,
        };
    is_letter.then(|| quoted(text))
}

/// Length of a literal to the quote that it begins with.
fn quoted(text: &str) -> usize {
    let quote = text.chars().next();
    let mut is_escaped = false;
    let end = text.char_indices().skip(1).find(|(_, letter)| {
        let is_end = !is_escaped && Some(*letter) == quote;
        is_escaped = !is_escaped && *letter == '\\';
        is_end
    });
    end.map_or(text.len(), |(at, letter)| at + letter.len_utf8())
}
