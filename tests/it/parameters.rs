//! Parameters of a model: values of its files that a run replaces, at the start and while it runs.

use bevy_math::DVec3;
use simpartner_description::{
    Parameter, Parameters, World,
    xml::{self, Document, Newcomer, NewcomerFile, PortOffset},
};
use simpartner_dynamics::EngineKind;
use simpartner_model::{Axis, Pose, Soil};

use crate::{
    cli::{Running, Scratch, output, text},
    replay::is_the_same,
    scene,
};

/// A world with an object, two grounds, and a robot of a file beside it.
const WORLD: &str = r#"<world name="w">
  <surface friction="0.5"/>
  <surface a="1" b="0" d="-50"/>
  <object name="Box"><mass>2</mass><pose y="1"/><box x="1" y="1" z="1"/></object>
  <robot file="cart.xml" name="Cart"/>
</world>"#;

/// A robot with an assembly in two places, one of which has a parameter of its own.
const CART: &str = r#"<robot name="cart">
  <assembly name="Leg">
    <parameter name="heavy" value="3"/>
    <body name="Foot"><mass>${heavy}</mass><pose x="1"/><sphere radius="0.1"/></body>
    <joint type="hinge" name="Ankle"><parent>Base</parent><child>Foot</child><axis z="1"/><free lower="-1" upper="1"/></joint>
  </assembly>
  <body name="Base"><mass>4</mass><pose y="3"/><box x="1" y="1" z="1"/></body>
  <place assembly="Leg" suffix="1"/>
  <place assembly="Leg" suffix="2"><parameter name="heavy" value="5"/></place>
  <actuator type="JointController" name="Motor" joint="Ankle1" port="0"/>
  <sensor type="Gyroscope" name="Gyro" body="Base" port="0"/>
</robot>"#;

fn world(text: &str) -> World {
    match xml::read_text("test.xml", text) {
        Ok(Document::World(world)) => world,
        other => panic!("{other:?}"),
    }
}

fn cart() -> World {
    let scratch = Scratch::new();
    scratch.write("cart.xml", CART);
    let path = scratch.write("world.xml", WORLD);
    xml::read_world(path.as_ref()).unwrap_or_else(|problems| panic!("{problems}"))
}

fn changed(world: &World, parameters: &[&str]) -> Result<World, String> {
    let parsed: Result<Parameters, _> = parameters.iter().map(|text| Parameter::parse(text)).collect();
    xml::with_parameters(world, parsed.map_err(|error| error.to_string())?).map_err(|problems| problems.to_string())
}

fn mass(world: &World, name: &str) -> f64 {
    world.mechanism.bodies.iter().find(|body| body.name == name).unwrap().mass
}

fn friction(world: &World, ground: usize) -> f64 {
    world.mechanism.grounds[ground].material().friction
}

