//! Declared indexes: look-ups of unique values, writes by query, the removal of an index, concurrency.

use std::time::Duration;

use azure_table::emulator::SeedEntities as _;
use azure_table::operation::OperationKind;
use azure_table::testing::{EntityResponse as _, Fault, FaultRule, Faults, ResponseTemplate, Spy};
use azure_table::{
    CallOptions, Change, DynamicEntity, Emulator, Error, ErrorKind, LocationMode, Result, TableClient, TableEntity,
    TableServiceClient,
};
use azure_table_patterns::{IndexFault, Indexed};
use azure_table_tests::entities::Person;
use azure_table_tests::errors::assert_error;
use tokio::time::Instant;

/// The same after the index `by_name` was given up.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(index(by_mail = (mail), unique))]
struct Later {
    #[table(partition_key)]
    tenant: String,
    #[table(row_key)]
    id: u32,
    mail: String,
    name: String,
}

fn person(id: u32) -> Person {
    Person {
        tenant: "t".into(),
        id,
        mail: format!("{id}@x"),
        name: "Ada".into(),
    }
}

async fn open(service: &TableServiceClient) -> Result<(TableClient<Person>, Indexed<Person>)> {
    let table = service.table::<Person>("People")?;
    table.create_table_if_not_exists().await?;
    let people = Indexed::open(&table).await?;
    people.build(Person::BY_MAIL).await?.ensure_none_taken()?;
    people.build(Person::BY_NAME).await?.ensure_none_taken()?;
    Ok((table, people))
}

/// Returns an emulator, and its table with the persons 1 to 4.
async fn four() -> Result<(Emulator, TableClient<Person>, Indexed<Person>)> {
    let emulator = Emulator::new();
    let (table, people) = open(&TableServiceClient::from_transport(emulator.clone())).await?;
    for id in 1..=4 {
        people.insert(&person(id)).await?;
    }
    Ok((emulator, table, people))
}

async fn index_rows(table: &TableClient<Person>) -> Result<Vec<String>> {
    let rows = table
        .typed::<DynamicEntity>()
        .query()
        .partition("t")
        .keys()
        .all()
        .await?;
    let rows = rows.iter().map(|key| key.row_key().to_owned());
    Ok(rows.filter(|row_key| row_key.starts_with('$')).collect())
}

#[azure_table::test]
async fn entity_of_a_unique_value_is_found_by_two_reads_of_one_key(
    spy: Spy,
    service: TableServiceClient,
) -> Result<()> {
    let (_, people) = open(&service).await?;
    people.insert(&person(7)).await?;
    spy.clear();
    let found = people.by(Person::BY_MAIL, ("t", "7@x"))?.first().await?;
    assert_eq!(found, Some(person(7)));
    let requests = spy.exchanges();
    assert_eq!(requests.len(), 2);
    let filter = requests[0].parameter("$filter").unwrap();
    assert_eq!(filter, "PartitionKey eq 't' and RowKey eq '$ix;by_mail 7@x'");
    assert_eq!(requests[1].kind(), Some(OperationKind::Get));
    assert_eq!(people.by(Person::BY_MAIL, ("t", "8@x"))?.first().await?, None);

    people.insert(&person(8)).await?;
    spy.clear();
    let first = people.by(Person::BY_NAME, ("t",))?.first().await?;
    assert_eq!((first, spy.exchanges().len()), (Some(person(7)), 2));
    assert_eq!(people.by(Person::BY_NAME, ("t",))?.limit(0).first().await?, None);
    Ok(())
}

#[tokio::test]
async fn closure_of_modify_decides_as_that_of_a_table() -> Result<()> {
    let (_, table, people) = four().await?;
    let before = table.get(("t", 1)).versioned().await?.unwrap();
    let kept = people
        .modify(("t", 1), |person| {
            person.name = "Eve".into();
            Change::Keep
        })
        .await?;
    assert_eq!(kept.etag, before.etag);
    let error = people.modify(("t", 1), |_| Err::<(), _>(Error::other("not now"))).await;
    assert!(error.unwrap_err().to_string().contains("not now"));
    assert_eq!(table.get(("t", 1)).versioned().await?, Some(before));
    Ok(())
}

