//! Updates over a projection: its columns are merged under the ETag that was read, and nothing else.

use azure_table::testing::Spy;
use azure_table::{
    Change, DynamicEntity, EdmValue, Error, ErrorKind, Projection, TableClient, TableEntity, TableOperation, Versioned,
};
use azure_table_tests::errors::{assert_contains, assert_error};

/// Inserts five employees.
async fn fill(employees: &TableClient<Employee>) {
    for id in 0..5 {
        let employee = Employee {
            department: "Sales".into(),
            id,
            name: format!("Ada {id}"),
            salary: 100.0,
            bonus: Some(i64::from(id)),
        };
        employees.insert(&employee).await.unwrap();
    }
}

async fn salaries(employees: &TableClient<Employee>) -> Vec<f64> {
    let rows = employees.query().all().await.unwrap();
    rows.iter().map(|row| row.salary).collect()
}

#[derive(TableEntity, Debug, Clone, PartialEq)]
#[table(row_key = "e-{id:02}")]
struct Employee {
    #[table(partition_key)]
    department: String,
    id: u32,
    name: String,
    #[table(rename = "Salary")]
    salary: f64,
    bonus: Option<i64>,
}

/// Reads both keys: one by its column, one from its template.
#[derive(Projection, Debug)]
#[table(of = Employee)]
struct Pay {
    department: String,
    #[table(row_key)]
    number: u32,
    salary: f64,
    bonus: Option<i64>,
    #[table(ignore)]
    note: String,
}

#[derive(Projection, Debug)]
#[table(of = Employee)]
struct Place {
    department: String,
}

#[azure_table::test]
async fn update_where_merges_the_columns_of_a_projection_alone(employees: TableClient<Employee>, spy: Spy) {
    fill(&employees).await;
    let sales = || employees.query().partition("Sales").project::<Pay>();
    let raise = |pay: &mut Pay| {
        assert!(pay.note.is_empty());
        if pay.number == 3 {
            return Change::Keep;
        }
        pay.salary *= 1.5;
        Change::Save
    };
    let report = employees.update_where(sales(), raise).await.unwrap();
    assert_eq!((report.applied(), report.unchanged()), (4, 1));

    let batch = spy.last().unwrap().body().into_owned();
    assert_eq!(batch.matches("PATCH ").count(), 4, "{batch}");
    assert_eq!(batch.matches("If-Match: W/").count(), 4, "{batch}");
    let keys = r#""PartitionKey":"Sales","RowKey":"e-04""#;
    let columns = r#""Salary@odata.type":"Edm.Double","Salary":150.0,"bonus@odata.type":"Edm.Int64","bonus":"4""#;
    assert_contains(&batch, &format!("{{{keys},{columns}}}"));

    assert_eq!(salaries(&employees).await, [150.0, 150.0, 150.0, 100.0, 150.0]);
    for row in employees.query().all().await.unwrap() {
        assert!(
            row.name == format!("Ada {}", row.id) && row.bonus == Some(row.id.into()),
            "{row:?}"
        );
    }
    assert_eq!(employees.update_where(sales(), raise).atomic().await.unwrap(), 4);
}

/// A merge cannot remove a property, and keys are read only.
#[azure_table::test]
async fn projection_that_would_lose_something_is_an_error(employees: TableClient<Employee>) {
    fill(&employees).await;
    let sales = || employees.query().partition("Sales").project::<Pay>();
    let report = employees.update_where(sales(), |pay| pay.bonus = None).await.unwrap();
    assert_eq!((report.applied(), report.rejected()), (0, 5));
    let error = report.ensure_no_leftovers().unwrap_err();
    assert_eq!(error.entity(), Some(("Sales", "e-00")));
    assert_contains(&error, "property `bonus`: an update of some columns cannot remove it");

    let moves: [fn(&mut Pay); 2] = [|pay| pay.number += 1, |pay| pay.department.push('2')];
    for change in moves {
        let error = Error::from(employees.update_where(sales(), change).await.unwrap_err());
        assert_error(&error, ErrorKind::InvalidInput, "the closure changed the entity's key");
    }
    // The row has nothing that this projection writes.
    let places = employees.query().partition("Sales").project::<Place>();
    let report = employees.update_where(places, |_| ()).await.unwrap();
    assert_eq!((report.applied(), report.unchanged()), (0, 5));
}