#[test]
fn a_path_reaches_every_kind_of_value() {
    let before = cart();
    let after = |parameters: &[&str]| changed(&before, parameters).unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!((friction(&before, 0), friction(&before, 1), mass(&before, "Foot1")), (0.5, 1.0, 3.0));
    let one = after(&["surface.friction=0.25"]);
    assert_eq!((friction(&one, 0), friction(&one, 1)), (0.25, 0.25));
    let second = after(&["surface[2].friction=0.25"]);
    assert_eq!((friction(&second, 0), friction(&second, 1)), (0.5, 0.25));
    // Elements and attributes that the file leaves out are added.
    assert_eq!(after(&["gravity.y=-1.5"]).mechanism.gravity.to_array(), [0.0, -1.5, 0.0]);
    assert_eq!(mass(&after(&["Box.mass=7"]), "Box"), 7.0);
    assert_eq!(mass(&after(&["object.Box.mass=7"]), "Box"), 7.0);
    // A factor multiplies the number of each element.
    let scaled = after(&["Cart.Foot*.mass=*2"]);
    assert_eq!((mass(&scaled, "Foot1"), mass(&scaled, "Foot2"), mass(&scaled, "Base")), (6.0, 10.0, 4.0));
    let all = after(&["Cart.*.mass=*0.5"]);
    assert_eq!((mass(&all, "Foot1"), mass(&all, "Foot2"), mass(&all, "Base"), mass(&all, "Box")), (1.5, 2.5, 2.0, 2.0));
    // A parameter of assemblies replaces the value of each place.
    let heavy = after(&["Cart.heavy=9"]);
    assert_eq!((mass(&heavy, "Foot1"), mass(&heavy, "Foot2")), (9.0, 9.0));
    let heavier = after(&["Cart.heavy=*2"]);
    assert_eq!((mass(&heavier, "Foot1"), mass(&heavier, "Foot2")), (6.0, 10.0));
    // A built-in soil is a soil of the world then.
    let soft = after(&["surface[1].soil=drySand", "soil.drySand.cohesion=123"]);
    let soil = soft.mechanism.grounds[0].material().soil.unwrap();
    assert_eq!(soil, Soil { cohesion: 123.0, ..Soil::named("drySand").unwrap() });
    // Later parameters of a path replace earlier ones; parameters are kept with the world.
    let twice = after(&["Box.mass=7", "surface.friction=0.1"]);
    let again = changed(&twice, &[]).unwrap();
    assert_eq!((mass(&again, "Box"), friction(&again, 0)), (2.0, 0.5));
    let kept = xml::read_kept(&twice.sources).unwrap();
    assert_eq!((mass(&kept, "Box"), friction(&kept, 0)), (7.0, 0.1));
}

/// Numbers that a path can name, one of each kind of element.
#[test]
fn joints_and_devices_have_paths_too() {
    let before = cart();
    let locked = changed(&before, &["Cart.Ankle1.free.lower=-0.5", "Cart.Ankle1.free.upper=0.5"]);
    let locked = locked.unwrap_or_else(|problems| panic!("{problems}"));
    let joint = locked.mechanism.joints.iter().find(|joint| joint.name == "Ankle1").unwrap();
    let limits = joint.axes.iter().find_map(|axis| match axis {
        Axis::Free(free) => Some((free.lower, free.upper)),
        _ => None,
    });
    assert_eq!(limits, Some((-0.5, 0.5)));
    let port = changed(&before, &["Cart.Gyro.port=4321", "Cart.Gyro.rate=50"]).unwrap();
    let gyro = port.devices.iter().find(|device| device.name == "Gyro").unwrap();
    assert_eq!(gyro.port.number(), 4321);
}

#[test]
fn errors_name_the_part_of_the_path_and_what_was_meant() {
    let before = cart();
    for (parameter, expected) in [
        ("surfce.friction=1", "has no 'surfce'; did you mean 'surface'?"),
        ("surface.frction=1", "<surface> has no 'frction'; did you mean 'friction'?"),
        ("surface[3].friction=1", "has no 'surface'"),
        ("surface.friction=-1", "expected a number not below 0, got '-1'"),
        ("surface.friction=much", "expected a number not below 0, got 'much'"),
        ("surface=1", "<surface> has no value of its own"),
        ("Crt.Base.mass=1", "has no 'Crt'; did you mean 'Cart'?"),
        ("Cart=1", "'Cart' is a robot"),
        ("Cart.Bse.mass=1", "has no 'Bse'; did you mean 'Base'?"),
        ("Cart.Base.mss=1", "<body> 'Base' has no 'mss'; did you mean 'mass'?"),
        ("Cart.Base.mass=0", "expected a number above 0"),
        ("Cart.Base.name=x", "'name' is a name or a file"),
        ("Box.mass=*x", "is not a factor"),
        ("Cart.Gyro.body=Fot1", "Fot1"),
    ] {
        let problems = changed(&before, &[parameter]).err().unwrap_or_else(|| panic!("{parameter} was taken"));
        assert!(problems.contains(expected), "{parameter}: {problems}");
    }
}

