//! Axes, directions and coordinates of a torus.
//!
//! Plain arithmetic on rings, in one place because three parties must agree on it to the bit: the
//! engine that chooses the way round, the SL that says whether a dateline is crossed, and the proof
//! that takes neither on trust.
//!
//! The one rule with a tie in it: from `s` to `d` on a ring of `n`, with `k = |s - d|`, the way
//! that does not cross the dateline is taken if `k <= n - k`.
//!
//! ```text
//! ring of 6   0 1 2 3 4 5 (0)      0 to 3: k = 3 = 6 - 3, the tie goes 0 1 2 3
//!                                  1 to 5: k = 4 > 2, over the dateline: 1 0 5, SL bit 1
//! ```

use std::fmt;

/// One of the three axes. In the order in which paths use them.
/// An axis of radix 1 exists as a value, with rings of a single switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Axis {
    /// Paths go along it first.
    X,
    /// Paths go along it after x.
    Y,
    /// Paths go along it last.
    Z,
}

impl Axis {
    /// All axes in the order in which paths use them.
    pub const ALL: [Self; 3] = [Self::X, Self::Y, Self::Z];

    /// Its place in arrays of three.
    /// 0 for x; the same number is the bit of the axis in an SL.
    pub const fn index(self) -> usize {
        self as usize
    }

    /// x, y or z.
    pub const fn letter(self) -> char {
        match self {
            Self::X => 'x',
            Self::Y => 'y',
            Self::Z => 'z',
        }
    }

    /// The direction towards higher coordinates.
    pub const fn plus(self) -> Direction {
        Direction {
            axis: self,
            sign: Sign::Plus,
        }
    }

    /// The direction towards lower coordinates.
    pub const fn minus(self) -> Direction {
        Direction {
            axis: self,
            sign: Sign::Minus,
        }
    }
}

impl fmt::Display for Axis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.letter())
    }
}

/// Up or down an axis.
/// The order matters: as a number it is the lower bit of a port group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Sign {
    /// Towards lower coordinates.
    Minus,
    /// Towards higher coordinates.
    Plus,
}

/// A way to leave a switch within the torus.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Direction {
    /// The axis along which it leads.
    pub axis: Axis,
    /// Up or down that axis.
    pub sign: Sign,
}

impl Direction {
    /// -x, +x, -y, +y, -z, +z: by group number.
    /// Opposite directions differ in the lowest bit of the group, which callers use (`group ^ 1`).
    pub const ALL: [Self; 6] = [
        Axis::X.minus(),
        Axis::X.plus(),
        Axis::Y.minus(),
        Axis::Y.plus(),
        Axis::Z.minus(),
        Axis::Z.plus(),
    ];

    /// Number of the port group: 2 x axis, plus 1 for the plus direction.
    pub const fn group(self) -> u8 {
        2 * (self.axis as u8) + self.sign as u8
    }

    /// The direction that leads back.
    #[must_use]
    pub const fn opposite(self) -> Self {
        let sign = match self.sign {
            Sign::Minus => Sign::Plus,
            Sign::Plus => Sign::Minus,
        };
        Self {
            axis: self.axis,
            sign,
        }
    }
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = match self.sign {
            Sign::Minus => '-',
            Sign::Plus => '+',
        };
        write!(f, "{sign}{}", self.axis)
    }
}

/// A place in a torus.
/// Always below the radices of the shape it belongs to; nothing checks that, so coordinates of one
/// torus are not handed to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Coordinate(pub [u8; 3]);

impl Coordinate {
    /// Position along one axis.
    pub const fn on(self, axis: Axis) -> u8 {
        self.0[axis as usize]
    }

    /// The same place but for the position along one axis.
    #[must_use]
    pub const fn with(mut self, axis: Axis, position: u8) -> Self {
        self.0[axis as usize] = position;
        self
    }
}

impl fmt::Display for Coordinate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [x, y, z] = self.0;
        write!(f, "{x},{y},{z}")
    }
}

/// Switches around each ring, and which rings are open.
/// Six bytes, copied freely.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Shape: x, y, z, each at least 1.
    /// 255 at most, since a coordinate is a byte.
    pub radix: [u8; 3],
    /// Axes that are open lines.
    /// Arithmetic still wraps round on them. Cables tell what is there.
    pub mesh: [bool; 3],
}

impl Shape {
    /// Length of the rings of an axis.
    pub const fn radix_of(&self, axis: Axis) -> u8 {
        self.radix[axis as usize]
    }

    /// True when an axis is an open line.
    pub const fn is_mesh(&self, axis: Axis) -> bool {
        self.mesh[axis as usize]
    }

    /// How many places there are.
    pub fn places(&self) -> usize {
        self.radix.iter().map(|radix| usize::from(*radix)).product()
    }

