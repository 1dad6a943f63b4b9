//! The chart of the guide `performance`, drawn from the table of `PERFORMANCE.md`.
//!
//! A chart of text looks the same in rustdoc and in a clone, which cannot share the file of a picture.

use std::fs;

use crate::pages::SOURCES;
use crate::sources::root;

/// The first line of the chart.
const TITLE: &str = "CPU time over HTTP, as a ratio to the least code\n\n";
/// The columns of the table that are drawn, with their names in the chart.
const CLIENTS: [(&str, &str); 3] = [
    ("azure-table", "azure-table"),
    ("on reqwest", "its ReqwestTransport"),
    ("0.21, pooled", "azure_data_tables"),
];
/// The characters of a bar of ratio 1.
const UNIT: f64 = 12.0;

/// Returns the guide `performance` with its chart drawn anew.
///
/// # Panics
/// The guide has no chart, or `PERFORMANCE.md` no such table.
pub fn redrawn() -> String {
    let guide = fs::read_to_string(root().join(SOURCES).join("performance.md")).unwrap();
    let (before, rest) = guide.split_once(TITLE).unwrap();
    let (_, after) = rest.split_once("```").unwrap();
    let figures = fs::read_to_string(root().join("PERFORMANCE.md")).unwrap();
    format!("{before}{TITLE}{}```{after}", bars(&figures))
}

fn bars(figures: &str) -> String {
    let (_, table) = figures.split_once("| | least code | azure-table |").unwrap();
    let mut lines = table.lines();
    let clients: Vec<&str> = ["least code", "azure-table"]
        .into_iter()
        .chain(lines.next().unwrap_or_default().trim_end_matches('|').split('|'))
        .map(str::trim)
        .filter(|name| !name.is_empty())
        .collect();
    for (column, _) in CLIENTS {
        assert!(clients.contains(&column), "PERFORMANCE.md has no column {column:?}");
    }
    let mut bars = line("", "least code", 1.0);
    for row in lines.skip(1).take_while(|row| row.starts_with('|')) {
        let mut cells = row.trim_matches('|').split('|').map(str::trim);
        let mut name = cells.next().unwrap_or_default().split(", ").next().unwrap_or_default();
        for (client, cell) in clients.iter().zip(cells) {
            // Over HTTP, then over HTTPS.
            let ratio = cell.split(',').next().and_then(|ratio| ratio.parse().ok());
            let drawn = CLIENTS.iter().find(|(column, _)| column == client);
            if let (Some(ratio), Some((_, client))) = (ratio, drawn) {
                bars += &line(name, client, ratio);
                name = "";
            }
        }
    }
    bars
}

fn line(name: &str, client: &str, ratio: f64) -> String {
    let bar = "█".repeat((ratio * UNIT).round() as usize);
    format!("{name:<17}{client:<21}{bar} {ratio:.2}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_as_long_as_their_ratios() {
        let table = "| | least code | azure-table | goal | on reqwest | 0.21, pooled |\n|---|--:|--:|--:|--:|--:|\n\
                     | page, per row | 620 ns | 0.50, 0.94 | 0.85, missed | | 1.25, 1.67 |\n| bulk of 1,000, per row | 1 ns | 1.00, 2 | | | |\n";
        let expected = [
            "                 least code           ████████████ 1.00\n",
            "page             azure-table          ██████ 0.50\n",
            "                 azure_data_tables    ███████████████ 1.25\n",
            "bulk of 1,000    azure-table          ████████████ 1.00\n",
        ];
        assert_eq!(bars(table), expected.concat());
    }
}
