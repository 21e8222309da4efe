//! An example of every element with more than a value; a test checks each against the table.

/// The id of an element, and its text.
pub(in crate::xml) const EXAMPLES: &[(&str, &str)] = &[
    (
        "world",
        "<world name=\"yard\">\n  <surface friction=\"0.8\"/>\n  <robot file=\"rover.xml\" name=\"Rover\"><pose x=\"-1\"/></robot>\n</world>",
    ),
    ("surface", "<surface friction=\"0.8\"/>                     <!-- level ground through the origin -->"),
    ("gravity", "<gravity y=\"-1.62\"/>                           <!-- the moon -->"),
    ("geographicOrigin", "<geographicOrigin latitude=\"60.1867\" longitude=\"24.8277\" altitude=\"25\"/>"),
    ("magneticField", "<magneticField x=\"2e-5\" y=\"-4.5e-5\"/>        <!-- in the north of Europe -->"),
    ("air", "<air windX=\"3\" shearExponent=\"0.14\" gust=\"0.8\"/>"),
    ("water", "<water density=\"1025\" currentX=\"0.5\"/>"),
    ("drag", "<drag coefficient=\"0.47\" area=\"0.01\"/>        <!-- a ball -->"),
    ("wing", "<wing area=\"0.3\" liftSlope=\"5\" dragSlope=\"0.2\"><pose x=\"0.1\"/></wing>"),
    ("fluidDamping", "<fluidDamping linearX=\"20\" quadraticX=\"25\"/>"),
    ("buoyancy", "<buoyancy/>"),
    ("wheel", "<wheel joint=\"AxleFrontLeft\" steering=\"KnuckleFrontLeft\" driven=\"false\"/>"),
    ("track", "<track body=\"TrackLeft\"/>"),
    (
        "heightfield",
        "<heightfield width=\"2\" depth=\"4\" friction=\"0.9\">\n  0 0.1 0\n  0 0.2 0\n  0 0.1 0\n</heightfield>",
    ),
    (
        "ground",
        "<ground friction=\"0.7\">\n  <triangleMesh file=\"crater.stl\" scale=\"0.001\"><pose y=\"-0.2\"/></triangleMesh>\n</ground>",
    ),
    (
        "object",
        "<object name=\"Crate\">\n  <mass>12</mass>\n  <pose x=\"2\" y=\"0.25\"/>\n  <box x=\"0.5\" y=\"0.5\" z=\"0.5\"/>\n</object>",
    ),
    (
        "robotPlacement",
        "<robot file=\"rover.xml\" name=\"Second\" portOffset=\"100\"><pose z=\"3\" pitch=\"1.5708\"/></robot>",
    ),
    (
        "robot",
        "<robot name=\"Pendulum\">\n  <body name=\"Foot\"><mass>5</mass><pose y=\"0.5\"/><box x=\"1\" y=\"1\" z=\"1\"/></body>\n  \
         <body name=\"Rod\"><mass>1</mass><pose y=\"1.5\"/><capsule radius=\"0.05\" length=\"0.9\"/></body>\n  \
         <joint type=\"hinge\" name=\"Pivot\"><parent>Foot</parent><child>Rod</child><anchor y=\"1\"/></joint>\n  \
         <sensor type=\"JointEncoder\" name=\"Angle\" joint=\"Pivot\" port=\"2000\"/>\n</robot>",
    ),
    ("assemblies", "<assemblies>\n  <include file=\"wheels.xml\"/>\n</assemblies>"),
    ("include", "<include file=\"workpartner_assemblies.xml\"/>"),
    (
        "assembly",
        "<assembly name=\"Wheel\">\n  <parameter name=\"radius\" value=\"0.1\"/>\n  \
         <body name=\"Wheel\"><mass>1</mass><cylinder radius=\"${radius}\" length=\"0.04\" axis=\"z\"/></body>\n  \
         <joint type=\"hinge\" name=\"Axle\"><parent>${on}</parent><child>Wheel</child></joint>\n</assembly>",
    ),
    ("parameter", "<parameter name=\"radius\" value=\"0.12\"/>"),
    (
        "place",
        "<place assembly=\"Wheel\" suffix=\"Left\" on=\"Chassis\">\n  <pose y=\"0.1\" z=\"-0.2\"/>\n  \
         <parameter name=\"radius\" value=\"0.12\"/>\n</place>",
    ),
    (
        "body",
        "<body name=\"Wheel\">\n  <mass>1.5</mass>\n  <pose y=\"0.1\"/>\n  <cylinder radius=\"0.1\" length=\"0.04\" axis=\"z\"/>\n  \
         <material friction=\"0.9\" rollingFriction=\"0.01\"/>\n</body>",
    ),
    (
        "transformation",
        "<transformation>               <!-- turned by 90 degrees about y, and moved to (1, 0, 2) -->\n  \
         <T00>0</T00><T01>0</T01><T02>1</T02><T03>1</T03>\n  <T10>0</T10><T11>1</T11><T12>0</T12><T13>0</T13>\n  \
         <T20>-1</T20><T21>0</T21><T22>0</T22><T23>2</T23>\n</transformation>",
    ),
    ("pose", "<pose x=\"1\" z=\"2\" pitch=\"1.5708\"/>           <!-- the same as one pose -->"),
    ("translationalVelocity", "<translationalVelocity><vx>1</vx><vy>0</vy><vz>0</vz></translationalVelocity>"),
    (
        "rotationalVelocity",
        "<rotationalVelocity><omegax>0</omegax><omegay>3.14</omegay><omegaz>0</omegaz></rotationalVelocity>",
    ),
    (
        "illumination",
        "<illumination sunX=\"1\" sunY=\"0.2\" sun=\"#ffb080\" ambient=\"#404860\"/>   <!-- a low, red sun -->",
    ),
    ("light", "<light type=\"spot\" x=\"2\" y=\"4\" z=\"0\" color=\"#fff0d0\" factor=\"20\" innerAngle=\"0.3\"/>"),
    ("lens", "<lens model=\"brownConrady\" focalX=\"520\" principalX=\"322.5\" k1=\"-0.28\" k2=\"0.07\"/>"),
    ("imageNoise", "<imageNoise standardDeviation=\"0.01\" shot=\"0.02\" salt=\"0.0001\"/>"),
    ("box", "<box x=\"0.4\" y=\"0.1\" z=\"0.3\"/>"),
    ("sphere", "<sphere radius=\"0.05\"/>"),
    ("ellipsoid", "<ellipsoid radiusX=\"0.2\" radiusY=\"0.2\" radiusZ=\"0.05\"/>"),
    ("cylinder", "<cylinder radius=\"0.1\" length=\"0.04\" axis=\"z\"/>"),
    ("capsule", "<capsule radius=\"0.05\" length=\"0.9\"/>"),
    ("cone", "<cone radius=\"0.2\" length=\"0.5\"><pose y=\"0.25\"/></cone>"),
    ("convexHull", "<convexHull><vertices>0 0 0  1 0 0  0 1 0  0 0 1</vertices></convexHull>"),
    (
        "triangleMesh",
        "<triangleMesh>\n  <vertices>0 0 0  1 0 0  0 1 0  0 0 1</vertices>\n  \
         <triangles>0 2 1  0 1 3  0 3 2  1 2 3</triangles>\n</triangleMesh>",
    ),
    ("vertices", "<vertices>0 0 0, 1 0 0, 0 1 0, 0 0 1</vertices>"),
    ("triangles", "<triangles>0 2 1, 0 1 3, 0 3 2, 1 2 3</triangles>"),
    (
        "compound",
        "<compound>\n  <box x=\"1\" y=\"0.1\" z=\"0.1\"/>\n  <sphere radius=\"0.2\"><pose x=\"0.5\"/></sphere>\n</compound>",
    ),
    ("collision", "<collision><box x=\"0.5\" y=\"0.2\" z=\"0.3\"/></collision>"),
    (
        "visual",
        "<visual color=\"#2060a0\"><box x=\"0.5\" y=\"0.2\" z=\"0.3\"/></visual>\n\
         <visual><triangleMesh file=\"meshes/arm.dae\"/></visual>\n\
         <visual texture=\"checker #ffffff #202020\" textureLengthX=\"0.2\" textureLengthY=\"0.2\">\
         <box x=\"1\" y=\"0.1\" z=\"1\"/></visual>",
    ),
    (
        "material",
        "<material friction=\"0.6\" restitution=\"0.3\"/>\n\
         <material surfaceVelocityX=\"0.5\"/>               <!-- a conveyor's belt -->",
    ),
    ("soil", "<soil name=\"dunes\" like=\"drySand\" cohesion=\"500\"/>      <!-- for <surface soil=\"dunes\"/> -->"),
    (
        "rocks",
        "<rocks seed=\"1\" cover=\"0.08\" smallest=\"0.1\" largest=\"0.5\" width=\"30\" depth=\"20\">\n  \
         <clear x=\"-10\" radius=\"2\"/>                <!-- where the robot starts -->\n</rocks>",
    ),
    ("clear", "<clear x=\"-10\" z=\"0\" radius=\"2\"/>"),
    ("inertia", "<inertia ixx=\"0.02\" iyy=\"0.03\" izz=\"0.02\" y=\"-0.05\"/>"),
    (
        "joint",
        "<joint type=\"hinge\" name=\"Elbow\">\n  <parent>UpperArm</parent>\n  <child>Forearm</child>\n  <anchor x=\"0.3\" y=\"1\"/>\n  \
         <axis y=\"1\"/>\n  <free lower=\"-1.2\" upper=\"1.2\" damping=\"0.05\"/>\n</joint>",
    ),
    ("anchor", "<anchor x=\"0.3\" y=\"1\"/>"),
    ("axis", "<axis y=\"1\"/>                                 <!-- turns about a vertical axis -->"),
    ("axis1", "<axis1 x=\"1\"/>"),
    ("axis3", "<axis3 z=\"1\"/>"),
    (
        "free",
        "<free lower=\"-1.2\" upper=\"1.2\" damping=\"0.05\" maxEffort=\"40\" maxPower=\"100\" initialPosition=\"0.4\"/>\n\
         <free swing=\"1.2\" lower=\"-0.8\" upper=\"0.8\" damping=\"2\"/>      <!-- of a ball joint: a shoulder -->",
    ),
    ("coupling", "<coupling leader=\"Left\" follower=\"Right\" ratio=\"-1\"/>     <!-- the fingers of a gripper -->"),
    ("exclude", "<exclude body=\"UpperArm\" other=\"Hand\"/>"),
    ("initial", "<initial joint=\"Elbow\" position=\"0.7\"/>"),
    (
        "sensor",
        "<sensor type=\"DistanceSensor\" name=\"Front\" body=\"Chassis\" port=\"2003\" range=\"20\">\n  \
         <pose x=\"0.2\" pitch=\"1.5708\"/>               <!-- its z axis, along which it looks, is the body's x -->\n  \
         <noise standardDeviation=\"0.01\"/>\n</sensor>",
    ),
    ("noise", "<noise of=\"distance\" standardDeviation=\"0.01\" bias=\"0.005\"/>"),
    (
        "actuator",
        "<actuator type=\"JointController\" name=\"Motor\" joint=\"Axle\" port=\"2001\" watchdog=\"0.5\" onTimeout=\"brake\"/>",
    ),
    ("force", "<force y=\"9.81\"/>"),
    ("torque", "<torque z=\"0.5\"/>"),
    ("motor", "<motor stallTorque=\"0.5\" noLoadSpeed=\"300\" gearRatio=\"50\" efficiency=\"0.8\"/>"),
    (
        "sequence",
        "<sequence version=\"1\">\n  <command><port>2001</port><commandString>10,10,10,0,0,-5</commandString></command>\n  \
         <command><port>0</port><commandString>2.5</commandString></command>\n</sequence>",
    ),
    (
        "command",
        "<command><port>2001</port><commandString>10,10,10,0,0,-5</commandString></command>\n\
         <command><port>0</port><commandString>2.5</commandString></command>   <!-- then 2.5 s -->",
    ),
    (
        "set",
        "<set device=\"Motor\">maxForce=10 velocity_3=-5</set>\n<set device=\"Rover/Motor\">velocity_3=0</set>   <!-- maxForce stays 10 -->",
    ),
    (
        "wait",
        "<wait for=\"2.5s\"/>\n<wait until=\"Position.x > 2\" timeout=\"30s\"/>\n<wait until=\"Front.distance &lt;= 0.5\" timeout=\"10000steps\"/>",
    ),
    ("repeat", "<repeat count=\"3\">\n  <command><port>0</port><commandString>1</commandString></command>\n</repeat>"),
    (
        "grasp",
        "<grasp name=\"pinch\">\n  <object name=\"Cube\"><mass>1</mass><box x=\"0.1\" y=\"0.1\" z=\"0.1\"/></object>\n  \
         <contact name=\"Thumb\" type=\"soft\" friction=\"0.5\" radius=\"0.01\"><pose x=\"-0.05\"/><normal x=\"1\"/></contact>\n  \
         <contact name=\"Index\" type=\"soft\" friction=\"0.5\" radius=\"0.01\"><pose x=\"0.05\"/><normal x=\"-1\"/></contact>\n</grasp>",
    ),
    ("load", "<load x=\"2\" torqueZ=\"0.1\"/>                  <!-- a pull sideways, and a twist -->"),
    (
        "contact",
        "<contact name=\"Thumb\" type=\"frictional\" friction=\"0.5\" maxForce=\"20\"><pose x=\"-0.05\"/><normal x=\"1\"/></contact>",
    ),
    ("normal", "<normal x=\"-1\"/>                              <!-- the finger pushes against x -->"),
    ("patch", "<patch xx=\"-5\" yy=\"-5\" range=\"0.02\"/>         <!-- a bulge of 0.1 m radius -->"),
    (
        "graspTask",
        "<graspTask name=\"box\" world=\"box_world.xml\" object=\"Box\">\n  <tool body=\"Palm\"><pose z=\"0.12\"/></tool>\n  \
         <finger joint=\"Left\" closed=\"0.05\"/>\n  <sampling mode=\"antipodal\"/>\n</graspTask>",
    ),
    ("tool", "<tool body=\"Palm\"><pose z=\"0.12\"/></tool>            <!-- between the tips of the fingers -->"),
    ("finger", "<finger joint=\"Left\" closed=\"0.05\" maxEffort=\"20\"/>   <!-- at most 20 N -->"),
    ("suction", "<suction body=\"Cup\" force=\"25\"/>                  <!-- 20 mm wide, 80 kPa -->"),
    ("approach", "<approach z=\"0.05\"/>                             <!-- 5 cm straight on -->"),
    ("retract", "<retract y=\"0.1\"/>                               <!-- 10 cm up -->"),
    ("acceleration", "<acceleration y=\"-9.81\"/>                        <!-- as much as its weight on earth -->"),
    ("drive", "<drive type=\"dynamic\" bandwidth=\"10\"/>"),
    ("conditions", "<conditions restTime=\"0.2\" timeLimit=\"5\"/>"),
    (
        "sampling",
        "<sampling mode=\"antipodal\" friction=\"0.5\" opening=\"0.09\" minDistance=\"0\" maxDistance=\"0\"/>",
    ),
    (
        "target",
        "<target><pose y=\"0.02\" pitch=\"1.5708\"/></target>   <!-- the tool 2 cm above the object's origin, z along x -->",
    ),
];