/// Two robots of one file: a parameter changes the one that it names.
#[test]
fn robots_of_one_file_are_changed_by_their_names() {
    let text = "<world name='w'><robot file='workpartner1.xml' name='A'/>\
                <robot file='workpartner1.xml' name='B' portOffset='100'><pose x='5'/></robot></world>";
    let before = world(text);
    let of = |world: &World, robot: &str| -> f64 {
        let bodies = world.mechanism.bodies.iter().filter(|body| {
            body.name == "Wheel1" && body.robot.is_some_and(|of| world.mechanism.robot(of).name == robot)
        });
        bodies.map(|body| body.mass).sum()
    };
    let after = changed(&before, &["B.Wheel1.mass=4"]).unwrap();
    assert_eq!((of(&after, "A"), of(&after, "B")), (of(&before, "A"), 4.0));
    let both = changed(&before, &["*.Wheel1.mass=4"]).unwrap();
    assert_eq!((of(&both, "A"), of(&both, "B")), (4.0, 4.0));
    let assembly = changed(&before, &["A.wheelMass=2"]).unwrap();
    assert_eq!((of(&assembly, "A"), of(&assembly, "B")), (2.0, of(&before, "B")));
    let moved = changed(&before, &["B.pose.x=7"]).unwrap();
    let x = |world: &World| world.mechanism.bodies.last().unwrap().pose.translation.x;
    assert_eq!(x(&moved) - x(&before), 2.0);
}

/// Models of other formats have the same paths after their import.
#[test]
fn imported_robots_have_paths() {
    let scratch = Scratch::new();
    let urdf = "<robot name='pole'><link name='base'><inertial><mass value='2'/><inertia ixx='1' iyy='1' izz='1' ixy='0' ixz='0' iyz='0'/>\
                </inertial><collision><geometry><sphere radius='0.2'/></geometry></collision></link></robot>";
    let path = scratch.write("pole.urdf", urdf);
    let parameters: Parameters = [Parameter::parse("pole.base.mass=3").unwrap()].into_iter().collect();
    let world =
        xml::read_world_or_robot(path.as_ref(), false, &parameters).unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!(mass(&world, "base"), 3.0);
    let kept = xml::read_kept(&world.sources).unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!(mass(&kept, "base"), 3.0);
    let wrong: Parameters = [Parameter::parse("pole.bse.mass=3").unwrap()].into_iter().collect();
    let problems = xml::read_world_or_robot(path.as_ref(), false, &wrong).unwrap_err().to_string();
    assert!(problems.contains("did you mean 'base'?"), "{problems}");
}

#[test]
fn a_run_with_parameters_is_logged_listed_replayed_and_forked() {
    let scratch = Scratch::new();
    let database = scratch.database("run.db");
    let properties = scratch.write("p.toml", "[model]\nsurface.friction = 0.3\n\"WorkPartner.Wheel*.mass\" = \"*2\"\n");
    let run = |more: &[&str]| {
        let fixed = ["run", "--mode", "fast", "--duration", "0.2", "--database", &database];
        output(&[&fixed, more].concat())
    };
    let made = run(&["--properties", &properties, "--model", "gravity.y=-5"]);
    assert!(made.status.success(), "{}", text(&made.stderr));
    let plain = run(&[]);
    assert!(plain.status.success(), "{}", text(&plain.stderr));
    is_the_same(&output(&["replay", "1", "--database", &database]));
    let listed = |more: &[&str]| text(&output(&[&["runs", "--database", &database], more].concat()).stdout).to_owned();
    let all = listed(&[]);
    assert!(all.contains("flat  surface.friction=0.3  WorkPartner.Wheel*.mass=*2  gravity.y=-5"), "{all}");
    for (wanted, count) in [
        ("surface.friction", 1),
        ("surface.friction=0.3", 1),
        ("surface.friction<0.3", 0),
        ("surface.friction>0.2", 1),
        ("gravity.x", 0),
        ("WorkPartner.Wheel*.mass=*2", 1),
    ] {
        assert_eq!(listed(&["--parameter", wanted]).lines().count(), 1 + count, "{wanted}");
    }
    let rows =
        output(&["query", "1", "SELECT path, text, value FROM parameter ORDER BY ordinal", "--database", &database]);
    assert!(text(&rows.stdout).contains("surface.friction"), "{}", text(&rows.stdout));
    if scene::settings().engine != EngineKind::Dynamics {
        return;
    }
    let fork = ["fork", "1", "--database", &database, "--at", "100", "--set", "model.surface.friction=0.9"];
    let forked = output(&fork);
    assert!(forked.status.success(), "{}", text(&forked.stderr));
    is_the_same(&output(&["replay", "3", "--database", &database]));
    assert_eq!(listed(&["--parameter", "surface.friction=0.9"]).lines().count(), 2);
    let refused = output(&["fork", "1", "--database", &database, "--at", "100", "--set", "model.surface.frict=0.9"]);
    assert_eq!(refused.status.code(), Some(3), "{}", text(&refused.stderr));
}

