//! Ellipsoids and cones: our files, those of MuJoCo and Gazebo, and what is written for others.

use std::f64::consts::PI;

use bevy_math::DVec3;
use simpartner_description::{
    World,
    xml::{self, Document, ExportFormat},
};
use simpartner_model::{Body, Shape};

fn read(file: &str, text: &str) -> Result<World, String> {
    match xml::read_text(file, text) {
        Ok(Document::World(world) | Document::Robot(world)) => Ok(world),
        Ok(_) => panic!("neither a world nor a robot"),
        Err(problems) => Err(problems.to_string()),
    }
}

fn body<'w>(world: &'w World, name: &str) -> &'w Body {
    // Before the name of a link stands that of its model, in a world with several.
    let is_named = |body: &&Body| body.name == name || body.name.ends_with(&format!("/{name}"));
    world.mechanism.bodies.iter().find(is_named).unwrap_or_else(|| panic!("no {name}"))
}

fn shape<'w>(world: &'w World, name: &str) -> &'w Shape {
    &body(world, name).collision_shape().unwrap_or_else(|| panic!("{name} has no shape")).shape
}

const OURS: &str = r#"<world name="stones"><gravity y="-9.81"/>
  <object name="stone"><mass>2</mass><pose x="0.1" y="1"/>
    <ellipsoid radiusX="0.3" radiusY="0.1" radiusZ="0.2"><pose y="0.05" roll="0.4"/></ellipsoid>
    <material friction="0.5"/></object>
  <object name="pair"><mass>3</mass><pose y="2"/>
    <compound><ellipsoid radiusX="0.1" radiusY="0.1" radiusZ="0.1"/><box x="0.2" y="0.1" z="0.1"/></compound></object>
</world>"#;

#[test]
fn a_file_with_ellipsoids_is_read_and_written_again() {
    let world = read("stones.xml", OURS).unwrap();
    assert_eq!(*shape(&world, "stone"), Shape::Ellipsoid { radii: DVec3::new(0.3, 0.1, 0.2) });
    let Shape::Compound { parts } = shape(&world, "pair") else { panic!("{:?}", shape(&world, "pair")) };
    assert_eq!(parts[0].shape, Shape::Ellipsoid { radii: DVec3::splat(0.1) });
    let mut own = world.clone();
    own.mechanism.bodies.iter_mut().for_each(|body| body.material.friction = 0.5);
    let again = read("again.xml", &xml::write_objects(&own, "stones").unwrap()).unwrap();
    for name in ["stone", "pair"] {
        assert_eq!(shape(&again, name), shape(&world, name), "{name}");
    }
}

#[test]
fn a_radius_that_is_missing_or_zero_is_told() {
    let missing = read("stones.xml", &OURS.replace(" radiusZ=\"0.2\"", "")).unwrap_err();
    assert!(missing.contains("radiusZ"), "{missing}");
    let zero = read("stones.xml", &OURS.replace("radiusX=\"0.3\"", "radiusX=\"0\"")).unwrap_err();
    assert!(zero.contains("radiusX"), "{zero}");
}

/// Any ellipsoid may have rolling friction; a cone may not.
#[test]
fn an_ellipsoid_may_have_rolling_friction() {
    let rolls = OURS.replace("friction=\"0.5\"", "friction=\"0.5\" rollingFriction=\"0.02\"");
    assert_eq!(body(&read("stones.xml", &rolls).unwrap(), "stone").material.rolling_friction, 0.02);
    let cone = rolls
        .replace("<ellipsoid radiusX=\"0.3\" radiusY=\"0.1\" radiusZ=\"0.2\">", "<cone radius=\"1\" length=\"1\">");
    let problem = read("stones.xml", &cone.replacen("</ellipsoid>", "</cone>", 1)).unwrap_err();
    assert!(problem.contains("rolling friction needs a sphere, ellipsoid, cylinder or capsule"), "{problem}");
}