#[tokio::test]
async fn versioned_entity_is_deleted_only_in_that_version() -> Result<()> {
    let (_, table, people) = four().await?;
    let read = table.get(("t", 1)).versioned().await?.unwrap();
    people.modify(("t", 1), |person| person.name = "Eve".into()).await?;
    let error = people.delete(&read).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConditionNotMet);
    let read = table.get(("t", 1)).versioned().await?.unwrap();
    assert!(people.delete(&read).await? && !people.delete(&read).await?);
    people.verify().await?.ensure_none()?;
    Ok(())
}

#[tokio::test]
async fn selected_entities_are_deleted_with_their_index_rows() -> Result<()> {
    let (_, table, people) = four().await?;
    let report = people.delete_where(people.query().filter(Person::ID.ge(3))).await?;
    assert_eq!((report.applied(), report.leftovers().len()), (2, 0));
    assert_eq!(
        index_rows(&table).await?,
        [
            "$ix;by_mail 1@x",
            "$ix;by_mail 2@x",
            "$ix;by_name Ada 0000000001",
            "$ix;by_name Ada 0000000002",
        ]
    );
    assert_eq!(people.delete_where(people.query()).await?.applied(), 2);
    assert!(index_rows(&table).await?.is_empty());
    Ok(())
}

#[tokio::test]
async fn selected_entities_are_updated_with_their_index_rows() -> Result<()> {
    let (emulator, table, people) = four().await?;
    let report = people
        .update_where(people.query().partition("t"), |person| {
            person.name = "Eve".into();
            match person.id {
                1 => return Change::Keep,
                // Another entity has this value.
                3 => person.mail = "1@x".into(),
                // Written by another client, after the page was read.
                4 => emulator
                    .seed(
                        "People",
                        [Person {
                            tenant: "t".into(),
                            ..person.clone()
                        }],
                    )
                    .unwrap(),
                _ => {}
            }
            Change::Save
        })
        .await?;
    assert_eq!((report.applied(), report.unchanged()), (1, 1));
    let mut left: Vec<_> = report
        .leftovers()
        .iter()
        .map(|left| (left.key().row_key(), left.error().unwrap().kind()))
        .collect();
    left.sort_by_key(|left| left.0);
    assert_eq!(
        left,
        [
            ("0000000003", ErrorKind::AlreadyExists),
            ("0000000004", ErrorKind::ConditionNotMet),
        ]
    );
    let error = report.ensure_no_leftovers().unwrap_err();
    assert!([ErrorKind::AlreadyExists, ErrorKind::ConditionNotMet].contains(&error.kind()));
    let eve = people.by(Person::BY_NAME, ("t", "Eve"))?.all().await?;
    assert_eq!(eve.iter().map(|person| person.id).collect::<Vec<_>>(), [2]);

    let error = people
        .update_where(people.query(), |_| Err::<(), _>(Error::other("not now")))
        .await;
    let interrupted = error.unwrap_err();
    assert!(interrupted.to_string().contains("not now") && interrupted.report().applied() == 0);
    let moved = people
        .update_where(people.query().filter(Person::ID.eq(1)), |person| person.id = 9)
        .await?;
    assert_eq!(moved.leftovers()[0].error().unwrap().kind(), ErrorKind::InvalidInput);
    assert_eq!(table.get(("t", 9)).await?, None);
    Ok(())
}

#[azure_table::test(start_paused)]
async fn entity_that_another_client_deletes_meanwhile_is_gone(
    faults: Faults,
    service: TableServiceClient,
) -> Result<()> {
    let (_, people) = open(&service).await?;
    for id in 1..=2 {
        people.insert(&person(id)).await?;
    }
    faults.add(
        FaultRule::new(Fault::DelayRequest(Duration::from_secs(1)))
            .on(OperationKind::Batch)
            .first(2),
    );
    let other = async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        people.delete(("t", 2)).await
    };
    let (report, deleted) = futures::join!(people.delete_where(people.query()), other);
    let report = report?;
    assert_eq!((report.applied(), report.gone(), deleted?), (1, 1, true));
    report.ensure_no_leftovers()
}

