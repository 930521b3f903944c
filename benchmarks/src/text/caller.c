// Sends prepared requests over TCP, one at a time on each connection, and waits for the end of each reply. It costs as little as a caller can, so that
// what is measured is the server.
//
//   caller http|postgres PORT CONNECTIONS FILE
//
// FILE has whole numbers of 32 bits, the lowest byte first, and bytes: the number of sets; for each set the number of its requests; and for each request
// its length and its bytes. With postgres, the first request of the first set is sent on each new connection, and so is the second one. Each line of the
// input, `SET MICROSECONDS`, sends the requests of a set in turn for that long, each at least once, and prints how many these were and the microseconds
// until the last reply.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { connections_max = 64, sets_max = 64, requests_max = 4096, reply_max = 1 << 20 };

struct request {
  uint32_t length;
  const char *bytes;
};

struct set {
  uint32_t count;
  struct request requests[requests_max];
};

struct connection {
  int socket;
  const struct request *request;
  size_t length;
  char reply[reply_max + 1];
};

static struct set sets[sets_max];
static struct connection connections[connections_max];
static int is_http;
static int port;
static int queue;

static void fail(const char *message) {
  fprintf(stderr, "%s\n", message);
  exit(1);
}

static void renew(struct connection *one);

/* A server closes connections that were idle for seconds. */
static void send_request(struct connection *to, const struct request *request) {
  while (write(to->socket, request->bytes, request->length) != (ssize_t)request->length) {
    if (!is_http || errno != EPIPE) fail("a request was not sent whole");
    renew(to);
  }
  to->request = request;
  to->length = 0;
}

/* Whether the reply is whole. ReadyForQuery, outside of a transaction, ends every reply of PostgreSQL. */
static int is_whole(struct connection *from) {
  if (!is_http) {
    if (from->length < 6 || memcmp(from->reply + from->length - 6, "Z\0\0\0\5I", 6) != 0) return 0;
    if (from->reply[0] == 'E') fail("PostgreSQL replied with an error");
    return 1;
  }
  from->reply[from->length] = 0;
  const char *body = strstr(from->reply, "\r\n\r\n");
  if (body == NULL) return 0;
  if (memcmp(from->reply + 9, "200", 3) != 0) fail(from->reply);
  const char *length = strcasestr(from->reply, "\r\ncontent-length:");
  if (length == NULL || length > body) fail("a reply has no length");
  return from->length >= (size_t)(body + 4 - from->reply) + strtoul(length + 17, NULL, 10);
}

static int receive(struct connection *from) {
  ssize_t received = read(from->socket, from->reply + from->length, reply_max - from->length);
  if (received > 0) {
    from->length += received;
    return is_whole(from);
  }
  if (!is_http || from->length > 0) fail("the server closed a connection");
  const struct request *request = from->request;
  renew(from);
  send_request(from, request);
  return 0;
}

static void open_connection(struct connection *one) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  int yes = 1;
  one->socket = socket(AF_INET, SOCK_STREAM, 0);
  setsockopt(one->socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  if (connect(one->socket, (struct sockaddr *)&address, sizeof address) != 0) fail("no connection");
  if (!is_http)
    for (int i = 0; i < 2; i++) {
      send_request(one, &sets[0].requests[i]);
      while (!receive(one)) continue;
    }
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = one};
  epoll_ctl(queue, EPOLL_CTL_ADD, one->socket, &event);
}

static void renew(struct connection *one) {
  close(one->socket);
  open_connection(one);
}

/* A server ends a connection after some number of requests, and says so. */
static int is_last(const struct connection *one) {
  return is_http && strcasestr(one->reply, "\r\nconnection: close") != NULL;
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1e6 + time.tv_nsec / 1e3;
}

static void run(const struct set *set, double micros, int callers) {
  for (int i = 0; i < callers; i++)
    if (connections[i].socket == 0) open_connection(&connections[i]);
  double begun = now();
  long sent = 0;
  for (int i = 0; i < callers; i++) send_request(&connections[i], &set->requests[sent++ % set->count]);
  for (long ended = 0; ended < sent;) {
    struct epoll_event events[connections_max];
    int ready = epoll_wait(queue, events, connections_max, -1);
    for (int i = 0; i < ready; i++) {
      struct connection *one = events[i].data.ptr;
      if (!receive(one)) continue;
      ended++;
      if (is_last(one)) renew(one);
      if (sent < set->count || now() - begun < micros) send_request(one, &set->requests[sent++ % set->count]);
    }
  }
  printf("%ld %.0f\n", sent, now() - begun);
  fflush(stdout);
}

static const char *take(const char **at, size_t bytes) {
  const char *taken = *at;
  *at += bytes;
  return taken;
}

static uint32_t take_number(const char **at) {
  uint32_t number;
  memcpy(&number, take(at, 4), 4);
  return number;
}

static void read_sets(const char *path) {
  FILE *file = fopen(path, "rb");
  if (file == NULL) fail("the file of requests cannot be read");
  fseek(file, 0, SEEK_END);
  long bytes = ftell(file);
  rewind(file);
  char *content = malloc(bytes);
  if (fread(content, 1, bytes, file) != (size_t)bytes) fail("the file of requests cannot be read");
  const char *at = content;
  uint32_t count = take_number(&at);
  if (count > sets_max) fail("too many sets");
  for (uint32_t i = 0; i < count; i++) {
    sets[i].count = take_number(&at);
    if (sets[i].count > requests_max) fail("too many requests");
    for (uint32_t j = 0; j < sets[i].count; j++) {
      sets[i].requests[j].length = take_number(&at);
      sets[i].requests[j].bytes = take(&at, sets[i].requests[j].length);
    }
  }
}

int main(int count, char **arguments) {
  signal(SIGPIPE, SIG_IGN);
  if (count != 5) fail("caller http|postgres PORT CONNECTIONS FILE");
  is_http = strcmp(arguments[1], "http") == 0;
  port = atoi(arguments[2]);
  int callers = atoi(arguments[3]);
  if (callers < 1 || callers > connections_max) fail("1 to 64 connections");
  read_sets(arguments[4]);
  queue = epoll_create1(0);
  int set;
  double micros;
  while (scanf("%d %lf", &set, &micros) == 2) run(&sets[set], micros, callers);
  return 0;
}
