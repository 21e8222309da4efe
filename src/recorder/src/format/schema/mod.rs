//! The tables and views of a log. This is the only code that defines their columns.
//!
//! The statements, the order of the values in a row, the checksums, the queries of readers and the data dictionary all
//! follow from [`TABLES`]. A new column of a table needs an entry in `tables`, a migration for each database, and its
//! value in the code that encodes the rows (`write::row_encoder`, `write::run_rows`). The entry must come behind the
//! table's other columns that are written at the same time. Stored checksums refer to columns by their index, and this
//! order keeps the checksums of older logs valid.

mod columns;
#[cfg(test)]
mod definitions;
mod dictionary;
mod grasps;
mod sweeps;
mod table;
mod tables;
mod views;

use std::sync::LazyLock;

pub use columns::Columns;
pub(crate) use columns::{Reference, Written};
pub use dictionary::dictionary;
pub use table::Table;
pub(crate) use table::TableId;

use table::{Key, TableKind};

use super::{ids::rows_of, value::ColumnType};

const TABLE_COUNT: usize =
    tables::STORED.len() + views::VIEWS.len() + grasps::GRASPS.len() + sweeps::SWEEP_TABLES.len();

/// Every table and view of a log: first the tables in the order of `TableId`, then the views, then the tables whose
/// rows belong to no run.
pub static TABLES: [Table; TABLE_COUNT] = {
    let (stored, views) = (tables::STORED.len(), views::VIEWS.len());
    let mut all = [tables::STORED[0]; TABLE_COUNT];
    let mut index = 0;
    while index < TABLE_COUNT {
        all[index] = match index {
            _ if index < stored => tables::STORED[index],
            _ if index < stored + views => views::VIEWS[index - stored],
            _ if index < stored + views + grasps::GRASPS.len() => grasps::GRASPS[index - stored - views],
            _ => sweeps::SWEEP_TABLES[index - stored - views - grasps::GRASPS.len()],
        };
        index += 1;
    }
    all
};

/// Statement that inserts a row into a table whose rows belong to no run, and the columns in the order of its values.
///
/// # Panics
/// When there is no such table, which is an error of this program.
pub(crate) fn insert_outside_runs(table: &str) -> (String, Vec<(&'static str, ColumnType)>) {
    let columns = columns_outside_runs(table);
    (insert_rows_outside_runs(table, 1), columns)
}

/// Statement that inserts this number of rows into such a table.
pub(crate) fn insert_rows_outside_runs(table: &str, rows: usize) -> String {
    let columns = columns_outside_runs(table);
    let names: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
    let row = format!("({})", vec!["?"; names.len()].join(","));
    format!("INSERT INTO {table} ({}) VALUES {}", names.join(", "), vec![row.as_str(); rows].join(","))
}

fn columns_outside_runs(table: &str) -> Vec<(&'static str, ColumnType)> {
    let table = grasps::GRASPS.iter().chain(&sweeps::SWEEP_TABLES).find(|known| known.name == table);
    let table = table.unwrap_or_else(|| panic!("a table of no run"));
    let columns = table.columns().filter(|(_, columns)| columns.written == Written::WithRow);
    columns.map(|(name, columns)| (name, columns.column_type)).collect()
}

impl Table {
    /// The table or view of a name, in upper or lower case.
    pub fn named(name: &str) -> Option<&'static Self> {
        TABLES.iter().find(|table| table.name.eq_ignore_ascii_case(name))
    }

    /// True for a view with the names of robots, bodies, joints and devices.
    pub fn is_named_view(&self) -> bool {
        matches!(self.kind, TableKind::NamedView | TableKind::SensorView)
    }

    /// True for a table that rows of runs are written into. Views only show such rows, and rows of grasps belong to no
    /// run.
    pub(crate) fn holds_runs(&self) -> bool {
        self.id().is_some()
    }

    /// True for a table whose rows belong to no run. Queries of every run see all of its rows.
    pub fn is_of_no_run(&self) -> bool {
        self.kind == TableKind::OfNoRun
    }

    fn id(&self) -> Option<TableId> {
        match self.kind {
            TableKind::Stored(id) => Some(id),
            _ => None,
        }
    }

    /// Names of the columns, each with the definition that it shares with its neighbours.
    pub fn columns(&self) -> impl Iterator<Item = (&'static str, &'static Columns)> {
        self.columns.iter().flat_map(|columns| columns.names().map(move |name| (name, columns)))
    }

    /// True if the rows belong to steps by a `simulationRowID`.
    pub(crate) fn has_rows_of_steps(&self) -> bool {
        self.key == Key::Row
    }

    /// True if rows can be selected by their step: by their `simulationRowID` or by a column `step`.
    pub(crate) fn has_steps(&self) -> bool {
        self.has_rows_of_steps() || self.columns().any(|(name, _)| name == "step")
    }

    /// SQL condition that selects the rows of a run. `schema` qualifies the tables in it; it may be empty.
    pub(crate) fn belongs_to(&self, run: i64, schema: &str) -> String {
        let of_robots = format!("robotID IN (SELECT robotID FROM {schema}robot WHERE simulationID = {run})");
        match self.key {
            Key::Simulation => format!("simulationID = {run}"),
            Key::Row => {
                let (first, next) = rows_of(run);
                format!("simulationRowID >= {first} AND simulationRowID < {next}")
            }
            Key::Robot => of_robots,
            Key::Joint => format!("jointID IN (SELECT jointID FROM {schema}joint WHERE simulationID = {run})"),
            Key::Component => {
                format!("componentID IN (SELECT componentID FROM {schema}robotComponent WHERE {of_robots})")
            }
            Key::None => "1 = 1".to_owned(),
        }
    }
}

