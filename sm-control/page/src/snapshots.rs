//! What is in force, what a rollback would return to, and what the disk has.
//!
//! What a rollback would change, and the form that orders it, have a page of their own
//! ([`rollback`](crate::rollback)).

use maud::{Markup, html};

use crate::shell::{Here, Shell};
use crate::words::{age, bytes, count, name_of, unix};

/// A snapshot that is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// Its number.
    pub epoch: u64,
    /// What it is there for, in a few words.
    pub role: &'static str,
    /// When it was compiled. Units: seconds since 1970.
    pub built_unix: u64,
    /// Since then. Units: seconds.
    pub age: u64,
    /// Of the snapshot in memory, which is its file.
    pub bytes: usize,
    /// 16 hexadecimal digits.
    pub digest: String,
    /// What made the routes.
    pub engine: String,
    /// How many it has.
    pub switches: usize,
    /// CA and router ports.
    pub hosts: usize,
    /// Of the policy; none without one.
    pub rules: Option<u32>,
}

/// All of them, the one in force first, and what there is to say besides.
#[derive(Debug, Clone, Default)]
pub struct Snapshots {
    /// The newest first.
    pub kept: Vec<Kept>,
    /// Epoch that a rollback holds; automatic reloads wait.
    pub held: Option<u64>,
    /// What is on the disk, in words.
    pub disk: String,
}

/// The page.
pub fn page(shell: Shell<'_>, snapshots: &Snapshots) -> String {
    let main = html! {
        h1 { "Snapshots" }
        p class="lead" {
            "The one in force, and the one before it while a rollback may return to it. "
            a href="/rollback" { "What a rollback would change" } "; " code { "sapphire reload" } " reads the sources again."
        }
        @if let Some(held) = snapshots.held {
            p class="note warning" { "A rollback holds epoch " (held) ": automatic reloads wait for " code { "sapphire reload" } "." }
        }
        @if snapshots.kept.is_empty() { p { "There is none yet: requests are dropped." } }
        @else { (table(&snapshots.kept)) }
        h2 { "What differs" }
        (differences(&snapshots.kept))
        h2 { "On the disk" }
        p { (name_of(&snapshots.disk)) }
    };
    shell.document(Here::Snapshots, "Snapshots", &main)
}

fn table(kept: &[Kept]) -> Markup {
    html! {
        div class="wide" role="region" aria-label="Snapshots" tabindex="0" {
            table {
                thead {
                    tr {
                        @for head in ["Epoch", "", "Compiled", "Age", "Size", "Engine", "Switches", "Hosts", "Rules", "Digest"] {
                            @if head.is_empty() { th scope="col" { span class="away" { "Role" } } }
                            @else { th scope="col" { (head) } }
                        }
                    }
                }
                tbody {
                    @for it in kept {
                        tr {
                            th scope="row" { (it.epoch) }
                            td { (it.role) }
                            td { (unix(it.built_unix)) }
                            td { (age(it.age)) }
                            td { (bytes(it.bytes)) }
                            td { (it.engine) }
                            td { (count(it.switches as u64)) }
                            td { (count(it.hosts as u64)) }
                            td { @match it.rules { Some(rules) => (rules), None => "–" } }
                            td { code { (it.digest) } }
                        }
                    }
                }
            }
        }
    }
}

/// Of each to the one before, by what is known without comparing them.
fn differences(kept: &[Kept]) -> Markup {
    let pairs = kept.windows(2).filter_map(|pair| match pair {
        [new, old] => Some((new, old, told(new, old))),
        _ => None,
    });
    let pairs: Vec<_> = pairs.collect();
    html! {
        @if pairs.is_empty() { p { "There is nothing to compare with." } }
        @else {
            ul {
                @for (new, old, told) in pairs {
                    li { "Epoch " (new.epoch) " against " (old.epoch) ": " (told) }
                }
            }
            p class="small" { "Pairs of hosts are compared by " code { "sapphire compare" } "." }
        }
    }
}

/// In words.
fn told(new: &Kept, old: &Kept) -> String {
    let numbers = [
        ("switches", old.switches as u64, new.switches as u64),
        ("hosts", old.hosts as u64, new.hosts as u64),
        (
            "rules",
            old.rules.unwrap_or(0).into(),
            new.rules.unwrap_or(0).into(),
        ),
        ("bytes", old.bytes as u64, new.bytes as u64),
    ];
    let changed = numbers.iter().filter(|(_, old, new)| old != new);
    let mut words: Vec<_> = changed
        .map(|(what, old, new)| format!("{what} {} before, {} now", count(*old), count(*new)))
        .collect();
    if new.engine != old.engine {
        words.push(format!("engine {} before, {} now", old.engine, new.engine));
    }
    match (words.is_empty(), new.digest == old.digest) {
        (true, true) => "nothing".to_owned(),
        (true, false) => "numbers are the same, contents are not".to_owned(),
        _ => words.join("; "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_is_told_by_numbers() {
        let old = Kept {
            epoch: 3,
            role: "before",
            built_unix: 0,
            age: 5,
            bytes: 100,
            digest: "0".to_owned(),
            engine: "updn".to_owned(),
            switches: 20,
            hosts: 1000,
            rules: None,
        };
        let new = Kept {
            epoch: 4,
            switches: 19,
            rules: Some(2),
            digest: "1".to_owned(),
            ..old.clone()
        };
        assert_eq!(
            told(&new, &old),
            "switches 20 before, 19 now; rules 0 before, 2 now"
        );
        assert_eq!(told(&old, &old), "nothing");
        let same = Kept {
            digest: "2".to_owned(),
            ..old.clone()
        };
        assert_eq!(told(&same, &old), "numbers are the same, contents are not");
        let all = Snapshots {
            kept: vec![new, old],
            held: Some(4),
            disk: "none".to_owned(),
        };
        let page = page(
            Shell {
                not_ready: None,
                epoch: Some(4),
                has_fleet: false,
            },
            &all,
        );
        assert!(page.contains("A rollback holds epoch 4") && page.contains("Epoch 4 against 3"));
    }
}
