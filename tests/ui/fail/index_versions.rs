//! The ETags of entities, by an index that covers them.

use azure_table::{Result, TableEntity};
use azure_table_patterns::Indexed;

#[derive(Clone, TableEntity)]
#[table(index(by_team = (team), covers))]
struct Person {
    #[table(partition_key)]
    tenant: String,
    #[table(row_key)]
    id: u32,
    team: String,
}

fn law(people: &Indexed<Person>) -> Result<()> {
    let _ = people.by(Person::BY_TEAM, ("t", "law"))?.versioned();
    Ok(())
}

fn main() {
    std::hint::black_box(law as fn(&Indexed<Person>) -> Result<()>);
}
