#!/bin/sh
# The first hour of a new user: an empty folder and the program, nothing else. Usage: first_hour.sh PROGRAM
#
# It runs the main job, makes a project, runs two servers side by side, writes a world and a robot of its own, asks the log and
# the page, and edits no file of the project. Every line that fails ends it.
set -eu
simpartner=$1
work=$(mktemp -d)
servers=
stop() {
  for server in $servers; do kill "$server" 2>/dev/null || true; done
  rm -rf "$work"
}
trap stop EXIT
cd "$work"
step() { printf '== %s\n' "$*"; }

# What a command prints has this in it.
expect() {
  text=$1
  shift
  told=$("$@" 2>&1) || { printf '%s\n' "$told"; echo "failed: $*"; exit 1; }
  case $told in *"$text"*) ;; *) printf '%s\n' "$told"; echo "no '$text' from: $*"; exit 1 ;; esac
}

# Starts a server in the background and waits for its file of ports.
serve() {
  file=$1
  shift
  "$simpartner" run --free-ports --ports-file "$file" "$@" > "$file.out" 2>&1 &
  servers="$servers $!"
  while [ ! -s "$file" ]; do
    kill -0 $! 2>/dev/null || { cat "$file.out"; echo "the server ended before it served"; exit 1; }
    sleep 0.05
  done
}

step "the program alone, in an empty folder"
expect "built-in/worlds/flat.xml" "$simpartner" run --mode fast --duration 0.2
expect "WheelMotor1" "$simpartner" devices
expect "my_world.xml" "$simpartner" init project
[ ! -e worlds ]

step "a project folder"
cd project
expect "world flat" "$simpartner" check worlds/flat.xml
expect "world MyWorld" "$simpartner" check worlds/my_world.xml
if "$simpartner" init . >/dev/null 2>&1; then :; else echo "init of the same files is no harm"; exit 1; fi

step "two servers at once, on free ports"
serve one.json --world worlds/my_world.xml --paused --database sqlite:one.db
serve two.json --world worlds/flat.xml --paused --database sqlite:two.db
expect "step=100" "$simpartner" talk --ports-file one.json control STEP 100
expect "step=7" "$simpartner" talk --ports-file two.json control STEP 7
expect "S 100 0.1 " "$simpartner" talk --ports-file one.json Position GET
expect "<" "$simpartner" talk --ports-file one.json WheelMotor1 '<1000,1000,100,0,0,2>'
expect "step=300" "$simpartner" talk --ports-file one.json control STEP 200
expect '"bound"' "$simpartner" devices --json --ports-file two.json

step "the page"
page=$(sed -n 's/.*"viewer": "\(.*\)".*/http:\/\/\1\//p' one.json)
if command -v curl >/dev/null 2>&1; then
  expect "<html" curl -fsS "$page"
else
  echo "skipped: the page, since curl is not installed"
fi

step "a robot and a world of one's own"
cat > robots/cart.xml <<'XML'
<robot name="Cart">
  <body name="Hull"><mass>2</mass><pose y="0.1"/><box x="0.3" y="0.1" z="0.2"/></body>
  <body name="Left"><mass>0.2</mass><pose y="0.1" z="-0.15"/><sphere radius="0.1"/></body>
  <body name="Right"><mass>0.2</mass><pose y="0.1" z="0.15"/><sphere radius="0.1"/></body>
  <joint type="hinge" name="LeftAxle"><parent>Hull</parent><child>Left</child><anchor y="0.1" z="-0.15"/><axis z="1"/></joint>
  <joint type="hinge" name="RightAxle"><parent>Hull</parent><child>Right</child><anchor y="0.1" z="0.15"/><axis z="1"/></joint>
  <sensor type="PositionSensor" name="Where" body="Hull" port="2001"/>
  <actuator type="JointController" name="LeftMotor" joint="LeftAxle" port="2002"/>
</robot>
XML
cat > worlds/own.xml <<'XML'
<world name="Own">
  <surface a="0" b="1" c="0" d="0"/>
  <robot file="cart.xml" name="MyCart"/>
</world>
XML
expect "robot MyCart (Cart)" "$simpartner" check worlds/own.xml
expect "completed" "$simpartner" run --mode fast --world worlds/own.xml --duration 0.5 --database sqlite:own.db

step "questions to the log"
expect "completed" "$simpartner" runs --database sqlite:own.db
expect "500" "$simpartner" query last "SELECT max(step) FROM simulationRow" --database sqlite:own.db
expect "own.svg" "$simpartner" plot last --fields Where.y --output own.svg --database sqlite:own.db
expect "own-csv" "$simpartner" export last --format csv --output own-csv --database sqlite:own.db
expect "complete" "$simpartner" db verify --database sqlite:own.db
expect "the same" "$simpartner" replay last --database sqlite:own.db

step "the end of the servers"
for file in one two; do
  expect "" "$simpartner" talk --ports-file $file.json control QUIT
done
for server in $servers; do wait "$server" || { echo "a server ended with exit code $?"; exit 1; }; done
servers=
[ ! -e one.json ] && [ ! -e two.json ]
expect "300" "$simpartner" runs --database sqlite:one.db
echo "all passed"
