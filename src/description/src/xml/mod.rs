//! World, robot, sequence and grasp files: XML text to the resolved, checked [`model`](simpartner_model).
//!
//! One table defines the format; the reader's checks, the DTDs for editors and the reference page derive from it. All
//! problems of a file are reported at once, each with its position, and no file is read partially. The module does not
//! depend on physics engines, running devices and sockets. Start at [`read_world`], then `schema`.

mod assembly;
mod assembly_frame;
mod body;
mod built_in;
mod camera;
mod coupling;
mod device;
mod document;
mod entities;
mod export;
mod files;
mod fluids;
mod generate;
mod grasp;
mod grasp_task;
mod heightfield;
mod import;
mod joint;
mod mechanism_parts;
mod move_robot;
mod name_table;
mod newcomer;
mod node;
mod objects;
mod parameters;
mod point_shapes;
mod reading;
mod robot;
mod robot_on_ground;
mod rocks;
mod scenery;
mod schema;
mod sequence;
mod session;
mod soil;
mod source_map;
mod synonyms;
mod vehicle;
mod visual;
mod world;

pub use crate::text::{
    diagnostic::{Diagnostic, Diagnostics},
    file::read_file,
    numbers::shorten,
};
pub use built_in::{BUILT_IN, BuiltIn, is_built_in, locate};
pub use document::{
    Document, read_any, read_grasp, read_grasp_task, read_kept, read_kept_grasp_task, read_own_text, read_sequence,
    read_soils, read_text, read_world,
};
pub use entities::{add_robot, remove_entity, spawnable_robots, with_parameters};
pub use export::{ExportFormat, Exported, export};
pub use generate::{grasp_dtd, grasp_task_dtd, reference, robot_dtd, sequence_dtd, world_dtd};
pub use grasp::write as write_grasp;
pub use import::{ImportOptions, Imported, MeshFile, Wanted, gazebo_plugins, import, search_models_in};
pub use move_robot::move_robot;
pub use newcomer::{Newcomer, NewcomerFile, PortOffset};
pub use objects::write as write_objects;
pub use robot_on_ground::read_world_or_robot;
pub use schema::describe_name;

#[cfg(test)]
mod tests {
    use super::{
        files::Files,
        reading::{Placeholders, Reading},
        schema::{Content, ELEMENTS, EXAMPLES},
        session::Session,
    };

    /// Every element but plain values has an example, which the table takes.
    #[test]
    fn every_element_has_an_example_that_is_right() {
        for element in ELEMENTS.iter().filter(|element| !matches!(element.content, Content::Value(..))) {
            let examples: Vec<_> = EXAMPLES.iter().filter(|(id, _)| *id == element.id).collect();
            assert_eq!(examples.len(), 1, "<{}> {}", element.tag, element.id);
            let (path, text) = (element.id, examples[0].1);
            let session = Session::default();
            let reading = Reading::new(path, text, Files::Kept(&[]), &session);
            for mut root in reading.parse(path, text).unwrap_or_else(|problem| panic!("{problem}")) {
                assert_eq!(root.name, element.tag);
                reading.check(&mut root, element, Placeholders::Allowed);
            }
            assert!(session.problems.borrow().is_empty(), "{}", session.problems.borrow());
            assert!(session.warnings.borrow().is_empty(), "{path}");
        }
        assert!(EXAMPLES.iter().all(|(id, _)| ELEMENTS.iter().any(|element| element.id == *id)));
    }
}
