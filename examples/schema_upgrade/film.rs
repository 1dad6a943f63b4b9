//! A film in both versions, and the upgrade from one to the other.

use azure_table::{DynamicEntity, Result, TableEntity};

/// The version of the rows that this program writes.
pub(crate) const VERSION: i32 = 2;

/// The first version of the program.
#[derive(TableEntity, Clone)]
pub(crate) struct FilmV1 {
    #[table(partition_key)]
    pub(crate) genre: String,
    #[table(row_key)]
    pub(crate) title: String,
    pub(crate) version: i32,
    pub(crate) stars: i32,
    pub(crate) euros: f64,
}

/// The present version. A row of the first one lacks `cents`, so it is given to `upgrade`.
#[derive(TableEntity, Debug)]
#[table(upgrade = "upgrade")]
pub(crate) struct Film {
    #[table(partition_key)]
    pub(crate) genre: String,
    #[table(row_key)]
    pub(crate) title: String,
    pub(crate) version: i32,
    /// Renamed: it was `stars`.
    #[table(alias = "stars")]
    pub(crate) rating: i32,
    /// Of another type: it was `euros`, a double.
    pub(crate) cents: i64,
    /// Added.
    #[table(default = "english")]
    pub(crate) language: String,
}

fn english() -> String {
    "en".into()
}

/// Selects the steps by the version of the row. A later version adds its own.
fn upgrade(row: &mut DynamicEntity) -> Result<Film> {
    let version: i32 = row.property("version")?;
    if version < 2 {
        // `upgrade_where` then removes this property from the stored row.
        let euros: f64 = row.take_property("euros")?;
        row.insert("cents", (euros * 100.0).round() as i64);
    }
    row.insert("version", VERSION);
    row.to_entity()
}
