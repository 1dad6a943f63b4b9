//! Comparisons of order on a column whose text does not sort as its values do, of a newtype of such a type, and in a
//! variant.

use std::net::IpAddr;

use azure_table::{TableEntity, TableProperty};

#[derive(TableProperty)]
struct Host(IpAddr);

#[derive(TableEntity)]
struct Session {
    #[table(partition_key)]
    user: String,
    #[table(row_key)]
    id: u32,
    client: Option<IpAddr>,
    host: Host,
}

#[derive(TableEntity)]
#[table(tag = "Kind")]
enum Row {
    Session(Session),
}

fn main() {
    let localhost: IpAddr = "127.0.0.1".parse().unwrap();
    let _ = Session::CLIENT.ge(localhost);
    let _ = Session::CLIENT.between(localhost, localhost);
    let _ = Session::HOST.lt(Host(localhost));
    let _ = Row::SESSION.field(Session::CLIENT).le(localhost);
    let _ = Session::CLIENT.eq(localhost);
}
