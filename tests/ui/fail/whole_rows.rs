//! `extra`, `deny_unknown_properties`, `upgrade` and `write_id`.

use std::collections::{BTreeMap, HashMap};

use azure_table::{DynamicEntity, EdmValue, Guid, TableEntity};

#[derive(TableEntity)]
#[table(deny_unknown_properties)]
struct Contradicting {
    #[table(partition_key)]
    channel: String,
    #[table(row_key)]
    slug: String,
    #[table(extra)]
    extra: BTreeMap<String, EdmValue>,
    #[table(extra)]
    more: BTreeMap<String, EdmValue>,
    #[table(write_id)]
    first: Option<Guid>,
    #[table(write_id)]
    second: Option<Guid>,
}

#[derive(TableEntity)]
#[table(upgrade = "from_old")]
struct Borrowed<'a> {
    #[table(partition_key)]
    channel: &'a str,
    #[table(row_key)]
    slug: &'a str,
}

#[derive(TableEntity)]
struct OfWrongTypes {
    #[table(partition_key)]
    channel: String,
    #[table(row_key)]
    slug: String,
    #[table(extra)]
    extra: HashMap<String, EdmValue>,
    #[table(write_id)]
    id: Guid,
}

#[derive(TableEntity)]
#[table(upgrade = "from_old")]
struct Upgraded {
    #[table(partition_key)]
    channel: String,
    #[table(row_key)]
    slug: String,
}

fn from_old(_: &mut DynamicEntity) -> Upgraded {
    loop {}
}

fn main() {}
