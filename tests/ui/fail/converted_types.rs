//! `json`, `with` and `chunked` on types that do not support them.

use azure_table::TableEntity;

struct Opaque;

mod seconds {
    use std::time::Duration;

    use azure_table::{Edm, EdmType, ValueError};
    use azure_table::entity::WireValue;

    pub(super) const EDM_TYPE: EdmType = EdmType::Int64;

    pub(super) fn to_edm(value: &Duration) -> Result<Option<Edm<'_>>, ValueError> {
        Ok(Some(Edm::Int64(value.as_secs() as i64)))
    }

    pub(super) fn from_wire(value: WireValue<'_>) -> Result<Duration, ValueError> {
        Ok(Duration::from_secs(value.as_i64()? as u64))
    }
}

mod half {
    pub(super) const EDM_TYPE: &str = "Edm.Int64";
}

mod typeless {
    use azure_table::{Edm, ValueError};
    use azure_table::entity::WireValue;

    pub(super) fn to_edm(value: &i64) -> Result<Edm<'static>, ValueError> {
        Ok(Edm::Int64(*value))
    }

    pub(super) fn from_wire(value: WireValue<'_>) -> Result<i64, ValueError> {
        value.as_i64()
    }
}

#[derive(TableEntity)]
struct Blog {
    #[table(partition_key)]
    channel: String,
    #[table(row_key)]
    slug: String,
    #[table(json)]
    opaque: Opaque,
    #[table(chunked)]
    number: i32,
    #[table(with = "seconds")]
    time: i64,
    #[table(with = "half")]
    pause: i64,
    #[table(with = "typeless")]
    length: i64,
}

fn main() {}
