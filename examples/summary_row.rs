//! Employees and a row of their department that counts them, kept right by one transaction for both.
//!
//! Source: "Azure develop solution for Table Storage" (AZ-203), the employees of a department and its own row.
//!
//! `cargo run --example summary_row` runs on an emulator inside of this process. With
//! `AZURE_STORAGE_CONNECTION_STRING` it runs on that account.

#![expect(clippy::print_stdout, reason = "an example talks to a person")]

use std::error::Error;
use std::process::ExitCode;

use azure_table::{Guid, TableClient, TableEntity, TableOperation, TableServiceClient};
use azure_table_examples::{connect, finish, on_own_tables};
use azure_table_patterns::Fence;

#[derive(TableEntity)]
#[table(rename_all = "PascalCase", row_key = "{id:05}")]
struct Employee {
    #[table(partition_key)]
    department: String,
    id: u32,
    email: String,
}

/// The row of a department, beside its employees.
#[derive(TableEntity)]
#[table(rename_all = "PascalCase", row_key = "Department")]
struct Department {
    #[table(partition_key)]
    name: String,
    employee_count: u32,
    /// Identifies the stored write after a lost response.
    #[table(write_id)]
    last_write: Option<Guid>,
}

#[tokio::main]
async fn main() -> ExitCode {
    finish(run().await)
}

async fn run() -> Result<(), Box<dyn Error>> {
    on_own_tables(&connect()?, work).await
}

async fn work(service: &TableServiceClient) -> Result<(), Box<dyn Error>> {
    let staff = service.table::<Department>("Staff")?;
    staff.create_table().await?;
    let new = Department {
        name: "Marketing".into(),
        employee_count: 0,
        last_write: None,
    };
    let mut first = Fence::open(&staff, &new).await?;
    let mut second = Fence::open(&staff, &new).await?;

    // Both clerks have read a count of 0. One of them is rejected, reads the row again, and writes 2.
    let hired = tokio::join!(
        hire(&mut first, 1, "donh@contoso.com"),
        hire(&mut second, 2, "junc@contoso.com")
    );
    hired.0.and(hired.1)?;
    print("two clerks hire", &staff).await?;

    let taken = hire(&mut first, 2, "kenk@contoso.com").await;
    let error = taken.err().ok_or("two employees have one id")?;
    print(&format!("a taken id: {:?}", error.kind()), &staff).await?;

    leave(&mut second, 1).await?;
    print("one leaves", &staff).await
}

/// Inserts an employee and counts it. The closure runs again if another clerk was faster.
async fn hire(department: &mut Fence<Department>, id: u32, email: &str) -> azure_table::Result<()> {
    let hire = |row: &mut Department| {
        row.employee_count += 1;
        let (department, email) = (row.name.clone(), email.to_owned());
        let employee = Employee { department, id, email };
        Ok(vec![TableOperation::insert(&employee)])
    };
    department.transact(hire).await
}

async fn leave(department: &mut Fence<Department>, id: u32) -> azure_table::Result<()> {
    let leave = |row: &mut Department| {
        row.employee_count -= 1;
        Ok(vec![TableOperation::delete::<Employee>((&row.name, id))])
    };
    department.transact(leave).await
}

/// Prints the number of employees as the rows have it, and as the row of the department counts it.
async fn print(step: &str, staff: &TableClient<Department>) -> Result<(), Box<dyn Error>> {
    let employees = staff.typed::<Employee>().query().partition("Marketing");
    let rows = employees.without_row_keys("Department").count().await?;
    let department = staff.get(("Marketing",)).await?.ok_or("no such department")?;
    println!("{step:<26} employees {rows}, counted {}", department.employee_count);
    Ok(())
}
