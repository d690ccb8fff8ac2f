//! What a figure was measured on.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

/// Facts that figures depend on; null where the system does not tell.
pub(crate) fn facts() -> Value {
    json!({
        "cpu": cpu(),
        "cores": sa_fastpath::affinity::cores().len(),
        "l2": cache(2),
        "l3": cache(3),
        "kernel": first_line(Path::new("/proc/sys/kernel/osrelease")),
        "huge_pages": chosen(Path::new("/sys/kernel/mm/transparent_hugepage/enabled")),
        "load": load(),
        "version": env!("CARGO_PKG_VERSION"),
        "optimised": !cfg!(debug_assertions),
    })
}

/// The same in one line.
pub(crate) fn in_words() -> String {
    let facts = facts();
    let text = |name: &str| match facts.get(name) {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Null) | None => "unknown".to_owned(),
        Some(other) => other.to_string(),
    };
    let built = match cfg!(debug_assertions) {
        true => ", a debug build: figures mean nothing",
        false => "",
    };
    format!(
        "{}, {} cores, L2 {}, L3 {}, Linux {}, huge pages {}, load {}{built}",
        text("cpu"),
        text("cores"),
        text("l2"),
        text("l3"),
        text("kernel"),
        text("huge_pages"),
        text("load"),
    )
}

fn cpu() -> Option<String> {
    let text = fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("model name"))?;
    line.split_once(": ")
        .map(|(_, name)| name.trim().to_owned())
}

fn cache(level: u8) -> Option<String> {
    first_line(Path::new(&format!(
        "/sys/devices/system/cpu/cpu0/cache/index{level}/size"
    )))
}

fn load() -> Option<f64> {
    let text = first_line(Path::new("/proc/loadavg"))?;
    text.split_whitespace().next()?.parse().ok()
}

/// `always [madvise] never`
fn chosen(path: &Path) -> Option<String> {
    let text = first_line(path)?;
    let (_, rest) = text.split_once('[')?;
    rest.split_once(']').map(|(chosen, _)| chosen.to_owned())
}

fn first_line(path: &Path) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    text.lines().next().map(str::to_owned)
}
