"""A scene in DART, with Bullet's collision detection and by default Dantzig's solver. The motors' laws are forces of the step's start.
Run as a program it is a peer of the speed bench."""

import sys

import dartpy as dart
import numpy

from scene import conjugate, read, rotate, serve, shortest_turn

NAME = f"DART {dart.__version__}"


def matrix(q):
    return numpy.array([rotate(q, axis) for axis in numpy.eye(3)]).T


def place(turn, at):
    frame = numpy.eye(4)
    frame[:3, :3], frame[:3, 3] = matrix(turn), at
    return dart.math.Isometry3(frame)


def quaternion(turned):
    """Of a rotation matrix, by two turns of axes onto axes."""
    first = shortest_turn(numpy.array([1.0, 0.0, 0.0]), turned[:, 0])
    aside = rotate(conjugate(first), turned[:, 1])
    angle = numpy.arctan2(aside[2], aside[1]) / 2
    w, u = first[0], first[1:]
    about = numpy.array([numpy.sin(angle), 0.0, 0.0])
    vector = w * about + numpy.cos(angle) * u + numpy.cross(u, about)
    return numpy.concatenate([[w * numpy.cos(angle) - u @ about], vector])


class Engine:
    def __init__(self, scene, timestep, solver=None):
        if scene.field:
            sys.exit("this peer has no heightfield")
        self.scene, self.children, self.nodes, self.motors, self.pushed = scene, scene.children(), {}, [], []
        self.world = dart.simulation.World()
        self.world.setGravity(scene.gravity)
        self.world.setTimeStep(timestep)
        constraints = self.world.getConstraintSolver()
        constraints.setCollisionDetector(dart.collision.BulletCollisionDetector())
        constraints.getCollisionOption().maxNumContacts = 100000
        if solver:
            # The engine keeps no reference of its own.
            self.solver = solver()
            constraints.setBoxedLcpSolver(self.solver)
        if scene.plane:
            skeleton = dart.dynamics.Skeleton("ground")
            _, node = skeleton.createWeldJointAndBodyNodePair()
            slab = [("box", [100.0, 1.0, 100.0], [0.0, -1.0, 0.0], [1.0, 0.0, 0.0, 0.0])]
            self.add_shapes(node, slab, *scene.plane)
            self.world.addSkeleton(skeleton)
        for index in scene.roots():
            skeleton = dart.dynamics.Skeleton(f"free {index}")
            self.add(skeleton, index, None)
            self.world.addSkeleton(skeleton)
        for hinge in self.children.get(None, []):
            skeleton = dart.dynamics.Skeleton(f"fixed {hinge.child}")
            self.add(skeleton, hinge.child, hinge)
            self.world.addSkeleton(skeleton)
        for number, robot in enumerate(scene.robots):
            self.load(number, robot)
        for body, anchor in scene.pins:
            constraints.addConstraint(dart.constraint.BallJointConstraint(self.nodes[body], anchor))

    def load(self, number, robot):
        skeleton = dart.utils.DartLoader().parseSkeleton(robot.path)
        skeleton.setName(f"robot {number}")
        root = skeleton.getRootJoint()
        root.setPositions(dart.dynamics.FreeJoint.convertToPositions(place(robot.turn, robot.at)))
        friction = robot.friction()
        for node in skeleton.getBodyNodes():
            for part in node.getShapeNodes():
                if part.hasCollisionAspect():
                    surface = part.getDynamicsAspect() or part.createDynamicsAspect()
                    surface.setFrictionCoeff(friction[node.getName()])
                    surface.setRestitutionCoeff(0.0)
        skeleton.disableSelfCollisionCheck()
        self.motors += [(skeleton.getJoint(name), *motor) for name, motor in self.scene.motors.items()]
        self.nodes[number] = skeleton.getRootBodyNode()
        self.world.addSkeleton(skeleton)

    def add_shapes(self, node, geoms, friction, restitution):
        for kind, size, at, turn in geoms:
            if kind == "box":
                shape = dart.dynamics.BoxShape(2.0 * numpy.array(size))
            elif kind == "sphere":
                shape = dart.dynamics.SphereShape(size[0])
            elif kind == "cylinder":
                shape = dart.dynamics.CylinderShape(size[0], 2.0 * size[1])
            else:
                shape = dart.dynamics.CapsuleShape(size[0], 2.0 * size[1])
            part = node.createShapeNode(shape)
            part.setRelativeTransform(place(turn, at))
            part.createCollisionAspect()
            surface = part.createDynamicsAspect()
            surface.setFrictionCoeff(friction)
            surface.setRestitutionCoeff(restitution)

    def add(self, skeleton, index, hinge):
        body = self.scene.bodies[index]
        if hinge is None:
            joint, node = skeleton.createFreeJointAndBodyNodePair()
            joint.setPositions(dart.dynamics.FreeJoint.convertToPositions(place(body.turn, body.at)))
            back = conjugate(body.turn)
            joint.setVelocities(numpy.concatenate([rotate(back, body.spin), rotate(back, body.velocity)]))
        else:
            parent = [] if hinge.parent is None else [self.nodes[hinge.parent]]
            create = skeleton.createPrismaticJointAndBodyNodePair if hinge.slides else skeleton.createRevoluteJointAndBodyNodePair
            joint, node = create(*parent)

            def frame(of):
                if of is None:
                    return place(numpy.array([1.0, 0.0, 0.0, 0.0]), hinge.anchor)
                back = conjugate(self.scene.bodies[of].turn)
                return place(back, rotate(back, hinge.anchor - self.scene.bodies[of].at))

            joint.setTransformFromParentBodyNode(frame(hinge.parent))
            joint.setTransformFromChildBodyNode(frame(index))
            joint.setAxis(hinge.axis)
            joint.setSpringStiffness(0, hinge.stiffness)
            joint.setDampingCoefficient(0, hinge.damping)
            if hinge.parent is None:
                joint.setVelocity(0, body.spin @ hinge.axis)
            if hinge.motor:
                self.motors.append((joint, *hinge.motor))
            if hinge.slides:
                self.pushed.append((joint, hinge.force))
        node.setName(str(index))
        node.setInertia(dart.dynamics.Inertia(body.mass, numpy.zeros(3), numpy.diag(body.moments)))
        self.add_shapes(node, body.geoms, body.friction, body.restitution)
        self.nodes[index] = node
        for behind in self.children.get(index, []):
            self.add(skeleton, behind.child, behind)
        skeleton.disableSelfCollisionCheck()

    def advance(self, count):
        for _ in range(count):
            for joint, position, rate, stiffness, damping, limit in self.motors:
                effort = stiffness * (position - joint.getPosition(0)) + damping * (rate - joint.getVelocity(0))
                joint.setForce(0, max(-limit, min(limit, effort)))
            for joint, force in self.pushed:
                joint.setForce(0, force)
            self.world.step()

    def first(self):
        return self.nodes[0].getWorldTransform().translation()

    def body(self, index):
        """Place, turn, velocity and spin, in world axes."""
        node = self.nodes[index]
        frame = node.getWorldTransform()
        return frame.translation().copy(), quaternion(frame.rotation()), node.getLinearVelocity(), node.getAngularVelocity()


if __name__ == "__main__":
    serve(lambda path: Engine(read(path), 0.001))
