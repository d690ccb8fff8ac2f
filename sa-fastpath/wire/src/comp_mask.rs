//! What all component masks do.
//!
//! One macro instead of a trait, so that masks can be put together in constants:
//! `PathCompMask::MTU_PAIR` and the like are known when this is compiled. Bits that no constant
//! names may be set by clients; nobody looks at them.
//!
//! A pair of components is asked with `has_all`: `has` would be true for half of it.

/// Gives a newtype over the 64 bits of a component mask its operations.
macro_rules! comp_mask {
    ($name:ident) => {
        impl $name {
            /// True when any of these bits is set; meant for single components.
            pub const fn has(self, bits: Self) -> bool {
                self.0 & bits.0 != 0
            }

            /// True when all of these bits are set.
            pub const fn has_all(self, bits: Self) -> bool {
                self.0 & bits.0 == bits.0
            }

            /// The bits of both.
            #[must_use]
            pub const fn union(self, other: Self) -> Self {
                Self(self.0 | other.0)
            }
        }

        impl core::ops::BitOr for $name {
            type Output = Self;

            fn bitor(self, other: Self) -> Self {
                self.union(other)
            }
        }
    };
}

pub(crate) use comp_mask;
