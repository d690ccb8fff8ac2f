//! Both sides over real sockets, on loopback: news, parts of blobs, hosts that are slow, and servers that lie.

#![expect(
    clippy::unwrap_used,
    reason = "a test may panic, and its rig is part of it"
)]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use fleet_transfer::clocks;
use fleet_transfer::fetch::{About, FetchError, News, Partial, Patience, Upstream};
use fleet_transfer::packed::Expected;
use fleet_transfer::packed::digest;
use fleet_transfer::serve::{Desk, Limits, serve};
use fleet_transfer::shelf::{Item, Shelf, put_new};
use sa_fleet::identity::{Issue, Position};
use sa_fleet::offer::Offer;
use tokio::sync::oneshot;

const PREFIX: u64 = 0xfe80_0000_0000_0000;
/// For what has to happen; nothing waits for as long where it does.
const DEADLINE: Duration = Duration::from_secs(20);

/// A leader on loopback.
struct Leader {
    desk: Arc<Desk>,
    shelf: Arc<Shelf>,
    address: SocketAddr,
    ends: Option<oneshot::Sender<()>>,
    thread: Option<thread::JoinHandle<()>>,
    folder: tempfile::TempDir,
}

impl Leader {
    fn start(limits: Limits) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let shelf = Arc::new(Shelf::open(&folder.path().join("leader")).unwrap());
        let desk = Arc::new(Desk::new(Arc::clone(&shelf), limits));
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let (ends, ended) = oneshot::channel::<()>();
        let served = Arc::clone(&desk);
        let thread = thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap();
            runtime.block_on(async {
                let listener = tokio::net::TcpListener::from_std(listener).unwrap();
                serve(listener, served, None, async {
                    ended.await.unwrap_or_default()
                })
                .await;
            });
        });
        Self {
            desk,
            shelf,
            address,
            ends: Some(ends),
            thread: Some(thread),
            folder,
        }
    }

    fn upstream(&self) -> Upstream {
        Upstream::new(
            &format!("http://{}", self.address),
            Patience::default(),
            None,
        )
    }

    /// Another host's shelf.
    fn shelf_of(&self, name: &str) -> Shelf {
        Shelf::open(&self.folder.path().join(name)).unwrap()
    }

    fn announce(&self, seq: u64, remaining: Duration) {
        self.desk.announce(PREFIX, Some(offer(seq, remaining)));
    }

    /// What a follower gets that knows so much.
    fn news_after(&self, after: Position) -> Option<News> {
        let news = self.upstream().news(PREFIX, after, &About::default());
        news.unwrap()
    }

    /// A connection by hand, for hosts that do not behave.
    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        stream
    }
}

impl Drop for Leader {
    fn drop(&mut self) {
        drop(self.ends.take());
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

/// Before every announcement.
const NOTHING: Position = Position {
    issue: Issue {
        era: 0,
        term: 0,
        seq: 0,
    },
    beat: 0,
};

fn position(seq: u64) -> Position {
    let issue = Issue {
        era: 1,
        term: 1,
        seq,
    };
    Position { issue, beat: 1 }
}

fn offer(seq: u64, remaining: Duration) -> Offer {
    Offer {
        position: position(seq),
        announcement: format!("announcement {seq}").into_bytes().into(),
        until: clocks::now().after(remaining),
    }
}

fn expected(blob: &[u8]) -> Expected {
    Expected {
        digest: digest(blob),
        size: blob.len() as u64,
    }
}

/// Bytes that do not compress.
fn noise(length: usize, seed: u64) -> Vec<u8> {
    let mut state = seed | 1;
    let words = (0..length.div_ceil(8)).flat_map(|_| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state ^ state >> 29).to_le_bytes()
    });
    words.take(length).collect()
}

fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < DEADLINE, "{what}");
        thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn news_come_to_who_waits_with_what_is_left_of_them() {
    let leader = Leader::start(Limits::default());
    leader.announce(1, Duration::from_secs(30));
    let upstream = leader.upstream();
    let first = upstream
        .news(PREFIX, NOTHING, &About::default())
        .unwrap()
        .unwrap();
    assert_eq!(first.bytes, b"announcement 1");
    assert!(
        first.remaining <= Duration::from_secs(30) && first.remaining > Duration::from_secs(20)
    );

    let about = About {
        node: "n1".to_owned(),
        state: "fresh",
        blob: Some(digest(b"x")),
        below: Some((3, 2)),
    };
    let waits = thread::spawn(move || upstream.news(PREFIX, position(1), &about));
    wait_until("the poll is there", || {
        leader.desk.children.of(PREFIX).len() == 1
    });
    let waited = Instant::now();
    leader.announce(2, Duration::from_secs(30));
    let second = waits.join().unwrap().unwrap().unwrap();
    assert_eq!(second.bytes, b"announcement 2");
    assert!(second.asked.after(second.held) <= clocks::now());
    assert!(waited.elapsed() < Duration::from_secs(10));
    let child = leader.desk.children.of(PREFIX).remove(0).1;
    assert_eq!(
        (child.state.as_str(), child.blob, child.below),
        ("fresh", Some(digest(b"x")), Some((3, 2)))
    );
}

#[test]
fn what_is_nearly_over_is_not_handed_out_and_no_poll_is_kept_for_ever() {
    let leader = Leader::start(Limits {
        hold: Duration::from_millis(200),
        ..Limits::default()
    });
    leader.announce(1, Duration::from_millis(900));
    assert_eq!(leader.news_after(NOTHING), None);
    leader.announce(2, Duration::from_secs(30));
    assert!(leader.news_after(position(1)).is_some());
    // The same, an older one, and nothing at all are no news.
    assert_eq!(leader.news_after(position(2)), None);
    assert_eq!(leader.news_after(position(3)), None);
    leader.desk.announce(PREFIX, None);
    assert_eq!(leader.news_after(NOTHING), None);
    let error = leader
        .upstream()
        .news(PREFIX + 1, NOTHING, &About::default())
        .unwrap_err();
    assert!(
        matches!(error, FetchError::Status { status: 404, .. }),
        "{error}"
    );
}

#[test]
fn a_blob_comes_whole_packed_and_as_a_patch() {
    let leader = Leader::start(Limits::default());
    let old = noise(300_000, 1);
    let mut new = old.clone();
    new[1000] ^= 1;
    put_new(&leader.shelf, &old, &[], 3).unwrap();
    let patches = put_new(&leader.shelf, &new, &[expected(&old)], 3).unwrap();
    let (to, from) = (digest(&new), digest(&old));
    let upstream = leader.upstream();
    for (item, base, most) in [
        (Item::Blob(to), None, new.len() as u64),
        (Item::Packed(to), None, 1 << 20),
        (Item::Patch { to, from }, Some(&*old), patches[0].1),
    ] {
        let shelf = leader.shelf_of(&format!("{item:?}").replace([' ', '{'], ""));
        let mut partial = Partial::new(&shelf, item).unwrap();
        upstream.download(&mut partial, most).unwrap();
        partial.put(&shelf, base, expected(&new)).unwrap();
        assert_eq!(shelf.read(Item::Blob(to), 1 << 20).unwrap(), new);
    }
    let gone = Item::Packed(digest(b"nobody has it"));
    let mut partial = Partial::new(&leader.shelf, gone).unwrap();
    let error = upstream.download(&mut partial, 100).unwrap_err();
    assert!(
        matches!(error, FetchError::Status { status: 404, .. }),
        "{error}"
    );
}

