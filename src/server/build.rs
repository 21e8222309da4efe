//! Bundles the viewer's page, where Node is there to do it, and makes the table of its files. It never writes into the sources,
//! and whatever goes wrong with the page, the server is built: its page then says what is missing.
//!
//! `SIMPARTNER_VIEWER=off` leaves the page out. Where npm fails, a page bundled by hand in `clients/viewer/dist` serves as well.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

const SOURCES: &str = "../../clients/viewer";

/// What the bundle is made from.
const PARTS: [&str; 7] =
    ["package.json", "package-lock.json", "build.mjs", "tsconfig.json", "missing.html", "missing.css", "src"];

/// Said where not even the page that says what is missing is there.
const BARE: &str = "<!doctype html><title>SimPartner</title><p>The sources of this server came without clients/viewer.";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=SIMPARTNER_VIEWER");
    let sources = Path::new(SOURCES);
    match sources.exists() {
        // A path that is not there would mean a new build every time.
        true => PARTS
            .iter()
            .filter(|part| sources.join(part).exists())
            .for_each(|part| println!("cargo::rerun-if-changed={SOURCES}/{part}")),
        false => println!("cargo::rerun-if-changed=clients"),
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    let off = env::var("SIMPARTNER_VIEWER").as_deref() == Ok("off");
    let bundled = if off { Err("SIMPARTNER_VIEWER is off".to_owned()) } else { bundle(sources, &out.join("viewer")) };
    let page = bundled.unwrap_or_else(|why| {
        let by_hand = Path::new(SOURCES).join("dist");
        if !off && sources.exists() {
            // So that the next build takes what was bundled by hand.
            println!("cargo::rerun-if-changed={SOURCES}");
            if by_hand.join("index.html").exists() {
                return env::current_dir().map_or(by_hand.clone(), |root| root.join(&by_hand));
            }
            println!("cargo::warning=the server comes without its viewer page: {why}");
        }
        let page = out.join("missing");
        missing(sources, &page, &why).expect("cargo's folder can be written to");
        page
    });
    fs::write(out.join("viewer.rs"), table(&page)).expect("cargo's folder can be written to");
}

/// Bundles the page in a copy of its sources and returns where it is, or says why not.
fn bundle(sources: &Path, work: &Path) -> Result<PathBuf, String> {
    if !sources.join("package.json").exists() {
        return Err(format!("{SOURCES}/package.json is not there"));
    }
    let failed = |what: &str, error: io::Error| format!("{what}: {error}");
    fs::create_dir_all(work).map_err(|error| failed("the folder for it cannot be made", error))?;
    // What was installed for these very versions serves again.
    let lock = fs::read(sources.join("package-lock.json")).map_err(|error| failed("no package-lock.json", error))?;
    let installed = work.join("installed.lock");
    let fresh = fs::read(&installed).is_ok_and(|before| before == lock) && work.join("node_modules").exists();
    for part in PARTS {
        let (from, to) = (sources.join(part), work.join(part));
        let _ = fs::remove_dir_all(&to);
        if from.exists() {
            copy(&from, &to).map_err(|error| failed("its sources cannot be copied", error))?;
        }
    }
    if !fresh {
        let _ = fs::remove_file(&installed);
        // Without a network it is to fail soon, not after a minute.
        let quiet = ["ci", "--no-audit", "--no-fund", "--prefer-offline", "--fetch-retries=0", "--fetch-timeout=30000"];
        npm(work, &quiet)?;
        fs::write(&installed, lock).map_err(|error| failed("the folder for it cannot be written to", error))?;
    }
    npm(work, &["run", "build"])?;
    let dist = work.join("dist");
    dist.join("index.html").exists().then_some(dist).ok_or_else(|| "npm run build made no index.html".into())
}

fn npm(folder: &Path, arguments: &[&str]) -> Result<(), String> {
    let program = if cfg!(windows) { "npm.cmd" } else { "npm" };
    let ran = Command::new(program).args(arguments).current_dir(folder).stdin(Stdio::null()).output();
    let output = ran.map_err(|error| format!("Node's npm cannot be run ({error})"))?;
    if output.status.success() {
        return Ok(());
    }
    let told = String::from_utf8_lossy(&output.stderr);
    let reason = told.lines().find(|line| line.to_lowercase().contains("error")).unwrap_or("it gave no reason");
    Err(format!("npm {} failed: {reason}", arguments.iter().take(2).copied().collect::<Vec<_>>().join(" ")))
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    if !from.is_dir() {
        return fs::copy(from, to).map(drop);
    }
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        copy(&entry.path(), &to.join(entry.file_name()))?;
    }
    Ok(())
}

/// A page that says what is missing, and why.
fn missing(sources: &Path, page: &Path, why: &str) -> io::Result<()> {
    fs::create_dir_all(page)?;
    let text = fs::read_to_string(sources.join("missing.html")).unwrap_or_else(|_| BARE.to_owned());
    let why = why.replace('&', "&amp;").replace('<', "&lt;");
    fs::write(page.join("index.html"), text.replace("{why}", &why))?;
    fs::write(page.join("missing.css"), fs::read(sources.join("missing.css")).unwrap_or_default())
}

/// The files of a folder as a table in Rust; `index.html` stands at the root.
fn table(page: &Path) -> String {
    let mut names: Vec<String> = fs::read_dir(page)
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| entry.path().is_file())
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    names.sort();
    let mut text = "/// The files of the page.\nconst FILES: &[File] = &[\n".to_owned();
    for name in names {
        let path = if name == "index.html" { "/".to_owned() } else { format!("/{name}") };
        let kind = match name.rsplit('.').next() {
            Some("html") => "text/html; charset=utf-8",
            Some("js") => "text/javascript; charset=utf-8",
            Some("css") => "text/css; charset=utf-8",
            Some("svg") => "image/svg+xml",
            Some("png") => "image/png",
            _ => "application/octet-stream",
        };
        let file = page.join(&name);
        text += &format!("    File {{ path: {path:?}, kind: {kind:?}, bytes: include_bytes!({file:?}) }},\n");
    }
    text + "];\n"
}
