"""A scene in MuJoCo. Run as a program it is a peer of the speed bench, whose scenes it reads as MJCF."""

from xml.sax.saxutils import quoteattr

import mujoco
import numpy

from scene import conjugate, multiply, rotate, serve

NAME = f"MuJoCo {mujoco.__version__}"


def numbers(values):
    return quoteattr(" ".join(repr(float(value)) for value in numpy.ravel(values)))


class Engine:
    """`options` are attributes of MJCF's `<option>`, `contact` those of each geom: `solref` and `solimp` say how stiff contacts are."""

    def __init__(self, scene, timestep, options=None, contact=""):
        self.scene, self.contact, self.children = scene, contact, scene.children()
        self.text, self.actuators = [], []
        options = {"integrator": "implicitfast"} | (options or {})
        words = " ".join(f'{name}="{value}"' for name, value in options.items())
        self.text.append(f"<mujoco><option timestep=\"{timestep}\" gravity={numbers(scene.gravity)} {words}/>")
        self.text.append('<size memory="1G"/><compiler angle="radian"/>')
        self.add_ground()
        for index in scene.roots():
            self.add(index, None, None)
        for hinge in self.children.get(None, []):
            self.add(hinge.child, None, hinge)
        self.text.append("</worldbody><equality>")
        for body, anchor in scene.pins:
            at = rotate(conjugate(scene.bodies[body].turn), anchor - scene.bodies[body].at)
            self.text.append(f'<connect body1="b{body}" anchor={numbers(at)} {contact}/>')
        self.text.append("</equality><actuator>")
        self.add_motors()
        self.text.append("</actuator></mujoco>")
        self.model = mujoco.MjModel.from_xml_string("".join(self.text))
        if scene.field:
            low, high = self.heights.min(), self.heights.max()
            self.model.hfield_data[:] = ((self.heights - low) / max(high - low, 1e-6)).ravel()
        self.data = mujoco.MjData(self.model)
        self.set_motion()

    def add_ground(self):
        scene = self.scene
        if scene.field:
            (columns, rows, width, depth), heights = scene.field
            self.heights = numpy.array(heights).reshape(int(columns), int(rows)).T[::-1]
            low, high = self.heights.min(), self.heights.max()
            size = numbers([width / 2, depth / 2, max(high - low, 1e-6), 1.0])
            self.text.append(f'<asset><hfield name="field" nrow="{rows:.0f}" ncol="{columns:.0f}" size={size}/></asset>')
        self.text.append("<worldbody>")
        shape = f'contype="1" conaffinity="1" {self.contact}'
        if scene.plane:
            self.text.append(f'<geom type="plane" size="100 100 1" zaxis="0 1 0" friction="{scene.plane[0]} 0 0" {shape}/>')
        if scene.field:
            turn = numbers([0.5**0.5, -(0.5**0.5), 0, 0])
            at = numbers([0.0, low, 0.0])
            self.text.append(f'<geom type="hfield" hfield="field" pos={at} quat={turn} friction="0.8 0 0" {shape}/>')

    def add(self, index, parent, hinge):
        body = self.scene.bodies[index]
        at, turn = body.at, body.turn
        if parent is not None:
            base = self.scene.bodies[parent]
            at, turn = rotate(conjugate(base.turn), at - base.at), multiply(conjugate(base.turn), turn)
        self.text.append(f'<body name="b{index}" pos={numbers(at)} quat={numbers(turn)}>')
        self.text.append(f'<inertial pos="0 0 0" mass="{body.mass!r}" diaginertia={numbers(body.moments)}/>')
        if hinge is None:
            self.text.append("<freejoint/>")
        else:
            back = conjugate(body.turn)
            anchor, axis = rotate(back, hinge.anchor - body.at), rotate(back, hinge.axis)
            self.text.append(
                f'<joint name="j{index}" type="{"slide" if hinge.slides else "hinge"}" pos={numbers(anchor)} axis={numbers(axis)}'
                f' stiffness="{hinge.stiffness}" damping="{hinge.damping}"/>'
            )
        mask = 'contype="0" conaffinity="1"' if body.is_part else 'contype="1" conaffinity="1"'
        for kind, size, place, turned in body.geoms:
            count = {"sphere": 1, "box": 3, "cylinder": 2, "capsule": 2}[kind]
            self.text.append(
                f'<geom type="{kind}" size={numbers(size[:count])} pos={numbers(place)} quat={numbers(turned)}'
                f' friction="{body.friction} 0 0" mass="0" {mask} {self.contact}/>'
            )
        for behind in self.children.get(index, []):
            self.add(behind.child, index, behind)
        self.text.append("</body>")

    def add_motors(self):
        for hinge in self.scene.hinges:
            if hinge.slides:
                self.text.append(f'<motor joint="j{hinge.child}"/>')
                self.actuators.append(hinge.force)
            if hinge.motor is None:
                continue
            position, rate, stiffness, damping, limit = hinge.motor
            bound = f'forcelimited="true" forcerange="{-limit} {limit}"'
            kind = f'position joint="j{hinge.child}" kp="{stiffness}"' if stiffness else f'velocity joint="j{hinge.child}"'
            self.text.append(f'<{kind} kv="{damping}" {bound}/>')
            self.actuators.append(position if stiffness else rate)

    def set_motion(self):
        self.data.ctrl[:] = self.actuators
        for index in self.scene.roots():
            body = self.scene.bodies[index]
            first = self.model.jnt_dofadr[self.model.body_jntadr[self.model.body(f"b{index}").id]]
            self.data.qvel[first : first + 3] = body.velocity
            self.data.qvel[first + 3 : first + 6] = rotate(conjugate(body.turn), body.spin)
        for hinge in self.scene.hinges:
            # Trees begin at rest, but for the first body of one that the world carries.
            if hinge.parent is None:
                first = self.model.joint(f"j{hinge.child}").dofadr[0]
                self.data.qvel[first] = self.scene.bodies[hinge.child].spin @ hinge.axis
        mujoco.mj_forward(self.model, self.data)

    def advance(self, count):
        mujoco.mj_step(self.model, self.data, nstep=count)

    def body(self, index):
        """Place, turn, velocity and spin, in world axes."""
        # What follows from a state is of the step's start until it is asked for.
        mujoco.mj_kinematics(self.model, self.data)
        mujoco.mj_comPos(self.model, self.data)
        mujoco.mj_comVel(self.model, self.data)
        number = self.model.body(f"b{index}").id
        found = numpy.zeros(6)
        mujoco.mj_objectVelocity(self.model, self.data, mujoco.mjtObj.mjOBJ_BODY, number, found, 0)
        return self.data.xpos[number].copy(), self.data.xquat[number].copy(), found[3:], found[:3]


class Model:
    """A scene of an MJCF file, with what its first keyframe commands."""

    def __init__(self, path):
        self.model = mujoco.MjModel.from_xml_path(path)
        self.data = mujoco.MjData(self.model)
        if self.model.nkey:
            mujoco.mj_resetDataKeyframe(self.model, self.data, 0)
        mujoco.mj_forward(self.model, self.data)

    def advance(self, count):
        mujoco.mj_step(self.model, self.data, nstep=count)

    def first(self):
        # What follows from a state is of the step's start until it is asked for.
        mujoco.mj_kinematics(self.model, self.data)
        return self.data.xpos[1]


if __name__ == "__main__":
    serve(Model)