#[test]
fn a_file_that_is_on_its_way_is_waited_for_and_no_other() {
    let leader = Leader::start(Limits::default());
    let (blob, upstream) = (noise(300, 1), leader.upstream());
    let item = Item::Blob(digest(&blob));
    let ask = |item: Item| {
        let mut partial = Partial::new(&leader.shelf, item).unwrap();
        let status = match upstream.download(&mut partial, 300) {
            Ok(()) => 200,
            Err(FetchError::Status { status, .. }) => status,
            Err(other) => panic!("{other}"),
        };
        (status, partial.came())
    };
    assert_eq!(ask(item), (404, 0));
    leader.desk.expects(Some(digest(&blob)));
    assert_eq!(ask(Item::Blob(digest(b"another"))), (404, 0));
    thread::scope(|scope| {
        let (one, two) = (scope.spawn(|| ask(item)), scope.spawn(|| ask(item)));
        // Neither has its answer before there is something: asked elsewhere meanwhile, each time anew.
        let waiting = || leader.desk.counts.connections.load(Ordering::Relaxed) >= 2;
        wait_until("both ask", waiting);
        assert!(!one.is_finished() && !two.is_finished());
        // Something else came first.
        leader.desk.has_more();
        assert!(!one.is_finished() && !two.is_finished());
        leader.shelf.put(item, &blob).unwrap();
        leader.desk.has_more();
        assert_eq!([one, two].map(|it| it.join().unwrap()), [(200, 300); 2]);
    });
    // One that does not come: as long as it is expected it may come later, and then it is not there.
    let late = Item::Packed(digest(&blob));
    assert_eq!(ask(late), (503, 0));
    thread::scope(|scope| {
        let one = scope.spawn(|| ask(late));
        leader.desk.expects(None);
        assert_eq!(one.join().unwrap(), (404, 0));
    });
}

/// A patch of some hundred bytes in two packets would wake each of ten thousand hosts twice.
#[test]
fn a_small_file_comes_in_one_piece_with_its_head() {
    let leader = Leader::start(Limits::default());
    let blob = noise(300, 1);
    put_new(&leader.shelf, &blob, &[], 3).unwrap();
    let mut stream = leader.connect();
    let request = format!(
        "GET /fleet/1/blob/{} HTTP/1.1\r\nhost: a\r\n\r\n",
        digest(&blob)
    );
    // Two pieces may happen to be read at once, but not each time.
    for time in 0..50 {
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = vec![0; 4096];
        let read = stream.read(&mut answer).unwrap();
        assert!(answer[..read].ends_with(&blob), "{time}: {read} bytes");
    }
    // Counted when it is sent, so maybe a moment after it came.
    let begun = Instant::now();
    while leader.desk.counts.bytes.load(Ordering::Relaxed) != 50 * 300 {
        assert!(begun.elapsed() < DEADLINE, "{:?}", leader.desk.counts);
        thread::yield_now();
    }
}

/// Answers each connection with one of these, and closes it.
fn canned(answers: Vec<Vec<u8>>) -> (Upstream, thread::JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let server = thread::spawn(move || {
        let answer = |answer: Vec<u8>| {
            let (mut stream, _) = listener.accept().unwrap();
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                stream.read_exact(&mut byte).unwrap();
                head.extend(byte);
            }
            // Who asks may close before the end: that is what some of these are about.
            let _ = stream.write_all(&answer);
            String::from_utf8(head).unwrap()
        };
        answers.into_iter().map(answer).collect()
    });
    (Upstream::new(&url, Patience::default(), None), server)
}

#[test]
fn a_blob_that_was_cut_off_goes_on_from_another_upstream() {
    let leader = Leader::start(Limits::default());
    let blob = noise(500_000, 7);
    put_new(&leader.shelf, &blob, &[], 3).unwrap();
    let shelf = leader.shelf_of("follower");
    let item = Item::Blob(digest(&blob));
    let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", blob.len());
    for percent in [0, 10, 50, 90] {
        let sent = blob.len() * percent / 100;
        let (dies, server) = canned(vec![[head.as_bytes(), &blob[..sent]].concat()]);
        let mut partial = Partial::new(&shelf, item).unwrap();
        let error = dies.download(&mut partial, blob.len() as u64).unwrap_err();
        assert!(matches!(error, FetchError::Cut { .. }), "{error}");
        server.join().unwrap();
        let came = partial.came();
        assert_eq!(came, sent as u64, "{percent} %");
        let before = leader.desk.counts.bytes.load(Ordering::Relaxed);
        leader
            .upstream()
            .download(&mut partial, blob.len() as u64)
            .unwrap();
        // The leader counts what it has handed over, a moment after it came here.
        let rest = blob.len() as u64 - came;
        wait_until("what was left is counted", || {
            leader.desk.counts.bytes.load(Ordering::Relaxed) - before >= rest
        });
        let sent = leader.desk.counts.bytes.load(Ordering::Relaxed) - before;
        assert_eq!(sent, rest, "only what was left is sent");
        partial.put(&shelf, None, expected(&blob)).unwrap();
    }
}

