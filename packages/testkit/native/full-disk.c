/* A disk without space, for tests: while the byte in the file named by FULL_DISK_FLAG is not 0, no
 * file below the folder FULL_DISK_FOLDER grows. Bytes for which the last block of a file has room
 * are still written, as on a real disk. Loaded by LD_PRELOAD.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BLOCK 4096

static volatile char *full;
static const char *folder;

__attribute__((constructor)) static void map_flag(void) {
  const char *path = getenv("FULL_DISK_FLAG");
  folder = getenv("FULL_DISK_FOLDER");
  if (!path || !folder) return;
  int file = open(path, O_RDONLY);
  if (file < 0) return;
  void *map = mmap(0, 1, PROT_READ, MAP_SHARED, file, 0);
  close(file);
  if (map != MAP_FAILED) full = map;
}

/* True if the file is in the folder and the disk is full. */
static int refuses(int file) {
  if (!full || !*full) return 0;
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length <= 0) return 0;
  path[length] = 0;
  size_t above = strlen(folder);
  return strncmp(path, folder, above) == 0 && path[above] == '/';
}

/* How many of the bytes have a place; -1 with ENOSPC if none has. */
static ssize_t room(int file, off_t from, size_t count) {
  struct stat status;
  if (!refuses(file) || fstat(file, &status)) return count;
  off_t end = (status.st_size + BLOCK - 1) / BLOCK * BLOCK;
  if (from + (off_t)count <= end) return count;
  if (from < end) return end - from;
  errno = ENOSPC;
  return -1;
}

ssize_t write(int file, const void *bytes, size_t count) {
  ssize_t left = count;
  if (full && *full) left = room(file, lseek(file, 0, SEEK_CUR), count);
  return left < 0 ? -1 : syscall(SYS_write, file, bytes, left);
}

ssize_t pwrite64(int file, const void *bytes, size_t count, off_t from) {
  ssize_t left = room(file, from, count);
  return left < 0 ? -1 : syscall(SYS_pwrite64, file, bytes, left, from);
}

int ftruncate64(int file, off_t length) {
  struct stat status;
  if (refuses(file) && !fstat(file, &status) && length > status.st_size) {
    errno = ENOSPC;
    return -1;
  }
  return syscall(SYS_ftruncate, file, length);
}
