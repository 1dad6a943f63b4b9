//! [`Descending`] as a property: stored as its plain value, so that an index can reverse the order of its rows.

use azure_table_wire::error::ValueError;
use azure_table_wire::value::edm::{Edm, EdmType, WireValue};

use crate::entity::property::{Property, ReadProperty};
use crate::key::descending::{Descending, DescendingKey};

/// Stores the plain value. Filters compare it in its own order, as those of a key do.
impl<T: Property + DescendingKey> Property for Descending<T> {
    type Compared = Self;
    const EDM_TYPE: EdmType = T::EDM_TYPE;
    const SORTED: bool = <T as Property>::SORTED;

    fn to_edm(&self) -> Result<Option<Edm<'_>>, ValueError> {
        self.0.to_edm()
    }

    fn is_rounded(&self) -> bool {
        self.0.is_rounded()
    }
}

impl<T: ReadProperty> ReadProperty for Descending<T> {
    fn from_wire(value: WireValue<'_>) -> Result<Self, ValueError> {
        T::from_wire(value).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use azure_table_wire::value::datetime::DateTime;

    use super::*;
    use crate::entity::dynamic::DynamicEntity;
    use crate::entity::property::tests::stored;
    use crate::filter::column::Column;

    #[test]
    fn plain_value_is_stored_and_compared_in_its_own_order() {
        let time = DateTime::from_unix_seconds(0);
        assert_eq!(Descending(time).to_edm().unwrap(), Some(Edm::DateTime(time)));
        let read = Descending::<DateTime>::from_wire(stored(&time.to_string()));
        assert_eq!(read.unwrap(), Descending(time));
        assert_eq!(Option::<Descending<u32>>::absent(), Some(None));

        let changed = Column::<DynamicEntity, Option<Descending<DateTime>>>::property("Changed");
        let text = "Changed gt datetime'1970-01-01T00:00:00Z'";
        assert_eq!(changed.gt(time).to_string(), text);
        assert_eq!(changed.gt(Descending(time)).to_string(), text);
        // Between two steps of 100 ns.
        let system = SystemTime::UNIX_EPOCH + Duration::from_nanos(50);
        assert_eq!(changed.ge(system).to_string(), text);
        let stored_as_system = Column::<DynamicEntity, Descending<SystemTime>>::property("Changed");
        assert_eq!(stored_as_system.ge(system).to_string(), text);
    }
}
