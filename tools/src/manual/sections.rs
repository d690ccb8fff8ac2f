//! What a page has beside what clap knows: EXAMPLES, FILES, EXIT STATUS, SEE ALSO.
//!
//! Which files a verb reads follows from its options, so that an option cannot be there without
//! them.

use clap::Command;
use clap_mangen::roff::{Inline, Roff, bold, italic, roman};

use super::examples;

/// An option or argument, the files behind it, and what they are.
#[rustfmt::skip]
const FILES: [(&str, &str, &str); 13] = [
    ("control", "/run/sapphire/control.sock", "where a sapphired listens for orders, as [control] of its configuration says"),
    ("config", "/etc/sapphire/sapphired.toml", "configuration of sapphired; see sapphired.toml(5)"),
    ("root_file", "/etc/sapphire/fleet/root", "who may announce what hosts answer, with its signatures as root.NAME.minisig beside it"),
    ("fabric", "net, opensm-subnet.lst", "nodes and links, or a folder with dumps of OpenSM; see sapphire-fabric(5). Any input may be compressed as FILE.xz"),
    ("torus_conf", "torus-2QoS.conf", "size, seeds and datelines of a torus; see sapphire-fabric(5)"),
    ("policy", "/etc/opensm/qos-policy.conf", "QoS policy; see sapphire-policy(5)"),
    ("partitions", "/etc/opensm/partitions.conf", "partitions; see sapphire-partitions(5)"),
    ("opensm_conf", "/etc/opensm/opensm.conf", "options of OpenSM that routes and answers depend on"),
    ("prefix_routes", "/etc/opensm/prefix-routes.conf", "by which router other subnets are reached"),
    ("aliases", "/var/log/opensm-sa.dump", "alias GUIDs, as OpenSM dumps them"),
    ("ulp_names", "ulp-names", "more names for services; see sapphire-ulp-names(5)"),
    ("snapshot", "/var/lib/sapphire/current.snap", "the last good snapshot of a sapphired; see sapphire-snapshot(5)"),
    ("via", "/dev/infiniband/umadN", "the port that asks the SA; with ring:PATH the socket of a ring, such as /run/sapphire/ring"),
];

/// As `failure` says them, for verbs.
#[rustfmt::skip]
const STATUSES: [(&str, &str); 6] = [
    ("0", "done"),
    ("1", "a file cannot be read or parsed, or the work failed; standard output took no more"),
    ("2", "wrong usage"),
    ("3", "inputs understood, and the answer is no: a route refused, a problem or a difference found"),
    ("4", "nobody answered"),
    ("130", "ended by Ctrl-C (SIGINT), with what was measured until then printed and half files removed; 143 by SIGTERM, 129 by SIGHUP"),
];

/// Of the daemon, also with `--check`.
const STATUSES_OF_DAEMON: [(&str, &str); 3] = [
    (
        "0",
        "ended at SIGTERM or SIGINT; with --check: everything is well",
    ),
    (
        "1",
        "it cannot start or go on; with --check: what is wrong was said",
    ),
    ("2", "wrong usage"),
];

/// Of the daemon, whose options name its configuration alone.
#[rustfmt::skip]
const FILES_OF_DAEMON: [(&str, &str); 7] = [
    ("/etc/sapphire/sapphired.toml", "the configuration that sapphired.service starts it with; see sapphired.toml(5)"),
    ("/etc/sapphire/sapphired-local.toml", "that of sapphired-local.service, on compute nodes"),
    ("/var/lib/sapphire", "[state] directory: the last good snapshot, with the key of the SA, and what clients have set"),
    ("/run/sapphire/control.sock", "[control] path: where sapphire status, reload and others ask"),
    ("/run/sapphire/ring", "a ring, where a [[port]] has that path"),
    ("/dev/infiniband/umadN", "ports of the fabric; /dev/infiniband/issmN where it announces a Subnet Manager"),
    ("/usr/lib/sapphire/libsapphire_split.so", "preload library for an OpenSM of this host"),
];

/// All of them, behind what clap has written.
pub(super) fn of(path: &str, command: &Command) -> Roff {
    let mut roff = Roff::default();
    let is_daemon = command.get_name() == "sapphired";
    let lines = examples::of(path, command);
    roff.control("SH", ["EXAMPLES"]);
    if lines.is_empty() {
        roff.text([roman("Those of its verbs are in their pages.")]);
    }
    for (line, what) in &lines {
        term(&mut roff, bold(line.as_str()), what);
    }
    roff.control("SH", ["FILES"]);
    let files = if is_daemon {
        FILES_OF_DAEMON.to_vec()
    } else {
        files(command)
    };
    if files.is_empty() {
        roff.text([roman("None but what the command line names.")]);
    }
    for (file, what) in files {
        term(&mut roff, italic(file), what);
    }
    roff.control("SH", ["EXIT STATUS"]);
    let statuses = if is_daemon {
        &STATUSES_OF_DAEMON[..]
    } else {
        &STATUSES[..]
    };
    for (status, what) in statuses {
        term(&mut roff, bold(*status), what);
    }
    roff.control("SH", ["SEE ALSO"]);
    let also = if is_daemon {
        "sapphire(1)"
    } else {
        "sapphire(1), sapphired(8)"
    };
    roff.text([roman(format!(
        "{also}, sapphired.toml(5), sapphire-policy(5), sapphire-fabric(5); /usr/share/doc/sapphire"
    ))]);
    roff
}

/// Those behind the options of this verb.
fn files(command: &Command) -> Vec<(&'static str, &'static str)> {
    let has = |id: &str| {
        command
            .get_arguments()
            .any(|it| it.get_id() == id && !it.is_hide_set())
    };
    let own = FILES.iter().filter(|(id, ..)| has(id));
    own.map(|(_, file, what)| (*file, *what)).collect()
}

pub(super) fn term(roff: &mut Roff, name: Inline, what: &str) {
    roff.control("TP", []);
    roff.text([name]);
    roff.text([roman(what)]);
}

#[cfg(test)]
mod tests {
    use super::super::{Program, leaves};

    /// An option that was renamed would lose its files without a word.
    #[test]
    fn every_option_with_files_is_one() {
        let verbs = leaves(&Program::Sapphire.command());
        for (id, ..) in super::FILES {
            let has = |command: &clap::Command| command.get_arguments().any(|it| it.get_id() == id);
            assert!(verbs.iter().any(|(_, command)| has(command)), "{id}");
        }
    }

    #[test]
    fn statuses_are_those_of_failures() {
        let source = include_str!("../failure.rs");
        for (status, _) in super::STATUSES {
            assert!(source.contains(&format!("//! {status}   ")), "{status}");
        }
    }
}
