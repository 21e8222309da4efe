//! `draw`, and the gallery in `worlds/README.md`.

use std::{fs, path::Path};

use simpartner::draw::{self, View};
use simpartner_description::xml;

use crate::cli::{Scratch, simpartner, text};

/// Every world of the repository has a picture beside it that equals the program's, byte for byte, and an entry in the
/// gallery. `simpartner draw worlds/*.xml --output worlds/pictures` updates them.
#[test]
fn the_gallery_shows_every_world_as_it_is() {
    let gallery = fs::read_to_string("worlds/README.md").unwrap();
    let mut worlds = 0;
    for entry in fs::read_dir("worlds").unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "xml") {
            continue;
        }
        worlds += 1;
        let name = path.file_stem().unwrap().to_str().unwrap();
        let world = xml::read_world(&path).unwrap();
        let drawn = draw::svg(&world.name, &world.mechanism, View::Isometric);
        let kept = fs::read_to_string(format!("worlds/pictures/{name}.svg")).unwrap_or_default();
        assert!(kept.replace("\r\n", "\n") == drawn, "worlds/pictures/{name}.svg is not what `simpartner draw` makes");
        assert!(drawn.len() < 200_000, "{name}: {} bytes are no small picture", drawn.len());
        for part in [format!("](pictures/{name}.svg)"), format!("`{name}.xml`")] {
            assert!(gallery.contains(&part), "worlds/README.md has no {part}");
        }
    }
    assert_eq!(gallery.matches("](pictures/").count(), worlds, "pictures of worlds that are not there");
}

#[test]
fn a_picture_is_written_where_it_is_wanted() {
    let scratch = Scratch::new();
    let folder = scratch.path("").display().to_string();
    let drawn = simpartner(&["draw", "worlds/maze.xml", "--view", "top", "--output", &folder]).output().unwrap();
    assert!(drawn.status.success(), "{}", text(&drawn.stderr));
    let path = scratch.path("maze.svg");
    assert_eq!(text(&drawn.stdout).trim_end(), path.display().to_string());
    assert!(fs::read_to_string(path).unwrap().contains("<title>maze</title>"));
    // Missing folders are created; a file cannot be used as a folder.
    let nowhere = Path::new(&folder).join("maze.svg").display().to_string();
    let refused = simpartner(&["draw", "worlds/maze.xml", "--output", &nowhere]).output().unwrap();
    assert_eq!(refused.status.code(), Some(2), "{}", text(&refused.stderr));
}
