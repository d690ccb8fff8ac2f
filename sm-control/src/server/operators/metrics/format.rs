//! The two text formats of a page, and who gets which.
//!
//! ```text
//!  Accept: application/openmetrics-text;q=0.6, text/plain;q=0.3 ─> OpenMetrics 1.0   a Prometheus that is not older than 2018
//!  Accept: text/plain, */*, or none                             ─> text 0.0.4        curl, promtool, agents that know no other
//! ```
//!
//! The library writes OpenMetrics. The older format differs in three lines of what is used here: a
//! counter's family has `_total` in its name, there is no unit, and no end is marked.

/// A text format of metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::server) enum Format {
    /// OpenMetrics 1.0.
    OpenMetrics,
    /// The text format of Prometheus, 0.0.4.
    Plain,
}

impl Format {
    /// What a client with these `Accept` headers gets. One that takes both equally gets
    /// OpenMetrics; who says nothing, or nothing that is known here, the older one, which all read.
    pub(in crate::server) fn accepted<'a>(accept: impl Iterator<Item = &'a str>) -> Self {
        let (mut open, mut plain) = (0.0, 0.0);
        for range in accept.flat_map(|line| line.split(',')) {
            let mut parts = range.split(';').map(str::trim);
            let quality = |part: &str| part.strip_prefix("q=")?.parse::<f32>().ok();
            let wanted = match parts.next().map(str::to_ascii_lowercase).as_deref() {
                Some("application/openmetrics-text") => &mut open,
                Some("text/plain") => &mut plain,
                _ => continue,
            };
            let quality = parts.find_map(quality).unwrap_or(1.0);
            *wanted = quality.max(*wanted);
        }
        match open > 0.0 && open >= plain {
            true => Self::OpenMetrics,
            false => Self::Plain,
        }
    }

    /// As HTTP says it.
    pub(in crate::server) const fn content_type(self) -> &'static str {
        match self {
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Self::Plain => "text/plain; version=0.0.4; charset=utf-8",
        }
    }

    /// A page of OpenMetrics in this format.
    pub(super) fn written(self, page: String) -> String {
        match self {
            Self::OpenMetrics => page,
            Self::Plain => plain(&page),
        }
    }
}

/// In the format 0.0.4.
fn plain(page: &str) -> String {
    let mut text = String::with_capacity(page.len());
    // Of a family the help comes first, and only its type says what its name is.
    let mut help = None;
    for line in page.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            help = rest.split_once(' ');
        } else if let Some((name, kind)) = of_type(line) {
            let suffix = if kind == "counter" { "_total" } else { "" };
            if let Some((_, words)) = help.take() {
                text += &format!("# HELP {name}{suffix} {words}\n");
            }
            text += &format!("# TYPE {name}{suffix} {kind}\n");
        } else if !line.starts_with('#') {
            text += line;
            text.push('\n');
        }
    }
    text
}

/// `# TYPE NAME KIND`.
fn of_type(line: &str) -> Option<(&str, &str)> {
    line.strip_prefix("# TYPE ")?.split_once(' ')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_asks_for_it_gets_openmetrics() {
        let of = |accept: &[&str]| Format::accepted(accept.iter().copied());
        let prometheus = "application/openmetrics-text;version=1.0.0;q=0.5,\
                          application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2";
        assert_eq!(of(&[prometheus]), Format::OpenMetrics);
        assert_eq!(of(&["Application/OpenMetrics-Text"]), Format::OpenMetrics);
        assert_eq!(
            of(&["text/plain;q=0.5", "application/openmetrics-text; q=0.5"]),
            Format::OpenMetrics
        );
        for plain in [
            &[][..],
            &["*/*"],
            &["text/plain"],
            &["application/openmetrics-text;q=0"],
            &["application/openmetrics-text;q=0.1,text/plain;q=0.9"],
            &["application/json, ;;,"],
        ] {
            assert_eq!(of(plain), Format::Plain, "{plain:?}");
        }
    }

    #[test]
    fn the_older_format_names_counters_in_full_and_marks_no_end() {
        let page = "# HELP s_drops Requests without a reply.\n# TYPE s_drops counter\ns_drops_total{port=\"0\"} 3\n\
                    # HELP s_up Seconds.\n# TYPE s_up gauge\n# UNIT s_up seconds\ns_up 1.5\n# EOF\n";
        let text = "# HELP s_drops_total Requests without a reply.\n# TYPE s_drops_total counter\ns_drops_total{port=\"0\"} 3\n\
                    # HELP s_up Seconds.\n# TYPE s_up gauge\ns_up 1.5\n";
        assert_eq!(Format::Plain.written(page.to_owned()), text);
        assert_eq!(Format::OpenMetrics.written(page.to_owned()), page);
    }
}
