//! What derived code calls of the module that #[table(with = …)] names.
//!
//! Owns the forms of its two functions, as traits that say what to write, and what stands for a function that it lacks.

use crate::model::edm::{Edm, WireValue};
use crate::model::error::{Result, ValueError};
use crate::model::property_writer::PropertyWriter;
use crate::model::row::RowProperty;

/// The type of a field that is read from what `from_wire` gives.
#[diagnostic::on_unimplemented(
    message = "`from_wire` of the module in `with` gives `{G}`, and not a field of type `{Self}`",
    label = "expected `Result<{Self}, ValueError>`",
    note = "write `pub fn from_wire(value: WireValue<'_>) -> Result<{Self}, ValueError>`, or give the field the type that \
            the module is for"
)]
pub trait ConvertedFrom<G> {
    /// What was read.
    fn converted(given: G) -> std::result::Result<Self, ValueError>
    where
        Self: Sized;
}

impl<T> ConvertedFrom<std::result::Result<T, ValueError>> for T {
    fn converted(given: std::result::Result<T, ValueError>) -> std::result::Result<T, ValueError> {
        given
    }
}

/// Reads a property by a conversion of its own, for `with` and `json`.
pub fn convert<T: ConvertedFrom<G>, G>(
    property: &RowProperty<'_>,
    convert: impl FnOnce(WireValue<'_>) -> G,
) -> Result<T> {
    property.convert(|value| T::converted(convert(value)))
}

/// What `to_edm` gives.
#[diagnostic::on_unimplemented(
    message = "`to_edm` of the module in `with` gives `{Self}`, which is no property",
    label = "expected `Result<Option<Edm<'_>>, ValueError>`",
    note = "write `pub fn to_edm(value: &Type) -> Result<Option<Edm<'_>>, ValueError>`; `None` is not stored"
)]
pub trait Converted {
    /// Writes it.
    fn write(self, properties: &mut PropertyWriter<'_>, name: &str) -> Result<()>;
}

impl Converted for std::result::Result<Option<Edm<'_>>, ValueError> {
    fn write(self, properties: &mut PropertyWriter<'_>, name: &str) -> Result<()> {
        properties.converted(name, self)
    }
}

/// What stands for what a module lacks. Derived code imports it in a block around the one in which it imports the module:
/// there the names of the module hide these.
pub mod lacking {
    use super::{Edm, WireValue};
    use crate::model::error::ValueError;

    /// Implemented by nothing.
    #[diagnostic::on_unimplemented(
        message = "the module in `with` has no function `to_edm` for a field of type `{Self}`",
        label = "no `to_edm` that can be seen from here",
        note = "write in it `pub fn to_edm(value: &{Self}) -> Result<Option<Edm<'_>>, ValueError>`"
    )]
    pub trait ToEdm: Sized {
        /// What would come of it.
        fn to_edm(&self) -> Result<Option<Edm<'_>>, ValueError>;
    }

    /// Implemented by nothing.
    #[diagnostic::on_unimplemented(
        message = "the module in `with` has no function `from_wire` for a field of type `{Self}`",
        label = "no `from_wire` that can be seen from here",
        note = "write in it `pub fn from_wire(value: WireValue<'_>) -> Result<{Self}, ValueError>`"
    )]
    pub trait FromWire: Sized {
        /// What would come of it.
        fn from_wire(value: WireValue<'_>) -> Result<Self, ValueError>;
    }

    /// The function of the module.
    pub fn to_edm<T: ToEdm>(value: &T) -> Result<Option<Edm<'_>>, ValueError> {
        value.to_edm()
    }

    /// The function of the module.
    pub fn from_wire<T: FromWire>(value: WireValue<'_>) -> Result<T, ValueError> {
        T::from_wire(value)
    }
}