#[tokio::test]
async fn index_rows_are_removed_after_their_declaration() -> Result<()> {
    let (_, table, people) = four().await?;
    let error = people.remove_index("by_name").await.unwrap_err();
    let why = "the index `by_name` is declared: remove the declaration first";
    assert!(
        error.kind() == ErrorKind::InvalidInput && error.to_string().contains(why),
        "{error}"
    );

    let later = Indexed::open(&table.typed::<Later>()).await?;
    for name in ["", "by name", "by_name 1", "by_name;"] {
        assert_eq!(
            later.remove_index(name).await.unwrap_err().kind(),
            ErrorKind::InvalidInput,
            "{name}"
        );
    }
    assert_eq!(
        (later.remove_index("by").await?, index_rows(&table).await?.len()),
        (0, 8)
    );
    assert_eq!(later.remove_index("by_name").await?, 4);
    assert_eq!(index_rows(&table).await?.len(), 4);
    assert_eq!(later.by(Later::BY_MAIL, ("t", "2@x"))?.first().await?.unwrap().id, 2);
    later.verify().await?.ensure_none()?;

    // The name is free again.
    let people = Indexed::open(&table).await?;
    assert!(people.by(Person::BY_NAME, ("t",)).is_err(), "it was never built");
    assert_eq!(people.build(Person::BY_NAME).await?.indexed, 4);
    people.verify().await?.ensure_none()?;
    Ok(())
}

#[azure_table::test(start_paused)]
async fn index_that_is_being_removed_cannot_be_declared(faults: Faults, service: TableServiceClient) -> Result<()> {
    let (table, before) = open(&service).await?;
    for id in 1..=4 {
        before.insert(&person(id)).await?;
    }
    let later = Indexed::open(&table.typed::<Later>()).await?;
    let rule = faults.add(FaultRule::new(Fault::NoConnection).on(OperationKind::Batch));
    assert!(later.remove_index("by_name").await.is_err());
    faults.remove(&rule);

    let why = "the index `by_name` is being removed: call `remove_index` again";
    let error = Indexed::open(&table).await.unwrap_err();
    assert!(
        error.kind() == ErrorKind::InvalidInput && error.to_string().contains(why),
        "{error}"
    );
    let error = before.build(Person::BY_NAME).await.unwrap_err();
    assert!(
        error.kind() == ErrorKind::InvalidInput && error.to_string().contains(why),
        "{error}"
    );
    assert_eq!(later.remove_index("by_name").await?, 4);
    Indexed::open(&table)
        .await?
        .build(Person::BY_NAME)
        .await?
        .ensure_none_taken()?;
    Ok(())
}

#[tokio::test]
async fn removal_that_ends_after_it_deleted_rows_is_in_doubt() -> Result<()> {
    let faults = Faults::new(Emulator::new().page_size(2));
    let (table, people) = open(&TableServiceClient::from_transport(faults.clone())).await?;
    for id in 1..=4 {
        people.insert(&person(id)).await?;
    }
    let later = Indexed::open(&table.typed::<Later>()).await?;
    let rejected = ResponseTemplate::new(403).code("AuthorizationFailure");
    // First, only the state of the index is written.
    for query in 1..=2 {
        faults.add(FaultRule::new(rejected.clone()).on(OperationKind::Query).nth(query));
        let error = later.remove_index("by_name").await.unwrap_err();
        assert!(error.may_have_applied(), "{query}: {error}");
        faults.clear();
    }
    let left = index_rows(&table).await?.len();
    assert!((5..8).contains(&left), "{left}");

    // All rows are deleted, but not the state of the index.
    let rejected = ResponseTemplate::new(403).code("AuthorizationFailure");
    faults.add(FaultRule::new(rejected).on(OperationKind::Delete).table("People"));
    let error = later.remove_index("by_name").await.unwrap_err();
    assert!(error.may_have_applied(), "{error}");
    assert_eq!(index_rows(&table).await?.len(), 4);
    Ok(())
}

