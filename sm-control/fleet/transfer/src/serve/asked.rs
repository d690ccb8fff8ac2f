//! What a request is for.

use sa_fleet::identity::Position;

use super::head::Head;
use super::reply::{METHOD_NOT_ALLOWED, NOT_FOUND, Refusal};
use crate::shelf::Item;

/// A request that is understood.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// What is newer than that, of a subnet.
    News {
        /// GID prefix of the subnet.
        prefix: u64,
        /// Zeros: whatever there is.
        after: Position,
    },
    /// Bytes.
    Item(Item),
    /// The root file of this version, with its signatures.
    Root(u32),
}

/// Before all paths; the number is raised where old followers would not understand.
const ROOT: &str = "/fleet/1/";

impl Asked {
    /// Errors: what to answer instead.
    pub(super) fn of(head: &Head) -> Result<Self, Refusal> {
        let (path, query) = match head.target.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (head.target.as_str(), None),
        };
        let asked = path
            .strip_prefix(ROOT)
            .and_then(|rest| Self::of_path(rest, query));
        let asked = asked.ok_or(Refusal {
            status: NOT_FOUND,
            words: "here are /fleet/1/PREFIX/announcement?after=ERA.TERM.SEQ.BEAT, /fleet/1/blob/DIGEST[.zst] and /fleet/1/root/VERSION
",
        })?;
        match head.is_get {
            true => Ok(asked),
            false => Err(Refusal {
                status: METHOD_NOT_ALLOWED,
                words: "only GET is answered here
",
            }),
        }
    }

    fn of_path(rest: &str, query: Option<&str>) -> Option<Self> {
        if let Some(name) = rest.strip_prefix("blob/") {
            return Item::of_path(name).map(Self::Item);
        }
        if let Some(version) = rest.strip_prefix("root/") {
            let is_number = version.bytes().all(|byte| byte.is_ascii_digit());
            return version.parse().ok().filter(|_| is_number).map(Self::Root);
        }
        let prefix = rest.strip_suffix("/announcement")?;
        let is_hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        if prefix.len() != 16 || !prefix.bytes().all(is_hex) {
            return None;
        }
        let after = match query {
            None => Position::default(),
            Some(query) => query.strip_prefix("after=")?.parse().ok()?,
        };
        Some(Self::News {
            prefix: u64::from_str_radix(prefix, 16).ok()?,
            after,
        })
    }
}

#[cfg(test)]
mod tests {
    use sa_fleet::identity::Issue;

    use super::*;
    use crate::packed::digest;

    fn of(is_get: bool, target: &str) -> Result<Asked, u16> {
        let head = Head {
            target: target.to_owned(),
            is_get,
            ..Head::default()
        };
        Asked::of(&head).map_err(|refusal| refusal.status.0)
    }

    #[test]
    fn what_can_be_asked_is_understood() {
        let prefix = 0xfe80_0000_0000_0000;
        let news = |after| Ok(Asked::News { prefix, after });
        assert_eq!(
            of(true, "/fleet/1/fe80000000000000/announcement"),
            news(Position::default())
        );
        let issue = Issue {
            era: 1,
            term: 2,
            seq: 3,
        };
        let after = Position { issue, beat: 4 };
        assert_eq!(
            of(true, "/fleet/1/fe80000000000000/announcement?after=1.2.3.4"),
            news(after)
        );
        let (one, two) = (digest(b"1"), digest(b"2"));
        assert_eq!(
            of(true, &format!("/fleet/1/blob/{one}")),
            Ok(Asked::Item(Item::Blob(one)))
        );
        assert_eq!(
            of(true, &format!("/fleet/1/blob/{one}.zst")),
            Ok(Asked::Item(Item::Packed(one)))
        );
        assert_eq!(of(true, "/fleet/1/root/7"), Ok(Asked::Root(7)));
        let patch = Item::Patch { to: one, from: two };
        assert_eq!(
            of(true, &format!("/fleet/1/blob/{one}.from.{two}.patch")),
            Ok(Asked::Item(patch))
        );
    }

    #[test]
    fn nothing_else_is() {
        let one = digest(b"1");
        for path in [
            "/".to_owned(),
            "/fleet/2/fe80000000000000/announcement".to_owned(),
            "/fleet/1/fe80/announcement".to_owned(),
            "/fleet/1/root/".to_owned(),
            "/fleet/1/root/+7".to_owned(),
            "/fleet/1/root/4294967296".to_owned(),
            "/fleet/1/FE80000000000000/announcement".to_owned(),
            "/fleet/1/+e80000000000000/announcement".to_owned(),
            "/fleet/1/fe80000000000000/announcement?after=1.2.3".to_owned(),
            "/fleet/1/fe80000000000000/announcement?before=1.2.3.4".to_owned(),
            format!("/fleet/1/blob/{one}.gz"),
            format!("/fleet/1/blob/../{one}"),
            format!("/fleet/1/blob/{one}.blob"),
        ] {
            assert_eq!(of(true, &path), Err(404), "{path}");
        }
        let blob = format!("/fleet/1/blob/{one}");
        assert_eq!(of(false, &blob), Err(405));
    }
}
