//! Path lengths as a plot: how many pairs of hosts have paths of how many links.

use sa_plot::{Axis, Line, Names, Panel, Picture};

use crate::hops::NONE;

/// Pairs of different hosts by the links of their path; those without a path are told in the title.
pub(crate) fn svg(matrix: &[u8], of: &str) -> String {
    let mut pairs = [0_u32; 256];
    for links in matrix {
        if let Some(count) = pairs.get_mut(usize::from(*links)) {
            *count += 1;
        }
    }
    let lost = pairs.last().copied().unwrap_or(0);
    let longest = (1..NONE).rev().find(|links| count(&pairs, *links) > 0);
    let longest = longest.unwrap_or(1);
    let points: Vec<(f64, f64)> = (1..=longest)
        .map(|links| (f64::from(links), f64::from(count(&pairs, links))))
        .collect();
    let end = f64::from(longest) + 1.0;
    let lines = vec![Line::new("pairs of hosts", points)];
    let panel = Panel::new(Axis::steps(0.0, end, 1.0), lines);
    let title = match lost {
        0 => format!("Path lengths: {of}"),
        lost => format!("Path lengths: {of}; {lost} pairs have no path"),
    };
    let picture = Picture {
        title,
        x_label: "links",
        y_label: "pairs of hosts",
        panels: vec![panel],
        panel_width: 580.0,
        names: Names::AtLineEnds,
    };
    picture.svg()
}

fn count(pairs: &[u32; 256], links: u8) -> u32 {
    pairs.get(usize::from(links)).copied().unwrap_or(0)
}