/// One row's write may have been applied, and the service rejects the next read.
#[azure_table::test(start_paused)]
async fn repair_that_ends_after_a_lost_write_is_in_doubt(faults: Faults, table: TableClient<Person>) -> Result<()> {
    assert_eq!(table.bulk().insert([1, 2].map(person)).await?.applied(), 2);
    let people = Indexed::open(&table).await?;
    let mut found = people.verify().await?;
    found.faults.retain(|fault| fault.to_string().contains("by_name"));
    faults.add(FaultRule::new(Fault::LoseResponse).on(OperationKind::Batch).first(1));
    // Each fault is read three times.
    let rejected = ResponseTemplate::new(403).code("AuthorizationFailure");
    faults.add(FaultRule::new(rejected).on(OperationKind::Get).nth(4));
    let error = people.repair(&found).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InDoubt, "{error}");
    Ok(())
}

#[azure_table::test]
async fn repair_that_ends_after_it_wrote_rows_is_in_doubt(faults: Faults, table: TableClient<Person>) -> Result<()> {
    assert_eq!(table.bulk().insert([1, 2].map(person)).await?.applied(), 2);
    let people = Indexed::open(&table).await?;
    let found = people.verify().await?;
    let rejected = ResponseTemplate::new(403).code("AuthorizationFailure");
    faults.add(FaultRule::new(rejected).on(OperationKind::Batch).nth(2));
    let error = people.repair(&found).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InDoubt, "{error}");
    assert_eq!(error.last_failure().unwrap().kind(), ErrorKind::Forbidden, "{error}");
    assert_eq!(index_rows(&table).await?.len(), 1);
    Ok(())
}

/// Several entities are written at a time. One is rejected while the others are in flight.
#[azure_table::test(start_paused)]
async fn build_that_ends_early_awaits_its_writes_and_is_in_doubt(
    faults: Faults,
    table: TableClient<Person>,
) -> Result<()> {
    assert_eq!(table.bulk().insert((0..8).map(person)).await?.applied(), 8);
    let people = Indexed::open(&table).await?;
    let rejected = ResponseTemplate::new(403).code("AuthorizationFailure");
    faults.add(FaultRule::new(rejected).on(OperationKind::Batch).nth(1));
    faults.add(FaultRule::new(Fault::DelayRequest(Duration::from_secs(1))).on(OperationKind::Batch));
    let error = people.build(Person::BY_NAME).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InDoubt, "{error}");
    assert_eq!(index_rows(&table).await?.len(), 3, "the others that were in flight");
    Ok(())
}

/// The state of an index is inserted, and then read.
#[azure_table::test]
async fn removal_and_build_that_store_only_a_state_are_in_doubt(
    faults: Faults,
    table: TableClient<Person>,
) -> Result<()> {
    let people = Indexed::open(&table).await?;
    let states = table.typed::<DynamicEntity>();
    states.delete(("$indexes", "$ix;by_name")).await?;
    let rejected = ResponseTemplate::new(403).code("AuthorizationFailure");
    let denied = FaultRule::new(rejected).on(OperationKind::Get).nth(2);
    faults.add(denied.clone());
    let error = people.build(Person::BY_NAME).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InDoubt, "{error}");
    faults.add(denied);
    let error = azure_table_patterns::remove_index(&table, "by_age").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InDoubt, "{error}");
    faults.clear();
    assert!(states.exists(("$indexes", "$ix;by_name")).await? && states.exists(("$indexes", "$ix;by_age")).await?);
    Ok(())
}

#[azure_table::test]
async fn opening_that_ends_after_it_stored_a_state_is_in_doubt(
    faults: Faults,
    table: TableClient<Person>,
) -> Result<()> {
    let rejected = ResponseTemplate::new(400).code("InvalidInput");
    faults.add(FaultRule::new(rejected).on(OperationKind::Insert).nth(2));
    let error = Indexed::open(&table).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InDoubt, "{error}");
    Ok(())
}

/// A proxy answers in place of the service.
#[azure_table::test]
async fn entity_is_not_gone_after_a_404_without_a_code(faults: Faults, service: TableServiceClient) -> Result<()> {
    let (table, people) = open(&service).await?;
    people.insert(&person(1)).await?;
    faults.add(FaultRule::new(ResponseTemplate::new(404)).on(OperationKind::Batch));
    let interrupted = people.delete_where(people.query()).await.unwrap_err();
    assert_eq!(interrupted.error().kind(), ErrorKind::InvalidResponse, "{interrupted}");
    assert_eq!(interrupted.report().gone(), 0);
    faults.clear();
    assert!(table.exists(("t", 1)).await?);
    Ok(())
}