#[test]
fn an_upstream_that_lies_is_not_believed() {
    let folder = tempfile::tempdir().unwrap();
    let shelf = Shelf::open(folder.path()).unwrap();
    let blob = noise(10_000, 3);
    let item = Item::Blob(digest(&blob));
    let downloaded = |answer: &[u8]| {
        let (upstream, server) = canned(vec![answer.to_vec()]);
        let mut partial = Partial::new(&shelf, item).unwrap();
        let result = upstream.download(&mut partial, 10_000);
        server.join().unwrap();
        (result, partial)
    };
    let answer = |length: usize, body: &[u8]| {
        [
            format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n").as_bytes(),
            body,
        ]
        .concat()
    };
    // More than was announced.
    let (result, partial) = downloaded(&answer(20_000, &[0; 20_000]));
    assert!(matches!(result, Err(FetchError::Odd { .. })), "{result:?}");
    assert!(partial.came() <= 10_000);
    // Something else.
    let (result, mut partial) = downloaded(&answer(10_000, &[0; 10_000]));
    result.unwrap();
    assert!(partial.put(&shelf, None, expected(&blob)).is_err());
    // Elsewhere.
    let elsewhere =
        b"HTTP/1.1 302 Found\r\nlocation: http://192.0.2.1/\r\ncontent-length: 0\r\n\r\n";
    let (result, _) = downloaded(elsewhere);
    assert!(
        matches!(result, Err(FetchError::Status { status: 302, .. })),
        "{result:?}"
    );
    assert!(shelf.items().unwrap().is_empty());
}