/// Half axes, also between two ends; with the mass of their volume, and none of them a hull.
#[test]
fn mjcf_ellipsoids_are_ellipsoids() {
    let text = r#"<mujoco model="stones"><worldbody>
      <body name="stone" pos="0 0 1"><freejoint/><geom type="ellipsoid" size="0.3 0.2 0.1" density="500"/></body>
      <body name="cigar" pos="1 0 1"><freejoint/><geom type="ellipsoid" fromto="0 0 0 0.8 0 0" size="0.1"/></body>
    </worldbody></mujoco>"#;
    let world = read("stones.xml", text).unwrap();
    assert_eq!(*shape(&world, "stone"), Shape::Ellipsoid { radii: DVec3::new(0.3, 0.2, 0.1) });
    assert_eq!(*shape(&world, "cigar"), Shape::Ellipsoid { radii: DVec3::new(0.1, 0.1, 0.4) });
    let mass = 500.0 * 4.0 / 3.0 * PI * 0.3 * 0.2 * 0.1;
    let stone = body(&world, "stone");
    assert!((stone.mass - mass).abs() < 1e-12, "{}", stone.mass);
    let tensor = stone.inertia.unwrap().tensor;
    assert!((tensor.z_axis.z - mass / 5.0 * (0.09 + 0.04)).abs() < 1e-12, "{tensor}");
}

/// Gazebo's cone is a cone, whose centre of mass is a quarter of its length above its base.
#[test]
fn sdf_ellipsoids_and_cones_are_what_they_are() {
    let link = |name: &str, geometry: &str| {
        let collision =
            format!("<collision name=\"c\"><density>100</density><geometry>{geometry}</geometry></collision>");
        format!(
            "<model name=\"{name}_model\"><link name=\"{name}\"><inertial auto=\"true\"/>{collision}</link></model>"
        )
    };
    let stone = link("stone", "<ellipsoid><radii>0.3 0.2 0.1</radii></ellipsoid>");
    let cone = link("cone", "<cone><radius>0.2</radius><length>0.6</length></cone>");
    let world = read("hall.sdf", &format!("<sdf version=\"1.11\"><world name=\"hall\">{stone}{cone}</world></sdf>"));
    let world = world.unwrap();
    assert_eq!(*shape(&world, "stone"), Shape::Ellipsoid { radii: DVec3::new(0.3, 0.2, 0.1) });
    assert_eq!(*shape(&world, "cone"), Shape::Cone { radius: 0.2, length: 0.6 });
    let cone = body(&world, "cone");
    let mass = 100.0 * PI * 0.04 * 0.2;
    assert!((cone.mass - mass).abs() < 1e-12, "{}", cone.mass);
    let inertia = cone.inertia.unwrap();
    assert!((inertia.centre_of_mass - DVec3::NEG_Z * 0.15).length() < 1e-12, "{:?}", inertia.centre_of_mass);
    assert!((inertia.tensor.z_axis.z - 0.3 * mass * 0.04).abs() < 1e-12, "{:?}", inertia.tensor);
    // Our cones stand along y; the tip is above.
    let placed = cone.collision_shape().unwrap();
    assert!((placed.pose.rotation * DVec3::Y - DVec3::Z).length() < 1e-12, "{placed:?}");
}

/// MuJoCo has ellipsoids. A URDF has none: a warning names the body.
#[test]
fn an_ellipsoid_is_written_as_one_where_the_format_has_it() {
    let text = r#"<robot name="stone"><link name="base"><inertial><mass value="1"/>
      <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
      <collision><geometry><sphere radius="0.1"/></geometry></collision></link></robot>"#;
    let mut world = read("stone.urdf", text).unwrap();
    let own = &mut world.mechanism.bodies[0];
    own.collision = None;
    own.shape.as_mut().unwrap().shape = Shape::Ellipsoid { radii: DVec3::new(0.3, 0.2, 0.1) };
    let mjcf = xml::export(&world, ExportFormat::Mjcf, "meshes").unwrap();
    assert!(mjcf.text.contains("type=\"ellipsoid\" size=\"0.3 0.2 0.1\""), "{}", mjcf.text);
    let urdf = xml::export(&world, ExportFormat::Urdf, "meshes").unwrap();
    let warning = urdf.warnings.iter().map(|warning| format!("{warning:?}")).find(|text| text.contains("<ellipsoid>"));
    assert!(warning.is_some_and(|text| text.contains("'base'")), "{:?}", urdf.warnings);
    assert!(!urdf.meshes.is_empty() && urdf.text.contains("<mesh filename=\"meshes/base_1.obj\""), "{}", urdf.text);
}
