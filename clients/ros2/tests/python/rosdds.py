"""A reader and writer of ROS 2 topics that shares no code with the bridge: Eclipse Cyclone DDS carries, rosbags decodes."""

from __future__ import annotations

import os
import time
from typing import Any

# Loopback alone; participants find each other by unicast.
os.environ["CYCLONEDDS_URI"] = """<CycloneDDS><Domain>
  <General><AllowMulticast>false</AllowMulticast><Interfaces><NetworkInterface name="lo"/></Interfaces></General>
  <Discovery><ParticipantIndex>auto</ParticipantIndex><MaxAutoParticipantIndex>50</MaxAutoParticipantIndex>
    <Peers><Peer address="127.0.0.1"/></Peers></Discovery>
</Domain></CycloneDDS>"""

from cyclonedds._clayer import ddspy_take
from cyclonedds.core import InstanceState, Policy, Qos, SampleState, ViewState
from cyclonedds.domain import DomainParticipant
from cyclonedds.idl import make_idl_struct, types
from cyclonedds.pub import DataWriter
from cyclonedds.sub import DataReader
from cyclonedds.topic import Topic
from cyclonedds.util import duration
from rosbags.interfaces import Nodetype
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

STORE = get_typestore(Stores.ROS2_JAZZY)

# The fields of simulation_interfaces 2.1, as far as the tests use them.
INTERFACES = {
    "msg/Result": "uint8 result\nstring error_message",
    "msg/SimulationState": "uint8 state",
    "msg/SimulatorFeatures": "uint16[] features\nstring[] spawn_formats\nstring custom_info",
    "msg/EntityCategory": "uint8 category",
    "msg/TagsFilter": "string[] tags\nuint8 filter_mode",
    "msg/Bounds": "uint8 type\ngeometry_msgs/Vector3[] points",
    "msg/EntityFilters": "string filter\nEntityCategory[] categories\nTagsFilter tags\nBounds bounds",
    "msg/EntityInfo": "EntityCategory category\nstring description\nstring[] tags",
    "msg/EntityState": "std_msgs/Header header\ngeometry_msgs/Pose pose\ngeometry_msgs/Twist twist\n"
    "geometry_msgs/Accel acceleration",
    "msg/Resource": "string uri\nstring resource_string",
    "msg/Spawnable": "Resource entity_resource\nstring description\nBounds spawn_bounds",
    "msg/WorldResource": "string name\nResource world_resource\nstring description\nstring[] tags",
}
SERVICES = {
    "GetSimulatorFeatures": ("uint8 unused", "SimulatorFeatures features"),
    "GetSimulationState": ("uint8 unused", "SimulationState state\nResult result"),
    "SetSimulationState": ("SimulationState state", "Result result"),
    "StepSimulation": ("uint64 steps", "Result result"),
    "ResetSimulation": ("uint8 scope", "Result result"),
    "GetEntities": ("EntityFilters filters", "Result result\nstring[] entities"),
    "GetEntityState": ("string entity", "Result result\nEntityState state"),
    "SetEntityState": (
        "string entity\nEntityState state\nbool set_pose\nbool set_twist\nbool set_acceleration", "Result result",
    ),
    "GetEntitiesStates": ("EntityFilters filters", "Result result\nstring[] entities\nEntityState[] states"),
    "GetEntityInfo": ("string entity", "Result result\nEntityInfo info"),
    "GetCurrentWorld": ("uint8 unused", "Result result\nWorldResource world"),
    "DeleteEntity": ("string entity", "Result result"),
    "SpawnEntity": (
        "string name\nbool allow_renaming\nResource entity_resource\nstring entity_namespace\n"
        "geometry_msgs/PoseStamped initial_pose",
        "Result result\nstring entity_name",
    ),
    "GetSpawnables": ("string[] sources", "Result result\nSpawnable[] spawnables"),
    "LoadWorld": ("Resource world_resource\nbool strict\nbool lenient", "Result result\nWorldResource world"),
    "GetEntityBounds": ("string entity", "Result result\nBounds bounds"),
}
# The messages that an action of ROS is made of, for SimulateSteps.
ACTION = {
    "SendGoal_Request": "uint8[16] goal_id\nuint64 steps",
    "SendGoal_Response": "bool accepted\nbuiltin_interfaces/Time stamp",
    "GetResult_Request": "uint8[16] goal_id",
    "GetResult_Response": "int8 status\nsimulation_interfaces/Result result",
    "FeedbackMessage": "uint8[16] goal_id\nuint64 completed_steps\nuint64 remaining_steps",
}
# rmw_cyclonedds_cpp tells requests apart by this in front of them.
HEADER = "uint64 guid\nint64 sequence\n"


