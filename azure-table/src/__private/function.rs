//! The functions that attributes name: the function in `upgrade`, and the items of the module in `with`.
//!
//! A direct call of an item of a module would be checked by its types alone, and the compiler could only report the
//! type that it found. The function is therefore wrapped, and derived code calls a method of the wrapper. If the
//! function fits, this is the method of [`Named`] or [`Lent`]. Otherwise the method search continues along `Deref`,
//! past functions that fit the contents of an `Option`, to [`Unfit`]. Its method has a bound that no type meets, and
//! the error for that bound shows what to write.

use std::any::type_name;
use std::cell::RefCell;
use std::marker::PhantomData;
use std::ops::Deref;

use azure_table_wire::error::{Error, Result, ValueError};
use azure_table_wire::value::edm::{Edm, EdmType, WireValue};

use crate::entity::dynamic::DynamicEntity;
use crate::entity::property_writer::PropertyWriter;
use crate::entity::row::{Row, RowProperty};
use crate::entity::table_entity::ReadEntity;
use crate::filter::rejected::Rejected;

/// The names of the properties that an upgrade removed from its row.
pub type Removed = Vec<String>;

thread_local! {
    /// The types whose `upgrade` runs on this thread.
    static UPGRADING: RefCell<Vec<&'static str>> = const { RefCell::new(Vec::new()) };
}

/// Marks an `upgrade` as running while this value exists.
struct Upgrading;

impl Upgrading {
    /// Returns `None` if the `upgrade` of this type runs already.
    fn of<T>() -> Option<Self> {
        UPGRADING.with_borrow_mut(|running| {
            let name = type_name::<T>();
            let is_new = !running.contains(&name);
            is_new.then(|| {
                running.push(name);
                Self
            })
        })
    }
}

impl Drop for Upgrading {
    fn drop(&mut self) {
        UPGRADING.with_borrow_mut(Vec::pop);
    }
}

/// Reads a row. A row that does not fit the current struct is passed to the `upgrade` of older rows.
///
/// An `upgrade` that reads its row as the current struct gets the error of the row: it would call itself without end.
pub fn upgraded<T, X: Into<Box<dyn std::error::Error + Send + Sync>>>(
    row: &Row<'_>,
    read: impl FnOnce(&Row<'_>) -> Result<T>,
    upgrade: impl Fn(&mut DynamicEntity) -> std::result::Result<T, X>,
    removed: &mut Removed,
) -> Result<T> {
    read(row).or_else(|first| {
        let Some(_running) = Upgrading::of::<T>() else {
            return Err(first);
        };
        let mut old = DynamicEntity::read(row)?;
        let upgraded = upgrade(&mut old).map_err(|second| {
            let second = second.into();
            Error::invalid_response(format!("{first}; as an older row: {second}")).with_source(second)
        })?;
        let names = row.properties().iter().map(RowProperty::name);
        removed.extend(names.filter(|name| old.get(name).is_none()).map(str::to_owned));
        Ok(upgraded)
    })
}

/// A function for a field of type `T`.
#[derive(Debug)]
pub struct Named<F, T> {
    function: OfOption<F, T>,
}

/// A function that does not fit `T`, but may fit the contents of an `Option`.
#[derive(Debug)]
pub struct OfOption<F, T> {
    function: F,
    unfit: Unfit<F, T>,
}

/// A function that does not fit `T`.
#[derive(Debug)]
pub struct Unfit<F, T> {
    kind: PhantomData<fn() -> (F, T)>,
}

impl<F, T> Unfit<F, T> {
    const NEW: Self = Self { kind: PhantomData };
}

impl<F, T> Named<F, T> {
    /// Wraps the function.
    pub const fn new(function: F) -> Self {
        let unfit = Unfit::NEW;
        Self {
            function: OfOption { function, unfit },
        }
    }
}

impl<F, T> Deref for Named<F, T> {
    type Target = OfOption<F, T>;

    fn deref(&self) -> &OfOption<F, T> {
        &self.function
    }
}

impl<F, T> Deref for OfOption<F, T> {
    type Target = Unfit<F, T>;

    fn deref(&self) -> &Unfit<F, T> {
        &self.unfit
    }
}

impl<F: Fn(WireValue<'_>) -> std::result::Result<T, ValueError>, T> Named<F, T> {
    /// Reads a property with `from_wire`.
    pub fn call_from_wire(&self, property: &RowProperty<'_>) -> Result<T> {
        property.convert(&self.function.function)
    }
}

impl<F: Fn(WireValue<'_>) -> std::result::Result<T, ValueError>, T> OfOption<F, Option<T>> {
    /// Reads a present property with the `from_wire` for the contents of the `Option`.
    pub fn call_from_wire(&self, property: &RowProperty<'_>) -> Result<Option<T>> {
        property.convert(&self.function).map(Some)
    }
}

impl<T> Named<EdmType, T> {
    /// Returns `EDM_TYPE`, an item of the module that is not a function.
    pub const fn edm_type(self) -> EdmType {
        self.function.function
    }
}

/// The function `to_edm`, and the field that it is called with. As in a plain call, the function may also take a
/// reference to the target of the field's `Deref`, `&str` for a `String`, or to the slice of an array. If none of these
/// fits an `Option`, the same steps apply to its contents. Each is a step of the method search, and `N` the next one.
#[derive(Debug)]
pub struct Lent<'v, F, T, N> {
    function: F,
    value: &'v T,
    next: N,
}

