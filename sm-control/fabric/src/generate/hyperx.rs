//! HyperX: switches in a grid, each joined with all others of its row in every dimension.
//!
//! One dimension is a full mesh, two of size 2 and more a flattened butterfly; all dimensions of size 2 are a
//! hypercube.
//!
//! Source: Ahn, Binkert, Davis, McLaren, Schreiber, HyperX: Topology, Routing, and Packaging of Efficient Large-Scale
//! Networks, 2009.

use super::wiring::{Wiring, ports};
use super::{GenerateError, need};

/// What to build.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HyperXSpec {
    /// Switches along each dimension.
    pub size: Vec<u8>,
    /// Hosts of a switch.
    pub hosts: u8,
    /// Cables between two switches of a row.
    pub parallel: u8,
}

/// Plans the grid. Errors: a number that fits none; more hosts than a subnet has LIDs.
pub fn hyperx(spec: &HyperXSpec) -> Result<Wiring, GenerateError> {
    need(!spec.size.is_empty(), "size", "at least one dimension")?;
    need(
        spec.size.iter().all(|size| *size > 0),
        "size",
        "numbers above 0",
    )?;
    need(spec.parallel > 0, "parallel", "at least 1")?;
    let links: usize = spec.size.iter().map(|size| usize::from(*size) - 1).sum();
    let needed = links * usize::from(spec.parallel) + usize::from(spec.hosts);
    let ports = ports(needed)?;
    // Too many are refused as they are added, at the first that has no LID.
    let count =
        (spec.size.iter()).fold(1_usize, |count, size| count.saturating_mul((*size).into()));
    let mut wiring = Wiring::new(title(spec));
    let switches: Vec<_> = (0..count)
        .map(|number| wiring.add_switch(format!("S{}", name(&spec.size, number)), ports))
        .collect::<Result<_, _>>()?;
    for (number, switch) in switches.iter().enumerate() {
        wiring.add_hosts(&name(&spec.size, number), *switch, spec.hosts)?;
        let mut stride = 1;
        for size in spec.size.iter().map(|size| usize::from(*size)) {
            let at = number / stride % size;
            // The others of the row that come behind it.
            for other in (at + 1..size).filter_map(|to| switches.get(number + (to - at) * stride)) {
                for _ in 0..spec.parallel {
                    wiring.connect(*switch, *other)?;
                }
            }
            stride *= size;
        }
    }
    Ok(wiring)
}

fn title(spec: &HyperXSpec) -> String {
    let size: Vec<_> = spec.size.iter().map(u8::to_string).collect();
    format!(
        "HyperX {}, {} hosts per switch, {} parallel",
        size.join(" x "),
        spec.hosts,
        spec.parallel
    )
}

/// Coordinates with `_` between them, the first dimension first.
fn name(size: &[u8], mut number: usize) -> String {
    let coordinates = size.iter().map(|size| {
        let at = number % usize::from(*size);
        number /= usize::from(*size);
        at.to_string()
    });
    coordinates.collect::<Vec<_>>().join("_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_a_full_mesh() {
        let spec = HyperXSpec {
            size: vec![4, 3],
            hosts: 2,
            parallel: 1,
        };
        // Three rows of 6 cables, four columns of 3.
        assert_eq!(hyperx(&spec).unwrap().counts(), [12, 3 * 6 + 4 * 3, 24]);
        let cube = HyperXSpec {
            size: vec![2; 5],
            hosts: 1,
            parallel: 2,
        };
        assert_eq!(hyperx(&cube).unwrap().counts(), [32, 2 * 80, 32]);
    }

    #[test]
    fn a_grid_beyond_a_subnet_is_refused_before_it_is_made() {
        let spec = HyperXSpec {
            size: vec![200; 9],
            hosts: 0,
            parallel: 1,
        };
        assert!(hyperx(&spec).is_err());
    }
}