    /// Number of a place, x innermost.
    /// Below [`Self::places`]; the order in which OpenSM dumps a torus.
    pub fn place(&self, at: Coordinate) -> usize {
        let [x, y, z] = at.0.map(usize::from);
        let [width, depth, _] = self.radix.map(usize::from);
        x + width * (y + depth * z)
    }

    /// Every place, z outermost.
    pub fn coordinates(&self) -> impl Iterator<Item = Coordinate> + use<> {
        let [width, depth, height] = self.radix;
        (0..height).flat_map(move |z| {
            (0..depth).flat_map(move |y| (0..width).map(move |x| Coordinate([x, y, z])))
        })
    }

    /// The place some steps away, around the ends.
    /// On a mesh, too: who must not step over an open end asks [`Self::is_mesh`] first.
    #[must_use]
    pub fn offset(&self, at: Coordinate, steps: [i32; 3]) -> Coordinate {
        let mut place = at.0;
        for (axis, position) in place.iter_mut().enumerate() {
            let moved = i32::from(*position) + steps[axis];
            // The remainder of a negative number has to be positive here, unlike with `%`.
            let wrapped = moved.rem_euclid(i32::from(self.radix[axis]));
            // Below the radix, hence in range.
            *position = u8::try_from(wrapped).unwrap_or(0);
        }
        Coordinate(place)
    }

    /// The neighbouring place, around the ends.
    /// On an axis of radix 1 a place is its own neighbour, on one of radix 2 both ways lead to the
    /// same.
    #[must_use]
    pub fn neighbour(&self, at: Coordinate, direction: Direction) -> Coordinate {
        let mut steps = [0; 3];
        steps[direction.axis.index()] = match direction.sign {
            Sign::Minus => -1,
            Sign::Plus => 1,
        };
        self.offset(at, steps)
    }

    /// The shorter way round from one position of a ring to another; a tie goes the way that does
    /// not pass coordinate 0. None when they are the same.
    /// Source: OpenSM `osm_torus.c` (`ring_dir_idx`).
    pub fn shorter_way(&self, axis: Axis, from: u8, to: u8) -> Option<Direction> {
        if from == to {
            return None;
        }
        let is_direct = !self.crosses_dateline(axis, from, to);
        // Direct means up exactly if the destination is higher; round the dateline it is the other
        // way.
        let sign = if (to > from) == is_direct {
            Sign::Plus
        } else {
            Sign::Minus
        };
        Some(Direction { axis, sign })
    }

    /// True when the shorter way round passes coordinate 0. Says nothing about links and open
    /// rings: SLs must not depend on them.
    /// Source: OpenSM `osm_torus.c` (`use_vl1`).
    pub fn crosses_dateline(&self, axis: Axis, from: u8, to: u8) -> bool {
        // Strictly more: in the tie the direct way is taken, which does not cross.
        let direct = from.abs_diff(to);
        direct > self.radix_of(axis) - direct
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [x, y, z] = self.radix;
        let kind = if self.mesh == [true; 3] {
            "mesh"
        } else {
            "torus"
        };
        write!(f, "{x} x {y} x {z} {kind}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: Shape = Shape {
        radix: [6, 5, 1],
        mesh: [false; 3],
    };

    #[test]
    fn ties_never_cross_the_dateline() {
        assert_eq!(SHAPE.shorter_way(Axis::X, 1, 4), Some(Axis::X.plus()));
        assert_eq!(SHAPE.shorter_way(Axis::X, 4, 1), Some(Axis::X.minus()));
        assert_eq!(SHAPE.shorter_way(Axis::X, 5, 1), Some(Axis::X.plus()));
        assert_eq!(SHAPE.shorter_way(Axis::Y, 0, 3), Some(Axis::Y.minus()));
        assert_eq!(SHAPE.shorter_way(Axis::Y, 2, 2), None);
        assert!(!SHAPE.crosses_dateline(Axis::X, 0, 3) && SHAPE.crosses_dateline(Axis::X, 0, 4));
    }

    #[test]
    fn places_count_x_first() {
        let places: Vec<_> = SHAPE.coordinates().map(|at| SHAPE.place(at)).collect();
        assert_eq!(places, (0..30).collect::<Vec<_>>());
        let corner = Coordinate([0, 4, 0]);
        assert_eq!(SHAPE.offset(corner, [-1, 2, 7]), Coordinate([5, 1, 0]));
    }

    #[test]
    fn groups_number_directions() {
        for (group, direction) in (0..).zip(Direction::ALL) {
            assert_eq!(direction.group(), group);
            assert_eq!(direction.opposite().group(), group ^ 1);
        }
    }
}
