//! Exports a run to files for other programs: the tables of the log as CSV or Parquet, or the whole run as one MCAP
//! file.

mod csv;
mod mcap;
mod order;
mod parquet;
mod table_writer;

use std::path::Path;

pub use order::{Exported, Format, Order};

use table_writer::TableWriter;

use super::{AnalysisError, Progress, partial_output::PartialOutput};
use simpartner_recorder::{
    Inquiry,
    inquiry::{Column, Selection, TABLES, Table},
};

/// Number of rows after which the progress is reported: some hundred times a second.
const ROWS_PER_REPORT: u64 = 4096;

/// Exports a run to files. Either all files are written or none.
///
/// # Errors
/// When the log cannot be read or the files cannot be written. Then no files are left.
pub fn export(
    inquiry: &mut Inquiry,
    order: &Order<'_>,
    progress: &mut dyn Progress,
) -> Result<Exported, AnalysisError> {
    match order.format {
        Format::Csv => export_tables(inquiry, order, "csv", progress, csv::CsvWriter::create),
        Format::Parquet => export_tables(inquiry, order, "parquet", progress, parquet::ParquetWriter::create),
        Format::Mcap => mcap::export(inquiry, order, progress),
    }
}

/// Writes each table into a file of a folder. `create` starts a file.
fn export_tables<W: TableWriter>(
    inquiry: &mut Inquiry,
    order: &Order<'_>,
    extension: &str,
    progress: &mut dyn Progress,
    create: impl Fn(&Path, &[Column]) -> Result<W, AnalysisError>,
) -> Result<Exported, AnalysisError> {
    let folder = PartialOutput::new(order.output, Some(extension), order.force)?;
    let mut counts = Vec::new();
    // By default, body_state is left out, because the views of the thesis have all of its columns. Views with names are
    // left out, because they repeat the tables, and batch, because checksums are useful only in a database.
    let is_wanted = |table: &&Table| {
        !matches!(table.name, "body_state" | "batch") && !table.is_named_view() && !table.is_of_no_run()
    };
    let all = || TABLES.iter().filter(is_wanted).collect();
    let wanted: Vec<&'static Table> = if order.tables.is_empty() { all() } else { order.tables.clone() };
    for table in wanted {
        let columns = inquiry.columns(table)?;
        if columns.is_empty() {
            continue;
        }
        let selection = Selection {
            steps: Some(order.steps),
            every: order.every,
            ..Selection::all(table, order.run.simulation_id)
        };
        // The progress is measured in steps, because counting rows would take as long as reading them.
        let last = order.run.steps.map_or(order.steps.0, |steps| steps.1).clamp(order.steps.0, order.steps.1);
        progress.begin(table.name, last - order.steps.0);
        let path = folder.temporary_path().join(format!("{}.{extension}", table.name));
        let mut writer = create(&path, &columns)?;
        let mut rows = 0;
        let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
        let step = names.iter().position(|name| matches!(*name, "simulationRowID" | "step"));
        inquiry.rows(&selection, &names, |row| {
            if rows % ROWS_PER_REPORT == 0 {
                let at = step.and_then(|place| row[place].integer()).map_or(0, |row| row as u64 & u64::from(u32::MAX));
                progress.reach(at.saturating_sub(order.steps.0));
            }
            rows += 1;
            writer.row(row)
        })?;
        writer.finish()?;
        counts.push((table.name.to_owned(), rows));
    }
    Ok(Exported { place: folder.finish()?, counts })
}
