# The server in a container:
#   docker build -t simpartner .
#   docker run --rm --user "$(id -u):$(id -g)" --network host -v "$PWD:/data" simpartner        # Linux: loopback, as without a container
#   docker run --rm --user "$(id -u):$(id -g)" -p 6500:6500 -p 6580:6580 -v "$PWD:/data" -e SIMPARTNER_SERVER_BIND=0.0.0.0 -e SIMPARTNER_SERVER_TOKEN="$(openssl rand -hex 16)" simpartner
# The log is written into /data; worlds and robots are read from there, or are those built in.

# The image that the programs are put into.
ARG BASE=debian:bookworm-slim

FROM node:22-bookworm-slim AS page
WORKDIR /viewer
COPY clients/viewer .
RUN npm ci --no-audit --no-fund && npm run build

FROM rust:1-bookworm AS build
WORKDIR /simpartner
COPY . .
# build.rs takes a page that was bundled before where there is no Node.
COPY --from=page /viewer/dist clients/viewer/dist
# For any processor of this kind, not the one that builds it alone. With the clients that need no library of the system.
# The library is what `simpartner fmu` puts into functional mock-up units.
RUN RUSTFLAGS= cargo build --locked --profile dist --bins && mkdir -p /out/bin /out/lib && \
    RUSTFLAGS= cargo build --locked --profile dist -p simpartner-c --lib && cp target/dist/libsimpartner.so /out/lib/ && \
    cp target/dist/simpartner target/dist/simpartner-sequencer target/dist/simpartner-serial target/dist/simpartner-ros2 /out/bin/

# `--build-context programs=FOLDER` takes this stage's place: programs that are built already, in FOLDER/bin.
FROM scratch AS programs
COPY --from=build /out/ /

FROM ${BASE}
COPY --from=programs /bin/ /usr/local/bin/
COPY --from=programs /lib/ /usr/local/lib/
# The server needs no rights of root. Under Docker with a folder of the host, `--user "$(id -u):$(id -g)"` makes the log yours.
RUN useradd --create-home --uid 1000 simpartner && mkdir /data && chown simpartner /data
USER simpartner
WORKDIR /data
EXPOSE 6500 6580
ENTRYPOINT ["simpartner"]
