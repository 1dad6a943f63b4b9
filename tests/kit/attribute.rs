//! The arguments of a `#[azure_table::test]`.

use std::time::Duration;

use azure_table::operation::OperationKind;
use azure_table::testing::{Fault, FaultRule, Faults, ResponseTemplate, Spy};
use azure_table::{DynamicEntity, Emulator, ErrorKind, Profile, TableClient, TableServiceClient};
use azure_table_tests::entities::Numbered;
use azure_table_tests::polls::timed;

fn blog(number: u32) -> Numbered {
    Numbered::new("Channel9", number, 1)
}

type Alias = TableClient<Numbered>;

/// The crate has another name here.
mod renamed {
    use azure_table as tables;

    #[tables::test(crate = "tables")]
    async fn test_finds_the_crate_by_its_path(blogs: tables::TableClient, _: tables::testing::Spy) {
        assert_eq!(blogs.name().as_str(), "Blogs");
    }

    #[tables::test(explore(faults = 1), crate = "tables")]
    async fn exploration_finds_the_crate_by_its_path(blogs: tables::TableClient) {
        assert_eq!(blogs.name().as_str(), "Blogs");
    }
}

#[azure_table::test]
async fn a_service_is_empty(service: TableServiceClient) {
    assert_eq!(service.list_tables().await.unwrap(), [""; 0]);
    assert_eq!(service.profile(), Profile::Storage);
}

#[azure_table::test]
async fn tables_exist_and_are_named_by_their_arguments(
    service: TableServiceClient,
    blogs: TableClient<Numbered>,
    audit_log: TableClient,
    mut r#type: Alias,
    _: Emulator,
) -> azure_table::Result<()> {
    blogs.insert(&blog(1)).await?;
    audit_log.insert(&DynamicEntity::new("p", "r")).await?;
    r#type = r#type.clone();
    assert_eq!(r#type.get(("Channel9", 1_u32)).await?, None);
    assert_eq!(service.list_tables().await?, ["AuditLog", "Blogs", "Type"]);
    Ok(())
}

/// All share one emulator: the spy records what the client sends, the faults follow, and the emulator has the true
/// state.
#[azure_table::test]
async fn all_arguments_of_a_test_share_one_service(
    spy: Spy,
    blogs: TableClient<Numbered>,
    faults: Faults,
    service: TableServiceClient,
    emulator: Emulator,
) -> azure_table::Result<()> {
    assert_eq!(spy.requests(), 0, "making the table is no part of the test");
    faults.add(FaultRule::new(Fault::LoseResponse).on(OperationKind::Insert).first(1));
    blogs.insert(&blog(1)).await?;
    let kinds: Vec<_> = spy.exchanges().iter().map(|it| (it.kind(), it.status())).collect();
    assert_eq!(
        kinds,
        [
            (Some(OperationKind::Insert), None),
            (Some(OperationKind::Query), Some(200))
        ]
    );
    let truth = TableServiceClient::from_transport(emulator).table::<Numbered>("Blogs")?;
    assert_eq!(truth.query().all().await?, [blog(1)]);
    assert_eq!(service.table::<Numbered>("Blogs")?.query().all().await?, [blog(1)]);
    assert_eq!((spy.requests(), faults.requests()), (3, 3));
    Ok(())
}

#[azure_table::test(start_paused)]
async fn a_paused_clock_does_not_wait(blogs: TableClient<Numbered>, faults: Faults) {
    let started = tokio::time::Instant::now();
    faults.add(FaultRule::new(ResponseTemplate::server_busy(Duration::from_secs(20))).first(2));
    blogs.insert(&blog(1)).await.unwrap();
    assert!(started.elapsed() >= Duration::from_secs(40));
    // Panics if the clock runs.
    tokio::time::advance(Duration::ZERO).await;
}

#[azure_table::test(cosmos, start_paused)]
async fn service_of_a_test_can_be_cosmos_db(
    blogs: TableClient<Numbered>,
    service: TableServiceClient,
    spy: Spy,
) -> azure_table::Result<()> {
    assert_eq!(service.profile(), Profile::Cosmos);
    blogs.insert_or_merge(&blog(1)).await?;
    assert_eq!(spy.last().unwrap().header("x-http-method"), Some("MERGE"));
    assert_eq!(service.properties().await.unwrap_err().kind(), ErrorKind::Unsupported);
    Ok(())
}

#[azure_table::test]
#[should_panic(expected = "as it should")]
async fn other_attributes_of_a_test_are_kept() {
    panic!("as it should");
}

#[azure_table::test]
async fn an_error_of_any_kind_fails_the_test(_: TableServiceClient) -> Result<(), Box<dyn std::error::Error>> {
    tokio::spawn(async {}).await?;
    Ok(())
}

type T = TableClient<Numbered>;

/// An alias hides a table from the macro: then the test reports the mistake when it runs.
#[azure_table::test]
#[should_panic(expected = "table name \"T\": it has 1 characters")]
async fn invalid_table_name_fails_the_test(t: T) {
    drop(t);
}

#[azure_table::test]
async fn nothing_is_tested(blogs: TableClient<Numbered>) {
    drop(blogs);
}

/// The cost of one test besides its body: runtime, emulator, client, table.
#[test]
fn own_service_costs_little() {
    const RUNS: u32 = 200;
    nothing_is_tested();
    let ((), all) = timed(|| (0..RUNS).for_each(|_| nothing_is_tested()));
    let create = |_| drop(TableServiceClient::from_transport(Emulator::new()));
    let ((), bare) = timed(|| (0..RUNS).for_each(create));
    let [each, bare] = [all, bare].map(|time| time / RUNS);
    println!("a test with a service and a table: {each:?}; of that emulator and client: {bare:?}");
    assert!(each < Duration::from_millis(20), "{each:?}");
}