type Whole<'v, F, T> = Lent<'v, F, T, Target<'v, F, T>>;
type Target<'v, F, T> = Lent<'v, F, T, Slice<'v, F, T>>;
type Slice<'v, F, T> = Lent<'v, F, T, Held<'v, F, T>>;
type Held<'v, F, T> = Lent<'v, F, T, HeldTarget<'v, F, T>>;
type HeldTarget<'v, F, T> = Lent<'v, F, T, HeldSlice<'v, F, T>>;
type HeldSlice<'v, F, T> = Lent<'v, F, T, Unfit<F, T>>;

/// Wraps the function and the field.
pub const fn lend<F: Copy, T>(function: F, value: &T) -> Whole<'_, F, T> {
    let next = Unfit::NEW;
    let next = Lent { function, value, next };
    let next = Lent { function, value, next };
    let next = Lent { function, value, next };
    let next = Lent { function, value, next };
    let next = Lent { function, value, next };
    Lent { function, value, next }
}

impl<F, T, N> Deref for Lent<'_, F, T, N> {
    type Target = N;

    fn deref(&self) -> &N {
        &self.next
    }
}

impl<'v, F: Fn(&'v T) -> G, T, G> Whole<'v, F, T> {
    /// Returns the result of the function.
    pub fn call_to_edm(&self) -> G {
        (self.function)(self.value)
    }
}

impl<'v, F: Fn(&'v T::Target) -> G, T: Deref, G> Target<'v, F, T> {
    /// Returns the result of the function.
    pub fn call_to_edm(&self) -> G {
        (self.function)(self.value)
    }
}

impl<'v, F: Fn(&'v [T]) -> G, T, G, const N: usize> Slice<'v, F, [T; N]> {
    /// Returns the result of the function.
    pub fn call_to_edm(&self) -> G {
        (self.function)(self.value)
    }
}

impl<'v, F: Fn(&'v T) -> G, T, G> Held<'v, F, Option<T>> {
    /// Returns the result of the function.
    pub fn call_to_edm(&self) -> Option<G> {
        self.value.as_ref().map(&self.function)
    }
}

impl<'v, F: Fn(&'v T::Target) -> G, T: Deref, G> HeldTarget<'v, F, Option<T>> {
    /// Returns the result of the function.
    pub fn call_to_edm(&self) -> Option<G> {
        self.value.as_ref().map(|value| (self.function)(value))
    }
}

