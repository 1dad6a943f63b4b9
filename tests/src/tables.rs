//! Tables: created, found, deleted.

use azure_table::service::Creation;
use azure_table::{DynamicEntity, ErrorKind};

use crate::Backend;
use crate::errors::Rejected as _;

/// Creating an existing table is distinguished from creating a new one.
pub async fn a_table_is_created_once(backend: &Backend) {
    let table = backend.service().dynamic_table(backend.fresh_name()).unwrap();
    assert_eq!(table.create_table_if_not_exists().await.unwrap(), Creation::Created);
    assert_eq!(table.create_table_if_not_exists().await.unwrap(), Creation::Existed);
    let again = table.create_table().await.rejected();
    assert_eq!(again.kind(), ErrorKind::AlreadyExists);
    assert_eq!((again.status(), again.code()), (Some(409), Some("TableAlreadyExists")));
    assert_eq!(again.table(), Some(table.name().as_str()));
    table.delete_table().await.unwrap();
}

/// A deleted table is missing, and deleting it again is an error.
pub async fn a_deleted_table_is_not_found(backend: &Backend) {
    let table = backend.fresh_table::<DynamicEntity>().await;
    table.delete_table().await.unwrap();
    assert_eq!(table.delete_table().await.rejected().kind(), ErrorKind::TableNotFound);
    let gone = table.insert(&DynamicEntity::new("p", "r")).await.rejected();
    assert_eq!(gone.kind(), ErrorKind::TableNotFound);
    assert_eq!(gone.code(), Some("TableNotFound"));
    assert!(!gone.may_have_applied());
}

/// The list contains every table. A failure names no table: the account may have tables of its owner.
pub async fn tables_are_listed(backend: &Backend) {
    let tables = [
        backend.fresh_table::<DynamicEntity>().await,
        backend.fresh_table::<DynamicEntity>().await,
    ];
    let own = backend.service().list_tables().starting_with(backend.prefix());
    let listed = own.await.unwrap();
    for table in &tables {
        let is_listed = listed.iter().any(|name| name == table.name().as_str());
        assert!(is_listed, "a new table is not listed");
        table.delete_table().await.unwrap();
    }
}

/// Reading from a table that does not exist is an error, not the absence of a row.
pub async fn a_missing_table_is_not_a_missing_row(backend: &Backend) {
    let table = backend.service().dynamic_table(backend.fresh_name()).unwrap();
    let error = table.query().all().await.rejected();
    assert_eq!((error.kind(), error.status()), (ErrorKind::TableNotFound, Some(404)));
    assert_eq!(error.operation(), Some("query"));
}