/// A writer that does not know the index has deleted the entity.
#[azure_table::test]
async fn build_drops_a_unique_row_whose_entity_is_gone(table: TableClient<Person>) -> Result<()> {
    let people = Indexed::open(&table).await?;
    people.insert(&person(1)).await?;
    table.delete(("t", 1)).await?;
    table
        .insert(&Person {
            mail: "1@x".into(),
            ..person(2)
        })
        .await?;
    let built = people.build(Person::BY_MAIL).await?;
    assert_eq!((built.indexed, built.taken), (1, Vec::new()));
    assert_eq!(people.by(Person::BY_MAIL, ("t", "1@x"))?.first().await?.unwrap().id, 2);
    Ok(())
}

/// Such a row is deleted, and the service rejects the next read.
#[azure_table::test]
async fn call_that_ends_after_it_dropped_a_row_without_an_entity_is_in_doubt(
    faults: Faults,
    table: TableClient<Person>,
) -> Result<()> {
    let people = Indexed::open(&table).await?;
    let leave_row = async || {
        people.insert(&person(1)).await?;
        table.delete(("t", 1)).await
    };
    leave_row().await?;
    let mail = person(1).mail;
    table.insert(&Person { mail, ..person(2) }).await?;
    let rejected = || ResponseTemplate::new(403).code("AuthorizationFailure");
    let read = || FaultRule::new(rejected()).on(OperationKind::Get);
    let mut found = people.verify().await?;
    found
        .faults
        .retain(|fault| matches!(fault, IndexFault::Missing { index_row, .. } if index_row.contains("by_mail")));
    assert_eq!(found.faults.len(), 1, "{found:?}");
    faults.add(read().nth(7));
    let repaired = people.repair(&found).await.unwrap_err();
    faults.clear();
    leave_row().await?;
    // The row was not yet there when the build looked for such rows.
    let none = ResponseTemplate::page::<Person>([]);
    faults.add(FaultRule::new(none).on(OperationKind::Query).nth(1));
    faults.add(read().nth(5));
    let built = people.build(Person::BY_MAIL).await.unwrap_err();
    for error in [repaired, built] {
        assert_error(&error, ErrorKind::InDoubt, "");
        assert_eq!(error.last_failure().unwrap().kind(), ErrorKind::Forbidden, "{error}");
    }
    Ok(())
}

/// Each batch takes a second.
#[azure_table::test(start_paused)]
async fn entities_are_written_several_at_a_time(faults: Faults, table: TableClient<Person>) -> Result<()> {
    assert_eq!(table.bulk().insert((0..8).map(person)).await?.applied(), 8);
    faults.add(FaultRule::new(Fault::DelayResponse(Duration::from_secs(1))).on(OperationKind::Batch));
    let people = Indexed::open(&table).await?;
    let start = Instant::now();
    assert_eq!(people.build(Person::BY_NAME).await?.indexed, 8);
    assert_eq!(start.elapsed().as_secs(), 2, "4 at a time");
    let start = Instant::now();
    assert_eq!(people.clone().concurrency(8).build(Person::BY_MAIL).await?.indexed, 8);
    assert_eq!(start.elapsed().as_secs(), 1);
    let start = Instant::now();
    let one = people.clone().concurrency(0);
    assert_eq!(
        one.update_where(one.query(), |person| person.name = "Eve".into())
            .await?
            .applied(),
        8
    );
    assert_eq!(start.elapsed().as_secs(), 8, "one at a time");
    let start = Instant::now();
    assert_eq!(people.delete_where(people.query()).await?.applied(), 8);
    assert_eq!(start.elapsed().as_secs(), 2);
    Ok(())
}

