//! Declared indexes: what each call costs, states, holes and their repair.

use azure_table::index::{INDEX_PREFIX, IndexRow as _, IndexedEntity as _};
use azure_table::testing::Spy;
use azure_table::{
    DateTime, DynamicEntity, Emulator, ErrorKind, Key, Result, TableClient, TableEntity, TableServiceClient,
};
use azure_table_patterns::{IndexFault, Indexed};

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(rename_all = "PascalCase")]
#[table(index(by_mail = (mail), unique))]
#[table(index(by_joined = (department, joined)))]
#[table(index(by_name = (name), covers))]
struct Person {
    #[table(partition_key)]
    tenant: String,
    #[table(row_key)]
    id: u32,
    mail: Option<String>,
    department: String,
    joined: DateTime,
    name: String,
}

fn person(id: u32, name: &str) -> Person {
    Person {
        tenant: "t".into(),
        id,
        mail: Some(format!("{name} {id}@x")),
        department: "sales / west".into(),
        joined: DateTime::from_unix_seconds(i64::from(id)),
        name: name.into(),
    }
}

async fn open(service: &TableServiceClient) -> Result<(TableClient<Person>, Indexed<Person>)> {
    let table = service.table::<Person>("People")?;
    table.create_table_if_not_exists().await?;
    let people = Indexed::open(&table).await?;
    people.build(Person::BY_MAIL).await?.ensure_none_taken()?;
    people.build(Person::BY_JOINED).await?.ensure_none_taken()?;
    people.build(Person::BY_NAME).await?.ensure_none_taken()?;
    Ok((table, people))
}

/// Returns the RowKeys of all rows, index rows included.
async fn stored(table: &TableClient<Person>, partition_key: &str) -> Result<Vec<String>> {
    let rows = table
        .typed::<DynamicEntity>()
        .query()
        .partition(partition_key)
        .all()
        .await?;
    Ok(rows.into_iter().map(|row| row.row_key).collect())
}

#[azure_table::test]
async fn index_rows_are_stored_with_their_entities(service: TableServiceClient) -> Result<()> {
    let (table, people) = open(&service).await?;
    let ada = person(7, "Ada");
    people.insert(&ada).await?;
    assert_eq!(
        stored(&table, "t").await?,
        [
            "$ix;by_joined sales!20.1!20west 0621355968070000000 0000000007",
            "$ix;by_mail Ada!207@x",
            "$ix;by_name Ada 0000000007",
            "0000000007",
        ]
    );
    assert_eq!(people.query().all().await?, std::slice::from_ref(&ada));
    people
        .modify(("t", 7), |person| (person.mail, person.name) = (None, "Eve".into()))
        .await?;
    assert_eq!(
        stored(&table, "t").await?,
        [
            "$ix;by_joined sales!20.1!20west 0621355968070000000 0000000007",
            "$ix;by_name Eve 0000000007",
            "0000000007",
        ]
    );
    assert!(people.delete(("t", 7)).await? && !people.delete(("t", 7)).await?);
    assert!(stored(&table, "t").await?.is_empty());
    Ok(())
}

#[azure_table::test]
async fn queries_by_an_index_are_exact(service: TableServiceClient) -> Result<()> {
    let (_, people) = open(&service).await?;
    for (id, department) in [(1, "a"), (2, "a b"), (3, "a"), (4, "ab"), (5, "")] {
        let department = department.into();
        people
            .insert(&Person {
                department,
                ..person(id, "n")
            })
            .await?;
    }
    let ids = async |department: &str| -> Result<Vec<u32>> {
        let found = people.by(Person::BY_JOINED, ("t", department))?.all().await?;
        Ok(found.iter().map(|person| person.id).collect())
    };
    assert_eq!(
        (ids("a").await?, ids("a b").await?, ids("").await?),
        (vec![1, 3], vec![2], vec![5])
    );
    let third = DateTime::from_unix_seconds(3);
    assert_eq!(people.by(Person::BY_JOINED, ("t", "a", third))?.all().await?.len(), 1);
    assert_eq!(people.by(Person::BY_JOINED, ("t",))?.limit(4).all().await?.len(), 4);
    assert_eq!(people.by(Person::BY_NAME, ("t", "n"))?.all().await?[1].id, 2);
    assert_eq!(people.by(Person::BY_MAIL, ("t", "n 4@x"))?.all().await?[0].id, 4);
    Ok(())
}

