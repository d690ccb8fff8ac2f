//! A planned fabric as text: the net file, and the configuration of its torus.
//!
//! Both are texts that other programs read: ibsim and OpenSM take them as they are.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::{Coordinate, SWITCH_GUIDS, TorusPlan, neighbour, switch_name};

impl TorusPlan {
    /// The ibsim net file.
    ///
    /// Switches first, then hosts, with a blank line behind each node, without which ibsim skips
    /// what follows. A damaged plan's first line says what is missing.
    pub fn net(&self) -> String {
        // Sorted by port, as each switch has links that others planned.
        let mut wires: BTreeMap<Coordinate, BTreeMap<u8, String>> = BTreeMap::new();
        for link in &self.links {
            let ((from, near), (to, far)) = (link.from, link.to);
            let row = |port: u8, peer, peer_port| {
                format!("[{port}] \"{}\"[{peer_port}]", switch_name(peer))
            };
            wires
                .entry(from)
                .or_default()
                .insert(near, row(near, to, far));
            wires
                .entry(to)
                .or_default()
                .insert(far, row(far, from, near));
        }
        for host in &self.hosts {
            let row = format!("[{}] \"{}\"[1]", host.switch_port, host.name);
            wires
                .entry(host.coordinate)
                .or_default()
                .insert(host.switch_port, row);
        }
        let mut text = self.heading();
        for switch in &self.switches {
            let _ = writeln!(text, "switchguid=0x{:x}", switch.guid);
            let _ = writeln!(text, "Switch {} \"{}\"", self.spec.ports, switch.name);
            for row in wires
                .get(&switch.coordinate)
                .into_iter()
                .flat_map(BTreeMap::values)
            {
                text.push_str(row);
                text.push('\n');
            }
            text.push('\n');
        }
        for host in &self.hosts {
            let _ = writeln!(text, "caguid=0x{:x}\nHca 1 \"{}\"", host.guid, host.name);
            let peer = switch_name(host.coordinate);
            let _ = writeln!(text, "[1] \"{peer}\"[{}]\n", host.switch_port);
        }
        text
    }

    /// A comment that says what was asked for.
    fn heading(&self) -> String {
        let spec = &self.spec;
        let [x, y, z] = spec.size;
        let mut text = format!("# torus {x} x {y} x {z}, {} hosts per switch", spec.hosts);
        for at in &spec.without_switches {
            let _ = write!(text, ", without {}", switch_name(*at));
        }
        for (at, axis) in &spec.without_links {
            let _ = write!(
                text,
                ", without {}:+{}",
                switch_name(*at),
                ["x", "y", "z"][*axis]
            );
        }
        text.push('\n');
        text
    }

    /// The matching `torus-2QoS.conf`.
    ///
    /// ```text
    /// torus 4t 4t 2m
    /// xp_link 0x200000 0x200001
    /// xm_link 0x200000 0x200003
    /// ...
    /// ```
    ///
    /// The keyword says torus unless every axis is open; `t` and `m` behind a size say whether its
    /// ring is closed. A damaged seed link is still named.
    pub fn torus_conf(&self) -> String {
        let spec = &self.spec;
        let open = (0..3).all(|axis| spec.size[axis] == 1 || spec.is_open(axis));
        let mut text = String::from(if open { "mesh" } else { "torus" });
        for axis in 0..3 {
            let suffix = match spec.size[axis] {
                1 => "",
                _ if spec.is_open(axis) => "m",
                _ => "t",
            };
            let _ = write!(text, " {}{suffix}", spec.size[axis]);
        }
        text.push('\n');
        for axis in (0..3).filter(|axis| spec.size[*axis] > 1) {
            self.seed_lines(axis, &mut text);
        }
        text
    }

    /// The dateline is moved so that it lies at coordinate 0 of the plan, wherever the seed is.
    fn seed_lines(&self, axis: usize, text: &mut String) {
        let spec = &self.spec;
        let name = ["x", "y", "z"][axis];
        let plus = neighbour(spec, spec.origin, axis, true);
        let minus = neighbour(spec, spec.origin, axis, false);
        let origin = self.guid(spec.origin);
        // A ring of four is itself a face, so both directions must be told apart.
        let ring_of_four = spec.size[axis] == 4 && !spec.is_open(axis);
        if let Some(to) = plus {
            let _ = writeln!(text, "{name}p_link 0x{origin:x} 0x{:x}", self.guid(to));
        }
        if let Some(to) = minus
            && (ring_of_four || plus.is_none())
        {
            let _ = writeln!(text, "{name}m_link 0x{origin:x} 0x{:x}", self.guid(to));
        }
        if spec.origin[axis] != 0 {
            let _ = writeln!(text, "{name}_dateline -{}", spec.origin[axis]);
        }
    }

    /// By place, whether the switch is left out or not.
    fn guid(&self, at: Coordinate) -> u64 {
        let [x, y, z] = at.map(u64::from);
        let [sx, sy, _] = self.spec.size.map(u64::from);
        SWITCH_GUIDS + x + sx * (y + sy * z)
    }
}
