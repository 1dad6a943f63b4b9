//! Feature `uuid-1`: `uuid::Uuid` from and to [`Guid`].

use uuid::Uuid;

use crate::value::guid::Guid;

impl From<Uuid> for Guid {
    fn from(id: Uuid) -> Self {
        Self(id.into_bytes())
    }
}

impl From<Guid> for Uuid {
    fn from(id: Guid) -> Self {
        Self::from_bytes(id.0)
    }
}
