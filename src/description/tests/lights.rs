//! Light of worlds, of our own files and of others.

use std::fs;

use bevy_math::DVec3;
use simpartner_description::{
    World,
    xml::{self, Document},
};
use simpartner_model::{LampKind, Scenery};

fn read_as(name: &str, text: &str) -> World {
    let folder = tempfile::tempdir().expect("a valid case");
    fs::write(folder.path().join(name), text).expect("a valid case");
    match xml::read_any(&folder.path().join(name)) {
        Ok(Document::World(world)) => world,
        Ok(_) => panic!("no world"),
        Err(problems) => panic!("{problems}"),
    }
}

fn scenery(elements: &str) -> Scenery {
    read_as("w.xml", &format!("<world name='w'>{elements}</world>")).mechanism.scenery
}

#[test]
fn a_world_without_light_elements_leaves_it_to_the_renderer() {
    assert_eq!(scenery(""), Scenery::default());
    assert_eq!(scenery("<illumination/>"), Scenery::default());
}

#[test]
fn sun_sky_and_lights_are_read() {
    let scenery = scenery(
        "<illumination sunX='3' sunY='4' sunZ='0' sun='#ff8000' sunFactor='0.5' ambient='#404040' zenith='#0000ff'/>
         <light x='1' y='2' z='3' factor='5' color='#ffff00'/>
         <light type='spot' directionX='1' directionY='0' innerAngle='0.1' outerAngle='0.2' shadow='false' range='7'/>
         <light type='directional' directionY='-2'/>",
    );
    assert!((scenery.to_sun.expect("a valid case") - DVec3::new(0.6, 0.8, 0.0)).length() < 1e-15);
    let sun = scenery.sun.expect("a valid case");
    assert_eq!((sun.color.to_string().as_str(), sun.factor), ("#ff8000", 0.5));
    assert_eq!(scenery.ambient_below, scenery.ambient_above);
    assert_eq!(scenery.horizon.expect("a valid case").color.to_string(), "#0000ff");
    let [point, spot, directional] = &scenery.lamps[..] else { panic!("{:?}", scenery.lamps) };
    assert_eq!(point.kind, LampKind::Point { position: DVec3::new(1.0, 2.0, 3.0) });
    assert_eq!((point.brightness.factor, point.attenuation, point.range), (5.0, [0.0, 0.0, 1.0], f64::INFINITY));
    let LampKind::Spot { direction, inner_angle, outer_angle, .. } = spot.kind else { panic!("{spot:?}") };
    assert_eq!((direction, inner_angle, outer_angle), (DVec3::X, 0.1, 0.2));
    assert!(!spot.has_shadow && spot.range == 7.0 && directional.has_shadow);
    assert_eq!(directional.kind, LampKind::Directional { direction: DVec3::NEG_Y });
}

#[test]
fn light_without_sense_is_told_at_its_place() {
    for (element, what) in [
        ("<illumination sunX='0' sunY='0' sunZ='0'/>", "sunX, sunY and sunZ are all zero"),
        ("<light type='directional' directionY='0'/>", "directionX, directionY and directionZ are all zero"),
        ("<light quadratic='0'/>", "the light would be infinite"),
        ("<light type='spot' innerAngle='1'/>", "innerAngle 1 is above outerAngle 0.7"),
        ("<light type='lamp'/>", "expected one of point, spot, directional"),
        ("<light factor='-1'/>", "expected a number not below 0"),
        (&"<light/>".repeat(65), "a world has at most 64 lights"),
    ] {
        let Err(problems) = xml::read_text("w.xml", &format!("<world name='w'>\n{element}</world>")) else {
            panic!("{element}")
        };
        let text = problems.to_string();
        assert!(text.contains(what) && text.contains("w.xml:2:"), "{text}");
    }
}

/// The first directional light with shadows is the sun; z is up there.
#[test]
fn lights_of_gazebo_are_those_of_the_world() {
    let scenery = read_as(
        "w.sdf",
        "<sdf version='1.9'><world name='w'><scene><ambient>0.5 0.5 0.5 1</ambient><background>0 0 1 1</background></scene>
         <light type='directional' name='sun'><cast_shadows>true</cast_shadows><diffuse>1 1 0 1</diffuse>
         <direction>0 0 -1</direction></light>
         <light type='point' name='p'><pose>1 2 3 0 0 0</pose><attenuation><range>20</range><constant>0.5</constant>
         <linear>0.1</linear><quadratic>0.01</quadratic></attenuation></light>
         <light type='spot' name='s'><diffuse>x</diffuse><direction>1 0 0</direction><spot><inner_angle>0.4</inner_angle>
         <outer_angle>1</outer_angle></spot></light><light type='point' name='off'><light_on>0</light_on></light><model name='m'><static>1</static><link name='l'><collision name='c'>
         <geometry><box><size>1 1 1</size></box></geometry></collision></link></model></world></sdf>",
    )
    .mechanism
    .scenery;
    assert_eq!(
        (scenery.to_sun, scenery.sun.expect("a valid case").color.to_string()),
        (Some(DVec3::Y), "#ffff00".into())
    );
    assert_eq!(scenery.ambient_above.expect("a valid case").color.to_string(), "#808080");
    assert_eq!(scenery.zenith.expect("a valid case").color.to_string(), "#0000ff");
    let [point, spot] = &scenery.lamps[..] else { panic!("{:?}", scenery.lamps) };
    assert_eq!(point.kind, LampKind::Point { position: DVec3::new(1.0, 3.0, -2.0) });
    assert_eq!((point.attenuation, point.range, point.has_shadow), ([0.5, 0.1, 0.01], 20.0, false));
    let LampKind::Spot { direction, inner_angle, outer_angle, .. } = spot.kind else { panic!("{spot:?}") };
    assert_eq!((direction, inner_angle, outer_angle), (DVec3::X, 0.2, 0.5));
}

#[test]
fn lights_of_mujoco_are_those_of_the_world() {
    let world = |visual: &str, light: &str| {
        let text = format!(
            "<mujoco>{visual}<worldbody>{light}<geom type='plane' size='5 5 1'/><body><freejoint/><geom size='1'/></body>
             </worldbody></mujoco>"
        );
        read_as("m.xml", &text).mechanism.scenery
    };
    assert_eq!(world("", ""), Scenery::default());
    let lit = world("", "<light pos='0 0 3' dir='0 0 -2'/><light directional='true' diffuse='1 1 1' dir='-1 0 0'/>");
    assert_eq!(lit.to_sun, Some(DVec3::X));
    let [spot] = &lit.lamps[..] else { panic!("{:?}", lit.lamps) };
    let LampKind::Spot { position, direction, outer_angle, .. } = spot.kind else { panic!("{spot:?}") };
    assert_eq!((position, direction), (DVec3::Y * 3.0, DVec3::NEG_Y));
    assert!((outer_angle - std::f64::consts::FRAC_PI_4).abs() < 1e-12 && spot.attenuation == [1.0, 0.0, 0.0]);
    // The headlight of 0.1 and half of 0.4.
    assert_eq!(lit.ambient_above.expect("a valid case").color.to_string(), "#4d4d4d");
    let spot_alone = world("", "<light pos='0 0 3'/>");
    assert_eq!(spot_alone.sun.expect("a valid case").color.to_string(), "#000000");
    let headlight = "<visual><headlight ambient='0.4 0.4 0.4' diffuse='0 0 0'/></visual>";
    assert_eq!(world(headlight, "").ambient_above.expect("a valid case").color.to_string(), "#666666");
}
