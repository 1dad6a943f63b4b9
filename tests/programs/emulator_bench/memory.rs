//! A million entities in this process: bytes per entity, and pages at several positions.

use std::fs;
use std::time::Instant;

use azure_table::Emulator;
use azure_table::transport::Transport;

use crate::load;
use crate::median;

const ROWS: u32 = 1_000_000;
const ROUNDS: usize = 101;
const PAGE_SIZE: f64 = 4_096.0;

pub(crate) fn print() {
    let before = resident();
    let started = Instant::now();
    let emulator = Emulator::new();
    load::fill(&emulator, ROWS);
    let inserted = started.elapsed();
    let bytes = (resident() - before) / f64::from(ROWS);

    let bare = page(&emulator, "$format=application/json;odata=nometadata").0;
    let json =
        (bare.len() - r#"{"value":[]}"#.len() - (load::PAGE_ROWS as usize - 1)) as f64 / f64::from(load::PAGE_ROWS);
    println!(
        "1,000,000 entities: {bytes:.0} bytes resident an entity, its JSON at no metadata {json:.0} bytes: {:.2} × (bar 2.5); inserted one by one in {:.1} s",
        bytes / json,
        inserted.as_secs_f64()
    );

    let from = |row: u32| format!("$filter=PartitionKey%20eq%20'partition'%20and%20RowKey%20ge%20'{row:010}'");
    let [first, middle] = [0, ROWS / 2].map(from);
    let (mut firsts, mut middles) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        firsts.push(page(&emulator, &first).1);
        middles.push(page(&emulator, &middle).1);
    }
    let (first, middle) = (median(firsts), median(middles));
    println!(
        "page of 1,000 among them: the first {first:.0} µs, from the middle {middle:.0} µs: {:.2} × (bar 1.5)",
        middle / first
    );
}

/// A page, and its time in microseconds.
fn page(emulator: &Emulator, query: &str) -> (bytes::Bytes, f64) {
    let request = load::page(query).in_process();
    let started = Instant::now();
    let response = futures::executor::block_on(emulator.send(request)).unwrap();
    let micros = started.elapsed().as_secs_f64() * 1_000_000.0;
    assert_eq!(response.status(), 200);
    (response.into_body(), micros)
}

/// The resident memory of this process, in bytes.
fn resident() -> f64 {
    let statm = fs::read_to_string("/proc/self/statm").unwrap();
    statm.split(' ').nth(1).unwrap().parse::<f64>().unwrap() * PAGE_SIZE
}
