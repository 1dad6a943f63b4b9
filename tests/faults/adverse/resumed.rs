//! Reads and writes over many pages, each resumed by another process after every page or failure.

use azure_table::emulator::SeedEntities as _;
use azure_table::{DynamicEntity, TableEntity};
use azure_table_tests::entities::{Keyed, Marked};
use azure_table_tests::promises;
use azure_table_tests::promises::{Place, Promise};

use super::{OK, TABLE, counted, rows};

pub(super) const PROMISES: [Promise; 5] = promises![
    "`scan` reads each row once": scan,
    "`delete_where`, resumed, deletes what it selects": delete_where,
    "`update_where`, resumed, updates no row twice": update_where,
    "`gather` collects each row once": gather,
    "`fan_out` reads each row once": fan_out,
];

/// The number of processes after which a read or a write is given up.
const RUNS: usize = 60;

/// Returns the keys of the rows that [`rows`] leaves.
fn keys(place: &Place) -> Vec<(String, String)> {
    let row_keys = rows(place);
    let of = |partition: &'static str| row_keys.iter().map(move |key| (partition.to_owned(), key.clone()));
    ["p", "q"].into_iter().flat_map(of).collect()
}

fn key(row: DynamicEntity) -> (String, String) {
    (row.partition_key, row.row_key)
}

async fn scan(place: Place) {
    let [table, _] = place.clients::<DynamicEntity>(TABLE);
    let keys = keys(&place);
    let (mut position, mut read) = (None::<String>, Vec::new());
    for _ in 0..RUNS {
        let scan = table.query().page_size(3).scan().concurrency(2);
        let scan = match &position {
            Some(text) => scan.resume_from(text.parse().unwrap()),
            None => scan,
        };
        let mut pages = scan.stream();
        match pages.try_next_page().await {
            Ok(Some(page)) => {
                read.extend(page.into_iter().map(key));
                position = Some(pages.position().to_string());
            }
            Ok(None) => {
                read.sort_unstable();
                assert_eq!(read, keys);
                counted(&place, "scan", OK);
                break;
            }
            Err(_) => {}
        }
    }
}

async fn delete_where(place: Place) {
    let [table, _] = place.clients::<DynamicEntity>(TABLE);
    rows(&place);
    let (mut position, mut leftovers) = (None::<String>, 0);
    for _ in 0..RUNS {
        let delete = table.delete_where(table.query().partition("p").page_size(3));
        let delete = match &position {
            Some(text) => delete.resume_from(text.parse().unwrap()),
            None => delete,
        };
        match delete.await {
            Ok(report) => {
                leftovers += report.leftovers().len();
                let behind = place.behind().dynamic_table(TABLE).unwrap();
                let left = behind.query().partition("p").count().await.unwrap();
                assert!(left <= leftovers, "{left} are left, {leftovers} were reported");
                counted(&place, "resumed delete_where", OK);
                break;
            }
            Err(interrupted) => {
                leftovers += interrupted.report().leftovers().len();
                position = Some(interrupted.position().to_string());
            }
        }
    }
}

async fn update_where(place: Place) {
    let [table, _] = place.clients::<Marked>(TABLE);
    let counters = (0..12).map(|n| Marked::new("p", &n.to_string(), 0));
    place.emulator().seed(TABLE, counters).unwrap();
    let (mut position, mut applied, mut is_over) = (None::<String>, 0, false);
    for _ in 0..RUNS {
        let query = table.query().partition("p").page_size(3);
        let update = table.update_where(query, |counter| counter.count += 1);
        let update = match &position {
            Some(text) => update.resume_from(text.parse().unwrap()),
            None => update,
        };
        match update.await {
            Ok(report) => {
                applied += report.applied();
                is_over = true;
                break;
            }
            Err(interrupted) => {
                applied += interrupted.report().applied();
                position = Some(interrupted.position().to_string());
            }
        }
    }
    let behind = place.behind().table::<Marked>(TABLE).unwrap();
    let stored = behind.query().partition("p").all().await.unwrap();
    assert_eq!(stored.len(), 12);
    let updated = stored.iter().filter(|counter| counter.count == 1).count() as u64;
    let is_twice = stored.iter().any(|counter| counter.count > 1);
    assert!(!is_twice, "updated twice: {stored:?}");
    assert!(updated >= applied, "{applied} were reported, {updated} are stored");
    counted(&place, "resumed update_where", is_over.then_some(()).ok_or(()));
}

#[derive(TableEntity, Clone, Debug)]
struct Order {
    #[table(partition_key)]
    group: String,
    #[table(row_key)]
    id: String,
}

#[derive(TableEntity, Clone, Debug)]
enum Item {
    #[table(row_key_prefix = "c")]
    Customer(Keyed),
    #[table(row_key_prefix = "o")]
    Order(Order),
}

async fn gather(place: Place) {
    let [table, _] = place.clients::<Item>(TABLE);
    let items = ["o1", "c1", "o2", "o3", "o4", "o5"].map(|key| DynamicEntity::new("p", key));
    place.emulator().seed(TABLE, items).unwrap();
    let gathered = table.query().partition("p").gather::<(Option<Keyed>, Vec<Order>)>();
    if let Some((customer, mut orders)) = counted(&place, "gather", gathered.await) {
        orders.sort_by(|a, b| a.id.cmp(&b.id));
        let ids = orders.iter().map(|order| order.id.as_str());
        assert!(
            customer.is_some() && ids.eq(["o1", "o2", "o3", "o4", "o5"]),
            "{orders:?}"
        );
    }
}

async fn fan_out(place: Place) {
    let [table, _] = place.clients::<DynamicEntity>(TABLE);
    let keys = keys(&place);
    let read = table.query().fan_out().partitions(["p", "q"]).all();
    if let Some(read) = counted(&place, "fan_out", read.await) {
        let mut read: Vec<_> = read.into_iter().map(key).collect();
        read.sort_unstable();
        assert_eq!(read, keys);
    }
}
