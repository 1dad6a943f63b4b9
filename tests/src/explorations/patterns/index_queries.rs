//! The explorations of queries by a declared index beside a write that moves an entity in it.

use azure_table_patterns::Indexed;

use super::*;

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(index(by_mail = (mail), unique), index(by_name = (name)), index(by_team = (team), covers))]
struct Person {
    #[table(partition_key)]
    tenant: String,
    #[table(row_key)]
    id: u8,
    mail: String,
    name: String,
    team: String,
}

/// Returns an entity with this value in every indexed field.
fn person(id: u8, value: &str) -> Person {
    Person {
        tenant: "t".into(),
        id,
        mail: value.into(),
        name: value.into(),
        team: value.into(),
    }
}

/// The kind of an index.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Plain,
    Covering,
    Unique,
}

/// Queries all values of an index while the entity 1 moves in it, from a value before that of the entity 2 to one
/// behind. The entity 2 comes once, and the entity 1 as it was stored before or after the move.
async fn query(place: Place, kind: Kind) -> Result<()> {
    let people = Indexed::open(&table::<Person>(&place.behind())).await?;
    people.build(Person::BY_MAIL).await?.ensure_none_taken()?;
    people.build(Person::BY_NAME).await?.ensure_none_taken()?;
    people.build(Person::BY_TEAM).await?.ensure_none_taken()?;
    for (id, value) in [(1, "a"), (2, "b")] {
        people.insert(&person(id, value)).await?;
    }
    let reads = async |service: TableServiceClient| {
        let people = Indexed::open(&table::<Person>(&service)).await?;
        match kind {
            Kind::Plain => people.by(Person::BY_NAME, ("t",))?.all().await,
            Kind::Covering => people.by(Person::BY_TEAM, ("t",))?.all().await,
            Kind::Unique => people.by(Person::BY_MAIL, ("t",))?.all().await,
        }
    };
    let moves = async |service: TableServiceClient| {
        let people = Indexed::open(&table::<Person>(&service)).await?;
        let change = |person: &mut Person| *person = self::person(1, "c");
        people.modify(("t", 1), change).await
    };
    let (read, moved) = both(&place, reads, moves).await;
    if let Err(e) = moved
        && !e.may_have_applied()
    {
        return Err(e);
    }
    // A read that was lost too often has no result to check.
    let Ok(read) = read else { return Ok(()) };
    let of = |id| {
        read.iter()
            .filter(|person| person.id == id)
            .cloned()
            .collect::<Vec<_>>()
    };
    assert_eq!(of(2), [person(2, "b")]);
    let moving = of(1);
    let known = [person(1, "a"), person(1, "c")];
    assert!(moving.iter().all(|person| known.contains(person)), "{moving:?}");
    // Only a read of the entity after its row can find that it has moved.
    let fewest = usize::from(kind == Kind::Covering);
    assert!((fewest..=1).contains(&moving.len()), "{moving:?} in {kind:?}");
    Ok(())
}

/// A query of each kind of index.
pub(super) const ALL: [Case; 3] = [
    case!("`Indexed`: a query by a plain index, and a move", |place| query(
        place,
        Kind::Plain
    ))
    .only_orders(),
    case!("`Indexed`: a query by a covering index, and a move", |place| query(
        place,
        Kind::Covering
    ))
    .only_orders(),
    case!("`Indexed`: a query by a unique index, and a move", |place| query(
        place,
        Kind::Unique
    ))
    .only_orders(),
];
