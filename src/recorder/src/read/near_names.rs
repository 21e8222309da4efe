//! Help for a query that names a table or a column that the log does not have.

use simpartner_wire::near;

use crate::format::schema::{TABLES, Table};

/// A sentence for a query that the database refuses with this message; `None` where the message names nothing that is unknown.
///
/// Databases word their messages differently. What is unknown is therefore the word that stands in both message and query and is the
/// name of no table or column.
pub(super) fn help(sql: &str, message: &str) -> Option<String> {
    let in_message = words(message);
    let stands_there = |word: &str| in_message.iter().any(|other| other.eq_ignore_ascii_case(word));
    let in_query = words(sql);
    let tables: Vec<&'static Table> = in_query.iter().filter_map(|word| Table::named(word)).collect();
    let is_about_names = ["column", "table", "relation"].iter().any(|what| stands_there(what));
    let unknown = in_query.iter().find(|word| stands_there(word) && is_unknown(word)).filter(|_| is_about_names)?;
    // The columns of the tables that the query names come first, since the name is most likely one of those.
    let own = tables.iter().flat_map(|table| table.columns()).map(|(name, _)| name);
    // Where no table is known, it is the name of the table that is wrong; where one is, another name of a table may be.
    let near = near::nearest(unknown, own).or_else(|| near::nearest(unknown, TABLES.iter().map(|table| table.name)));
    let meant = near.map_or_else(String::new, |near| format!("did you mean '{near}'? "));
    let there_are = match &tables[..] {
        [] => format!("the log has {}", list(TABLES.iter().map(|table| table.name))),
        tables => {
            let mut named: Vec<&Table> = Vec::new();
            tables.iter().for_each(|table| {
                if !named.iter().any(|other| other.name == table.name) {
                    named.push(table);
                }
            });
            let columns =
                named.iter().map(|table| format!("{} has {}", table.name, list(table.columns().map(|(name, _)| name))));
            columns.collect::<Vec<_>>().join("; ")
        }
    };
    Some(format!("{meant}{there_are}; `simpartner schema log` describes them"))
}

/// The words of a text as SQL has them.
fn words(text: &str) -> Vec<&str> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    text.split(|c| !is_part(c)).filter(|word| word.starts_with(|c: char| c.is_alphabetic())).collect()
}

/// Whether the log has no table and no column of this name, and SQL's messages do not use the word.
fn is_unknown(word: &str) -> bool {
    const OF_MESSAGES: [&str; 12] =
        ["column", "table", "relation", "no", "such", "does", "not", "exist", "unknown", "in", "doesn", "from"];
    let is_column = |table: &Table| table.columns().any(|(name, _)| name.eq_ignore_ascii_case(word));
    !OF_MESSAGES.iter().any(|other| other.eq_ignore_ascii_case(word))
        && Table::named(word).is_none()
        && !TABLES.iter().any(is_column)
}

fn list(names: impl Iterator<Item = &'static str>) -> String {
    names.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_name_is_told_with_the_near_one_in_the_words_of_every_database() {
        let near = |sql, message| help(sql, message).and_then(|help| Some(help.split_once("'? ")?.0.to_owned()));
        let column = "SELECT bodyID, positon_x FROM pose";
        for message in [
            "no such column: positon_x",
            "column \"positon_x\" does not exist",
            "Unknown column 'positon_x' in 'field list'",
        ] {
            let help = help(column, message).unwrap();
            assert!(help.contains("pose has ") && help.contains("bodyID"), "{help}");
        }
        let table = "SELECT count(*) FROM simulationrw";
        for message in ["no such table: simulationrw", "Table 'simpartner.simulationrw' doesn't exist"] {
            assert_eq!(near(table, message), Some("did you mean 'simulationRow".into()));
        }
        assert_eq!(help("SELEKT 1", "near \"SELEKT\": syntax error"), None);
        assert_eq!(help("SELECT min() FROM pose", "wrong number of arguments to function min()"), None);
    }
}