#[azure_table::test]
async fn value_of_a_unique_index_belongs_to_one_entity(service: TableServiceClient) -> Result<()> {
    let (table, people) = open(&service).await?;
    let ada = person(1, "Ada");
    people.insert(&ada).await?;
    let eve = Person {
        mail: ada.mail.clone(),
        ..person(2, "Eve")
    };
    let before = stored(&table, "t").await?;
    for error in [
        people.insert(&eve).await.unwrap_err(),
        people.insert_or_replace(&eve).await.unwrap_err(),
    ] {
        assert_eq!(
            (error.kind(), Indexed::<Person>::taken(&error)),
            (ErrorKind::AlreadyExists, Some("by_mail"))
        );
    }
    assert_eq!(stored(&table, "t").await?, before);
    let again = people.insert(&ada).await.unwrap_err();
    assert_eq!(
        (again.kind(), Indexed::<Person>::taken(&again)),
        (ErrorKind::AlreadyExists, None)
    );
    // In another partition it is free.
    people
        .insert(&Person {
            tenant: "u".into(),
            ..eve
        })
        .await?;
    people.verify().await?.ensure_none()?;
    Ok(())
}

#[azure_table::test]
async fn index_is_queried_only_when_it_is_ready(table: TableClient<Person>) -> Result<()> {
    // Rows of writers that do not know the index.
    for (id, name) in [(1, "Ada"), (2, "Eve"), (3, "Eve")] {
        let mail = Some("same@x".to_owned()).filter(|_| id < 3);
        table
            .insert(&Person {
                mail,
                ..person(id, name)
            })
            .await?;
    }
    let people = Indexed::open(&table).await?;
    let error = people.by(Person::BY_NAME, ("t", "Eve")).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("the index `by_name` is not ready, because no build has ended: call `build`"),
        "{error}"
    );
    let built = people.build(Person::BY_NAME).await?;
    assert_eq!((built.indexed, built.taken.len()), (3, 0));
    assert_eq!(people.by(Person::BY_NAME, ("t", "Eve"))?.all().await?.len(), 2);
    assert_eq!(people.build(Person::BY_NAME).await?.indexed, 0, "it is ready");

    let built = people.build(Person::BY_MAIL).await?;
    assert_eq!(
        (built.indexed, built.taken),
        (1, vec![("t".into(), "0000000002".into())])
    );
    let error = Indexed::open(&table).await?.by(Person::BY_MAIL, ("t",)).unwrap_err();
    assert!(
        error.to_string().contains("the index `by_mail` is not ready"),
        "{error}"
    );
    people
        .modify(("t", 2), |person| person.mail = Some("other@x".into()))
        .await?;
    assert_eq!(people.build(Person::BY_MAIL).await?.indexed, 2);
    people.build(Person::BY_JOINED).await?.ensure_none_taken()?;
    Indexed::open(&table).await?.verify().await?.ensure_none()?;

    #[derive(TableEntity, Clone)]
    #[table(rename_all = "PascalCase", index(by_name = (name, department)))]
    struct Changed {
        #[table(partition_key)]
        tenant: String,
        #[table(row_key)]
        id: u32,
        name: String,
        department: String,
    }
    let error = Indexed::open(&table.typed::<Changed>()).await.unwrap_err();
    let expected = "the index `by_name` is stored as `by_name = (Name: String), covers` and declared as `by_name = \
                    (Name: String, Department: String)`: give the changed index a new name";
    assert!(error.to_string().contains(expected), "{error}");
    Ok(())
}

#[azure_table::test]
async fn holes_are_found_and_repaired(service: TableServiceClient) -> Result<()> {
    let (table, people) = open(&service).await?;
    for id in 1..=4 {
        people.insert(&person(id, "Ada")).await?;
    }
    // A writer that does not know the indexes.
    table.delete(("t", 1)).await?;
    let mut moved = table.get(("t", 2)).versioned().await?.unwrap();
    moved.name = "Bob".into();
    table.replace(&moved).await?;
    let mut other = table.get(("t", 3)).versioned().await?.unwrap();
    other.department = "law".into();
    table.replace(&other).await?;
    table
        .insert(&Person {
            mail: person(1, "Ada").mail,
            ..person(5, "Cid")
        })
        .await?;

    let found = people.verify().await?;
    assert_eq!((found.entities, found.index_rows), (4, 12));
    let counts = found.faults.iter().fold([0; 3], |mut counts, fault| {
        counts[match fault {
            IndexFault::Missing { .. } => 0,
            IndexFault::Dangling { .. } => 1,
            IndexFault::Stale { .. } => 2,
            _ => unreachable!("{fault}"),
        }] += 1;
        counts
    });
    // 2 and 3 moved, 5 has no rows, 1 left three, among them the mail of 5; the covered row of 3 has old values.
    assert_eq!(counts, [5, 5, 1], "{:#?}", found.faults);
    let error = found.clone().ensure_none().unwrap_err();
    assert!(
        error.to_string().starts_with("11 faults of indexes; the first: "),
        "{error}"
    );
    assert_eq!(people.repair(&found).await?, 10);
    people.verify().await?.ensure_none()?;

    // Writes go on over a hole.
    let row = format!("{INDEX_PREFIX}by_name Ada 0000000004");
    table.typed::<DynamicEntity>().delete(("t", row)).await?;
    people.modify(("t", 4), |person| person.name = "Dan".into()).await?;
    people.verify().await?.ensure_none()?;
    Ok(())
}

