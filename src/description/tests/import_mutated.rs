//! Mutated files of every importer: each is read or refused with a place, without a panic.
#![allow(clippy::unwrap_used)]

use simpartner_description::xml::{self, Document};

/// Mutated files of each importer.
const MUTATIONS: u64 = 1000;

const URDF: &str = "<robot name='r'><material name='red'><color rgba='1 0 0 1'/></material><link name='world'/>
<link name='a'><inertial><origin xyz='0 0 1' rpy='0 1 0'/><mass value='2'/><inertia ixx='1' iyy='1' izz='1' ixy='0.1'/></inertial>
<collision><origin xyz='1 2 3'/><geometry><box size='1 2 3'/></geometry></collision><visual><geometry><mesh filename='package://p/m.stl' scale='1 1 1'/></geometry><material name='red'/></visual></link>
<link name='b'><inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1'/></inertial><collision><geometry><cylinder radius='1' length='2'/></geometry></collision></link>
<link name='c'><inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1'/></inertial><collision><geometry><sphere radius='1'/></geometry></collision></link>
<joint name='i' type='fixed'><parent link='world'/><child link='a'/></joint>
<joint name='j' type='revolute'><parent link='a'/><child link='b'/><axis xyz='0 0 1'/><limit lower='-1' upper='1' effort='5' velocity='2'/><dynamics damping='0.1' friction='0.2'/></joint>
<joint name='k' type='prismatic'><parent link='b'/><child link='c'/><axis xyz='1 0 0'/><limit lower='-1' upper='1' effort='5' velocity='2'/><mimic joint='j' multiplier='2' offset='0.1'/></joint>
<transmission name='t'><type>transmission_interface/SimpleTransmission</type><joint name='j'><hardwareInterface>hardware_interface/EffortJointInterface</hardwareInterface></joint></transmission>
<ros2_control name='h' type='system'><joint name='j'><command_interface name='velocity'><param name='max'>3</param></command_interface><state_interface name='position'><param name='initial_value'>0.5</param></state_interface></joint></ros2_control>
<gazebo reference='a'><mu1>0.5</mu1><mu2>0.2</mu2><fdir1>1 0 0</fdir1><kp>1000</kp><kd>10</kd><sensor name='s' type='ray'><pose>0 0 0 0 0 0</pose><ray><scan><horizontal><samples>5</samples><min_angle>-1</min_angle><max_angle>1</max_angle></horizontal></scan></ray></sensor></gazebo>
<gazebo><plugin filename='libgazebo_ros_diff_drive.so' name='d'><left_joint>j</left_joint></plugin></gazebo></robot>";

const MJCF: &str = "<mujoco><compiler angle='radian' eulerseq='xyz'/><option gravity='0 0 -9' timestep='0.002'/>
<default><geom friction='1 0.1 0.1'/><default class='d'><joint damping='1'/></default></default>
<asset><mesh name='m' builtin='supertorus' params='5 0.3 1 1'/><mesh name='n' vertex='0 0 0 1 0 0 0 1 0 0 0 1' face='0 2 1 0 1 3 0 3 2 1 2 3'/><mesh name='o' builtin='sphere' params='1'/><hfield name='h' nrow='2' ncol='2' size='1 1 1 1' elevation='0 1 2 3'/></asset>
<worldbody><light pos='0 0 3'/><geom type='plane' size='1 1 1'/><camera name='c' pos='1 0 0' fovy='45'/><site name='w' pos='0 0 1'/>
<body name='a' pos='0 0 1' euler='0 1 0'><freejoint/><geom type='box' size='1 2 3' mass='2'/><geom type='mesh' mesh='m'/><site name='s'/>
<body name='b' childclass='d'><joint name='j' axis='0 0 1' range='-1 1' springdamper='0.1 1'/><geom type='mesh' mesh='n' density='100'/>
<body name='e'><joint name='k' type='slide' armature='0.1' ref='0.1'/><geom type='capsule' fromto='0 0 0 0 0 1' size='0.1'/></body></body></body>
<replicate count='3' offset='1 0 0'><body name='r'><joint type='ball' range='0 1'/><geom type='ellipsoid' size='1 1 1'/></body></replicate>
<body name='f' pos='0 0 2'><freejoint/><geom type='mesh' mesh='o'/></body></worldbody>
<contact><exclude body1='a' body2='f'/></contact>
<equality><connect body1='a' body2='f' anchor='0 0 1'/><joint joint1='j' joint2='k' polycoef='0 1 0 0 0'/></equality>
<tendon><fixed name='t' stiffness='10' springlength='0.1' range='-1 1' limited='true'><joint joint='k' coef='2'/></fixed></tendon>
<actuator><position joint='j' kp='10' ctrlrange='-1 1'/><motor tendon='t' gear='2'/><general site='s' gear='0 0 1 0 0 0'/></actuator>
<sensor><gyro site='s'/><framepos objtype='body' objname='b'/><force site='s'/></sensor><keyframe><key qpos='0'/></keyframe></mujoco>";

