//! A table has no schema: one department has developers and contractors, and each salary below 100,000 gets a raise.

use std::error::Error;

use azure_table::{Change, DynamicEntity, TableClient};
use azure_table_examples::steps::thousands;

use crate::{Employee, say};

/// Raises the department's salaries below 100,000. Only the salaries are read and merged.
pub(crate) async fn raise(staff: &TableClient<Employee>) -> Result<(), Box<dyn Error>> {
    let any = staff.typed::<DynamicEntity>();
    let mut contractor = DynamicEntity::new("Sales", "contractor_7");
    contractor.insert("Salary", 60_000_i64);
    contractor.insert("Agency", "Fabrikam");
    any.insert(&contractor).await?;

    let before = any.query().partition("Sales").all().await?;
    let report = any
        .update_where(
            any.query().partition("Sales").select_names(["Salary"]),
            |row| -> azure_table::Result<Change> {
                let salary: i64 = row.property("Salary")?;
                let raise = match salary {
                    ..50_000 => salary / 10,
                    50_000..100_000 => salary / 20,
                    _ => return Ok(Change::Keep),
                };
                row.insert("Salary", salary + raise);
                Ok(Change::Save)
            },
        )
        .await?;
    say("raise", format!("{report}"));
    println!("\n           row           before    after  other properties");
    for old in before {
        let new = any
            .get((&old.partition_key, &old.row_key))
            .await?
            .ok_or("the row is gone")?;
        let others: Vec<&str> = new
            .properties
            .keys()
            .map(String::as_str)
            .filter(|name| *name != "Salary")
            .collect();
        let (before, after): (i64, i64) = (old.property("Salary")?, new.property("Salary")?);
        let (before, after) = (thousands(before.unsigned_abs()), thousands(after.unsigned_abs()));
        println!(
            "           {:<12} {before:>7}  {after:>7}  {}",
            new.row_key,
            others.join(", ")
        );
    }
    Ok(())
}