/// Two entities have one unique value, because a writer that does not know the index has written one of them.
#[azure_table::test]
async fn unique_row_of_another_entity_is_left_alone(service: TableServiceClient) -> Result<()> {
    let (table, people) = open(&service).await?;
    let same = Some("same@x".to_owned());
    people
        .insert(&Person {
            mail: same.clone(),
            ..person(5, "Eve")
        })
        .await?;
    for id in [1, 9] {
        table
            .insert(&Person {
                mail: same.clone(),
                ..person(id, "Ada")
            })
            .await?;
    }
    let found = people.verify().await?;
    let of_mail =
        |fault: &IndexFault| matches!(fault, IndexFault::Missing { index_row, .. } if index_row.contains("by_mail"));
    assert_eq!(
        found.faults.iter().filter(|fault| of_mail(fault)).count(),
        2,
        "{:#?}",
        found.faults
    );
    people.repair(&found).await?;
    assert_eq!(
        people.verify().await?.faults.len(),
        2,
        "who has the value is not for `repair` to say"
    );

    people.modify(("t", 1), |person| person.mail = None).await?;
    assert!(people.delete(("t", 9)).await?);
    assert_eq!(people.by(Person::BY_MAIL, ("t", "same@x"))?.all().await?[0].id, 5);
    people.verify().await?.ensure_none()?;

    // A row that such a writer left behind blocks nobody.
    table.delete(("t", 5)).await?;
    people
        .insert(&Person {
            mail: same.clone(),
            ..person(6, "Cid")
        })
        .await?;
    assert_eq!(people.by(Person::BY_MAIL, ("t", "same@x"))?.all().await?[0].id, 6);
    Ok(())
}

/// The first page of the build has one of two entities with a value, the second the other.
#[tokio::test]
async fn build_of_a_unique_index_begins_again_after_a_value_of_two() -> Result<()> {
    let service = TableServiceClient::from_transport(Emulator::new().page_size(100));
    let table = service.table::<Person>("People")?;
    table.create_table().await?;
    let mut bulk = Vec::new();
    for id in 0..150 {
        let mail = Some(format!("{}@x", id % 149));
        bulk.push(Person {
            mail,
            ..person(id, "n")
        });
    }
    assert!(table.bulk().insert(bulk).await?.leftovers().is_empty());
    let people = Indexed::open(&table).await?;
    let built = people.build(Person::BY_MAIL).await?;
    assert_eq!(built.taken, [("t".into(), "0000000149".into())]);
    people
        .modify(("t", 149), |person| person.mail = Some("free@x".into()))
        .await?;
    people.build(Person::BY_MAIL).await?.ensure_none_taken()?;
    assert_eq!(people.by(Person::BY_MAIL, ("t", "0@x"))?.all().await?[0].id, 0);
    assert!(
        people
            .insert(&Person {
                mail: Some("0@x".into()),
                ..person(3_000, "n")
            })
            .await
            .is_err()
    );
    Ok(())
}

#[azure_table::test]
async fn limit_counts_entities_and_partial_partitions_are_rejected(service: TableServiceClient) -> Result<()> {
    let (table, people) = open(&service).await?;
    for id in 1..=3 {
        people.insert(&person(id, "Ada")).await?;
    }
    table.delete(("t", 1)).await?;
    let found = people.by(Person::BY_JOINED, ("t",))?.limit(1).all().await?;
    assert_eq!(found[0].id, 2, "the row of 1 dangles");

    #[derive(TableEntity)]
    #[table(partition_key = "{a};{b}", index(by_name = (name)))]
    struct Wide {
        a: String,
        b: String,
        #[table(row_key)]
        id: u32,
        name: String,
    }
    let wide = Indexed::open(&table.typed::<Wide>()).await;
    let wide = wide.map_err(|e| e.to_string()).unwrap_err();
    assert!(wide.contains("the index `by_name` is stored as"), "{wide}");
    let other = TableServiceClient::from_transport(Emulator::new()).table::<Wide>("Wide")?;
    other.create_table().await?;
    let wide = Indexed::open(&other).await?;
    wide.build(Wide::BY_NAME).await?.ensure_none_taken()?;
    let (a, b, name) = ("a".to_owned(), "b".to_owned(), "n".to_owned());
    wide.insert(&Wide { a, b, id: 1, name }).await?;
    assert_eq!(wide.by(Wide::BY_NAME, ("a", "b", "n"))?.all().await?.len(), 1);
    let error = wide.by(Wide::BY_NAME, ("a",)).unwrap_err();
    assert!(
        error.to_string().contains("needs all fields of the PartitionKey"),
        "{error}"
    );
    Ok(())
}