const SDF: &str = "<sdf version='1.9'><world name='w'><gravity>0 0 -9</gravity><scene><ambient>1 1 1 1</ambient></scene>
<light name='sun' type='directional'><direction>0 0 -1</direction></light>
<include><uri>model://none</uri><name>lost</name><pose>1 0 0 0 0 0</pose></include>
<frame name='f' attached_to='m::arm'><pose>0 0 1 0 0 0</pose></frame>
<model name='g'><static>true</static><link name='l'><collision name='c'><geometry><plane><normal>0 0 1</normal><size>10 10</size></plane></geometry></collision></link></model>
<model name='m' placement_frame='arm::x' canonical_link='l'><pose relative_to='lost::y'>0 0 1 0 0 0</pose>
<link name='l'><inertial auto='true'><density>200</density></inertial><collision name='c'><geometry><polyline><point>0 0</point><point>2 0</point><point>2 2</point><point>1 1</point><point>0 2</point><height>0.5</height></polyline></geometry><surface><friction><ode><mu>0.5</mu><mu2>0.2</mu2><fdir1>1 0 0</fdir1></ode></friction><contact><ode><kp>1000</kp><kd>10</kd></ode></contact></surface></collision>
<sensor name='s' type='camera'><camera><horizontal_fov>1</horizontal_fov><image><width>32</width><height>32</height></image><clip><near>0.1</near><far>10</far></clip></camera></sensor></link>
<model name='arm'><link name='x'><inertial><mass>2</mass><inertia><ixx>1</ixx><iyy>1</iyy><izz>1</izz></inertia></inertial><collision name='c'><geometry><capsule><radius>1</radius><length>1</length></capsule></geometry></collision></link><link name='y'><inertial auto='true'/><collision name='c'><geometry><ellipsoid><radii>1 2 3</radii></ellipsoid></geometry></collision></link>
<joint name='j' type='universal'><parent>x</parent><child>y</child><axis><xyz>1 0 0</xyz><limit><lower>-1</lower><upper>1</upper></limit></axis><axis2><xyz>0 1 0</xyz></axis2></joint></model>
<joint name='j' type='revolute'><parent>__model__</parent><child>arm</child><axis><xyz expressed_in='arm'>0 0 1</xyz><dynamics><damping>1</damping></dynamics></axis></joint>
<joint name='k' type='ball'><pose>0 0 1 0 0 0</pose><parent>l</parent><child>arm::x</child></joint>
<plugin filename='gz-sim-joint-position-controller-system' name='p'><joint_name>j</joint_name></plugin><plugin filename='gz-sim-thruster-system' name='q'/></model>
<joint name='z' type='screw'><parent>g</parent><child>f</child><screw_thread_pitch>0.5</screw_thread_pitch></joint></world></sdf>";

/// What values are replaced by.
const VALUES: [&str; 16] = [
    "",
    "0",
    "-1",
    "1e308",
    "-1e-308",
    "nan",
    "inf",
    "99999999",
    "0 0 0",
    "0 0 0 0 0 0",
    "a",
    "world",
    "__model__",
    "m",
    "1 1 1 1 1 1 1 1 1 1 1 1 1 1",
    "true",
];

/// A sequence of numbers with the same members everywhere.
struct Dice(u64);

impl Dice {
    fn below(&mut self, count: usize) -> usize {
        // Constants of Knuth's MMIX.
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 33) as usize) % count.max(1)
    }

    fn mutate(&mut self, text: &str) -> String {
        // Tags, texts between them, and values of attributes.
        let mut parts: Vec<&str> = text.split_inclusive(['<', '>', '\'']).collect();
        for _ in 0..=self.below(4) {
            let (place, other) = (self.below(parts.len() - 1), self.below(parts.len()));
            match self.below(6) {
                0 => parts.swap(place, other),
                1 => drop(parts.remove(place)),
                2 => parts.insert(place, parts[other]),
                3 => parts.extend_from_within(place.min(other)..place.max(other).min(place.min(other) + 40)),
                _ => {
                    let end = parts[place].chars().last().filter(|last| "<>'".contains(*last));
                    let value = VALUES[self.below(VALUES.len())];
                    // The end of the part stays, so that the file is well-formed more often.
                    parts[place] = value;
                    match end {
                        Some('<') => parts.insert(place + 1, "<"),
                        Some('>') => parts.insert(place + 1, ">"),
                        Some(_) => parts.insert(place + 1, "'"),
                        None => {}
                    }
                }
            }
        }
        parts.concat()
    }
}

#[track_caller]
fn check(path: &str, text: &str) {
    match xml::read_text(path, text) {
        Ok(Document::World(_) | Document::Robot(_)) => {}
        Ok(_) => panic!("{path} is a world or a robot"),
        Err(problems) => panic!("{problems}"),
    }
    let (mut dice, mut read) = (Dice(1), 0);
    for number in 0..MUTATIONS {
        let mutated = dice.mutate(text);
        match xml::read_text(path, &mutated) {
            Ok(_) => read += 1,
            Err(problems) => {
                assert!(problems.problems.iter().all(|problem| !problem.message.is_empty()), "{number}: {mutated}");
            }
        }
    }
    // Neither is every file refused nor is every one read.
    assert!(read > MUTATIONS / 20 && read < MUTATIONS, "{path}: {read} of {MUTATIONS} are read");
}

#[test]
fn mutated_urdf_files_are_read_or_refused() {
    check("r.urdf", URDF);
}

#[test]
fn mutated_mjcf_files_are_read_or_refused() {
    check("m.xml", MJCF);
}

#[test]
fn mutated_sdf_files_are_read_or_refused() {
    check("w.sdf", SDF);
}
