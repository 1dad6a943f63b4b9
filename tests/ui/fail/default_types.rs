//! Defaults of missing properties, of other types than their fields.

use azure_table::TableEntity;

struct Level(i32);

fn text() -> String {
    String::new()
}

#[derive(TableEntity)]
struct Page {
    #[table(partition_key)]
    site: String,
    #[table(row_key)]
    slug: String,
    #[table(default = "text")]
    rating: i32,
    #[table(default = "Level")]
    views: i64,
    #[table(default, with = "levels")]
    level: Level,
}

mod levels {
    use azure_table::{Edm, EdmType, ValueError};
    use azure_table::entity::WireValue;

    use super::Level;

    pub(super) const EDM_TYPE: EdmType = EdmType::Int32;

    pub(super) fn to_edm(level: &Level) -> Result<Option<Edm<'_>>, ValueError> {
        Ok(Some(Edm::Int32(level.0)))
    }

    pub(super) fn from_wire(value: WireValue<'_>) -> Result<Level, ValueError> {
        value.as_i32().map(Level)
    }
}

fn main() {}
