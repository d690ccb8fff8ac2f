//! What stands below EXAMPLES in the page of each verb: command lines as an operator would write
//! them.
//!
//! A test parses all of them with the command line that they are for, and finds a verb that has
//! none. Verbs that ask the SA for records are many and alike: theirs are made from their names.

use clap::Command;

/// A verb, word by word, and a command line with what it does.
type Example = (&'static str, &'static str, &'static str);

/// Arguments behind the verb, then what they are for.
#[rustfmt::skip]
const EXAMPLES: [Example; 90] = [
    ("demo", "", "Shows the SA: routes, proof, policy, answers under load"),
    ("demo", "--sm", "Shows the Subnet Manager, and what it does when a cable is pulled"),
    ("init", "", "Asks what there is, and writes sapphired.toml here"),
    ("init", "--source sweep --via umad:mlx5_0:1 -o /etc/sapphire/sapphired.toml", "A Subnet Manager on that port"),
    ("fabric torus", "6 5 4 --hosts 2 -o t", "A torus of 120 switches with two hosts each, in the folder t"),
    ("fabric fat-tree", "--radix 8 -o t", "A fat tree of switches with eight ports"),
    ("fabric dragonfly", "--switches 4 --global 2 -o t", "Groups of four switches, two global links each"),
    ("fabric dragonfly-plus", "--leaves 4 --spines 4 --global 2 -o t", "Groups of four leaves and four spines"),
    ("fabric hyperx", "4 4 -o t", "Sixteen switches, all of a row and of a column joined"),
    ("fabric random", "--switches 16 --degree 4 -o t", "Switches with four links each, to whomever"),
    ("fabric read", "-o now", "Reads the running fabric from the SA of this host's port"),
    ("fabric health", "", "Says which links are slow, lose packets or come and go"),
    ("route", "--fabric net --torus-conf torus-2QoS.conf -o dumps", "Writes the tables as OpenSM dumps them"),
    ("route", "--fabric net --engine dfsssp-nue --fail S1:3", "Routes around a cable that is not there"),
    ("check", "dumps", "Proves the tables in a folder of dumps; status 3 with a credit loop"),
    ("check", "dumps --torus-conf /etc/opensm/torus-2QoS.conf --json", "The same on a torus, for programs"),
    ("check", "--snapshot now.snap", "The tables that compile --keep-tables kept beside a snapshot"),
    ("setup", "--fabric net --torus-conf torus-2QoS.conf", "What each port should hold"),
    ("simulate", "--fabric net --torus-conf torus-2QoS.conf 3,1,0", "What would be lost without that switch of the torus"),
    ("compile", "--fabric net --policy qos-policy.conf -o now.snap", "Everything that an SA answers from, in one file"),
    ("compile", "--fabric net --policy qos-policy.conf -o now.snap --keep-tables", "And beside it what it was compiled from, so that it stands in for the fabric"),
    ("snapshot info", "/var/lib/sapphire/current.snap", "What a snapshot was made of"),
    ("snapshot verify", "now.snap", "Reads all of it; status 1 where it is damaged"),
    ("snapshot diff", "before.snap now.snap --fabric net", "How many pairs of hosts get another answer, and which"),
    ("snapshot export", "--public /var/lib/sapphire/current.snap -o public.snap", "A copy without the SA's key, for compute nodes"),
    ("answer", "--snapshot now.snap", "Requests on standard input, a line of JSON each"),
    ("explain", "H0 H1 --fabric net --policy qos-policy.conf", "Which rule gave the SL, and which hops the path takes"),
    ("explain", "H0 H1 --snapshot now.snap", "The same at once, where --keep-tables was given"),
    ("explain", "H0 H1 --live", "From what the sapphired of this host serves"),
    ("migrate", "/etc/opensm/opensm.conf", "Beside that OpenSM, on standard output"),
    ("migrate", "/etc/opensm/opensm.conf --source sweep -o sapphired.toml", "In its place, as the Subnet Manager"),
    ("policy check", "qos-policy.conf", "Says what the policy means, or where it is wrong"),
    ("policy check", "new.conf --diff qos-policy.conf --fabric net", "Says for how many pairs that would change what"),
    ("policy convert", "qos-policy.conf --to xml -o qos-policy.xml", "Into another dialect"),
    ("policy lint", "qos-policy.conf --fabric net", "Finds what is allowed and hardly meant"),
    ("policy explain", "qos-policy.conf H0 H1 --fabric net", "Which rule holds for that pair"),
    ("policy partitions", "--fabric net --partitions partitions.conf", "Members of partitions and groups of IPoIB"),
    ("draw", "--fabric net --torus-conf torus-2QoS.conf -o net.svg", "A picture"),
    ("draw", "--fabric net --torus-conf torus-2QoS.conf --text --path H0 H1", "A path, in the terminal"),
    ("roce-entropy predict", "--qps 16", "How sixteen queue pairs lie on the equal paths"),
    ("roce-entropy suggest", "--qps 16", "Flow labels that spread them"),
    ("roce-entropy decode", "--port 50000", "From a UDP source port to what it was made of"),
    ("roce-entropy check", "ports.csv", "How the flows of a capture spread"),
    ("roce-entropy replay", "job.json", "A described job, on a described network"),
    ("query pr", "--slid 2 --dlid 9", "Over umad, as any client asks"),
    ("query pr", "--from node1 --to node2", "The same by names of hosts, which the SA is asked for first"),
    ("query pr", "--via ring:/run/sapphire/ring --slid 2 --dlid 9 --json", "Through shared memory, for programs"),
    ("query mpr", "--sgid 0x100001 --dgid 0x100011", "Paths between two ports"),
    ("query services", "nfs", "Which Service-IDs a service has"),
    ("query srp-targets", "", "What SRP targets of the subnet serve"),
    ("bench", "--workload gid,lid --layer memory,ring", "What an answer costs on this machine"),
    ("compare", "--snapshot now.snap --via umad --pairs 1000", "A running SA against a snapshot; status 3 where they differ"),
    ("doctor", "", "What this machine lacks; status 3 with a problem"),
    ("doctor", "--config /etc/sapphire/sapphired.toml", "Also by that configuration"),
    ("status", "", "Of the sapphired of this host"),
    ("status", "--control /run/sapphire-local/control.sock --json", "Of the one that answers the kernel, for programs"),
    ("top", "", "The sapphired of this host, live on the terminal"),
    ("top", "--once", "One frame as text, for scripts"),
    ("reload", "", "Reads sources again, and waits for what comes of it"),
    ("reload", "--dry-run", "Says what that would change, and changes nothing"),
    ("rollback", "", "Serves the snapshot that was in service before"),
    ("drain", "S1:3", "Routes leave a cable; then pull it"),
    ("drain", "--list", "What is drained"),
    ("undrain", "S1:3", "Routes may take it again"),
    ("plan", "--drain S1", "What would be written to the subnet"),
    ("plan", "--change qos-policy.conf", "The same of a changed file"),
    ("apply", "0123456789abcdef", "Writes the plan of that number, unless the subnet has changed since"),
    ("lid list", "", "Which port has which LIDs"),
    ("lid forget", "--absent-for 30d", "LIDs of ports that were not there for a month are free"),
    ("fleet init", "fleet", "A root key, a leader's key, and the root file with its signature"),
    ("fleet init", "fleet --root alice --root bob --root carol --threshold 2", "Two of three people sign each root file"),
    ("fleet key new", "second.key --name leader-2", "One more leader; its line is for root next"),
    ("fleet key show", "/etc/sapphire/fleet/leader.key", "The public key, as root files have it"),
    ("fleet root check", "fleet/root", "Whether hosts believe it, and what ends within 30 days"),
    ("fleet root check", "root.2 --after fleet/root", "Whether hosts that have the old one take the new one"),
    ("fleet root next", "fleet/root -o root.2 --remove-leader leader-1", "The version after it, without that leader"),
    ("fleet root next", "fleet/root -o root.2 --era", "After the memory of terms was lost"),
    ("fleet root sign", "root.2 --key root-1.key", "Writes root.2.root-1.minisig"),
    ("fleet join", "/etc/sapphire/fleet --from http://leader:8042", "A follower's configuration, on standard output"),
    ("fleet join", "/etc/sapphire/fleet --from http://leader:8042 --relay -o /etc/sapphire/sapphired.toml", "That of a relay"),
    ("fleet status", "", "Who leads, who follows, and what is in force"),
    ("fleet promote", "", "The sapphired of this host leads"),
    ("fleet promote", "--above 41", "With a term above that of the leader that was lost"),
    ("fleet withdraw", "", "No host answers from what was announced; each asks the SA"),
    ("load", "--rate 5000 --seconds 10", "Five thousand requests a second, and how long answers took"),
    ("load", "--via ring:/run/sapphire/ring --snapshot now.snap", "As fast as it goes, and each reply compared"),
    ("completions", "bash", "A script on standard output; packages install it"),
    ("completions", "zsh sapphired", "For the daemon's options"),
    ("man", "-o man", "This page and all others"),
    ("netlink replay", "recorded.json", "The kernel's questions once more"),
];

/// Command lines of a verb with what each does; of a command with verbs below, none.
///
/// `path` is the verb word by word, without the program: "fabric torus".
pub(super) fn of(path: &str, command: &Command) -> Vec<(String, String)> {
    if command.get_name() == "sapphired" {
        return vec![
            line(
                "sapphired",
                "--config /etc/sapphire/sapphired.toml --check",
                "Reads everything and tries what a start needs",
            ),
            line(
                "sapphired",
                "--config sapphired.toml",
                "Serves; ends at SIGTERM",
            ),
        ];
    }
    let own = EXAMPLES.iter().filter(|(verb, ..)| *verb == path);
    let mut lines: Vec<_> = own
        .map(|(verb, words, what)| line(&format!("sapphire {verb}"), words, what))
        .collect();
    if lines.is_empty() && path.starts_with("query ") {
        let program = format!("sapphire {path}");
        lines.push(line(
            &program,
            "",
            "All of them, from the SA of this host's port",
        ));
        lines.push(line(
            &program,
            "--via ring:/run/sapphire/ring --json",
            "Through shared memory, for programs",
        ));
    }
    lines
}

fn line(program: &str, words: &str, what: &str) -> (String, String) {
    (
        format!("{program} {words}").trim_end().to_owned(),
        what.to_owned(),
    )
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

    use super::super::{Program, leaves};

    /// Each one is taken by the command line that it is for, and every verb has one.
    #[test]
    fn every_verb_has_examples_that_it_takes() {
        let mut count = 0;
        for program in [Program::Sapphire, Program::Sapphired] {
            for (path, command) in leaves(&program.command()) {
                let lines = super::of(&path, &command);
                assert!(!lines.is_empty(), "no example of {path:?}");
                for (line, _) in lines {
                    let parsed = program.command().try_get_matches_from(line.split(' '));
                    assert!(parsed.is_ok(), "{line}: {}", parsed.unwrap_err());
                    count += 1;
                }
            }
        }
        assert!(count > super::EXAMPLES.len(), "{count}");
    }

    #[test]
    fn no_example_is_of_a_verb_that_is_not_there() {
        let verbs = leaves(&Program::Sapphire.command());
        for (verb, ..) in super::EXAMPLES {
            assert!(verbs.iter().any(|(path, _)| path == verb), "{verb}");
        }
    }
}
