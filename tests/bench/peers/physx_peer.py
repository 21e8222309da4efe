"""A scene in PhysX by way of SAPIEN: on the CPU, in single precision, without sleep, its TGS solver with 10 iterations for positions and 1
for velocities. SAPIEN has no heightfield and no pin. Run as a program it is a peer of the speed bench."""

import sys
import warnings

import numpy

from scene import conjugate, multiply, read, rotate, serve, shortest_turn

warnings.filterwarnings("ignore")
import sapien  # noqa: E402
from sapien.wrapper.urdf_loader import URDFLoader  # noqa: E402

physx = sapien.physx
NAME = f"PhysX (sapien {sapien.__version__})"
X, Y, Z = numpy.eye(3)
# Of two shapes the first number of one must have a bit of the second number of the other.
GROUND, PART = [1, 3, 0, 0], [2, 0, 0, 0]


class Solid(URDFLoader):
    """Reads what collides of a robot, and not what is seen, which would ask for a graphics card."""

    def _build_link(self, link, builder):
        link.visuals = []
        super()._build_link(link, builder)
        builder.collision_groups = PART


class Engine:
    def __init__(self, scene, timestep, iterations=(10, 1)):
        if scene.field or scene.pins:
            sys.exit("SAPIEN has no heightfield and no pin")
        self.scene, self.children, self.parts, self.pushed = scene, scene.children(), {}, []
        physx.set_scene_config(
            gravity=scene.gravity.astype(numpy.float32), bounce_threshold=1e-4, enable_pcm=True, enable_tgs=True,
            enable_friction_every_iteration=True, cpu_workers=0,
        )
        physx.set_body_config(
            solver_position_iterations=iterations[0], solver_velocity_iterations=iterations[1], sleep_threshold=0.0
        )
        physx.set_shape_config(contact_offset=0.01, rest_offset=0.0)
        self.world = sapien.Scene([physx.PhysxCpuSystem()])
        self.world.set_timestep(timestep)
        if scene.plane:
            friction, restitution = scene.plane
            builder = self.world.create_actor_builder()
            material = physx.PhysxMaterial(friction, friction, restitution)
            builder.add_plane_collision(sapien.Pose([0.0, 0.0, 0.0], shortest_turn(X, Y)), material)
            builder.collision_groups = GROUND
            builder.build_static("ground")
        for index in scene.roots():
            if index in self.children:
                self.add_tree(index, self.children[index])
            else:
                self.add_body(index)
        for hinge in self.children.get(None, []):
            self.add_tree(None, [hinge])
        builders = {}
        for number, robot in enumerate(scene.robots):
            builder = builders.get(robot.path) or builders.setdefault(robot.path, self.load(robot))
            builder.initial_pose = sapien.Pose(robot.at, robot.turn)
            built = builder.build()
            self.settle(built, scene.motors)
            self.parts[number] = built.get_links()[0]

    def load(self, robot):
        loader = Solid().set_scene(self.world)
        loader.fix_root_link = False
        for link, friction in robot.friction().items():
            loader.set_link_material(link, friction, friction, 0.0)
        return loader.load_file_as_articulation_builder(robot.path)

    def settle(self, built, motors):
        """Gives the joints of a tree their motors, and takes what brakes by itself."""
        built.set_sleep_threshold(0.0)
        for joint in built.get_active_joints():
            if motors[joint.name]:
                position, rate, stiffness, damping, limit = motors[joint.name]
                joint.set_drive_properties(stiffness, damping, limit)
                joint.set_drive_target(position)
                joint.set_drive_velocity_target(rate)
        for link in built.get_links():
            link.linear_damping = link.angular_damping = 0.0

    def add_shapes(self, builder, body):
        material = physx.PhysxMaterial(body.friction, body.friction, body.restitution)
        for kind, size, at, turn in body.geoms:
            if kind == "box":
                builder.add_box_collision(half_size=size, pose=sapien.Pose(at, turn), material=material)
            elif kind == "sphere":
                builder.add_sphere_collision(radius=size[0], pose=sapien.Pose(at, turn), material=material)
            else:
                # PhysX has them along x.
                pose = sapien.Pose(at, multiply(turn, shortest_turn(X, Z)))
                add = builder.add_cylinder_collision if kind == "cylinder" else builder.add_capsule_collision
                add(radius=size[0], half_length=size[1], pose=pose, material=material)
        if body.is_part:
            builder.collision_groups = PART

    def add_body(self, index):
        body = self.scene.bodies[index]
        builder = self.world.create_actor_builder()
        self.add_shapes(builder, body)
        builder.set_mass_and_inertia(body.mass, sapien.Pose(), body.moments)
        builder.initial_pose = sapien.Pose(body.at, body.turn)
        part = builder.build(str(index)).find_component_by_type(physx.PhysxRigidDynamicComponent)
        part.linear_damping = part.angular_damping = part.sleep_threshold = 0.0
        part.max_angular_velocity = 1e4
        part.linear_velocity, part.angular_velocity = body.velocity, body.spin
        self.parts[index] = part

    def add_tree(self, root, hinges):
        builder, links, motors = self.world.create_articulation_builder(), {}, {}
        links[root] = builder.create_link_builder(None)
        links[root].set_name(str(root))

        def dress(index):
            body = self.scene.bodies[index]
            links[index].set_name(str(index))
            links[index].set_mass_and_inertia(body.mass, sapien.Pose(), body.moments)
            self.add_shapes(links[index], body)

        def frame(index, hinge):
            turn = shortest_turn(X, hinge.axis)
            if index is None:
                return sapien.Pose(hinge.anchor, turn)
            body = self.scene.bodies[index]
            back = conjugate(body.turn)
            return sapien.Pose(rotate(back, hinge.anchor - body.at), multiply(back, turn))

        def grow(hinge):
            link = links[hinge.child] = builder.create_link_builder(links[hinge.parent])
            link.set_joint_name(str(hinge.child))
            limits = [[-numpy.inf, numpy.inf]]
            frames = frame(hinge.parent, hinge), frame(hinge.child, hinge)
            kind = "prismatic" if hinge.slides else "revolute_unwrapped"
            link.set_joint_properties(kind, limits, *frames, 0.0, 0.0)
            # A spring and damper is a motor without a bound.
            passive = (0.0, 0.0, hinge.stiffness, hinge.damping, 1e9) if hinge.stiffness or hinge.damping else None
            motors[str(hinge.child)] = hinge.motor or passive
            dress(hinge.child)
            for behind in self.children.get(hinge.child, []):
                grow(behind)

        if root is not None:
            dress(root)
            builder.initial_pose = sapien.Pose(self.scene.bodies[root].at, self.scene.bodies[root].turn)
        for hinge in hinges:
            grow(hinge)
        built = builder.build(fix_root_link=root is None)
        self.settle(built, motors)
        forces = {str(hinge.child): hinge.force for hinge in self.scene.hinges if hinge.slides}
        forces = numpy.array([forces.get(joint.name, 0.0) for joint in built.get_active_joints()])
        if forces.any():
            self.pushed.append((built, forces))
        for link in built.get_links():
            if link.name.isdigit():
                self.parts[int(link.name)] = link
        if root is None:
            first = hinges[0]
            built.set_qvel([self.scene.bodies[first.child].spin @ first.axis] + [0.0] * (built.dof - 1))

    def advance(self, count):
        for _ in range(count):
            for built, forces in self.pushed:
                built.set_qf(forces)
            self.world.step()

    def first(self):
        return self.parts[0].entity.pose.p

    def body(self, index):
        """Place, turn, velocity and spin, in world axes."""
        part = self.parts[index]
        found = part.entity.pose.p, part.entity.pose.q, part.get_linear_velocity(), part.get_angular_velocity()
        return tuple(numpy.array(value, float) for value in found)


if __name__ == "__main__":
    serve(lambda path: Engine(read(path), 0.001))
