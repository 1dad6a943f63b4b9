//! Every operation once, in the order of the Java post, and a raise for a whole department.
//!
//! Source: "Windows Azure Storage Client for Java Tables Deep Dive" (2012) with its sample `TableBasics`.
//!
//! `cargo run --example table_basics` runs on an emulator inside of this process. With
//! `AZURE_STORAGE_CONNECTION_STRING` it runs on that account.

#![expect(clippy::print_stdout, reason = "an example talks to a person")]

mod any_kind;

use std::error::Error;
use std::process::ExitCode;

use azure_table::{Projection, TableEntity, TableServiceClient};
use azure_table_examples::steps::thousands;
use azure_table_examples::{connect, finish, on_own_tables};

#[derive(TableEntity, Clone, Debug)]
#[table(rename_all = "PascalCase")]
struct Employee {
    #[table(partition_key)]
    department: String,
    #[table(row_key)]
    id: u32,
    name: String,
    email: String,
    phone: Option<String>,
    salary: i64,
}

/// The columns of an employee that a phone list needs.
#[derive(Projection)]
#[table(of = Employee)]
struct Contact {
    name: String,
    phone: Option<String>,
}

#[tokio::main]
async fn main() -> ExitCode {
    finish(run().await)
}

async fn run() -> Result<(), Box<dyn Error>> {
    on_own_tables(&connect()?, work).await
}

async fn work(service: &TableServiceClient) -> Result<(), Box<dyn Error>> {
    let staff = service.table::<Employee>("Employees")?;
    staff.create_table().await?;
    say("create", "table Employees");

    staff.insert(&employee(1, "Walter Harp", 45_000)).await?;
    say("insert", "Walter Harp under the key (\"Sales\", 1)");

    let mut walter = staff.get(("Sales", 1)).versioned().await?.ok_or("no such employee")?;
    say("retrieve", format!("{}, version {}", walter.name, walter.etag));

    // A replace writes the whole row, and only over the version that was read. `save` keeps the new ETag.
    walter.phone = Some("425-555-0101".into());
    staff.save(&mut walter).await?;
    say(
        "replace",
        format!("the phone is {}", walter.phone.as_deref().unwrap_or("unknown")),
    );

    // A merge leaves what it does not name: `None` is not sent, so the phone stays.
    staff.merge(&employee(1, "Walter Harp", 48_000)).await?;
    staff
        .patch(("Sales", 1), [Employee::EMAIL.set("harp@contoso.com")])
        .await?;
    let walter = staff.get(("Sales", 1)).await?.ok_or("no such employee")?;
    let phone = walter.phone.as_deref().unwrap_or("unknown");
    say(
        "merge",
        format!(
            "{} earns {}, phone {phone}",
            walter.email,
            thousands(walter.salary.unsigned_abs())
        ),
    );

    staff.insert_or_replace(&employee(2, "Jeff Smith", 70_000)).await?;
    staff.insert_or_merge(&employee(2, "Jeff A. Smith", 70_000)).await?;
    say("upsert", "Jeff Smith was inserted, then merged");

    let mut batch = staff.batch();
    batch.insert(&employee(3, "Ben Smith", 120_000))?;
    batch.insert(&employee(4, "Kim Abercrombie", 30_000))?;
    batch.patch(("Sales", 2), [Employee::PHONE.set("425-555-0104")])?;
    let results = batch.submit().await?;
    say("batch", format!("{} operations, all or none", results.len()));

    let below = staff.query().partition("Sales").filter(Employee::SALARY.lt(100_000));
    say(
        "query",
        format!("{} employees below 100,000", below.clone().count().await?),
    );
    for contact in below.clone().project::<Contact>().all().await? {
        say(
            "project",
            format!("{:<16} {}", contact.name, contact.phone.unwrap_or("unknown".into())),
        );
    }
    let columns = below.clone().select((Employee::NAME, Employee::EMAIL)).first().await?;
    let (name, email) = columns.ok_or("no row was selected")?;
    say("select", format!("{name}, {email}"));
    let lines = below.resolve(|row| Ok(format!("{} has {} properties", row.row_key()?, row.properties().len())));
    say("resolve", lines.all().await?.join(", "));

    staff.delete(("Sales", 4)).await?;
    say(
        "delete",
        format!("Kim Abercrombie exists: {}", staff.exists(("Sales", 4)).await?),
    );

    any_kind::raise(&staff).await
}

fn employee(id: u32, name: &str, salary: i64) -> Employee {
    Employee {
        department: "Sales".into(),
        id,
        name: name.into(),
        email: format!("{id}@contoso.com"),
        phone: None,
        salary,
    }
}

fn say(step: &str, what: impl std::fmt::Display) {
    println!("{step:<10} {what}");
}
