//! A table on the terminal that is filled column by column, for figures side by side.

use std::fmt::Display;

/// Lines with a name and a cell for each column.
#[derive(Clone, Debug, Default)]
pub struct Columns(Vec<(String, Vec<String>)>);

impl Columns {
    /// Adds the next cell of a line. A new line comes last.
    pub fn add(&mut self, line: impl Display, cell: impl Display) {
        let (name, cell) = (line.to_string(), cell.to_string());
        match self.0.iter_mut().find(|(known, _)| *known == name) {
            Some((_, cells)) => cells.push(cell),
            None => self.0.push((name, vec![cell])),
        }
    }

    /// Prints the lines, with the cells of a column below each other.
    pub fn print(&self) {
        let width = |column| {
            let cells = self.0.iter().filter_map(|(_, cells)| cells.get(column));
            cells.map(String::len).max().unwrap_or_default()
        };
        let names = self.0.iter().map(|(name, _)| name.len()).max().unwrap_or_default();
        for (name, cells) in &self.0 {
            let cells = cells.iter().enumerate();
            let cells: String = cells
                .map(|(column, cell)| format!("  {cell:<0$}", width(column)))
                .collect();
            println!("{name:<names$}{}", cells.trim_end());
        }
    }
}
