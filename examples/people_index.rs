//! People of tenants, found by mail address and in order of their first day, with declared indexes.
//!
//! The index rows of an entity are written in its transaction. The table was there before the indexes, so they are
//! built first. At the end, a script writes the table without them, and `verify` finds what `repair` has to write.
//!
//! `cargo run --example people_index` runs on an emulator inside of this process. With
//! `AZURE_STORAGE_CONNECTION_STRING` it runs on that account.

#![expect(clippy::print_stdout, reason = "an example talks to a person")]

use std::process::ExitCode;

use azure_table::{DateTime, TableClient, TableEntity, TableServiceClient};
use azure_table_examples::{Done, connect, finish, on_own_tables};
use azure_table_patterns::Indexed;

#[derive(TableEntity, Clone)]
#[table(index(by_mail = (mail), unique))]
#[table(index(by_joined = (department, joined), covers))]
struct Person {
    #[table(partition_key)]
    tenant: String,
    #[table(row_key)]
    id: u32,
    mail: String,
    department: String,
    joined: DateTime,
}

fn person(tenant: &str, id: u32, mail: &str, department: &str, joined: &str) -> Done<Person> {
    let [tenant, mail, department] = [tenant, mail, department].map(str::to_owned);
    let joined = format!("{joined}T00:00:00Z").parse()?;
    Ok(Person {
        tenant,
        id,
        mail,
        department,
        joined,
    })
}

#[tokio::main]
async fn main() -> ExitCode {
    finish(run().await)
}

async fn run() -> Done<()> {
    on_own_tables(&connect()?, work).await
}

async fn work(service: &TableServiceClient) -> Done<()> {
    let table = service.table::<Person>("People")?;
    table.create_table().await?;
    // Stored by the version of the service that declared no index.
    table
        .insert(&person("contoso", 1, "ada@x", "sales", "2021-03-01")?)
        .await?;
    table
        .insert(&person("contoso", 2, "bob@x", "sales", "2019-07-15")?)
        .await?;
    table
        .insert(&person("contoso", 3, "ada@x", "law", "2020-01-02")?)
        .await?;

    let people = Indexed::open(&table).await?;
    build(&people).await?;
    change(&people).await?;
    mend(&table, &people).await
}

/// Builds both indexes. Two people share a mail address, so the unique one needs two builds.
async fn build(people: &Indexed<Person>) -> Done<()> {
    let built = people.build(Person::BY_MAIL).await?;
    println!("build by_mail      {} indexed, taken: {:?}", built.indexed, built.taken);
    people
        .modify(("contoso", 3), |person| person.mail = "cid@x".into())
        .await?;
    let built = people.build(Person::BY_MAIL).await?;
    println!("build by_mail      {} indexed, taken: {:?}", built.indexed, built.taken);
    let built = people.build(Person::BY_JOINED).await?;
    println!("build by_joined    {} indexed", built.indexed);
    Ok(())
}

/// Hires people and moves one to another department.
async fn change(people: &Indexed<Person>) -> Done<()> {
    let eve = person("contoso", 4, "bob@x", "sales", "2018-11-05")?;
    let error = people.insert(&eve).await.err().ok_or("two people have one address")?;
    println!(
        "insert             {:?} in {:?}",
        error.kind(),
        Indexed::<Person>::taken(&error)
    );
    let mail = "eve@x".to_owned();
    people.insert(&Person { mail, ..eve.clone() }).await?;
    // In another tenant, so in another partition, the address is free.
    let tenant = "fabrikam".to_owned();
    people.insert(&Person { tenant, ..eve }).await?;

    list("in sales", people, "sales").await?;
    people
        .modify(("contoso", 3), |person| person.department = "sales".into())
        .await?;
    list("3 moves to sales", people, "sales").await?;
    people.delete(("contoso", 1)).await?;
    list("1 leaves", people, "sales").await?;
    let found = people.by(Person::BY_MAIL, ("contoso", "eve@x"))?.first().await?;
    println!("eve@x              {:?}", found.map(|person| person.id));
    Ok(())
}

/// A script writes the table as if it had no indexes. Then the index rows are repaired.
async fn mend(table: &TableClient<Person>, people: &Indexed<Person>) -> Done<()> {
    table
        .insert(&person("contoso", 5, "fay@x", "sales", "2022-02-01")?)
        .await?;
    table.delete(("contoso", 2)).await?;
    list("a script writes", people, "sales").await?;
    let found = people.verify().await?;
    println!("verify             {} faults", found.faults.len());
    for fault in &found.faults {
        println!("  {fault}");
    }
    println!("repair             {} index rows", people.repair(&found).await?);
    people.verify().await?.ensure_none()?;
    list("in sales", people, "sales").await
}

/// Prints a department, first the person who joined first. The rows of this index are whole: no further reads.
async fn list(step: &str, people: &Indexed<Person>, department: &str) -> Done<()> {
    let found = people.by(Person::BY_JOINED, ("contoso", department))?.all().await?;
    let joined: Vec<String> = found
        .iter()
        .map(|person| {
            format!(
                "{} since {}",
                person.id,
                person.joined.to_string().split('T').next().unwrap_or("")
            )
        })
        .collect();
    println!("{step:<18} {}", joined.join(", "));
    Ok(())
}
