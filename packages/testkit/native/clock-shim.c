/* Steps the wall clock of a running program, for tests. The file named by CLOCK_SHIM contains an
 * int64: nanoseconds added to CLOCK_REALTIME. The monotonic clock does not change. Loaded by
 * LD_PRELOAD.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile long long *offset_ns;

__attribute__((constructor)) static void map_offset(void) {
  const char *path = getenv("CLOCK_SHIM");
  if (!path) return;
  int file = open(path, O_RDONLY);
  if (file < 0) return;
  void *map = mmap(0, sizeof *offset_ns, PROT_READ, MAP_SHARED, file, 0);
  close(file);
  if (map != MAP_FAILED) offset_ns = map;
}

static void shift(struct timespec *time) {
  if (!offset_ns) return;
  long long ns = (long long)time->tv_sec * 1000000000LL + time->tv_nsec + *offset_ns;
  time->tv_sec = ns / 1000000000LL;
  time->tv_nsec = ns % 1000000000LL;
}

/* Raw system calls: a symbol lookup would allocate, and the allocator reads the clock. */
int clock_gettime(clockid_t clock, struct timespec *time) {
  int result = syscall(SYS_clock_gettime, clock, time);
  if (!result && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) shift(time);
  return result;
}

int gettimeofday(struct timeval *restrict value, void *restrict zone) {
  (void)zone;
  struct timespec now;
  syscall(SYS_clock_gettime, CLOCK_REALTIME, &now);
  shift(&now);
  if (value) {
    value->tv_sec = now.tv_sec;
    value->tv_usec = now.tv_nsec / 1000;
  }
  return 0;
}

time_t time(time_t *out) {
  struct timespec now;
  syscall(SYS_clock_gettime, CLOCK_REALTIME, &now);
  shift(&now);
  if (out) *out = now.tv_sec;
  return now.tv_sec;
}