#[azure_table::test]
async fn rows_of_another_table_are_not_written(service: TableServiceClient) -> Result<()> {
    let (_, people) = open(&service).await?;
    let (own, others) = (service.table::<Person>("People")?, service.table::<Person>("Others")?);
    others.create_table().await?;
    for table in [&own, &others] {
        table.insert(&person(1)).await?;
    }
    let error = people.delete_where(others.query()).await.unwrap_err().into_error();
    assert_error(&error, ErrorKind::InvalidInput, "the query is for the table Others");
    let change = |person: &mut Person| person.name.clear();
    let error = people
        .update_where(others.query(), change)
        .await
        .unwrap_err()
        .into_error();
    assert_error(&error, ErrorKind::InvalidInput, "the query is for the table Others");
    assert_eq!(own.get(("t", 1)).await?, Some(person(1)));
    Ok(())
}

#[tokio::test]
async fn rows_to_write_are_read_from_the_primary() -> Result<()> {
    let emulator = Emulator::new().secondary_lag(Duration::from_secs(60));
    let (_, people) = open(&TableServiceClient::from_transport(emulator)).await?;
    people.insert(&person(1)).await?;
    let secondary = CallOptions::new().location_mode(LocationMode::SecondaryOnly);
    assert_eq!(people.delete_where(people.query().with(&secondary)).await?.applied(), 1);
    Ok(())
}

/// Its index has no rows.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(index(by_nick = (nick)))]
struct Anonymous {
    #[table(partition_key)]
    tenant: String,
    #[table(row_key)]
    id: u32,
    nick: Option<String>,
}

#[azure_table::test]
async fn build_that_fails_after_it_stored_a_state_is_in_doubt(
    faults: Faults,
    table: TableClient<Anonymous>,
) -> Result<()> {
    let anonymous = |id| Anonymous {
        tenant: "t".into(),
        id,
        nick: None,
    };
    assert_eq!(table.bulk().insert((0..1_001).map(anonymous)).await?.applied(), 1_001);
    let people = Indexed::open(&table).await?;
    let denied = || FaultRule::new(ResponseTemplate::new(403).code("AuthorizationFailure")).on(OperationKind::Query);
    // The query of left over rows comes first, then that of a page, after which the state has its position.
    faults.add(denied().nth(3));
    let error = people.build(Anonymous::BY_NICK).await.unwrap_err();
    assert_error(&error, ErrorKind::InDoubt, "");
    assert_eq!(error.last_failure().unwrap().kind(), ErrorKind::Forbidden);

    faults.clear();
    let states = table.typed::<DynamicEntity>();
    assert_eq!(
        states
            .delete_where(states.query().partition("$indexes"))
            .await?
            .applied(),
        1
    );
    let missing_state = faults.add(denied().nth(1));
    let error = people.build(Anonymous::BY_NICK).await.unwrap_err();
    assert_error(&error, ErrorKind::InDoubt, "");
    assert_eq!(missing_state.hits(), 1);

    // Without any write, it is certain.
    faults.clear();
    faults.add(denied().nth(1));
    let error = people.build(Anonymous::BY_NICK).await.unwrap_err();
    assert_error(&error, ErrorKind::Forbidden, "");
    Ok(())
}

#[tokio::test]
async fn calls_run_on_a_task() -> Result<()> {
    let (_, _, people) = four().await?;
    let task = tokio::spawn(async move {
        people.build(Person::BY_NAME).await?.ensure_none_taken()?;
        people
            .update_where(people.query(), |person| person.name.push('!'))
            .await?
            .ensure_no_leftovers()?;
        people.by(Person::BY_MAIL, ("t", "1@x"))?.first().await
    });
    assert_eq!(task.await.unwrap()?.unwrap().name, "Ada!");
    Ok(())
}

#[azure_table::test]
async fn interrupted_update_reports_what_it_wrote(faults: Faults, service: TableServiceClient) -> Result<()> {
    let (_, people) = open(&service).await?;
    for id in 1..=4 {
        people.insert(&person(id)).await?;
    }
    let rejected = ResponseTemplate::new(403).code("AuthorizationFailure");
    faults.add(FaultRule::new(rejected).on(OperationKind::Batch).nth(3));
    let one = people.concurrency(1);
    let interrupted = one
        .update_where(one.query(), |person| person.name.push('!'))
        .await
        .unwrap_err();
    assert_eq!(interrupted.report().applied(), 2);
    assert!(Error::from(interrupted).may_have_applied());
    Ok(())
}
