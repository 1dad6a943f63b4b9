//! Columns, properties and conditions whose names are known at run time.

use azure_table::filter::NamedColumn;
use azure_table::{
    DynamicEntity, EdmType, EdmValue, Emulator, ErrorKind, Filter, TableClient, TableName, TableServiceClient,
};

async fn blogs() -> TableClient<DynamicEntity> {
    let blogs = TableServiceClient::from_transport(Emulator::new())
        .dynamic_table("Blogs")
        .unwrap();
    blogs.create_table().await.unwrap();
    for (id, author, views) in [("1", "O'Brien", 5_i64), ("2", "Miller", 7), ("3", "O'Brien", 9)] {
        let mut blog = DynamicEntity::new("p", id);
        blog.insert("Author", author);
        blog.insert("Views", views);
        blog.insert("Text", "long");
        blogs.insert(&blog).await.unwrap();
    }
    blogs
}

fn ids(rows: &[DynamicEntity]) -> Vec<&str> {
    rows.iter().map(|row| row.row_key.as_str()).collect()
}

#[tokio::test]
async fn columns_and_select_of_names_read_from_a_report() {
    let blogs = blogs().await;
    let (name, selected) = ("Views".to_owned(), vec!["Author".to_owned(), "Missing".to_owned()]);
    let rows = blogs
        .query()
        .filter(NamedColumn::new(name, EdmType::Int64).ge(7))
        .select_names(selected)
        .all()
        .await
        .unwrap();
    assert_eq!(ids(&rows), ["2", "3"]);
    assert_eq!(rows[0].get("Author"), Some(&EdmValue::from("Miller")));
    assert_eq!(rows[0].properties.len(), 1, "{rows:?}");
    let keys = blogs.query().select_names([""; 0]).all().await.unwrap();
    assert_eq!(ids(&keys), ["1", "2", "3"]);
    assert!(keys[0].properties.is_empty());
    let row = blogs
        .get((&*rows[0].partition_key, "1"))
        .select_names(["Author"])
        .await
        .unwrap()
        .unwrap();
    assert_eq!((row.row_key.as_str(), row.properties.len()), ("1", 1), "{row:?}");
    let error = blogs.get(("p", "1")).select_names(["a b"]).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
}

#[tokio::test]
async fn bad_names_and_values_are_rejected_before_a_request() {
    let emulator = Emulator::new();
    let nothing_sent = emulator.clone().observer(|seen| panic!("{seen}"));
    let blogs = TableServiceClient::from_transport(nothing_sent)
        .dynamic_table("Blogs")
        .unwrap();
    let error = blogs.query().select_names(["a b"]).all().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert!(error.to_string().contains("select: property \"a b\""), "{error}");
    for (filter, why) in [
        (
            NamedColumn::new("N", EdmType::Int32).eq("text"),
            "expected Edm.Int32, found Edm.String text",
        ),
        (
            Filter::with_parameters("N eq @n", [("m", 1.into())]),
            "parameter @n has no value",
        ),
    ] {
        let error = blogs.query().filter(filter).all().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert!(error.to_string().contains(why), "{error}");
    }
}

#[tokio::test]
async fn parameters_of_a_filter_are_quoted() {
    let blogs = blogs().await;
    for (author, found) in [("O'Brien", vec!["3"]), ("' or RowKey ne '", vec![])] {
        let filter = Filter::with_parameters(
            "Author eq @author and Views gt @views",
            [("author", author.into()), ("views", 5_i64.into())],
        );
        let rows = blogs.query().filter(filter).all().await.unwrap();
        assert_eq!(ids(&rows), found);
    }
}

#[tokio::test]
async fn list_of_tables_takes_a_filter_with_and_without_a_prefix() {
    let service = TableServiceClient::from_transport(Emulator::new());
    let tenant = service.prefixed("Tenant").unwrap();
    service.ensure_tables(["Other", "Tenant"]).await.unwrap();
    tenant.ensure_tables(["Logs1", "Logs2", "Orders"]).await.unwrap();
    let logs = || TableName::NAME.starts_with("Logs");
    assert_eq!(
        tenant.list_tables().filter(logs()).all().await.unwrap(),
        ["Logs1", "Logs2"]
    );
    let two = tenant.list_tables().filter(logs()).filter(TableName::NAME.gt("Logs1"));
    assert_eq!(two.await.unwrap(), ["Logs2"]);
    let either = TableName::NAME.eq("Logs1") | TableName::NAME.eq("Orders");
    let names = tenant
        .list_tables()
        .starting_with("O")
        .filter(either)
        .all()
        .await
        .unwrap();
    assert_eq!(names, ["Orders"]);
    let of_account = service
        .list_tables()
        .filter(TableName::NAME.lt("TenantL"))
        .all()
        .await
        .unwrap();
    assert_eq!(of_account, ["Other", "Tenant"]);
    let raw = || Filter::raw("TableName eq 'Other'");
    assert_eq!(service.list_tables().filter(raw()).all().await.unwrap(), ["Other"]);
    for service in [&service, &tenant] {
        let of_none = TableName::NAME.is_in([""; 0]);
        assert_eq!(service.list_tables().filter(of_none).all().await.unwrap(), [""; 0]);
        let list = service.list_tables().filter(TableName::NAME.is_in([""; 0]));
        assert!(!list.request_text().unwrap().contains("PartitionKey"));
    }
    let error = tenant.list_tables().filter(raw()).all().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
}

#[test]
fn values_have_text_and_a_serde_form() {
    for (value, text, json) in [
        (EdmValue::from("a'b"), "a'b", r#"{"Edm.String":"a'b"}"#),
        (true.into(), "true", r#"{"Edm.Boolean":true}"#),
        (EdmValue::from(-5), "-5", r#"{"Edm.Int32":-5}"#),
        (
            EdmValue::from(i64::MIN),
            "-9223372036854775808",
            r#"{"Edm.Int64":"-9223372036854775808"}"#,
        ),
        (5.0.into(), "5.0", r#"{"Edm.Double":"5.0"}"#),
        (f64::INFINITY.into(), "Infinity", r#"{"Edm.Double":"Infinity"}"#),
        (vec![0_u8, 255].into(), "AP8=", r#"{"Edm.Binary":"AP8="}"#),
        (
            "2026-01-02T03:04:05.1Z"
                .parse::<azure_table::DateTime>()
                .unwrap()
                .into(),
            "2026-01-02T03:04:05.1Z",
            r#"{"Edm.DateTime":"2026-01-02T03:04:05.1Z"}"#,
        ),
    ] {
        assert_eq!(value.to_string(), text);
        assert_eq!(serde_json::to_string(&value).unwrap(), json);
        assert_eq!(serde_json::from_str::<EdmValue>(json).unwrap(), value);
    }
    assert_eq!(
        format!(
            "[{:>4}|{:<3}|{:>5}]",
            EdmValue::from(5),
            EdmValue::from("a"),
            EdmValue::from(0.5)
        ),
        "[   5|a  |  0.5]"
    );
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
