//! What the words of states mean, and what to do.

/// What a state says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Meaning {
    /// In a sentence.
    pub what: &'static str,
    /// What to do; none where all is well.
    pub remedy: Option<&'static str>,
}

/// What the state of a host means. None for a word of another version.
pub fn meaning(state: &str) -> Option<Meaning> {
    let of = |what, remedy| Some(Meaning { what, remedy });
    match state {
        "leads" => of("It says what is in force, and hosts follow it.", None),
        "candidate" => of(
            "It would lead and does not: another host leads, or nobody has told it to.",
            Some(
                "Where nobody leads: sapphire fleet promote on this host; its log says what stood in the way.",
            ),
        ),
        "fresh" => of("It answers from what is announced.", None),
        "serve_stale" => of(
            "The leader was not heard in time; it answers all the same, as serve_stale wants it.",
            Some("See to the leader, and to the network on the way to it."),
        ),
        "stale_lease" => of(
            "The leader was not heard in time, so it answers nobody.",
            Some(
                "See to the leader, and to the network on the way to it; answers go on at the next beat.",
            ),
        ),
        "unannounced" => of(
            "It has heard of no announcement since its start.",
            Some(
                "Wait for the next beat; if none comes, see whether the leader runs, and whether [fleet] from names it.",
            ),
        ),
        "withdrawn" => of(
            "What was in force is withdrawn: its leader doubts it, or a person said so.",
            Some("See the findings of the leader; what it compiles next is announced."),
        ),
        "no_snapshot" | "other_generation" => of(
            "What is announced is not loaded yet.",
            Some(
                "It is being fetched; if that takes long, see the last alert and the log of this host.",
            ),
        ),
        "unconfirmed" => of(
            "What was announced is not on its disk yet, and does not count before.",
            Some("If it stays so: see whether its disk is full, or read-only."),
        ),
        "port_changed" => of(
            "LID, SM LID or SM of one of its ports are not those of the snapshot, or it has none yet to compare them with.",
            Some(
                "It goes on when the leader has announced the change; if it stays so, see whether the leader knows this port.",
            ),
        ),
        "contradicted" => of(
            "Two contents of one announcement were seen: two leaders use one term, or a leader's key is in other hands.",
            Some(
                "Find the second leader and end it, then sapphire fleet promote on the right one.",
            ),
        ),
        _ => None,
    }
}
