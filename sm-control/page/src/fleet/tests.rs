use super::*;

const SHELL: Shell<'static> = Shell {
    not_ready: None,
    epoch: Some(7),
    has_fleet: true,
};

fn host(node: &str, state: &str, standing: Standing, age: u64) -> Host {
    Host {
        node: node.to_owned(),
        state: state.to_owned(),
        standing,
        age,
        snapshot: Some("00112233aabbccdd".to_owned()),
        below: None,
    }
}

fn leader(hosts: Vec<Host>) -> Fleet {
    Fleet {
        role: "leader",
        subnet: "fe80000000000000".to_owned(),
        state: "leads",
        answers: true,
        fresh_ms: Some(27_400),
        announced: "1.71.3.40".to_owned(),
        term: Some(71),
        root_version: 2,
        snapshot: Some("00112233aabbccdd".to_owned()),
        children: Some(Children {
            connections: 3,
            sent_bytes: 38_000_000,
            hosts,
        }),
        ..Fleet::default()
    }
}

/// Where these stand, each behind the one before.
fn in_order(page: &str, parts: &[&str]) {
    let mut from = 0;
    for part in parts {
        let at = page[from..].find(part);
        from += at.unwrap_or_else(|| panic!("{part} is not behind the others in {page}"));
    }
}

#[test]
fn who_should_be_looked_at_comes_first() {
    let relay = Host {
        below: Some((1200, 1198)),
        ..host("n1", "fresh", Standing::Fresh, 3)
    };
    let hosts = vec![
        relay,
        host("n2", "stale_lease", Standing::NotFresh, 2),
        host("n3", "fresh", Standing::Late, 41),
        host("n4", "fresh", Standing::Fresh, 4),
    ];
    let page = page(SHELL, &leader(hosts));
    let rows = page.split("id=\"fleet-hosts\"").nth(1).unwrap_or_default();
    in_order(
        rows,
        &[
            ">n3<",
            "badge bad\">late",
            ">n2<",
            "badge warning\">not fresh",
            ">n1<",
            "badge good\">fresh",
            "1,200, fresh 1,198",
            ">n4<",
            "What their states mean",
            "<dt>stale_lease</dt>",
        ],
    );
    for part in [
        "<dt>Late</dt><dd>1</dd>",
        "<dt>Not fresh</dt><dd>1</dd>",
        "<dt>Fresh</dt><dd>2</dd>",
        "<dt>Below relays</dt><dd>1,200, fresh 1,198</dd>",
        "<dt>Oldest answerer</dt><dd>n3, asked 41 s ago</dd>",
        "<dt>Bytes sent</dt><dd>38 MB</dd>",
        "<dt>Fresh for</dt><dd>27 s</dd>",
        "<dt>Announced</dt><dd>1.71.3.40</dd>",
        "leader, leads.",
        "aria-current=\"page\">Fleet<",
    ] {
        assert!(page.contains(part), "{part} is not in {page}");
    }
}

#[test]
fn a_host_that_is_silent_says_why_and_what_to_do() {
    let refused = Refused {
        name: "expired_key",
        why: "its key has expired".to_owned(),
        count: 1400,
    };
    let silent = Fleet {
        role: "follower",
        state: "stale_lease",
        refused: vec![refused],
        alert: Some(("the disk \u{202e}takes nothing".to_owned(), 61)),
        ..Fleet::default()
    };
    let page = page(SHELL, &silent);
    for part in [
        "note error",
        "follower, stale_lease: nobody is answered.",
        "The leader was not heard in time",
        "See to the leader",
        "expired_key",
        "1,400",
        "its key has expired",
        "The last alert, 1 min 1 s ago:",
        "the disk \u{fffd}takes nothing",
        "<dt>Fresh for</dt><dd>–</dd>",
    ] {
        assert!(page.contains(part), "{part} is not in {page}");
    }
    assert!(!page.contains("fleet-hosts") && !page.contains("Hosts that ask here"));
}

#[test]
fn a_large_fleet_is_counted_and_not_shown_whole() {
    let mut hosts: Vec<_> = (0..10_000)
        .map(|nth| host(&format!("n{nth}"), "fresh", Standing::Fresh, 1))
        .collect();
    hosts.push(host("zlast", "withdrawn", Standing::NotFresh, 1));
    let large = page(SHELL, &leader(hosts));
    assert_eq!(large.matches("scope=\"row\"").count(), SHOWN);
    assert!(large.contains("And 8,001 hosts more.") && large.contains("<dd>10,001</dd>"));
    assert!(large.contains(">zlast<") && !large.contains("data-live"));
    assert!(large.len() < 700_000, "{} bytes", large.len());
    let none = page(SHELL, &leader(Vec::new()));
    assert!(none.contains("None has asked within the last minute.") && none.contains("data-live"));
}

#[test]
fn what_hosts_say_is_text() {
    let hostile = "<script>alert(1)</script>";
    let page = page(
        SHELL,
        &leader(vec![host(hostile, hostile, Standing::NotFresh, 0)]),
    );
    assert!(!page.contains("<script>") && page.contains("&lt;script&gt;"));
}
