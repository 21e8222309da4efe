//! A URDF robot in the verb `import` and in a world, from its file to a replay without it. The importer itself is
//! tested in `src/description/tests/import.rs`.

use crate::cli::{Scratch, output, summary, text};

/// A tip of a mesh on a mount without mass; its plugin is left out.
const URDF: &str = r#"<robot name="arm">
  <link name="mount"/>
  <joint name="hinge" type="revolute">
    <parent link="mount"/><child link="tip"/><axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="5" velocity="2"/>
  </joint>
  <link name="tip">
    <inertial><origin xyz="0.2 0 0"/><mass value="1"/><inertia ixx="0.01" iyy="0.01" izz="0.01"/></inertial>
    <collision><geometry><mesh filename="tip.obj"/></geometry></collision>
  </link>
  <gazebo><plugin filename="libmine.so"/></gazebo>
</robot>"#;

fn arm() -> (Scratch, String) {
    let scratch = Scratch::new();
    scratch.write("tip.obj", "v 0 0 0\nv 0.4 0 0\nv 0 0.1 0\nv 0 0 0.1\n");
    let urdf = scratch.write("arm.urdf", URDF);
    (scratch, urdf)
}

#[test]
fn a_robot_file_has_its_meshes_beside_it() {
    let (scratch, urdf) = arm();
    std::fs::create_dir(scratch.path("robots")).unwrap();
    let written = scratch.path("robots/arm.xml").display().to_string();
    let strict = output(&["import", &urdf, "--strict", "--output", &written]);
    assert_eq!(strict.status.code(), Some(3));
    assert!(!scratch.path("robots/arm.xml").exists() && !scratch.path("robots/meshes").exists());
    let imported = output(&["import", &urdf, "--first-port", "4001", "--output", &written]);
    assert!(imported.status.success(), "{}", text(&imported.stderr));
    assert!(
        text(&imported.stderr).contains("arm.urdf:10:11: the plugin libmine.so is left out"),
        "{}",
        text(&imported.stderr)
    );
    // The robot file and its folder are enough.
    ["tip.obj", "arm.urdf"].iter().for_each(|file| std::fs::remove_file(scratch.path(file)).unwrap());
    let checked = text(&output(&["check", &written]).stdout);
    for line in
        ["body  tip    convexHull   1 kg", "port  4001   hinge_encoder on hinge", "port  4002   hinge_motor on hinge"]
    {
        let words: Vec<&str> = line.split_whitespace().collect();
        let found = checked.lines().any(|line| line.split_whitespace().collect::<Vec<_>>() == words);
        assert!(found, "{line}\n{checked}");
    }
}

/// An L becomes several convex hulls; their accuracy is tested in `src/dynamics/tests/engine/shapes.rs`.
#[test]
fn a_mesh_that_is_not_convex_is_taken_apart_on_request() {
    let (scratch, urdf) = arm();
    let outline = [(0, 0), (3, 0), (3, 1), (1, 1), (1, 3), (0, 3)];
    let mut mesh: String = [0, 1].iter().flat_map(|z| outline.map(|(x, y)| format!("v {x} {y} {z}\n"))).collect();
    mesh += "f 6 5 4 3 2 1\nf 7 8 9 10 11 12\nf 1 2 8 7\nf 2 3 9 8\nf 3 4 10 9\nf 4 5 11 10\nf 5 6 12 11\nf 6 1 7 12\n";
    scratch.write("tip.obj", &mesh);
    for flags in [&["--decompose"][..], &[]] {
        let written = scratch.path("l.xml").display().to_string();
        let imported = output(&[&["import", &urdf, "--output", &written], flags].concat());
        assert!(imported.status.success(), "{}", text(&imported.stderr));
        let parts = std::fs::read_dir(scratch.path("meshes/l")).unwrap().count();
        let is_compound: bool = std::fs::read_to_string(&written).unwrap().contains("<compound>");
        assert_eq!((is_compound, parts > 2), (!flags.is_empty(), !flags.is_empty()));
        std::fs::remove_dir_all(scratch.path("meshes")).unwrap();
    }
}

#[test]
fn a_run_with_a_urdf_robot_is_made_again_without_its_files() {
    let (scratch, _) = arm();
    let world = scratch.write("world.xml", "<world name=\"w\"><robot file=\"arm.urdf\" name=\"Arm\"/></world>");
    let database = scratch.database("run.db");
    let run =
        ["run", "--world", &world, "--mode", "fast", "--duration", "0.2", "--free-ports", "--database", &database];
    let ran = output(&run);
    assert!(ran.status.success(), "{}", text(&ran.stderr));
    assert_eq!(summary(&ran, "state").len(), 64);
    ["tip.obj", "arm.urdf", "world.xml"].iter().for_each(|file| std::fs::remove_file(scratch.path(file)).unwrap());
    let again = output(&["replay", "last", "--database", &database]);
    assert!(again.status.success(), "{}{}", text(&again.stdout), text(&again.stderr));
}