def _register() -> None:
    package = "simulation_interfaces"
    found: dict[str, Any] = {}
    for name, text in INTERFACES.items():
        found |= get_types_from_msg(text, f"{package}/{name}")
    for name, (request, response) in SERVICES.items():
        for part, fields in (("Request", request), ("Response", response)):
            for word in INTERFACES:
                short = word.removeprefix("msg/")
                fields = "\n".join(
                    f"{package}/{line}" if line.split()[0].removesuffix("[]") == short else line
                    for line in fields.split("\n")
                )
            found |= get_types_from_msg(HEADER + fields, f"{package}/srv/{name}_{part}")
    for part, fields in ACTION.items():
        header = "" if part == "FeedbackMessage" else HEADER
        found |= get_types_from_msg(header + fields, f"{package}/action/SimulateSteps_{part}")
    cancel = {
        "Request": "uint8[16] goal_id\nbuiltin_interfaces/Time stamp",
        "Response": "int8 return_code\nGoalInfo[] goals_canceling",
    }
    for part, fields in cancel.items():
        fields = fields.replace("GoalInfo", "action_msgs/GoalInfo")
        found |= get_types_from_msg(HEADER + fields, f"action_msgs/srv/CancelGoal_{part}")
    STORE.register(found)


_register()

_BASE = {
    "bool": bool, "string": str, "octet": types.uint8, "uint8": types.uint8, "int8": types.int8,
    "uint16": types.uint16, "int16": types.int16, "uint32": types.uint32, "int32": types.int32,
    "uint64": types.uint64, "int64": types.int64, "float32": types.float32, "float64": types.float64,
}  # fmt: skip
_made: dict[str, type] = {}


def idl(name: str) -> Any:
    """The type of a message for Cyclone DDS, under the name that ROS gives it on the wire."""
    if name not in _made:
        package, folder, *_, short = name.split("/")  # rosbags files a service under srv/msg
        fields = {field: _field(kind) for field, kind in STORE.fielddefs[name][1]}
        _made[name] = make_idl_struct(short, f"{package}::{folder}::dds_::{short}_", fields)
    return _made[name]


def _field(kind: Any) -> Any:
    sort, what = kind
    if sort == Nodetype.BASE:
        return _BASE[what[0]]
    if sort == Nodetype.NAME:
        return idl(what)
    inner, length = what
    return types.array[_field(inner), length] if sort == Nodetype.ARRAY else types.sequence[_field(inner)]


def quality(reliable: bool = True, latched: bool = False) -> Qos:
    """A reader or writer that loses nothing, or one of sensor data."""
    reliability = Policy.Reliability.Reliable(duration(seconds=5)) if reliable else Policy.Reliability.BestEffort
    durability = Policy.Durability.TransientLocal if latched else Policy.Durability.Volatile
    return Qos(reliability, durability, Policy.History.KeepAll)


