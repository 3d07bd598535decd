/* A disk and a clock that fail when they are told to, between a process and the C library (LD_PRELOAD).

   It concerns one database file and the files beside it whose names begin alike. What a process syncs is copied to
   FAULTY_DISK; after a loss of power these copies are all that is left. The first bytes of FAULTY_DISK/state say what
   fails now; every process maps them. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

struct state {
    int64_t clock_seconds;
    uint8_t read_only, full;
};

static const struct state calm;
static const volatile struct state *state = (const volatile struct state *)&calm;
static char folder[1024], file[1024];
static size_t file_length;

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

__attribute__((constructor)) static void begin(void)
{
    const char *told = getenv("FAULTY_DISK"), *database = getenv("FAULTY_FILE");
    if (!told || !database || strlen(told) >= sizeof folder || strlen(database) >= sizeof file)
        return;
    strcpy(folder, told);
    strcpy(file, database);
    file_length = strlen(file);
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/state", folder);
    int fd = REAL(open)(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    void *found = mmap(NULL, sizeof(struct state), PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    if (found != MAP_FAILED)
        state = found;
}

static int ours(const char *path)
{
    return file_length && path && strncmp(path, file, file_length) == 0;
}

/* The path of an open file; "" for one that is none of ours. */
static const char *path_of(int fd, char *path)
{
    char link[40];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = file_length ? readlink(link, path, PATH_MAX - 1) : -1;
    path[length < 0 ? 0 : length] = 0;
    if (!ours(path) || strstr(path, " (deleted)"))
        path[0] = 0;
    return path;
}

static void copy_of(const char *path, const char *more, char *copy)
{
    snprintf(copy, PATH_MAX, "%s/synced%.256s%s", folder, strrchr(path, '/'), more);
}

/* Keep what a file holds now: it is on the disk. One process at a time, so that no older copy replaces a newer one. */
static int keep(int fd, const char *path)
{
    static char bytes[1 << 16];
    static __thread char whole[PATH_MAX], part[PATH_MAX], lock[PATH_MAX];
    copy_of(path, "", whole);
    copy_of(path, ".part", part);
    snprintf(lock, sizeof lock, "%s/lock", folder);
    int turn = REAL(open)(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (turn < 0 || flock(turn, LOCK_EX))
        return -1;
    int out = REAL(open)(part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    int done = out < 0 ? -1 : 0;
    off_t at = 0;
    ssize_t count;
    while (!done && (count = pread(fd, bytes, sizeof bytes, at)) > 0) {
        done = write(out, bytes, count) == count ? 0 : -1;
        at += count;
    }
    if (out >= 0)
        close(out);
    if (!done)
        done = rename(part, whole);
    close(turn);
    return done;
}

int fsync(int fd)
{
    char path[PATH_MAX];
    return *path_of(fd, path) ? keep(fd, path) : REAL(fsync)(fd);
}

int fdatasync(int fd)
{
    char path[PATH_MAX];
    return *path_of(fd, path) ? keep(fd, path) : REAL(fdatasync)(fd);
}

static int refused(const char *path, int flags)
{
    if (!state->read_only || !ours(path) || !(flags & (O_WRONLY | O_RDWR | O_CREAT)))
        return 0;
    errno = EROFS;
    return 1;
}

static mode_t mode_in(int flags, va_list rest)
{
    return flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;
}

int open(const char *path, int flags, ...)
{
    va_list rest;
    va_start(rest, flags);
    mode_t mode = mode_in(flags, rest);
    va_end(rest);
    return refused(path, flags) ? -1 : REAL(open)(path, flags, mode);
}

int open64(const char *path, int flags, ...)
{
    va_list rest;
    va_start(rest, flags);
    mode_t mode = mode_in(flags, rest);
    va_end(rest);
    return refused(path, flags) ? -1 : REAL(open64)(path, flags, mode);
}

/* What would keep a write from the disk: 0 for nothing. A full disk takes what is written over old bytes. */
static int trouble(int fd, off_t end)
{
    char path[PATH_MAX];
    struct stat found;
    if ((!state->read_only && !state->full) || !*path_of(fd, path))
        return 0;
    if (state->read_only)
        return EROFS;
    return end < 0 || (fstat(fd, &found) == 0 && end > found.st_size) ? ENOSPC : 0;
}

ssize_t pwrite64(int fd, const void *bytes, size_t count, off64_t at)
{
    int why = trouble(fd, at + (off_t)count);
    if (!why)
        return REAL(pwrite64)(fd, bytes, count, at);
    errno = why;
    return -1;
}

int ftruncate64(int fd, off64_t length)
{
    int why = trouble(fd, 0);
    if (!why)
        return REAL(ftruncate64)(fd, length);
    errno = why;
    return -1;
}

int unlink(const char *path)
{
    if (refused(path, O_RDWR))
        return -1;
    if (ours(path)) {
        char copy[PATH_MAX];
        copy_of(path, "", copy);
        REAL(unlink)(copy);
    }
    return REAL(unlink)(path);
}

int access(const char *path, int mode)
{
    return mode & W_OK && refused(path, O_RDWR) ? -1 : REAL(access)(path, mode);
}

int statvfs64(const char *path, struct statvfs64 *found)
{
    int done = REAL(statvfs64)(path, found);
    if (!done && state->full)
        found->f_bavail = found->f_bfree = 0;
    return done;
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
    static __typeof__(&clock_gettime) real;
    if (!real)
        real = REAL(clock_gettime);
    int done = real(clock, now);
    if (!done && clock == CLOCK_REALTIME)
        now->tv_sec += state->clock_seconds;
    return done;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
    static __typeof__(&gettimeofday) real;
    if (!real)
        real = REAL(gettimeofday);
    int done = real(now, zone);
    if (!done)
        now->tv_sec += state->clock_seconds;
    return done;
}

time_t time(time_t *at)
{
    struct timeval now;
    gettimeofday(&now, NULL);
    if (at)
        *at = now.tv_sec;
    return now.tv_sec;
}
