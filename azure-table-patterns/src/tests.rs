//! Declared indexes on the emulator: their mends of stored rows, and what they do in an outage.

mod contention;
mod reads;
mod releases;
mod repairs;
mod rows;
mod versions;
mod writes;

use azure_table::{DynamicEntity, Emulator, Result, TableClient, TableEntity, TableServiceClient};

use crate::Indexed;

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(index(by_mail = (mail), unique), index(by_name = (name)), index(by_team = (team), covers))]
struct Person {
    #[table(partition_key)]
    tenant: String,
    #[table(row_key)]
    id: u32,
    mail: String,
    name: String,
    team: String,
}

fn person(id: u32, name: &str) -> Person {
    let [tenant, name, team] = ["t", name, "law"].map(str::to_owned);
    let mail = format!("{id}@x");
    Person {
        tenant,
        id,
        mail,
        name,
        team,
    }
}

/// Opens the table `People` of a service, and builds its indexes.
async fn open(service: &TableServiceClient) -> Result<(TableClient<Person>, Indexed<Person>)> {
    let table = service.table::<Person>("People")?;
    table.create_table_if_not_exists().await?;
    let people = Indexed::open(&table).await?;
    people.build(Person::BY_MAIL).await?.ensure_none_taken()?;
    people.build(Person::BY_NAME).await?.ensure_none_taken()?;
    people.build(Person::BY_TEAM).await?.ensure_none_taken()?;
    Ok((table, people))
}

/// Returns a table with the entities 1 to `entities`.
async fn with(service: &TableServiceClient, entities: u32) -> Result<(TableClient<Person>, Indexed<Person>)> {
    let (table, people) = open(service).await?;
    for id in 1..=entities {
        people.insert(&person(id, "Ada")).await?;
    }
    Ok((table, people))
}

fn emulated() -> TableServiceClient {
    TableServiceClient::from_transport(Emulator::new())
}

/// Returns the entities and index rows of a partition.
async fn stored<E: TableEntity>(table: &TableClient<E>) -> Result<Vec<DynamicEntity>> {
    table.typed::<DynamicEntity>().query().partition("t").all().await
}