#[test]
fn an_announcement_that_is_none_is_refused() {
    for (answer, what) in [
        (&b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi"[..], "without how long it holds"),
        (b"HTTP/1.1 200 OK\r\nsapphire-held: 0\r\nsapphire-remaining: -5\r\ncontent-length: 2\r\n\r\nhi", "less than nothing left"),
        (b"HTTP/1.1 200 OK\r\nsapphire-held: x\r\nsapphire-remaining: 5\r\nsapphire-spread: 0\r\ncontent-length: 2\r\n\r\nhi", "no number"),
        (b"HTTP/1.1 500 Oh\r\ncontent-length: 0\r\n\r\n", "an error"),
        (b"SSH-2.0-OpenSSH_9.2\r\n\r\n", "no HTTP"),
    ] {
        let (upstream, server) = canned(vec![answer.to_vec()]);
        assert!(upstream.news(PREFIX, NOTHING, &About::default()).is_err(), "{what}");
        server.join().unwrap();
    }
    let long = [b"HTTP/1.1 200 OK\r\nsapphire-held: 0\r\nsapphire-remaining: 5\r\nsapphire-spread: 0\r\ncontent-length: 5000\r\n\r\n".to_vec(), vec![0; 5000]].concat();
    let (upstream, server) = canned(vec![long]);
    let error = upstream
        .news(PREFIX, NOTHING, &About::default())
        .unwrap_err();
    assert!(matches!(error, FetchError::Odd { .. }), "{error}");
    server.join().unwrap();
}

/// What the kernel has room for is not what a host takes: this is more than it has.
const LARGE: usize = 16 << 20;

#[test]
fn a_host_that_does_not_read_is_cut_off_and_its_place_is_given_on() {
    let leader = Leader::start(Limits {
        transfers: 1,
        grace: Duration::from_millis(500),
        least_rate: 1 << 20,
        ..Limits::default()
    });
    let blob = noise(LARGE, 5);
    put_new(&leader.shelf, &blob, &[], 3).unwrap();
    let digest = digest(&blob);
    let mut never_reads = leader.connect();
    write!(
        never_reads,
        "GET /fleet/1/blob/{digest} HTTP/1.1\r\nhost: l\r\n\r\n"
    )
    .unwrap();
    wait_until("its transfer began", || {
        leader.desk.counts.transfers.load(Ordering::Relaxed) == 1
    });
    // The next one waits for the only place, and gets it.
    let shelf = leader.shelf_of("follower");
    let mut partial = Partial::new(&shelf, Item::Blob(digest)).unwrap();
    leader
        .upstream()
        .download(&mut partial, LARGE as u64)
        .unwrap();
    partial.put(&shelf, None, expected(&blob)).unwrap();
    assert_eq!(leader.desk.counts.too_slow.load(Ordering::Relaxed), 1);
    // News were never kept from anybody by it.
    leader.announce(1, Duration::from_secs(30));
    assert!(leader.news_after(NOTHING).is_some());
}

#[test]
fn a_host_that_waits_for_news_is_never_too_slow() {
    let leader = Leader::start(Limits {
        grace: Duration::from_millis(10),
        ..Limits::default()
    });
    let blob = noise(1000, 5);
    put_new(&leader.shelf, &blob, &[], 3).unwrap();
    leader.announce(1, Duration::from_secs(30));
    let upstream = leader.upstream();
    // On one connection: a blob, then a poll that waits for much longer than the grace.
    let mut partial = Partial::new(&leader.shelf, Item::Blob(digest(&blob))).unwrap();
    upstream.download(&mut partial, 1000).unwrap();
    let waits = thread::spawn(move || {
        upstream.news(
            PREFIX,
            position(1),
            &About {
                node: "n".into(),
                ..About::default()
            },
        )
    });
    wait_until("the poll is there", || {
        leader.desk.children.of(PREFIX).len() == 1
    });
    let begun = Instant::now();
    wait_until("time goes by", || {
        begun.elapsed() > Duration::from_millis(200)
    });
    leader.announce(2, Duration::from_secs(30));
    assert!(waits.join().unwrap().unwrap().is_some());
    assert_eq!(leader.desk.counts.too_slow.load(Ordering::Relaxed), 0);
}

#[test]
fn there_are_no_more_connections_than_there_may_be() {
    let leader = Leader::start(Limits {
        connections: 2,
        ..Limits::default()
    });
    leader.announce(1, Duration::from_secs(30));
    let _held = [leader.connect(), leader.connect()];
    wait_until("both are there", || {
        leader.desk.counts.connections.load(Ordering::Relaxed) == 2
    });
    let mut third = leader.connect();
    // Closed: end of stream, or reset.
    let mut byte = [0];
    assert!(matches!(third.read(&mut byte), Ok(0) | Err(_)));
    assert_eq!(leader.desk.counts.turned_away.load(Ordering::Relaxed), 1);
    drop(_held);
    wait_until("places are given back", || {
        leader.desk.counts.connections.load(Ordering::Relaxed) == 0
    });
    assert!(leader.news_after(NOTHING).is_some());
}

#[test]
fn a_host_that_never_ends_its_request_is_cut_off() {
    let leader = Leader::start(Limits {
        head: Duration::from_millis(200),
        ..Limits::default()
    });
    let mut slow = leader.connect();
    write!(slow, "GET /fleet/1/").unwrap();
    let mut bytes = Vec::new();
    let _ = slow.read_to_end(&mut bytes);
    wait_until("it is gone", || {
        leader.desk.counts.connections.load(Ordering::Relaxed) == 0
    });
}

#[test]
fn blobs_are_begun_after_the_news() {
    let leader = Leader::start(Limits::default());
    let blob = noise(1000, 9);
    put_new(&leader.shelf, &blob, &[], 3).unwrap();
    leader.announce(1, Duration::from_secs(30));
    let polls: Vec<_> = (0..50)
        .map(|node| {
            let upstream = leader.upstream();
            let shelf = leader.shelf_of(&format!("f{node}"));
            let item = Item::Blob(digest(&blob));
            thread::spawn(move || {
                let about = About {
                    node: format!("n{node}"),
                    ..About::default()
                };
                upstream.news(PREFIX, position(1), &about).unwrap().unwrap();
                let mut partial = Partial::new(&shelf, item).unwrap();
                upstream.download(&mut partial, 1000).unwrap();
            })
        })
        .collect();
    wait_until("all wait", || leader.desk.children.of(PREFIX).len() == 50);
    let begun = Instant::now();
    leader.announce(2, Duration::from_secs(30));
    polls.into_iter().for_each(|poll| poll.join().unwrap());
    // All blobs came, and none was kept back for as long as a poll that never ends would keep them.
    assert!(begun.elapsed() < DEADLINE);
    assert_eq!(leader.desk.counts.news.load(Ordering::Relaxed), 50);
    assert_eq!(leader.desk.counts.transfers.load(Ordering::Relaxed), 50);
}

#[test]
fn who_waits_for_a_place_has_no_file_open_meanwhile() {
    let leader = Leader::start(Limits {
        transfers: 1,
        ..Limits::default()
    });
    let blob = noise(LARGE, 11);
    put_new(&leader.shelf, &blob, &[], 3).unwrap();
    let digest = digest(&blob);
    let asking: Vec<_> = (0..50)
        .map(|_| {
            let mut stream = leader.connect();
            let request = format!("GET /fleet/1/blob/{digest} HTTP/1.1\r\nhost: l\r\n\r\n");
            stream.write_all(request.as_bytes()).unwrap();
            stream
        })
        .collect();
    let open = || {
        let links = std::fs::read_dir("/proc/self/fd").unwrap();
        let links = links.filter_map(|link| std::fs::read_link(link.ok()?.path()).ok());
        let name = format!("{digest}.blob");
        links.filter(|to| to.ends_with(&name)).count()
    };
    wait_until("one transfer began", || open() == 1);
    let counts = &leader.desk.counts;
    wait_until("all are there", || {
        counts.connections.load(Ordering::Relaxed) == 50
    });
    assert_eq!(open(), 1);
    drop(asking);
    wait_until("all are gone", || {
        counts.connections.load(Ordering::Relaxed) == 0
    });
    assert_eq!(open(), 0);
}

#[test]
fn a_request_with_a_body_ends_the_connection() {
    let leader = Leader::start(Limits::default());
    leader.announce(1, Duration::from_secs(30));
    let mut stream = leader.connect();
    let hidden = format!("GET /fleet/1/{PREFIX:016x}/announcement HTTP/1.1\r\n\r\n");
    write!(
        stream,
        "GET / HTTP/1.1\r\ncontent-length: {}\r\n\r\n{hidden}",
        hidden.len()
    )
    .unwrap();
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer);
    assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
    assert!(!answer.contains("announcement 1"), "{answer}");
}

