//! What a request asks for: a component mask, and a record of which the components count whose bits
//! are set.
//!
//! Components are named, not numbered: the layouts in `sa_wire::records` have for each attribute a
//! table of names, places and bits, and everything here goes by it. A request for links from LID 5,
//! port 3:
//!
//! ```text
//!  mask 0b0011   FromLID 5   FromPort 3   ToPort 0   ToLID 0
//!  wanted("from_lid") = Some(5)   wanted("to_lid") = None   raw("to_lid") = 0
//! ```

use sa_wire::records::{Field, Layout};
use sa_wire::sa::SaMad;

/// A request: its component mask and its record. A view of the MAD, made for each walk.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Query<'a> {
    layout: Option<Layout>,
    mask: u64,
    data: &'a [u8],
    /// AttributeModifier; only its highest bit means something here.
    modifier: u32,
    /// It came with the SA's key. A wrong key has been sorted out before.
    pub(crate) is_trusted: bool,
}

impl<'a> Query<'a> {
    /// Reads nothing yet: components are taken from the MAD when they are asked for.
    pub(crate) fn new(mad: &'a SaMad) -> Self {
        Self {
            layout: Layout::of(mad.attribute_id()),
            mask: mad.sa.component_mask.get(),
            data: &mad.data,
            modifier: mad.mad.attribute_modifier.get(),
            is_trusted: mad.sa.sm_key.get() != 0,
        }
    }

    /// A component's number, if the mask asks for it.
    pub(crate) fn wanted(&self, name: &str) -> Option<u64> {
        let field = self.field(name)?;
        (self.mask & field.mask() != 0).then(|| field.value(self.data))
    }

    /// A component's number, whatever the mask: OpenSM reads some without asking whether they
    /// count.
    pub(crate) fn raw(&self, name: &str) -> u64 {
        self.field(name).map_or(0, |field| field.value(self.data))
    }

    /// True when one of these bits of the mask is set.
    pub(crate) const fn has(&self, components: u64) -> bool {
        self.mask & components != 0
    }

    /// Single bits of capability masks are to be matched (bit 31 of the attribute modifier).
    pub(crate) const fn matches_bits(&self) -> bool {
        self.modifier >> 31 == 1
    }

    /// True when a record has what is asked for, by the components that `counts` says are looked
    /// at, each compared for equality.
    pub(crate) fn agrees(&self, record: &[u8], counts: impl Fn(&Field) -> bool) -> bool {
        let mut asked = self.asked().filter(|field| counts(field));
        asked.all(|field| field.agrees(self.data, record))
    }

    /// The request's record.
    pub(crate) const fn data(&self) -> &'a [u8] {
        self.data
    }

    /// The components that the mask asks for.
    fn asked(&self) -> impl Iterator<Item = &'static Field> + use<> {
        let mask = self.mask;
        let fields = self.layout.map_or(&[][..], |layout| layout.fields);
        fields.iter().filter(move |field| mask & field.mask() != 0)
    }

    /// A component by its name; none where the attribute has none such.
    fn field(&self, name: &str) -> Option<&'static Field> {
        self.layout?.field(name)
    }
}