/// One command for a URDF file: it stands on level ground with its lowest point, or is fixed there; its log is
/// sufficient for a replay.
#[test]
fn a_robot_in_place_of_a_world_stands_on_level_ground() {
    let (scratch, urdf) = arm();
    let mount = "<link name='mount'><inertial><mass value='3'/><inertia ixx='1' iyy='1' izz='1'/></inertial>\
                 <collision><origin xyz='0 0 -0.7'/><geometry><box size='1 1 0.2'/></geometry></collision></link>";
    scratch.write("arm.urdf", &URDF.replace("<link name=\"mount\"/>", mount));
    for (flags, height) in [(&[][..], 0.8), (&["--fixed-base"], 0.8)] {
        let database = scratch.database(if flags.is_empty() { "free.db" } else { "fixed.db" });
        let run =
            ["run", "--world", &urdf, "--mode", "fast", "--duration", "0.5", "--free-ports", "--database", &database];
        let ran = output(&[&run, flags].concat());
        assert!(ran.status.success(), "{}", text(&ran.stderr));
        let replayed = output(&["replay", "last", "--database", &database]);
        assert!(replayed.status.success(), "{}", text(&replayed.stderr));
        let query = "SELECT max(y) FROM bodyLog WHERE body = 'mount'";
        let answer = output(&["query", "last", query, "--database", &database]);
        let found: f64 =
            text(&answer.stdout).lines().last().and_then(|line| line.trim().parse().ok()).unwrap_or(f64::NAN);
        assert!((found - height).abs() < 1e-9, "{}{}", text(&answer.stdout), text(&answer.stderr));
    }
    let world = scratch.write("w.xml", "<world name=\"w\"/>");
    let refused = output(&["run", "--world", &world, "--fixed-base", "--database", "none"]);
    assert!(text(&refused.stderr).contains("a world has no base to be fixed"), "{}", text(&refused.stderr));
}

/// An MJCF model with a floor is a world: it runs as it is, its log is sufficient for a replay, and its robot can be
/// used in other worlds.
#[test]
fn a_model_of_mujoco_runs_and_is_made_again_without_its_files() {
    let scratch = Scratch::new();
    let text_of_model = "<mujoco model=\"hopper\"><include file=\"floor.xml\"/><worldbody><body name=\"foot\" pos=\"0 0 0.2\"><freejoint/>\
        <geom size=\"0.1\" mass=\"1\"/><body name=\"leg\" pos=\"0 0 0.2\"><joint name=\"knee\" axis=\"0 1 0\" damping=\"0.5\"/>\
        <geom type=\"capsule\" size=\"0.03 0.1\" mass=\"0.5\"/></body></body></worldbody>\
        <actuator><motor name=\"drive\" joint=\"knee\" ctrlrange=\"-2 2\"/></actuator></mujoco>";
    scratch.write("floor.xml", "<x><worldbody><geom type=\"plane\" size=\"0 0 1\"/></worldbody></x>");
    let model = scratch.write("hopper.xml", text_of_model);
    let database = scratch.database("run.db");
    let run =
        ["run", "--world", &model, "--mode", "fast", "--duration", "0.2", "--free-ports", "--database", &database];
    let ran = output(&run);
    assert!(ran.status.success(), "{}", text(&ran.stderr));
    // The folder of the output is created.
    let robot = scratch.path("new/folder/robot.xml").display().to_string();
    let imported = output(&["import", &model, "--robot", "--output", &robot]);
    assert!(imported.status.success(), "{}", text(&imported.stderr));
    assert!(text(&imported.stderr).contains("the ground is left out"), "{}", text(&imported.stderr));
    assert!(output(&["check", &robot]).status.success());
    ["hopper.xml", "floor.xml"].iter().for_each(|file| std::fs::remove_file(scratch.path(file)).unwrap());
    let again = output(&["replay", "last", "--database", &database]);
    assert!(again.status.success(), "{}{}", text(&again.stdout), text(&again.stderr));
}

/// Converted files can be read again, and unsupported content is reported.
#[test]
fn a_robot_of_ours_becomes_one_of_other_formats() {
    let scratch = Scratch::new();
    for file in ["workpartner.urdf", "workpartner.xml"] {
        let written = scratch.path(file).display().to_string();
        let converted = output(&["convert", "robots/workpartner1.xml", "--output", &written]);
        assert!(converted.status.success(), "{}", text(&converted.stderr));
        assert!(text(&converted.stderr).contains("is left out"), "{}", text(&converted.stderr));
        let checked = output(&["check", &written]);
        assert!(checked.status.success(), "{}", text(&checked.stderr));
    }
    let strict = scratch.path("strict.urdf").display().to_string();
    let refused = output(&["convert", "robots/workpartner1.xml", "--strict", "--output", &strict]);
    assert_eq!(refused.status.code(), Some(3));
    assert!(!scratch.path("strict.urdf").exists());
    let unknown = output(&["convert", "robots/workpartner1.xml", "--output", "robot.sdf"]);
    assert!(
        text(&unknown.stderr).contains("expected a file name that ends with .urdf, .xml or .mjcf"),
        "{}",
        text(&unknown.stderr)
    );
}
