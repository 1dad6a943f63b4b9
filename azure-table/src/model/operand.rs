//! What may stand where a value of a field is asked for: in a key tuple and in a filter.

use crate::model::key::Descending;

/// `Self` can be given where a `T` is asked for: the `T` itself, a reference to it, `&str` for a `String`, and for
/// `Descending<T>` simply the `T`.
#[diagnostic::on_unimplemented(
    message = "a field of type `{T}` is never given as `{Self}`",
    label = "expected `{T}` or a reference to it",
    note = "a `Descending<T>` is also given as `T`, a `String` as `&str`, an `Option<T>` as `T`"
)]
pub trait Operand<T> {
    /// The value of the field's own type.
    fn into_operand(self) -> T;
}

impl<T> Operand<T> for T {
    fn into_operand(self) -> T {
        self
    }
}

impl<T: Clone> Operand<T> for &T {
    fn into_operand(self) -> T {
        self.clone()
    }
}

impl<T> Operand<Descending<T>> for T {
    fn into_operand(self) -> Descending<T> {
        Descending(self)
    }
}

impl Operand<String> for &str {
    fn into_operand(self) -> String {
        self.to_owned()
    }
}

impl Operand<Vec<u8>> for &[u8] {
    fn into_operand(self) -> Vec<u8> {
        self.to_vec()
    }
}