/// Columns of a table that are inserted with a row, in the order of its values.
struct InsertedColumns {
    columns: Vec<(&'static str, &'static Columns)>,
    /// Names of the columns, separated by a comma and a blank.
    list: String,
}

static INSERTED_COLUMNS: LazyLock<Vec<InsertedColumns>> = LazyLock::new(|| {
    let inserted = |id: TableId| {
        let with_row = |written| matches!(written, Written::WithRow | Written::WithRowAndAtEnd);
        let columns: Vec<_> = id.table().columns().filter(|(_, columns)| with_row(columns.written)).collect();
        let list = columns.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
        InsertedColumns { columns, list }
    };
    TableId::ALL.map(inserted).into()
});

impl TableId {
    pub(crate) fn table(self) -> &'static Table {
        &TABLES[self as usize]
    }

    pub(crate) fn name(self) -> &'static str {
        self.table().name
    }

    /// Columns that are inserted with a row, in the order of its values.
    pub(crate) fn inserted(self) -> &'static [(&'static str, &'static Columns)] {
        &INSERTED_COLUMNS[self as usize].columns
    }

    /// Names of the inserted columns, separated by a comma and a blank.
    pub(crate) fn column_list(self) -> &'static str {
        &INSERTED_COLUMNS[self as usize].list
    }

    /// Names of the inserted columns.
    pub(crate) fn column_names(self) -> Vec<&'static str> {
        self.inserted().iter().map(|(name, _)| *name).collect()
    }

    /// Index of an inserted column in a row.
    ///
    /// # Panics
    /// When the table has no such column, which is an error of this program.
    pub(crate) fn column_index(self, column: &str) -> usize {
        let index = self.inserted().iter().position(|(name, _)| *name == column);
        index.unwrap_or_else(|| panic!("{} has no column {column}", self.name()))
    }

    /// Number of columns that are inserted with a row.
    pub(crate) fn width(self) -> usize {
        self.inserted().len()
    }

    /// Number of leading columns that identify a row among those of its run.
    pub(crate) fn key_columns(self) -> usize {
        self.table().key_columns
    }

    /// True if the inserted column of this index is part of the checksums.
    pub(crate) fn is_summed(self, index: usize) -> bool {
        self.inserted()[index].1.is_summed
    }

    /// Statement that inserts `rows` rows, with a question mark for each value.
    pub(crate) fn insert_statement(self, rows: usize) -> String {
        let row = format!("({})", vec!["?"; self.width()].join(","));
        format!("INSERT INTO {} ({}) VALUES {}", self.name(), self.column_list(), vec![row.as_str(); rows].join(","))
    }
}

