//! Durations, addresses and days: as properties, in filters and beyond their limits.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use azure_table::key::Day;
use azure_table::{
    DateTime, DynamicEntity, EdmType, EdmValue, ErrorKind, Result, TableClient, TableEntity, TableProperty,
};

#[derive(TableProperty, Clone, Copy, Debug, PartialEq)]
struct Host(IpAddr);

#[derive(TableEntity, Clone, Debug, PartialEq)]
struct Session {
    #[table(partition_key)]
    user: String,
    #[table(row_key)]
    id: u32,
    length: Duration,
    idle: Option<Duration>,
    client: IpAddr,
    host: Option<Host>,
    v4: Ipv4Addr,
    v6: Option<Ipv6Addr>,
    day: Day,
}

fn session(id: u32, length: Duration, client: &str, day: &str) -> Session {
    Session {
        user: "u".into(),
        id,
        length,
        idle: (id == 1).then_some(Duration::from_nanos(100)),
        client: client.parse().unwrap(),
        host: (id == 1).then(|| Host(client.parse().unwrap())),
        v4: Ipv4Addr::new(10, 0, 0, id as u8),
        v6: (id == 2).then_some(Ipv6Addr::LOCALHOST),
        day: day.parse().unwrap(),
    }
}

fn three() -> [Session; 3] {
    [
        session(1, Duration::ZERO, "9.0.0.1", "1601-01-01"),
        session(2, Duration::from_millis(1_500), "10.0.0.1", "2024-02-29"),
        session(
            3,
            Duration::new(922_337_203_685, 477_580_700),
            "2001:db8::1",
            "9999-12-31",
        ),
    ]
}

#[azure_table::test]
async fn values_survive_in_their_documented_form(table: TableClient<Session>) -> Result<()> {
    for session in three() {
        table.insert(&session).await?;
        let read = table.get(("u", session.id)).versioned().await?;
        assert_eq!(read.unwrap().entity, session);
    }
    assert_eq!(table.query().all().await?, three());
    let row = table.typed::<DynamicEntity>().get(("u", "0000000002")).await?.unwrap();
    assert_eq!(row.get("length"), Some(&EdmValue::Int64(15_000_000)));
    assert_eq!(row.get("client"), Some(&"10.0.0.1".into()));
    assert_eq!(row.get("v6"), Some(&"::1".into()));
    assert_eq!(row.get("idle"), None);
    assert_eq!(row.properties["day"].edm_type(), EdmType::DateTime);
    let day = row.property::<DateTime>("day")?;
    assert_eq!(day.to_string(), "2024-02-29T00:00:00Z");
    Ok(())
}

#[azure_table::test]
async fn values_are_found_by_filters(table: TableClient<Session>) -> Result<()> {
    let all = three();
    for session in &all {
        table.insert(session).await?;
    }
    let middle = &all[1];
    for (filter, expected) in [
        (Session::LENGTH.eq(middle.length), vec![2]),
        (Session::LENGTH.gt(middle.length), vec![3]),
        (Session::LENGTH.between(Duration::ZERO, middle.length), vec![1, 2]),
        (Session::IDLE.lt(Duration::from_secs(1)), vec![1]),
        (Session::CLIENT.eq(middle.client), vec![2]),
        (Session::CLIENT.ne(middle.client), vec![1, 3]),
        (Session::CLIENT.is_in([all[0].client, all[2].client]), vec![1, 3]),
        (Session::HOST.eq(Host(all[0].client)), vec![1]),
        (Session::V4.eq(middle.v4), vec![2]),
        (Session::V6.eq(Ipv6Addr::LOCALHOST), vec![2]),
        (Session::DAY.ge(middle.day), vec![2, 3]),
        (Session::DAY.lt(middle.day), vec![1]),
    ] {
        let text = filter.to_string();
        let found = table.query().filter(filter).all().await?;
        let found: Vec<_> = found.iter().map(|session| session.id).collect();
        assert_eq!(found, expected, "{text}");
    }
    let micro = Duration::from_micros(1);
    table.patch(("u", 1), [Session::LENGTH.set(micro)]).await?;
    assert_eq!(table.get(("u", 1)).await?.unwrap().length, micro);
    Ok(())
}

#[azure_table::test]
async fn duration_is_rounded_down_and_value_beyond_its_limit_is_an_error_that_names_it(
    table: TableClient<Session>,
) -> Result<()> {
    let exact = session(1, Duration::from_nanos(1_299), "::", "2024-02-29");
    table.insert(&exact).await?;
    let read = table.get(("u", 1)).await?.unwrap();
    assert_eq!(read.length, Duration::from_nanos(1_200));

    let long = session(1, Duration::MAX, "::", "2024-02-29");
    let error = table.insert(&long).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    let why = "property `length`: 18446744073709551615.999999999s is above the greatest duration stored, \
               922337203685.4775807s";
    assert!(error.to_string().ends_with(why), "{error}");
    let filter = Session::LENGTH.lt(Duration::MAX);
    let error = table.query().filter(filter).all().await.unwrap_err().to_string();
    let why = "column `length`: 18446744073709551615.999999999s is above";
    assert!(error.contains(why), "{error}");

    let early = session(1, Duration::ZERO, "::", "1600-12-31");
    let error = table.insert(&early).await.unwrap_err().to_string();
    let why = "property `day`: 1600-12-31T00:00:00Z is before the earliest date stored, 1601-01-01T00:00:00Z";
    assert!(error.ends_with(why), "{error}");

    table.insert(&three()[1]).await?;
    let dynamic = table.typed::<DynamicEntity>();
    let row = dynamic.get(("u", "0000000002")).await?.unwrap();
    for (name, value, why) in [
        (
            "length",
            EdmValue::Int64(-1),
            "-1 ticks of 100 ns are below the least duration 0",
        ),
        ("client", "a.b".into(), "expected an IP address, found \"a.b\""),
        ("v4", "::1".into(), "expected an IPv4 address, found \"::1\""),
        (
            "day",
            (Day::new(2024, 2, 29).unwrap().start() + Duration::from_secs(1)).into(),
            "2024-02-29T00:00:01Z is not a date: it is not midnight in UTC",
        ),
    ] {
        let mut wrong = row.clone();
        wrong.insert(name, value);
        dynamic.insert_or_replace(&wrong).await?;
        let error = table.get(("u", 2)).await.unwrap_err().to_string();
        assert!(error.contains(&format!("property `{name}`: {why}")), "{error}");
    }
    Ok(())
}
