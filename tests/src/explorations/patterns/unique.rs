//! Values of a declared index that are unique in a partition.

use azure_table::ErrorKind;
use azure_table_patterns::Indexed;

use super::*;
use crate::explorations::index_rows::{self, Declared, Field};

pub(super) const ALL: [Case; 2] = [
    case!("`Indexed`: two entities of one value", insert).and_crashes(),
    case!("`Indexed`: a value is freed and taken", replace).and_crashes(),
];

const BY_MAIL: [Declared; 1] = [Declared::unique("by_mail", &[Field::Text("mail")])];

pub(super) fn user(group: &str, id: &str, mail: &str) -> User {
    User {
        group: group.into(),
        id: id.into(),
        mail: mail.into(),
        write: None,
    }
}

/// Returns the entities with a built index, read and written without the gate.
async fn indexed_behind(place: &Place) -> Indexed<User> {
    let users = Indexed::open(&table(&place.behind())).await.unwrap();
    users.build(User::BY_MAIL).await.unwrap().ensure_none_taken().unwrap();
    users
}

/// Checks that each mail has one user, and that a lookup finds it. Returns the users.
async fn check(place: &Place, users: &Indexed<User>) -> Vec<User> {
    let all = users.query().allow_table_scan().all().await.unwrap();
    for user in &all {
        let with_mail = all.iter().filter(|other| other.mail == user.mail);
        assert_eq!(with_mail.count(), 1, "{all:?} have one mail");
        let of_mail = users.by(User::BY_MAIL, ("g", &*user.mail)).unwrap().first().await;
        assert_eq!(of_mail.unwrap().map(|found| found.id).as_ref(), Some(&user.id));
    }
    index_rows::check(&place.behind(), TABLE, &BY_MAIL, users).await;
    all
}

/// Inserts a user. Returns `false` if another one has the mail.
async fn add(place: &Place, service: &TableServiceClient, id: &str, mail: &str) -> Result<bool> {
    let users = Indexed::open(&table(service)).await?;
    match users.insert(&user("g", id, mail)).await {
        Ok(_) => Ok(true),
        Err(e) if Indexed::<User>::taken(&e).is_some() => Ok(false),
        // An earlier life has inserted it.
        Err(e) if place.has_crashes() && e.kind() == ErrorKind::AlreadyExists => Ok(true),
        Err(e) => Err(e),
    }
}

async fn insert(place: Place) {
    let behind = indexed_behind(&place).await;
    let (a, b) = both(
        &place,
        async |service| add(&place, &service, "1", "m").await,
        async |service| add(&place, &service, "2", "m").await,
    )
    .await;
    let users = check(&place, &behind).await;
    check_winner(&place, &[a, b]);
    assert!(users.len() == 1 || !place.has_crashes(), "{users:?}");
}

/// Checks that one insert wrote, unless one failed.
pub(super) fn check_winner(place: &Place, added: &[Result<bool>]) {
    done(place, added);
    let first = added.iter().filter(|result| matches!(result, Ok(true))).count();
    assert!(first <= 1, "both have the value");
    assert!(first == 1 || added.iter().any(Result::is_err), "nobody has the value");
}

async fn replace(place: Place) {
    let behind = indexed_behind(&place).await;
    behind.insert(&user("g", "1", "old")).await.unwrap();
    let change = async |service: TableServiceClient| {
        let users = Indexed::open(&table::<User>(&service)).await?;
        let change = |user: &mut User| user.mail = "new".into();
        users.modify(("g", "1"), change).await.map(drop)
    };
    let take = async |service: TableServiceClient| add(&place, &service, "2", "old").await;
    let (changed, taken) = both(&place, change, take).await;
    done(&place, [&changed]);
    let users = check(&place, &behind).await;
    if place.has_crashes() {
        assert!(taken.is_ok(), "{taken:?}");
        assert_eq!(users[0].mail, "new");
    }
}