#[azure_table::test]
async fn assignments_of_a_projection_patch_single_rows_batches_and_bulks(employees: TableClient<Employee>) {
    fill(&employees).await;
    let key = ("Sales", 1);
    let read: Option<Versioned<Pay>> = employees.get(key).project::<Pay>().versioned().await.unwrap();
    let mut pay = read.unwrap();
    pay.salary += 1.0;
    pay.bonus = None;
    let columns: Vec<String> = pay.assignments().iter().map(ToString::to_string).collect();
    assert_eq!(columns, ["Salary = 101.0"]);

    let patch = || employees.patch(key, pay.assignments()).if_match(pay.etag.clone());
    patch().await.unwrap();
    assert_eq!(patch().await.unwrap_err().kind(), ErrorKind::ConditionNotMet);
    let mut batch = employees.batch();
    batch.patch(("Sales", 2), pay.assignments()).unwrap();
    batch.submit().await.unwrap();
    let rows = [3, 4].map(|id| TableOperation::patch::<Employee>(("Sales", id), pay.assignments()));
    assert_eq!(employees.bulk().write(rows).await.unwrap().applied(), 2);
    assert_eq!(salaries(&employees).await, [100.0, 101.0, 101.0, 101.0, 101.0]);
}

/// Properties that neither struct knows stay, as with whole entities.
#[azure_table::test]
async fn unknown_properties_stay(employees: TableClient<Employee>) {
    fill(&employees).await;
    let any = employees.typed::<DynamicEntity>();
    let mut other = DynamicEntity::new("Sales", "e-01");
    other.insert("Desk", "4a");
    any.merge(&other).await.unwrap();
    let sales = employees.query().partition("Sales").project::<Pay>();
    let report = employees.update_where(sales, |pay| pay.salary = 1.0).await.unwrap();
    assert_eq!(report.applied(), 5);
    let stored = any.get(("Sales", "e-01")).await.unwrap().unwrap();
    assert_eq!(stored.get("Desk"), Some(&EdmValue::from("4a")));
    assert_eq!(stored.get("Salary"), Some(&EdmValue::Double(1.0)));
}

/// The same by names: rows of any kind that have the property.
#[azure_table::test]
async fn names_of_a_query_are_all_that_is_read_and_merged(employees: TableClient<Employee>, spy: Spy) {
    fill(&employees).await;
    let any = employees.typed::<DynamicEntity>();
    let named = || any.query().partition("Sales").select_names(["Salary"]);
    let raise = |row: &mut DynamicEntity| -> azure_table::Result<()> {
        assert_eq!(row.properties.len(), 1);
        let salary: f64 = row.property("Salary")?;
        row.insert("Salary", salary + 1.0);
        Ok(())
    };
    assert_eq!(any.update_where(named(), raise).await.unwrap().applied(), 5);
    let batch = spy.last().unwrap().body().into_owned();
    assert!(batch.contains("101.0") && !batch.contains("bonus"), "{batch}");

    // A row without the property is not written.
    any.insert(&DynamicEntity::new("Sales", "note")).await.unwrap();
    let keeps = any.update_where(named(), |_| ());
    assert_eq!(keeps.atomic().await.unwrap(), 5);
    any.delete(("Sales", "note")).await.unwrap();

    let removes = |row: &mut DynamicEntity| drop(row.remove("Salary"));
    let error = any.update_where(named(), removes).atomic().await.unwrap_err();
    assert_contains(&error, "property `Salary`: an update of some columns cannot remove it");
    let rows = employees.query().all().await.unwrap();
    assert!(rows.iter().all(|row| row.salary == 101.0 && row.bonus.is_some()));
}
