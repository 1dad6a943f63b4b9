//! A batch: its operations and its bytes.

use azure_table::{DynamicEntity, TableClient};

use crate::Dimension;
use crate::canned::Canned;
use crate::curve::Curve;
use crate::measure::{Sweep, allocations, cpu, peak_per_unit};
use crate::rows::{Order, order_in, wide};

pub(crate) const DIMENSIONS: [Dimension; 2] = [("batches: operations", operations), ("batches: bytes", bytes)];

fn operations(sweep: &Sweep) -> Vec<Curve> {
    let setup = async |_| -> TableClient<Order> { Canned::default().table() };
    let costs = sweep.measure(&[1, 3, 10, 30, 100], setup, async |table, operations| {
        let mut batch = table.batch();
        for n in 0..operations {
            batch.insert(&order_in(0, n)).unwrap();
        }
        batch.submit().await.unwrap().len()
    });
    vec![
        cpu("CPU, ns per operation", "operations", &costs),
        allocations("allocations per operation", "operations", &costs),
    ]
}

/// 100 operations, together up to the limit of 4 MiB.
fn bytes(sweep: &Sweep) -> Vec<Curve> {
    const OPERATIONS: usize = 100;
    let setup = async |bytes: usize| {
        let length = bytes / OPERATIONS;
        let row = wide(length.div_ceil(30_000), length.min(20_000));
        (Canned::default().table::<DynamicEntity>(), row)
    };
    let costs = sweep.measure(
        &[10_000, 100_000, 1_000_000, 4_000_000],
        setup,
        async |(table, row), _| {
            let mut batch = table.batch();
            for n in 0..OPERATIONS {
                row.row_key = format!("{n:010}");
                batch.insert(row).unwrap();
            }
            let bytes = batch.bytes();
            assert_eq!(batch.submit().await.unwrap().len(), OPERATIONS);
            bytes
        },
    );
    vec![
        cpu("CPU, ns per byte", "bytes of the entities", &costs),
        peak_per_unit("peak heap, bytes per byte", "bytes of the entities", &costs),
    ]
}
