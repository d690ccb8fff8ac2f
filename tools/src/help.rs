//! The help of the program itself: its verbs in groups, by what one wants to do.
//!
//! clap lists verbs one below the other; with more than thirty of them nobody finds the one for the
//! task. What each verb does is said once, above its variant in `Verb`; here is only which verbs
//! stand together.

use std::fmt::Write;

use clap::Command;

/// Groups in the order of a first week with the program, and their verbs. A test holds them against
/// the verbs that there are.
const GROUPS: [(&str, &[&str]); 9] = [
    ("First steps", &["demo", "init", "migrate", "doctor"]),
    (
        "Fabrics and routes, from files",
        &["fabric", "route", "check", "setup", "simulate", "draw"],
    ),
    (
        "Snapshots, and why an answer is what it is",
        &["compile", "snapshot", "answer", "explain"],
    ),
    ("QoS policies", &["policy"]),
    (
        "A running sapphired",
        &[
            "status", "top", "reload", "rollback", "drain", "undrain", "plan", "apply", "lid",
        ],
    ),
    ("One snapshot on many hosts", &["fleet"]),
    ("A running SA", &["query", "compare", "load"]),
    (
        "Measuring, RoCE, the kernel",
        &["bench", "roce-entropy", "netlink"],
    ),
    ("The command line", &["completions", "man", "help"]),
];

/// The command whose help lists its verbs in groups.
pub(crate) fn grouped(command: Command) -> Command {
    let template = format!(
        "{{before-help}}{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\nCommands:\n{}\nOptions:\n{{options}}{{after-help}}",
        listed(&command)
    );
    command.help_template(template)
}

/// A heading a group, a line a verb; a blank line behind each group.
fn listed(command: &Command) -> String {
    let width = command.get_subcommands().map(|verb| verb.get_name().len());
    let width = width.max().unwrap_or_default();
    let mut text = String::new();
    for (heading, verbs) in GROUPS {
        let _ = writeln!(text, "{heading}:");
        for name in verbs {
            let _ = writeln!(text, "  {name:width$}  {}", about(command, name));
        }
        text.push('\n');
    }
    text.pop();
    text
}

/// What a verb does, as its own help begins.
fn about(command: &Command, name: &str) -> String {
    let verb = command.find_subcommand(name);
    let about = verb.and_then(Command::get_about);
    // clap adds `help` only when it parses.
    about.map_or_else(
        || "Print this message or the help of the given verb".to_owned(),
        ToString::to_string,
    )
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::CommandFactory;

    use super::*;

    #[test]
    fn every_verb_stands_in_one_group() {
        let command = crate::Arguments::command();
        let shown = command.get_subcommands().filter(|verb| !verb.is_hide_set());
        let verbs: BTreeSet<&str> = shown.map(Command::get_name).chain(["help"]).collect();
        let listed: Vec<&str> = GROUPS
            .iter()
            .flat_map(|(_, verbs)| *verbs)
            .copied()
            .collect();
        let once: BTreeSet<&str> = listed.iter().copied().collect();
        assert_eq!(once, verbs);
        assert_eq!(once.len(), listed.len(), "a verb stands in two groups");
    }

    #[test]
    fn help_has_the_groups_and_fits_a_terminal() {
        let help = grouped(crate::Arguments::command())
            .render_help()
            .to_string();
        for (heading, verbs) in GROUPS {
            assert!(
                help.contains(&format!("\n{heading}:\n  {} ", verbs[0])),
                "{help}"
            );
        }
        let longest = help.lines().map(|line| line.chars().count()).max();
        assert!(longest <= Some(100), "{help}");
        assert!(
            help.contains("\nOptions:\n") && help.contains("--version"),
            "{help}"
        );
    }
}
