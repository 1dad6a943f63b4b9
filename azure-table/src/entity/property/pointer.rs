//! References and boxes: stored as the values that they point to.
//!
//! `&str` and `&[u8]` are written by the impl for `&T`. A reference cannot be read. A box of a sized type can, and
//! `Box<str>` has its reader in `text.rs`.

use azure_table_wire::error::ValueError;
use azure_table_wire::value::edm::{Edm, EdmType, WireValue};

use crate::entity::property::{Property, ReadProperty};

impl<T: Property + ?Sized> Property for &T {
    type Compared = T::Compared;
    const EDM_TYPE: EdmType = T::EDM_TYPE;
    const SORTED: bool = T::SORTED;

    fn to_edm(&self) -> Result<Option<Edm<'_>>, ValueError> {
        T::to_edm(self)
    }
}

impl<T: Property + ?Sized> Property for Box<T> {
    type Compared = T::Compared;
    const EDM_TYPE: EdmType = T::EDM_TYPE;
    const SORTED: bool = T::SORTED;

    fn to_edm(&self) -> Result<Option<Edm<'_>>, ValueError> {
        T::to_edm(self)
    }
}

impl<T: ReadProperty> ReadProperty for Box<T> {
    fn from_wire(value: WireValue<'_>) -> Result<Self, ValueError> {
        T::from_wire(value).map(Self::new)
    }

    fn absent() -> Option<Self> {
        T::absent().map(Self::new)
    }
}

#[cfg(test)]
mod tests {
    use azure_table_wire::value::edm::Token;

    use super::*;

    #[test]
    fn pointer_is_stored_as_the_value_that_it_points_to() {
        assert_eq!(<&i32>::to_edm(&&7).unwrap(), Some(Edm::Int32(7)));
        assert_eq!(Box::new(7_i64).to_edm().unwrap(), Some(Edm::Int64(7)));
        assert_eq!(Box::<Option<bool>>::absent(), Some(Box::new(None)));
        assert_eq!(Box::<bool>::absent(), None);
        let value = WireValue {
            annotation: None,
            token: Token::Number("7"),
        };
        assert_eq!(*Box::<u8>::from_wire(value).unwrap(), 7);
        assert_eq!(<&str as Property>::EDM_TYPE, EdmType::String);
    }
}