#[test]
fn requests_that_come_in_one_piece_are_answered_one_after_the_other() {
    let leader = Leader::start(Limits::default());
    leader.announce(1, Duration::from_secs(30));
    let mut stream = leader.connect();
    let path = format!("/fleet/1/{PREFIX:016x}/announcement");
    write!(
        stream,
        "GET {path} HTTP/1.1\r\n\r\nGET {path} HTTP/1.1\r\nconnection: close\r\n\r\n"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert_eq!(answer.matches("announcement 1").count(), 2, "{answer}");
}

#[test]
fn fetches_of_large_files_are_spread_by_who_is_here_and_small_ones_are_not() {
    let leader = Leader::start(Limits {
        bandwidth: 1_000_000,
        ..Limits::default()
    });
    let held: Vec<_> = (0..9).map(|_| leader.connect()).collect();
    let counts = &leader.desk.counts;
    let spread = |bytes: u64, seq: u64| {
        // And nobody is there still from the time before.
        wait_until("they are there", || {
            counts.connections.load(Ordering::Relaxed) == held.len()
        });
        leader.desk.will_be_fetched(bytes);
        leader.announce(seq, Duration::from_secs(30));
        leader.news_after(NOTHING).unwrap().spread
    };
    assert_eq!(spread(64 << 10, 1), Duration::ZERO);
    // 100 kB for each of nine, at a megabyte a second.
    assert_eq!(spread(100_000, 2), Duration::from_millis(900));
    // Nobody waits longer than this, however much it is.
    assert_eq!(spread(u64::MAX, 3), Duration::from_secs(2));
}
