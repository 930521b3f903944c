/* LD_PRELOAD shim: makes the n-th call of one kind on files below a directory fail, and writes down every call of that
 * kind afterwards. Environment: SHIM_DIR, SHIM_CALL (fdatasync, fsync, pwrite64, rename, open64, ftruncate64), SHIM_AT,
 * SHIM_ERRNO, SHIM_LOG. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static int count;
static int failed_fd = -1;

static int below(const char *path) {
  const char *dir = getenv("SHIM_DIR");
  return dir != NULL && path != NULL && strncmp(path, dir, strlen(dir)) == 0;
}

static const char *path_of(int fd, char *into, size_t size) {
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t n = readlink(link, into, size - 1);
  if (n < 0) return NULL;
  into[n] = 0;
  return into;
}

static void note(const char *what, const char *call, const char *path, int fd) {
  const char *log = getenv("SHIM_LOG");
  if (log == NULL) return;
  FILE *out = fopen(log, "a");
  if (out == NULL) return;
  fprintf(out, "%s %s %d %s\n", what, call, fd, path);
  fclose(out);
}

/* True when this call is the one that must fail. */
static int due(const char *call, const char *path, int fd) {
  const char *wanted = getenv("SHIM_CALL");
  if (!below(path)) return 0;
  if (failed_fd >= 0 && fd == failed_fd) note("after", call, path, fd);
  if (wanted == NULL || strcmp(wanted, call) != 0) return 0;
  if (__sync_add_and_fetch(&count, 1) != atoi(getenv("SHIM_AT"))) return 0;
  failed_fd = fd;
  note("failed", call, path, fd);
  errno = atoi(getenv("SHIM_ERRNO"));
  return 1;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

int fdatasync(int fd) {
  char path[4096];
  return due("fdatasync", path_of(fd, path, sizeof path), fd) ? -1 : REAL(fdatasync)(fd);
}

int fsync(int fd) {
  char path[4096];
  return due("fsync", path_of(fd, path, sizeof path), fd) ? -1 : REAL(fsync)(fd);
}

ssize_t pwrite64(int fd, const void *bytes, size_t size, off64_t at) {
  char path[4096];
  return due("pwrite64", path_of(fd, path, sizeof path), fd) ? -1 : REAL(pwrite64)(fd, bytes, size, at);
}

int ftruncate64(int fd, off64_t size) {
  char path[4096];
  return due("ftruncate64", path_of(fd, path, sizeof path), fd) ? -1 : REAL(ftruncate64)(fd, size);
}

int rename(const char *from, const char *to) { return due("rename", to, -1) ? -1 : REAL(rename)(from, to); }

int open64(const char *path, int flags, ...) {
  mode_t mode = 0;
  if (flags & O_CREAT) {
    va_list rest;
    va_start(rest, flags);
    mode = va_arg(rest, mode_t);
    va_end(rest);
  }
  return due("open64", path, -1) ? -1 : REAL(open64)(path, flags, mode);
}
