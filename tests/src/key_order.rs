//! The order of rows is the order of the values in their keys.

use std::fmt::Debug;

use azure_table::filter::InKey;
use azure_table::key::{DescendingKey, IntoKey, ReadTableKey};
use azure_table::{
    Column, Descending, DynamicEntity, Emulator, Filter, ReadEntity, TableClient, TableEntity, TableServiceClient,
};

/// Returns a new, empty table in a service of its own.
///
/// # Panics
/// The emulator rejects the table.
pub async fn fresh_table<E>() -> TableClient<E> {
    let table = TableServiceClient::from_transport(Emulator::new())
        .table::<E>("Things")
        .unwrap();
    table.create_table().await.unwrap();
    table
}

/// A row that has only keys.
#[derive(TableEntity, Clone, Debug, PartialEq)]
pub struct Row<K> {
    /// Its PartitionKey.
    #[table(partition_key)]
    pub group: String,
    /// Its RowKey.
    #[table(row_key)]
    pub key: K,
}

/// Checks rows with these keys, in the order of their type: found one by one, and by every comparison with each of them.
/// A column of `Descending` keys compares in the order of the values inside.
///
/// # Panics
/// A row is missing, or not in this order.
pub async fn stand_in_order<K>(keys: Vec<K>)
where
    K: ReadTableKey + PartialOrd + Clone + Debug + Send + Sync + 'static,
    Row<K>: TableEntity<KeyFields = (String, K)> + ReadEntity,
{
    assert!(keys.is_sorted_by(|a, b| a < b), "{keys:?}");
    // Sends and reads rows without a struct: a client of each type would take long to compile.
    let table = fresh_table::<DynamicEntity>().await;
    let row = |key: &K| Row {
        group: "g".into(),
        key: key.clone(),
    };
    let rows: Vec<_> = keys.iter().map(row).collect();
    for row in rows.iter().rev() {
        table.insert(&DynamicEntity::from_entity(row).unwrap()).await.unwrap();
    }
    let column = Column::<Row<K>, K, InKey>::row_key();
    let mut queries = vec![(String::new(), vec![&rows[..]])];
    for (at, key) in keys.iter().enumerate() {
        let found = IntoKey::<Row<K>>::into_key(("g", key)).unwrap();
        let found = table.get((found.partition_key(), found.row_key())).await.unwrap();
        assert_eq!(found.unwrap().to_entity::<Row<K>>().unwrap(), rows[at]);
        let (mut before, mut after) = (&rows[..at], &rows[at + 1..]);
        if K::REVERSED {
            (before, after) = (after, before);
        }
        let this = std::slice::from_ref(&rows[at]);
        for (filter, mut expected) in [
            (column.eq(key), vec![this]),
            (column.ne(key), vec![before, after]),
            (column.lt(key), vec![before]),
            (column.le(key), vec![before, this]),
            (column.gt(key), vec![after]),
            (column.ge(key), vec![this, after]),
        ] {
            if K::REVERSED {
                expected.reverse();
            }
            queries.push((filter.to_string(), expected));
        }
    }
    for (filter, expected) in queries {
        let query = match &*filter {
            "" => table.query(),
            filter => table.query().filter(Filter::raw(filter)),
        };
        let found = query.all().await.unwrap();
        let found: Vec<Row<K>> = found.iter().map(|row| row.to_entity().unwrap()).collect();
        assert_eq!(found, expected.concat(), "{filter}");
    }
}

/// Checks the values, and `Descending` of them.
///
/// # Panics
/// As [`stand_in_order`].
pub async fn stand_in_both_orders<K>(keys: Vec<K>)
where
    K: ReadTableKey + DescendingKey + PartialOrd + Clone + Debug + Send + Sync + 'static,
    Row<K>: TableEntity<KeyFields = (String, K)> + ReadEntity,
    Row<Descending<K>>: TableEntity<KeyFields = (String, Descending<K>)> + ReadEntity,
{
    stand_in_order(keys.clone()).await;
    stand_in_order(keys.into_iter().rev().map(Descending).collect()).await;
}

/// Checks two keys in ascending order by a client of their own type: written, read, and compared by the service.
///
/// # Panics
/// A row is missing, or another one is found.
pub async fn are_keys_of_a_typed_client<K>(keys: [K; 2])
where
    K: ReadTableKey + PartialEq + Clone + Debug + Send + Sync + 'static,
    Row<K>: TableEntity<KeyFields = (String, K)> + ReadEntity,
{
    let table = fresh_table::<Row<K>>().await;
    let rows = keys.map(|key| Row { group: "g".into(), key });
    for row in rows.iter().rev() {
        table.insert(row).await.unwrap();
        assert_eq!(table.get(("g", &row.key)).await.unwrap().as_ref(), Some(row));
    }
    assert_eq!(table.query().all().await.unwrap(), rows);
    let after = Column::<Row<K>, K, InKey>::row_key().gt(&rows[0].key);
    assert_eq!(table.query().filter(after).all().await.unwrap(), rows[1..]);
}
