/* Writes down what a process writes, cuts and syncs in a folder, in its order.
 *
 * Preloaded into the process. SYNC_RECORD_FOLDER is the folder, SYNC_RECORD_FILE what is written:
 * operation (1 byte), length of the file's name (2), name, offset (8), length (4), data. With
 * SYNC_RECORD_NAMES it notes the removal of names and syncs of the folder itself, too. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static int record = -2;

static ssize_t (*real_write)(int, const void *, size_t);

static void note_path(char operation, const char *path, uint64_t offset, const void *data,
                      uint32_t length) {
    const char *folder = getenv("SYNC_RECORD_FOLDER"), *target = getenv("SYNC_RECORD_FILE");
    if (!folder || !target) return;
    if (!real_write) real_write = dlsym(RTLD_NEXT, "write");
    size_t start = strlen(folder);
    if (strncmp(path, folder, start)) return;
    if (path[start] == 0) {
        if (operation != 's' || !getenv("SYNC_RECORD_NAMES")) return;
        operation = 'd';
    }
    const char *name = path[start] ? path + start + 1 : "";
    uint16_t letters = strlen(name);
    size_t total = 1 + 2 + letters + 8 + 4 + length;
    char *line = malloc(total), *at = line;
    *at++ = operation;
    memcpy(at, &letters, 2), at += 2;
    memcpy(at, name, letters), at += letters;
    memcpy(at, &offset, 8), at += 8;
    memcpy(at, &length, 4), at += 4;
    if (length) memcpy(at, data, length);
    if (record == -2) record = open(target, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (real_write(record, line, total) != (ssize_t)total) abort();
    free(line);
}

static void note(char operation, int file, uint64_t offset, const void *data, uint32_t length) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t size = readlink(link, path, sizeof path - 1);
    if (size < 0) return;
    path[size] = 0;
    note_path(operation, path, offset, data, length);
}

/* The operation and its note are one step for all threads. */
#define REAL(type, name, ...) static type (*real)(__VA_ARGS__); if (!real) real = dlsym(RTLD_NEXT, name)

#define WRITES(function, offset_type)                                                             \
    ssize_t function(int file, const void *data, size_t length, offset_type offset) {             \
        REAL(ssize_t, #function, int, const void *, size_t, offset_type);                         \
        pthread_mutex_lock(&turn);                                                                \
        ssize_t done = real(file, data, length, offset);                                          \
        if (done > 0) note('w', file, offset, data, done);                                        \
        pthread_mutex_unlock(&turn);                                                              \
        return done;                                                                              \
    }
WRITES(pwrite, off_t)
WRITES(pwrite64, off64_t)

ssize_t write(int file, const void *data, size_t length) {
    if (!real_write) real_write = dlsym(RTLD_NEXT, "write");
    pthread_mutex_lock(&turn);
    off_t offset = lseek(file, 0, SEEK_CUR);
    ssize_t done = real_write(file, data, length);
    if (done > 0 && offset >= 0) note('w', file, offset, data, done);
    pthread_mutex_unlock(&turn);
    return done;
}

#define CUTS(function, size_type)                                                                 \
    int function(int file, size_type size) {                                                      \
        REAL(int, #function, int, size_type);                                                     \
        pthread_mutex_lock(&turn);                                                                \
        int done = real(file, size);                                                              \
        if (!done) note('t', file, size, NULL, 0);                                                \
        pthread_mutex_unlock(&turn);                                                              \
        return done;                                                                              \
    }
CUTS(ftruncate, off_t)
CUTS(ftruncate64, off64_t)

#define SYNCS(function)                                                                           \
    int function(int file) {                                                                      \
        REAL(int, #function, int);                                                                \
        int done = real(file);                                                                    \
        pthread_mutex_lock(&turn);                                                                \
        if (!done) note('s', file, 0, NULL, 0);                                                   \
        pthread_mutex_unlock(&turn);                                                              \
        return done;                                                                              \
    }
SYNCS(fsync)
SYNCS(fdatasync)

int unlink(const char *path) {
    REAL(int, "unlink", const char *);
    pthread_mutex_lock(&turn);
    int done = real(path);
    if (!done && getenv("SYNC_RECORD_NAMES")) note_path('u', path, 0, NULL, 0);
    pthread_mutex_unlock(&turn);
    return done;
}