#[azure_table::test]
async fn entity_that_cannot_be_indexed_is_named_and_deleted(service: TableServiceClient) -> Result<()> {
    let (table, people) = open(&service).await?;
    table.insert(&person(1, &"n".repeat(1_020))).await?;
    let found = people.verify().await?.faults;
    let kinds = |fault: &IndexFault| match fault {
        IndexFault::Unindexable { why, .. } => why[8..20].to_owned(),
        IndexFault::Missing { index_row, .. } => format!("lacks {}", &index_row[..13]),
        other => other.to_string(),
    };
    let kinds: Vec<_> = found.iter().map(kinds).collect();
    assert_eq!(
        kinds,
        ["$ix;by_mail ", "$ix;by_name ", "lacks $ix;by_joined"],
        "{found:?}"
    );
    people
        .modify(("t", 1), |person| (person.name, person.mail) = ("short".into(), None))
        .await?;
    assert_eq!(
        people.repair(&people.verify().await?).await?,
        1,
        "the hole that the table left"
    );
    people.verify().await?.ensure_none()?;
    assert!(people.delete(("t", 1)).await?);
    Ok(())
}

#[azure_table::test]
async fn calls_cost_what_the_page_states(spy: Spy, service: TableServiceClient) -> Result<()> {
    let (_, people) = open(&service).await?;
    let costs = || {
        let kinds: Vec<_> = spy
            .exchanges()
            .iter()
            .map(|exchange| format!("{:?}", exchange.kind().unwrap()))
            .collect();
        spy.clear();
        kinds.join(", ")
    };
    spy.clear();
    people.insert(&person(1, "Ada")).await?;
    assert_eq!(costs(), "Batch");
    people
        .insert_or_replace(&Person {
            mail: person(1, "Ada").mail,
            ..person(1, "Eve")
        })
        .await?;
    assert_eq!(costs(), "Get, Batch");
    people
        .modify(("t", 1), |person| person.mail = Some("new@x".into()))
        .await?;
    assert_eq!(costs(), "Get, Get, Batch", "the old value of a unique index");
    people.delete(("t", 1)).await?;
    assert_eq!(costs(), "Get, Get, Batch");
    let absent = people.modify(("t", 1), |_| ()).await.unwrap_err();
    assert_eq!((costs().as_str(), absent.kind()), ("Get, Get", ErrorKind::NotFound));
    people.insert(&person(2, "Ada")).await?;
    spy.clear();
    people.by(Person::BY_NAME, ("t", "Ada"))?.all().await?;
    assert_eq!(costs(), "Query");
    people.by(Person::BY_MAIL, ("t",))?.all().await?;
    assert_eq!(costs(), "Query, Get");
    Ok(())
}

#[test]
fn index_row_knows_its_entity() -> Result<()> {
    let rows = person(7, "a b").index_rows().into_iter().collect::<Result<Vec<_>>>()?;
    let names: Vec<_> = rows.iter().map(|row| (row.index.name, row.row_key.as_str())).collect();
    assert_eq!(
        names[1],
        (
            "by_joined",
            "$ix;by_joined sales!20.1!20west 0621355968070000000 0000000007"
        )
    );
    let row = PersonByName::of(&person(7, "a b")).unwrap();
    assert_eq!(
        (row.entity_row_key(&Key::of(&row)?), Key::of(&row)?.partition_key()),
        ("0000000007", "t")
    );
    assert_eq!(row.into_entity(), Some(person(7, "a b")));
    let row = PersonByMail::of(&person(7, "a")).unwrap();
    assert_eq!(row.entity_row_key(&Key::of(&row)?), "0000000007");
    assert_eq!(
        format!("{:?}", Person::BY_MAIL),
        "Index(by_mail = (Mail: Option<String>), unique)"
    );
    Ok(())
}
