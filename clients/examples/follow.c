/* Steers WorkPartner through the maze by its own sensors, over its combined port, in lockstep: follow.py in C, with POSIX
 * sockets.
 *
 *     cc -O2 -o follow clients/examples/follow.c -lm
 *     simpartner run --world worlds/maze.xml --paused
 *     ./follow 127.0.0.1:6500
 */
#include <math.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

static const double WAYPOINTS[][2] = {{-3.7, -0.8}, {-3.6, 0.8}, {-2.6, 2.2}, {-1.4, 2.5}, {-0.2, 2.0},
                                      {0.3, 0.8},   {0.4, -0.6}, {1.0, -2.0}, {2.2, -2.9}, {3.4, -3.0}};
enum { GOAL = sizeof WAYPOINTS / sizeof *WAYPOINTS, RAYS = 11, REST = 500, LONG = 16384 };
static const double NEAR = 0.6, WHEEL = 0.235, TRACK = 0.3, AXLE = 0.6; /* m */

static void fail(const char *what) {
    fprintf(stderr, "error: %s\n", what);
    exit(1);
}

/* A connection that speaks in lines. */
static FILE *open_line(const char *host, const char *port) {
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found;
    int one = 1, handle;
    if (getaddrinfo(host, port, &hints, &found) != 0) fail("there is no such address");
    handle = socket(found->ai_family, found->ai_socktype, 0);
    if (handle < 0 || connect(handle, found->ai_addr, found->ai_addrlen) != 0) fail("nobody answers there");
    setsockopt(handle, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    freeaddrinfo(found);
    return fdopen(handle, "r");
}

static char *read_line(FILE *line, char *text) {
    if (!fgets(text, LONG, line)) fail("the server has closed the connection");
    if (strncmp(text, "ERR", 3) == 0) fail(text);
    return text;
}

static void send_line(FILE *line, const char *text) {
    if (send(fileno(line), text, strlen(text), 0) < 0) fail("the server has closed the connection");
}

static char *ask(FILE *line, const char *text, char *answer) {
    send_line(line, text);
    return read_line(line, answer);
}

static double between(double low, double value, double high) { return fmax(low, fmin(high, value)); }

int main(int count, char **words) {
    static char text[LONG], sample[LONG];
    static char host[256] = "127.0.0.1";
    const char *control_port = "6500", *ranges;
    FILE *control, *robot;
    char name[256] = "", port[16], command[512];
    double x, y, z, far, nearest, before[2] = {0, 0}, heading = 0;
    int goal = 0, rest = 0, heading_known = 0, first = 1, ray, used;
    unsigned long step;

    if (count > 1 && strcmp(words[1], "--help") == 0) {
        printf("usage: follow [HOST:PORT]\nSteers WorkPartner through the maze; HOST:PORT is the server's control port, 127.0.0.1:6500 by default.\n");
        return 0;
    }
    if (count > 1) {
        control_port = strrchr(words[1], ':');
        if (!control_port || sscanf(words[1], "%255[^:]", host) != 1) fail("expected HOST:PORT");
        control_port++;
    }
    control = open_line(host, control_port);
    ask(control, "MODE lockstep WorkPartner\n", text);
    for (ask(control, "ROBOTS\n", text); strncmp(text, "OK", 2) != 0; read_line(control, text))
        if (strncmp(text, "ROBOT name=WorkPartner ", 23) == 0) sscanf(text, "ROBOT name=%255s port=%*d bound=%15s", name, port);
    if (!*name) fail("there is no robot WorkPartner");
    robot = open_line(host, port);
    read_line(robot, text); /* The server sends first. */
    ask(robot, "INFO\n", text);
    if (!strstr(text, "readings=Position.x[m],Position.y[m],Position.z[m],Scanner.distance_1[m],"))
        fail("expected the sensors of WorkPartner 1");
    ask(robot, "ACK\n", sample); /* It has joined before the clock runs. */
    ask(control, "PLAY\n", text);
    for (;;) {
        if (sscanf(sample, "S %lu %*s %lf,%lf,%lf%n", &step, &x, &y, &z, &used) != 4) fail("expected a sample");
        for (ray = 0, nearest = INFINITY, ranges = sample + used; ray < RAYS; ray++, ranges += used) {
            if (sscanf(ranges, ",%lf%n", &far, &used) != 1) fail("expected what the scanner sees");
            nearest = fmin(nearest, far);
        }
        if (first || hypot(x - before[0], z - before[1]) > 0.05) {
            if (!first) heading = atan2(before[1] - z, x - before[0]);
            heading_known = !first;
            before[0] = x, before[1] = z, first = 0;
        }
        while (goal < GOAL && hypot(WAYPOINTS[goal][0] - x, WAYPOINTS[goal][1] - z) < NEAR) goal++;
        if (goal == GOAL && rest++ == REST) break;
        if (step % 10 > 0) {
            snprintf(command, sizeof command, "ACK %lu\n", step);
        } else {
            double turn = 0, speed = 0, bend, right, left;
            if (goal < GOAL) {
                double bearing = atan2(z - WAYPOINTS[goal][1], WAYPOINTS[goal][0] - x) - heading;
                if (heading_known) turn = between(-0.55, 1.5 * atan2(sin(bearing), cos(bearing)), 0.55);
                speed = between(0.3, 0.5 * nearest, 1.0);
            }
            bend = tan(turn / 2) * TRACK / AXLE; /* A curve asks more of the outer wheels. */
            right = speed * (1 + bend) / WHEEL, left = speed * (1 - bend) / WHEEL;
            snprintf(command, sizeof command,
                     "SET @%lu TurnerController=0,0,%.17g,5,0,0;WheelMotor1=1000,1000,100,0,0,%.17g;"
                     "WheelMotor2=1000,1000,100,0,0,%.17g;WheelMotor3=1000,1000,100,0,0,%.17g;"
                     "WheelMotor4=1000,1000,100,0,0,%.17g\n",
                     step + 1, turn, right, left, left, right);
        }
        send_line(robot, command);
        while (strncmp(read_line(robot, sample), "OK", 2) == 0) continue;
    }
    printf("step %lu x %.17g z %.17g\n", step, x, z);
    ask(control, "PAUSE\n", text);
    return 0;
}