class Reader:
    """What comes on a topic."""

    def __init__(self, participant: DomainParticipant, topic: str, kind: str, qos: Qos) -> None:
        self._kind = kind
        self._topic = Topic(participant, topic, idl(kind), qos=qos)
        self._reader = DataReader(participant, self._topic, qos=qos)

    def take_bytes(self) -> list[tuple[bytes, int]]:
        """All that has come: as it was on the wire, and when it was sent, ns since 1970."""
        mask = SampleState.Any | ViewState.Any | InstanceState.Any
        taken = ddspy_take(self._reader._ref, mask, 1000)
        return [(bytes(data), info.source_timestamp) for data, info in taken if info.valid_data]

    def take(self) -> list[Any]:
        """All that has come, decoded by rosbags."""
        return [STORE.deserialize_cdr(data, self._kind) for data, _ in self.take_bytes()]

    def wait(self, until: Any = lambda message: True, seconds: float = 20.0) -> Any:
        """The first message that is as wanted."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for message in self.take():
                if until(message):
                    return message
            time.sleep(0.005)
        raise TimeoutError(f"nothing of type {self._kind} has come that is as wanted")


class Ros:
    """A participant of a domain."""

    def __init__(self, domain: int) -> None:
        self.participant = DomainParticipant(domain)
        self._clients: dict[str, tuple[Any, Reader]] = {}
        self._sequence = 0

    def reader(self, topic: str, kind: str, reliable: bool = True, latched: bool = False) -> Reader:
        """A reader of `/topic`, of a message such as `sensor_msgs/msg/Imu`."""
        return Reader(self.participant, f"rt{topic}", kind, quality(reliable, latched))

    def writer(self, topic: str, kind: str, prefix: str = "rt") -> DataWriter:
        """A writer of `/topic`."""
        qos = quality()
        return DataWriter(self.participant, Topic(self.participant, f"{prefix}{topic}", idl(kind), qos=qos), qos=qos)

    def call(self, service: str, request: dict[str, Any], seconds: float = 20.0) -> Any:
        """Calls a service of simulation_interfaces."""
        snake = "".join(f"_{c.lower()}" if c.isupper() else c for c in service).lstrip("_")
        return self.call_named(f"/simpartner/{snake}", f"simulation_interfaces/srv/msg/{service}", request, seconds)

    def call_named(self, service: str, kind: str, request: dict[str, Any], seconds: float = 20.0) -> Any:
        """Calls a service by its name and the kind of its messages, as rmw_cyclonedds_cpp does."""
        if service not in self._clients:
            writer = self.writer(f"{service}Request", f"{kind}_Request", "rq")
            reply = Reader(self.participant, f"rr{service}Reply", f"{kind}_Response", quality())
            self._clients[service] = (writer, reply)
            end = time.monotonic() + seconds
            while not (matched(writer) and matched(reply._reader)):
                if time.monotonic() > end:
                    raise TimeoutError(f"nobody offers {service}")
                time.sleep(0.01)
            # The other side has to know of us, too, or its answer is lost; ROS has no better means than to wait.
            time.sleep(0.3)
        writer, reply = self._clients[service]
        self._sequence += 1
        sequence = self._sequence
        writer.write(make(f"{kind}_Request", guid=42, sequence=sequence, **request))
        return reply.wait(lambda message: (message.guid, message.sequence) == (42, sequence), seconds)


def matched(entity: Any) -> bool:
    """Whether a reader or a writer has found its other side."""
    return bool(
        entity.get_matched_subscriptions() if isinstance(entity, DataWriter) else entity.get_matched_publications()
    )


def make(kind: str, **fields: Any) -> Any:
    """A message for Cyclone DDS; what is not given is zero or empty."""
    cls = idl(kind)
    values = {}
    for name, (sort, what) in STORE.fielddefs[kind][1]:
        if sort == Nodetype.NAME:
            given = fields.get(name, {})
            values[name] = make(what, **given) if isinstance(given, dict) else given
        elif name in fields:
            values[name] = fields[name]
        elif sort == Nodetype.BASE:
            values[name] = {"string": "", "bool": False}.get(what[0], 0)
        elif sort == Nodetype.ARRAY:
            values[name] = [0] * what[1]
        else:
            values[name] = []
    return cls(**values)


def near(got: float, wanted: float, tolerance: float) -> bool:
    return abs(got - wanted) < tolerance


def publish(writer: Any, message: Any) -> None:
    """Writes when somebody listens."""
    end = time.monotonic() + 20
    while not matched(writer):
        if time.monotonic() > end:
            raise TimeoutError("nobody listens")
        time.sleep(0.01)
    writer.write(message)


def positions(*values: float) -> Any:
    return make("std_msgs/msg/Float64MultiArray", data=list(values))
