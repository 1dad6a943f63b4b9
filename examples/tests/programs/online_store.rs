//! A store in one table.

use crate::output;

#[test]
fn a_customer_is_read_with_addresses_orders_and_lines() {
    let text = output("online_store");
    let (customer, _) = text.split_once("latest first").unwrap();
    assert!(customer.contains("customer   c7 Ada, 3 orders"), "{text}");
    assert_eq!(customer.matches("\naddress ").count(), 2, "{text}");
    let order = "order      3        2026-11-21T12:15:00Z   17.50\n             1      tea                     4.50\n";
    assert!(customer.contains(order), "{text}");
    assert_eq!(customer.matches("\norder ").count(), 3, "{text}");
    assert_eq!(customer.matches("\n             ").count(), 7, "{text}");
}

#[test]
fn orders_are_found_by_time_and_by_item() {
    let text = output("online_store");
    let (_, indexes) = text.split_once("latest first").unwrap();
    let (latest, with_tea) = indexes.split_once("orders with tea").unwrap();
    let numbers = |part: &str| -> Vec<String> {
        let orders = part.lines().filter(|line| line.starts_with("order "));
        orders
            .filter_map(|line| line.split_whitespace().nth(1).map(str::to_owned))
            .collect()
    };
    assert_eq!(numbers(latest), ["3", "2"], "{text}");
    assert_eq!(numbers(with_tea), ["1", "3"], "{text}");
    assert_eq!(indexes.matches("RowRange").count(), 2, "{text}");
}
