//! Comparisons of order on an enum that is stored by name: in a column, within a newtype, and as a key. Bytes in
//! base64 have no order either. The numbers of an enum sort as its variants do.

use azure_table::key::Base64Url;
use azure_table::{TableEntity, TableProperty};

#[derive(Clone, TableProperty)]
#[table(key)]
enum Level {
    Trace,
    Debug,
    Info,
    Warn,
    Error,
}

#[derive(TableProperty)]
#[table(key)]
struct Least(Level);

#[derive(TableProperty)]
#[table(integer)]
enum Priority {
    Low,
    High = 10,
}

#[derive(TableEntity)]
struct Log {
    #[table(partition_key)]
    channel: Level,
    #[table(row_key)]
    least: Least,
    level: Option<Level>,
    shown: Least,
    priority: Priority,
}

#[derive(TableEntity)]
struct Pair {
    #[table(partition_key)]
    key: (Level, u32),
    #[table(row_key)]
    hash: Base64Url<Vec<u8>>,
}

fn main() {
    let _ = Log::LEVEL.lt(Level::Warn);
    let _ = Log::SHOWN.between(Least(Level::Trace), Least(Level::Debug));
    let _ = Log::CHANNEL.ge(Level::Info);
    let _ = Log::LEAST.le(Least(Level::Error));
    let _ = Pair::KEY.gt((Level::Info, 1));
    let _ = Pair::HASH.gt([1_u8]);
    let _ = Log::LEVEL.eq(Level::Warn) & Log::CHANNEL.ne(Level::Info);
    let _ = Log::PRIORITY.ge(Priority::High) & Log::PRIORITY.lt(Priority::Low);
}