/// A value changes at a step boundary, the running state continues, and each part replays.
#[test]
fn parameters_change_while_a_run_is_paused() {
    if scene::settings().engine != EngineKind::Dynamics {
        return;
    }
    let scratch = Scratch::new();
    let mut server = Running::start(&scratch, &["--mode", "fast", "--paused"]);
    assert_eq!(server.ask("PARAM"), "OK 0");
    server.ask("STEP 100");
    assert_eq!(server.ask("PARAM surface.friction 0.2"), "OK");
    assert_eq!(server.ask("PARAM WorkPartner.Wheel*.mass *2"), "OK");
    server.ask("STEP 100");
    let refused = server.ask("PARAM surface.frict 1");
    assert!(refused.starts_with("ERR 8 ") && refused.contains("did you mean 'friction'?"), "{refused}");
    let short = server.ask("PARAM surface.friction");
    assert!(short.starts_with("ERR 8 expected PARAM"), "{short}");
    let listed = [server.ask("PARAM"), server.heard(), server.heard()];
    assert_eq!(listed, ["PARAM surface.friction=0.2", "PARAM WorkPartner.Wheel*.mass=*2", "OK 2"]);
    server.ask("QUIT");
    server.end();
    let database = scratch.database("run.db");
    for run in ["1", "2"] {
        is_the_same(&output(&["replay", run, "--database", &database]));
    }
    let events = output(&[
        "query",
        "2",
        "SELECT kind, subject, text FROM event WHERE kind = 'parameter'",
        "--database",
        &database,
    ]);
    let events = text(&events.stdout);
    assert!(events.contains("surface.friction") && events.contains("*2"), "{events}");
}

/// Robots come to a world with parameters, and parameters go with the robot that they name.
#[test]
fn parameters_stay_when_robots_come_and_go() {
    let text = "<world name='w'><surface/><robot file='workpartner1.xml' name='A'/></world>";
    let slippery = changed(&world(text), &["surface.friction=0.1", "A.Wheel1.mass=4"]).unwrap();
    let newcomer = Newcomer {
        name: Some("B"),
        may_rename: false,
        file: NewcomerFile::Named("workpartner1.xml"),
        pose: Pose { translation: DVec3::new(9.0, 0.0, 0.0), ..Pose::IDENTITY },
        fixed_base: false,
        port_offset: PortOffset::Free,
    };
    let both = xml::add_robot(&slippery, &newcomer, &[]).unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!((friction(&both, 0), mass(&both, "Wheel1"), both.mechanism.robots.len()), (0.1, 4.0, 2));
    let one = xml::remove_entity(&both, "A").unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!((friction(&one, 0), mass(&one, "Wheel1")), (0.1, mass(&world(text), "Wheel1")));
    let left: Vec<String> = Parameters::of_sources(&one.sources).iter().map(Parameter::to_string).collect();
    assert_eq!(left, ["surface.friction=0.1"]);
    assert_eq!(friction(&xml::read_kept(&one.sources).unwrap(), 0), 0.1);
}