impl<'v, F: Fn(&'v [T]) -> G, T, G, const N: usize> HeldSlice<'v, F, Option<[T; N]>> {
    /// Returns the result of the function.
    pub fn call_to_edm(&self) -> Option<G> {
        self.value.as_ref().map(|value| (self.function)(value))
    }
}

/// The result of `to_edm`.
#[diagnostic::on_unimplemented(
    message = "`to_edm` of the module in #[table(with = \"…\")] returns `{Self}`, which is not the value of a property",
    label = "expected `Result<Option<Edm<'_>>, ValueError>`",
    note = "write `pub fn to_edm(value: &Type) -> Result<Option<Edm<'_>>, ValueError>`; `None` is not stored"
)]
pub trait Converted {
    /// Writes the value.
    fn write(self, properties: &mut PropertyWriter<'_>, name: &str) -> Result<()>;
}

impl Converted for std::result::Result<Option<Edm<'_>>, ValueError> {
    fn write(self, properties: &mut PropertyWriter<'_>, name: &str) -> Result<()> {
        properties.converted(name, self)
    }
}

/// `None` means an absent property.
impl<T: Converted> Converted for Option<T> {
    fn write(self, properties: &mut PropertyWriter<'_>, name: &str) -> Result<()> {
        self.map_or(Ok(()), |value| value.write(properties, name))
    }
}

/// The value of an absent property for a field of type `T`, which need not be a property type: `None` for an `Option`.
#[derive(Debug)]
pub struct WhenAbsent<T>(Required<T>);

/// A type that has no value for an absent property.
#[derive(Debug)]
pub struct Required<T>(PhantomData<fn() -> T>);

impl<T> WhenAbsent<T> {
    /// The only value.
    pub const NEW: Self = Self(Required(PhantomData));
}

impl<T> Deref for WhenAbsent<T> {
    type Target = Required<T>;

    fn deref(&self) -> &Required<T> {
        &self.0
    }
}

impl<T> WhenAbsent<Option<T>> {
    /// Returns the value of the field.
    pub const fn value(&self) -> Option<Option<T>> {
        Some(None)
    }
}

impl<T> Required<T> {
    /// Returns no value.
    pub const fn value(&self) -> Option<T> {
        None
    }
}

/// Implemented by no type.
#[diagnostic::on_unimplemented(
    message = "the module in #[table(with = \"…\")] has no `to_edm`, `from_wire` or `EDM_TYPE` for a field of type `{T}`",
    label = "found `{Self}`",
    note = "write `pub fn to_edm(value: &{T}) -> Result<Option<Edm<'_>>, ValueError>`, \
            `pub fn from_wire(value: WireValue<'_>) -> Result<{T}, ValueError>` and `pub const EDM_TYPE: EdmType = EdmType::String;`, \
            or give the field the type that the module is for"
)]
pub trait Converts<T>: Rejected {}

// Calls of these methods do not compile.
impl<F, T> Unfit<F, T> {
    /// Replaces the method of [`Named`].
    pub fn call_from_wire(&self, _: &RowProperty<'_>) -> Result<T>
    where
        F: Converts<T>,
    {
        F::rejected()
    }

    /// Replaces the method of [`Named`].
    pub fn edm_type(&self) -> EdmType
    where
        F: Converts<T>,
    {
        F::rejected()
    }

    /// Replaces the methods of [`Lent`].
    pub fn call_to_edm(&self) -> std::result::Result<Option<Edm<'static>>, ValueError>
    where
        F: Converts<T>,
    {
        F::rejected()
    }
}

/// Replacements for missing items of a module. Derived code imports them in a block around the one in which it imports
/// the module, so that the names of the module hide these.
#[expect(non_upper_case_globals, reason = "they have the names of functions")]
pub mod lacking {
    use super::Nothing;

    /// A missing function.
    pub const to_edm: Nothing = Nothing;
    /// A missing function.
    pub const from_wire: Nothing = Nothing;
    /// A missing constant.
    pub const EDM_TYPE: Nothing = Nothing;
}

/// A missing item.
#[derive(Clone, Copy, Debug)]
pub struct Nothing;