/// Columns of a run's row that are written when the run ends, without the checksum over them. The checksum depends on
/// their order.
pub(crate) fn columns_at_end() -> Vec<&'static str> {
    run_columns(|columns| {
        matches!(columns.written, Written::AtEnd | Written::WithRowAndAtEnd) && columns.names != END_CHECKSUM
    })
}

/// Columns of a run's row that are written after the row was inserted.
pub(crate) fn columns_after_insert() -> Vec<&'static str> {
    run_columns(|columns| !matches!(columns.written, Written::ByDatabase | Written::WithRow))
}

fn run_columns(is_wanted: impl Fn(&Columns) -> bool) -> Vec<&'static str> {
    let columns = TableId::Simulation.table().columns();
    columns.filter(|(_, columns)| is_wanted(columns)).map(|(name, _)| name).collect()
}

/// Column with the checksum over the columns of [`columns_at_end`].
pub(crate) const END_CHECKSUM: &str = "end_checksum";

/// Statement that sets columns of a run's row. Its parameters are the values of the columns, then the run's number. A
/// text that is NULL is passed as an empty text, because PostgreSQL needs the type of a NULL, and this program passes
/// every NULL as a number.
pub(crate) fn update_run(names: &[&str]) -> String {
    let set = |name: &&str| match is_nullable_text(name) {
        true => format!("{name} = nullif(?, '')"),
        false => format!("{name} = ?"),
    };
    let all: Vec<String> = names.iter().map(set).collect();
    format!("UPDATE simulation SET {} WHERE simulationID = ?", all.join(", "))
}

/// True for a text column of a run's row that is NULL until it is written.
pub(crate) fn is_nullable_text(name: &str) -> bool {
    let mut columns = TableId::Simulation.table().columns();
    columns.any(|(known, columns)| {
        known == name
            && columns.column_type == ColumnType::Text
            && matches!(columns.written, Written::AtEnd | Written::WithBatch)
    })
}

/// Name of a column in the spelling of the schema. Databases may return another case: PostgreSQL folds names to lower
/// case.
pub(crate) fn schema_spelling(name: &str) -> String {
    let mut known = TABLES.iter().flat_map(Table::columns);
    known.find(|(known, _)| known.eq_ignore_ascii_case(name)).map_or(name, |(known, _)| known).to_owned()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn every_table_stands_in_the_place_of_its_id() {
        for (index, id) in TableId::ALL.into_iter().enumerate() {
            assert_eq!((id as usize, id.table().id()), (index, Some(id)));
        }
        assert!(!TABLES[TableId::COUNT..].iter().any(Table::holds_runs));
        assert_eq!(
            TABLES.iter().filter(|table| table.is_of_no_run()).count(),
            grasps::GRASPS.len() + sweeps::SWEEP_TABLES.len()
        );
    }

    #[test]
    fn a_name_is_spelled_in_one_way_and_rows_end_with_their_checksum() {
        let mut spellings: BTreeMap<String, &str> = BTreeMap::new();
        for (name, _) in TABLES.iter().flat_map(Table::columns) {
            assert_eq!(*spellings.entry(name.to_lowercase()).or_insert(name), name);
        }
        assert_eq!(schema_spelling("simulationrowid"), "simulationRowID");
        assert_eq!(schema_spelling("n"), "n");
    }

    #[test]
    fn the_end_of_a_run_is_one_statement() {
        let columns = columns_at_end();
        assert_eq!((columns[0], columns.last()), ("status", Some(&"stateHash")));
        assert_eq!(
            update_run(&["ended", "steps"]),
            "UPDATE simulation SET ended = nullif(?, ''), steps = ? WHERE simulationID = ?"
        );
        assert!(columns_after_insert().contains(&"position") && !columns_after_insert().contains(&"world"));
    }
}
