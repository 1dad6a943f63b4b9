//! Feature `uuid-1`: `uuid::Uuid` as property, part of a key and operand, from and to [`Guid`].

use azure_table_wire::error::ValueError;
use azure_table_wire::value::edm::{Edm, EdmType, WireValue};
use azure_table_wire::value::guid::Guid;
use uuid::Uuid;

use crate::entity::property::{Property, ReadProperty};
use crate::key::operand::Operand;
use crate::key::table_key::{ReadTableKey, TableKey};

impl Property for Uuid {
    type Compared = Self;
    const EDM_TYPE: EdmType = EdmType::Guid;

    fn to_edm(&self) -> Result<Option<Edm<'_>>, ValueError> {
        Ok(Some(Edm::Guid((*self).into())))
    }
}

impl ReadProperty for Uuid {
    fn from_wire(value: WireValue<'_>) -> Result<Self, ValueError> {
        value.as_guid().map(Self::from)
    }
}

/// The text of [`Guid`].
impl TableKey for Uuid {
    fn write_key(&self, text: &mut String) -> Result<(), ValueError> {
        Guid::from(*self).write_key(text)
    }
}

impl ReadTableKey for Uuid {
    fn read_key(text: &str) -> Result<Self, ValueError> {
        Guid::read_key(text).map(Self::from)
    }
}

#[diagnostic::do_not_recommend]
impl Operand<Guid> for Uuid {
    fn into_operand(self) -> Result<Guid, ValueError> {
        Ok(self.into())
    }
}

#[diagnostic::do_not_recommend]
impl Operand<Uuid> for Guid {
    fn into_operand(self) -> Result<Uuid, ValueError> {
        Ok(self.into())
    }
}

#[cfg(test)]
mod tests {
    use azure_table_wire::value::edm::Token;

    use super::*;
    use crate::key::table_key::key_text;

    #[test]
    fn a_uuid_is_a_guid_of_the_same_text() {
        let text = "c9da6455-213d-42c9-9a79-3e9149a57833";
        let uuid: Uuid = text.parse().unwrap();
        let guid: Guid = text.parse().unwrap();
        assert_eq!(Guid::from(uuid), guid);
        assert_eq!(Uuid::from(guid), uuid);
        assert_eq!(uuid.to_edm().unwrap(), Some(Edm::Guid(guid)));
        let wire = WireValue {
            annotation: None,
            token: Token::Text(text),
        };
        assert_eq!(Uuid::from_wire(wire).unwrap(), uuid);
        assert_eq!(key_text(&uuid), text);
        assert_eq!(Uuid::read_key(text).unwrap(), uuid);
        let back: Uuid = Operand::<Uuid>::into_operand(Operand::<Guid>::into_operand(uuid).unwrap()).unwrap();
        assert_eq!(back, uuid);
    }
}
