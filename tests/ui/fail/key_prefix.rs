//! A prefix of a key starts at the first field, in the types of the fields.

use azure_table::{Key, Result, TableEntity};

#[derive(TableEntity)]
#[table(partition_key = "{state};{city}", row_key = "{number}")]
struct Order {
    state: String,
    city: String,
    number: u32,
}

fn prefixes() -> Result<()> {
    Key::<Order>::prefix(("WA", "Seattle"))?;
    Key::<Order>::prefix(("WA", 7))?;
    Key::<Order>::prefix("WA")?;
    Key::<Order>::prefix(("WA", "Seattle", 7, 8))?;
    Ok(())
}

fn main() {}
