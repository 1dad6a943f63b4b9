//! Columns, properties and conditions whose names are known at run time.

use azure_table::filter::NamedColumn;
use azure_table::testing::Spy;
use azure_table::{DynamicEntity, EdmType, EdmValue, ErrorKind, Filter, TableClient, TableName, TableServiceClient};
use azure_table_tests::errors::assert_error;

async fn fill(blogs: &TableClient) {
    for (id, author, views) in [("1", "O'Brien", 5_i64), ("2", "Miller", 7), ("3", "O'Brien", 9)] {
        let mut blog = DynamicEntity::new("p", id);
        blog.insert("Author", author);
        blog.insert("Views", views);
        blog.insert("Text", "long");
        blogs.insert(&blog).await.unwrap();
    }
}

fn ids(rows: &[DynamicEntity]) -> Vec<&str> {
    rows.iter().map(|row| row.row_key.as_str()).collect()
}

#[azure_table::test]
async fn columns_and_select_of_names_read_from_a_report(blogs: TableClient) {
    fill(&blogs).await;
    let (name, selected) = ("Views".to_owned(), vec!["Author".to_owned(), "Missing".to_owned()]);
    let many = blogs.query().filter(NamedColumn::new(name, EdmType::Int64).ge(7));
    let rows = many.select_names(selected).all().await.unwrap();
    assert_eq!(ids(&rows), ["2", "3"]);
    assert_eq!(rows[0].get("Author"), Some(&EdmValue::from("Miller")));
    assert_eq!(rows[0].properties.len(), 1, "{rows:?}");
    let keys = blogs.query().select_names([""; 0]).all().await.unwrap();
    assert_eq!(ids(&keys), ["1", "2", "3"]);
    assert!(keys[0].properties.is_empty());
    let one = blogs.get((&*rows[0].partition_key, "1"));
    let row = one.select_names(["Author"]).await.unwrap().unwrap();
    assert_eq!((row.row_key.as_str(), row.properties.len()), ("1", 1), "{row:?}");
    let error = blogs.get(("p", "1")).select_names(["a b"]).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
}

#[azure_table::test]
async fn bad_names_and_values_are_rejected_before_a_request(blogs: TableClient, spy: Spy) {
    spy.clear();
    let error = blogs.query().select_names(["a b"]).all().await.unwrap_err();
    assert_error(&error, ErrorKind::InvalidInput, "select: property \"a b\"");
    let text = NamedColumn::new("N", EdmType::Int32).eq("text");
    let unknown = Filter::with_parameters("N eq @n", [("m", 1.into())]);
    for (filter, why) in [
        (text, "expected Edm.Int32, found Edm.String text"),
        (unknown, "parameter @n has no value"),
    ] {
        let error = blogs.query().filter(filter).all().await.unwrap_err();
        assert_error(&error, ErrorKind::InvalidInput, why);
    }
    assert_eq!(spy.requests(), 0);
}

#[azure_table::test]
async fn parameters_of_a_filter_are_quoted(blogs: TableClient) {
    fill(&blogs).await;
    for (author, found) in [("O'Brien", vec!["3"]), ("' or RowKey ne '", vec![])] {
        let filter = Filter::with_parameters(
            "Author eq @author and Views gt @views",
            [("author", author.into()), ("views", 5_i64.into())],
        );
        let rows = blogs.query().filter(filter).all().await.unwrap();
        assert_eq!(ids(&rows), found);
    }
}

#[azure_table::test]
async fn list_of_tables_takes_a_filter_with_and_without_a_prefix(service: TableServiceClient) {
    let tenant = service.prefixed("Tenant").unwrap();
    service.ensure_tables(["Other", "Tenant"]).await.unwrap();
    tenant.ensure_tables(["Logs1", "Logs2", "Orders"]).await.unwrap();
    let name = TableName::NAME;
    let logs = || tenant.list_tables().filter(name.starts_with("Logs"));
    assert_eq!(logs().all().await.unwrap(), ["Logs1", "Logs2"]);
    assert_eq!(logs().filter(name.gt("Logs1")).await.unwrap(), ["Logs2"]);
    let with_o = tenant.list_tables().starting_with("O");
    let names = with_o.filter(name.eq("Orders") | name.eq("Logs1")).all();
    assert_eq!(names.await.unwrap(), ["Orders"]);
    let of_account = service.list_tables().filter(name.lt("TenantL"));
    assert_eq!(of_account.all().await.unwrap(), ["Other", "Tenant"]);
    let raw = || Filter::raw("TableName eq 'Other'");
    assert_eq!(service.list_tables().filter(raw()).all().await.unwrap(), ["Other"]);
    for service in [&service, &tenant] {
        let none = || service.list_tables().filter(name.is_in([""; 0]));
        assert_eq!(none().all().await.unwrap(), [""; 0]);
        assert!(!none().request_text().unwrap().contains("PartitionKey"));
    }
    let error = tenant.list_tables().filter(raw()).all().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
}

#[test]
fn values_have_text_and_a_serde_form() {
    let moment: azure_table::DateTime = "2026-01-02T03:04:05.1Z".parse().unwrap();
    let least = EdmValue::from(i64::MIN);
    for (value, text, json) in [
        (EdmValue::from("a'b"), "a'b", r#"{"Edm.String":"a'b"}"#),
        (true.into(), "true", r#"{"Edm.Boolean":true}"#),
        (EdmValue::from(-5), "-5", r#"{"Edm.Int32":-5}"#),
        (least, "-9223372036854775808", r#"{"Edm.Int64":"-9223372036854775808"}"#),
        (5.0.into(), "5.0", r#"{"Edm.Double":"5.0"}"#),
        (f64::INFINITY.into(), "Infinity", r#"{"Edm.Double":"Infinity"}"#),
        (vec![0_u8, 255].into(), "AP8=", r#"{"Edm.Binary":"AP8="}"#),
        (
            moment.into(),
            "2026-01-02T03:04:05.1Z",
            r#"{"Edm.DateTime":"2026-01-02T03:04:05.1Z"}"#,
        ),
    ] {
        assert_eq!(value.to_string(), text);
        assert_eq!(serde_json::to_string(&value).unwrap(), json);
        assert_eq!(serde_json::from_str::<EdmValue>(json).unwrap(), value);
    }
    let (five, letter, half) = (EdmValue::from(5), EdmValue::from("a"), EdmValue::from(0.5));
    assert_eq!(format!("[{five:>4}|{letter:<3}|{half:>5}]"), "[   5|a  |  0.5]");
    for wrong in [
        "{}",
        r#"{"Edm.Int32":"5"}"#,
        r#"{"Edm.Int64":"5","x":1}"#,
        r#"{"Edm.Decimal":"5"}"#,
        "5",
    ] {
        assert!(serde_json::from_str::<EdmValue>(wrong).is_err(), "{wrong}");
    }
}
