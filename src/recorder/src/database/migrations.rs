//! The SQL files of `migrations/`, built into the program.

use std::{borrow::Cow, sync::LazyLock};

use sqlx::{
    SqlSafeStr,
    migrate::{Migration, MigrationType, Migrator},
};

/// A migration: version, name, and its SQL text for one database.
type MigrationFile = (i64, &'static str, &'static str);

/// Table of the migrations in a folder of `migrations/`. The three databases have files of the same names.
macro_rules! migration_files {
    ($folder:literal) => {
        migration_files!($folder;
            1 "0001_simulation_log",
            2 "0002_complete_runs",
            3 "0003_snapshots",
            4 "0004_log_for_people",
            5 "0005_checksums",
            6 "0006_missing_batches",
            7 "0007_contact_points",
            8 "0008_files_as_bytes",
            9 "0009_soil_sensor",
            10 "0010_grasp",
            11 "0011_grasp_task",
            12 "0012_views",
            13 "0013_scans",
            14 "0014_wheel_log",
            15 "0015_sweeps",
        )
    };
    ($folder:literal; $($version:literal $name:literal,)*) => {
        &[$((
            $version,
            $name,
            include_str!(concat!("../../../../migrations/", $folder, "/", $name, ".sql")),
        )),*]
    };
}

const SQLITE_FILES: &[MigrationFile] = migration_files!("sqlite");
const POSTGRES_FILES: &[MigrationFile] = migration_files!("postgres");
const MYSQL_FILES: &[MigrationFile] = migration_files!("mysql");

/// Migrators of the three databases. A migrator holds a checksum of each file, so it is made once for a process.
pub(super) static SQLITE_MIGRATOR: LazyLock<Migrator> = LazyLock::new(|| build_migrator(SQLITE_FILES));
pub(super) static POSTGRES_MIGRATOR: LazyLock<Migrator> = LazyLock::new(|| build_migrator(POSTGRES_FILES));
pub(super) static MYSQL_MIGRATOR: LazyLock<Migrator> = LazyLock::new(|| build_migrator(MYSQL_FILES));

/// Migrator that applies the files in order of their versions. The description of a migration is its name without the
/// number, with spaces, as sqlx derives it from the name of a file. Databases of earlier versions hold these
/// descriptions.
fn build_migrator(files: &[MigrationFile]) -> Migrator {
    let migration = |&(version, name, sql): &MigrationFile| {
        let description = name.split_once('_').map_or(name, |(_, description)| description).replace('_', " ");
        Migration::new(version, Cow::Owned(description), MigrationType::Simple, sql.into_sql_str(), false)
    };
    Migrator::with_migrations(files.iter().map(migration).collect())
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use super::*;

    #[test]
    fn every_file_of_the_folders_is_built_in_under_its_number() {
        for (folder, files) in [("sqlite", SQLITE_FILES), ("postgres", POSTGRES_FILES), ("mysql", MYSQL_FILES)] {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../migrations").join(folder);
            let mut names: Vec<String> =
                fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
            names.sort();
            let built_in: Vec<String> = files.iter().map(|(_, name, _)| format!("{name}.sql")).collect();
            assert_eq!(built_in, names);
            for (version, name, _) in files {
                assert_eq!(name[..4].parse(), Ok(*version), "{name}");
            }
        }
    }
}
