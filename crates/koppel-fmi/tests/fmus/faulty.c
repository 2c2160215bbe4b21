/* An FMU with one fault in one call, for tests and `cargo xtask proof faults`. -DFMI=2 or 3 gives the version, without foreign headers. The environment gives the
 * rest: FAULT is what happens, FAULT_CALL where, FAULT_FOLDER a folder outside of the FMU. Steps and reads fail from t = 0.5 s on, or FAULT_FROM. The output is
 * the integral of the input plus one; what must not succeed adds a million to it. */

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fenv.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __x86_64__
#include <xmmintrin.h>
#endif

enum { OK, WARNING, DISCARD, ERROR, FATAL };

typedef struct {
    double time, input, output;
} Instance;

static double deeds;

/* What must not succeed shows in the rows, or, where there are none any more, on standard error. */
static void succeed(void) { deeds = 1e6, fputs("a deed was done\n", stderr); }

static int has_happened;

static int deep(volatile int depth)
{
    volatile char block[4096];
    block[0] = (char)depth;
    return depth < 0 ? 0 : deep(depth + 1) + block[0];
}

static void *crash_later(void *unused)
{
    (void)unused;
    usleep(50000);
    raise(SIGSEGV);
    return NULL;
}

static void *stay(void *unused)
{
    for (;;)
        pause();
    return unused;
}

static void nothing(int number) { (void)number; }

static void hang(void) { for (;;) pause(); }

/* A runtime that lives on faults, as those of Java and .NET do. */
static sigjmp_buf before;
static int lives_on_faults;

static void come_back(int number) { siglongjmp(before, number); }

static void fault_and_come_back(void)
{
    static const int kinds[] = {SIGSEGV, SIGBUS, SIGFPE};
    for (int k = 0; k < 3; k++)
        if (sigsetjmp(before, 1) == 0) {
            if (kinds[k] == SIGSEGV) *(volatile int *)8 = 1;
            raise(kinds[k]);
            deeds = NAN;
        }
}

/* All that a sandbox keeps an FMU from; what is not refused is named. */
static void escape(void)
{
    char text[4096] = "";
    int pair[2], parent = getppid();
    struct iovec part = {text, sizeof text};
    struct rlimit limit = {0, 0};
#define REFUSED(call) do { errno = 0; if ((call) >= 0) fprintf(stderr, "not refused: %s\n", #call), succeed(); } while (0)
#define FORBIDDEN(call) do { REFUSED(call); if (errno != EPERM) fprintf(stderr, "not forbidden: %s\n", #call), succeed(); } while (0)
    REFUSED(socket(AF_UNIX, SOCK_STREAM, 0));
    REFUSED(socket(AF_NETLINK, SOCK_RAW, 0));
    REFUSED(socket(AF_PACKET, SOCK_RAW, 0));
    REFUSED(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair));
    REFUSED(process_vm_readv(parent, &part, 1, &part, 1, 0));
    REFUSED(process_vm_writev(parent, &part, 1, &part, 1, 0));
    FORBIDDEN(syscall(SYS_bpf, 0, NULL, 0));
    FORBIDDEN(syscall(SYS_io_uring_setup, 1, text));
    FORBIDDEN(mount("none", "/nowhere", "tmpfs", 0, NULL));
    REFUSED(unshare(CLONE_NEWUSER));
    REFUSED(syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0));
    REFUSED(shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600));
    REFUSED(kill(parent, 0));
    FORBIDDEN(prlimit(parent, RLIMIT_CPU, NULL, &limit));
    REFUSED(syscall(SYS_ioctl, 0, 0x700000000 | TIOCSTI, "x"));
    REFUSED(syscall(SYS_openat, AT_FDCWD, (snprintf(text, sizeof text, "/proc/%d/mem", parent), text), O_RDONLY));
    REFUSED(syscall(SYS_openat, AT_FDCWD, (snprintf(text, sizeof text, "/proc/%d/environ", parent), text), O_RDONLY));
    REFUSED(chmod(getenv("FAULT_FOLDER"), 04755));
    REFUSED(truncate((snprintf(text, sizeof text, "%s/secret", getenv("FAULT_FOLDER")), text), 0));
    REFUSED(unlink(text));
    REFUSED(rename(text, "moved"));
    REFUSED(mkdir("made", 0700));
    REFUSED(symlink("/", "made"));
#ifdef __x86_64__
    REFUSED(syscall(0x40000000 | SYS_socket, AF_INET, SOCK_STREAM, 0));
    long answer;
    __asm__ volatile("int $0x80" : "=a"(answer) : "a"(359), "b"(AF_INET), "c"(SOCK_STREAM), "d"(0) : "memory");
    REFUSED(answer);
#endif
    if (prctl(PR_GET_DUMPABLE) != 0) fputs("not refused: dumps\n", stderr), succeed();
    if (getrlimit(RLIMIT_FSIZE, &limit) || limit.rlim_cur == RLIM_INFINITY) fputs("not refused: large files\n", stderr), succeed();
    /* What every program needs goes on. */
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) || setsid() == -1 || system("true") || getpgid(0) == 0) deeds = NAN;
    FILE *file = tmpfile();
    snprintf(text, sizeof text, "%s/mine", getenv("TMPDIR"));
    FILE *named = fopen(text, "w");
    if (!named) deeds = NAN;
    else fclose(named);
    if (file) fclose(file);
}

static int happen(const char *fault)
{
    char path[4096];
    pthread_t thread;
    if (!strcmp(fault, "discard")) return DISCARD;
    if (!strcmp(fault, "error")) return ERROR;
    if (!strcmp(fault, "fatal")) return FATAL;
    if (!strcmp(fault, "segfault")) *(volatile int *)8 = 1;
    if (!strcmp(fault, "abort")) abort();
    if (!strcmp(fault, "exit")) exit(0);
    if (!strcmp(fault, "_exit")) _exit(0);
    if (!strcmp(fault, "kill itself")) kill(getpid(), SIGKILL);
    if (!strcmp(fault, "hang")) hang();
    if (!strcmp(fault, "stack overflow")) return deep(0);
    if (!strcmp(fault, "memory"))
        for (;;) memset(malloc(64 << 20), 1, 64 << 20);
    if (!strcmp(fault, "thread crashes")) pthread_create(&thread, NULL, crash_later, NULL), sleep(10);
    if (!strcmp(fault, "nan")) deeds = NAN;
    if (!strcmp(fault, "flood"))
        for (int k = 0; k < 200000; k++) printf("a line that no result file may contain, number %d\n", k);
    if (!strcmp(fault, "close"))
        for (int k = 0; k < 256; k++) close(k);
    if (!strcmp(fault, "chdir")) deeds = chdir("/") ? NAN : 0;
    if (!strcmp(fault, "umask")) umask(0777);
    if (!strcmp(fault, "rounding")) fesetround(FE_UPWARD);
#ifdef __x86_64__
    if (!strcmp(fault, "flush to zero")) _mm_setcsr(_mm_getcsr() | 0x8040);
#endif
    if (!strcmp(fault, "traps")) feenableexcept(FE_INEXACT);
    if (!strcmp(fault, "signals")) signal(SIGINT, SIG_IGN), signal(SIGTERM, SIG_IGN), signal(SIGSEGV, nothing);
    if (!strcmp(fault, "deaf")) signal(SIGINT, SIG_IGN), signal(SIGTERM, SIG_IGN), hang();
    if (!strcmp(fault, "recovers"))
        signal(SIGSEGV, come_back), signal(SIGBUS, come_back), signal(SIGFPE, come_back), lives_on_faults = 1;
    if (!strcmp(fault, "exit hangs")) atexit(hang);
    if (!strcmp(fault, "thread")) pthread_create(&thread, NULL, stay, NULL);
    if (!strcmp(fault, "fork returns")) fork();
    if (!strcmp(fault, "child")) if (fork() == 0) for (;;) pause();
    if (!strcmp(fault, "setsid"))
        if (fork() == 0) {
            setsid();
            if (fork() == 0) for (;;) pause();
            _exit(0);
        }
    if (!strcmp(fault, "write outside")) {
        snprintf(path, sizeof path, "%s/outside", getenv("FAULT_FOLDER"));
        int file = open(path, O_CREAT | O_WRONLY, 0600);
        if (file >= 0) succeed(), close(file);
    }
    if (!strcmp(fault, "socket")) {
        int inet = socket(AF_INET, SOCK_STREAM, 0), inet6 = socket(AF_INET6, SOCK_DGRAM, 0);
        if (inet >= 0 || inet6 >= 0) succeed(), close(inet), close(inet6);
    }
    if (!strcmp(fault, "ptrace"))
        if (ptrace(PTRACE_SEIZE, getppid(), 0, 0) == 0) {
            succeed();
            ptrace(PTRACE_DETACH, getppid(), 0, 0);
        }
    if (!strcmp(fault, "read outside")) {
        snprintf(path, sizeof path, "%s/secret", getenv("FAULT_FOLDER"));
        FILE *file = fopen(path, "r");
        if (file) succeed(), fclose(file);
    }
    if (!strcmp(fault, "escapes")) escape();
    if (!strcmp(fault, "kill parent"))
        if (prctl(PR_SET_PDEATHSIG, 0), kill(getppid(), SIGKILL) == 0) succeed();
    return OK;
}

/* Once, in the call that was chosen. */
static int in(const char *call)
{
    const char *fault = getenv("FAULT"), *chosen = getenv("FAULT_CALL");
    if (!fault || !chosen || strcmp(call, chosen) || has_happened)
        return OK;
    has_happened = 1;
    return happen(fault);
}

/* The FMU itself computes as ever: only others see a mode that it has changed. */
#define AS_EVER(work) do { fenv_t mode; fegetenv(&mode), fesetenv(FE_DFL_ENV); work; fesetenv(&mode); } while (0)

/* Apart, so that a compiler computes nothing of it before or after the mode is set. */
__attribute__((noinline)) static int is_late(const Instance *i)
{
    const char *from = getenv("FAULT_FROM");
    return i->time > (from ? atof(from) : 0.5) - 0.005;
}

static int later(const Instance *i, const char *call)
{
    int is_time;
    AS_EVER(is_time = is_late(i));
    return is_time ? in(call) : OK;
}

static void *make(void) { return in("instantiate") == OK ? calloc(1, sizeof(Instance)) : NULL; }

static int set(Instance *i, const unsigned *vr, size_t n, const double *value)
{
    int status = later(i, "set");
    for (size_t k = 0; k < n; k++)
        if (vr[k] == 0) i->input = value[k];
    return status;
}

/* Apart, too. */
__attribute__((noinline)) static double result(const Instance *i, unsigned vr)
{
    return vr == 0 ? i->input : vr == 1 ? i->output + deeds : i->time;
}

static int get(Instance *i, const unsigned *vr, size_t n, double *value)
{
    int status = later(i, "get");
    for (size_t k = 0; k < n; k++)
        AS_EVER(value[k] = result(i, vr[k]));
    return status;
}

__attribute__((noinline)) static void advance(Instance *i, double time, double size)
{
    i->output += (i->input + 1) / 3 * size;
    i->time = time + size;
}

static int step(Instance *i, double time, double size)
{
    int status = later(i, "step");
    if (lives_on_faults) fault_and_come_back();
    if (status == OK) AS_EVER(advance(i, time, size));
    return status;
}

__attribute__((constructor)) static void load(void) { in("load"); }
__attribute__((destructor)) static void unload(void) { in("unload"); }

#define DONE(call) { (void)c; return in(call); }

#if FMI == 2
const char *fmi2GetVersion(void) { return "2.0"; }
const char *fmi2GetTypesPlatform(void) { return "default"; }
void *fmi2Instantiate(const char *name, int type, const char *guid, const char *resources, const void *callbacks, int visible, int logging)
{
    (void)name, (void)type, (void)guid, (void)resources, (void)callbacks, (void)visible, (void)logging;
    return make();
}
void fmi2FreeInstance(void *c) { in("free"), free(c); }
int fmi2SetDebugLogging(void *c, int on, size_t n, const char *const *list) { (void)c, (void)on, (void)n, (void)list; return OK; }
int fmi2SetupExperiment(void *c, int t, double tolerance, double start, int s, double stop)
{
    (void)c, (void)t, (void)tolerance, (void)start, (void)s, (void)stop;
    return in("set up");
}
int fmi2EnterInitializationMode(void *c) DONE("enter")
int fmi2ExitInitializationMode(void *c) DONE("exit")
int fmi2Terminate(void *c) DONE("terminate")
int fmi2Reset(void *c) DONE("reset")
int fmi2SetReal(void *c, const unsigned *vr, size_t n, const double *value) { return set(c, vr, n, value); }
int fmi2GetReal(void *c, const unsigned *vr, size_t n, double *value) { return get(c, vr, n, value); }
#define NONE(Type, type) \
    int fmi2Get##Type(void *c, const unsigned *vr, size_t n, type *value) { (void)c, (void)vr, (void)n, (void)value; return ERROR; } \
    int fmi2Set##Type(void *c, const unsigned *vr, size_t n, const type *value) { (void)c, (void)vr, (void)n, (void)value; return ERROR; }
NONE(Integer, int)
NONE(Boolean, int)
NONE(String, char *)
int fmi2DoStep(void *c, double time, double size, int forward) { (void)forward; return step(c, time, size); }
int fmi2CancelStep(void *c) { (void)c; return ERROR; }
#else
const char *fmi3GetVersion(void) { return "3.0"; }
void *fmi3InstantiateCoSimulation(const char *name, const char *token, const char *resources, bool visible, bool logging, bool events, bool early,
                                  const unsigned *needed, size_t n, void *environment, void *log, void *intermediate)
{
    (void)name, (void)token, (void)resources, (void)visible, (void)logging, (void)events, (void)early;
    (void)needed, (void)n, (void)environment, (void)log, (void)intermediate;
    return make();
}
void fmi3FreeInstance(void *c) { in("free"), free(c); }
int fmi3SetDebugLogging(void *c, bool on, size_t n, const char *const *list) { (void)c, (void)on, (void)n, (void)list; return OK; }
int fmi3EnterInitializationMode(void *c, bool t, double tolerance, double start, bool s, double stop)
{
    (void)c, (void)t, (void)tolerance, (void)start, (void)s, (void)stop;
    return in("enter");
}
int fmi3ExitInitializationMode(void *c) DONE("exit")
int fmi3Terminate(void *c) DONE("terminate")
int fmi3Reset(void *c) DONE("reset")
int fmi3SetFloat64(void *c, const unsigned *vr, size_t n, const double *value, size_t m) { (void)m; return set(c, vr, n, value); }
int fmi3GetFloat64(void *c, const unsigned *vr, size_t n, double *value, size_t m) { (void)m; return get(c, vr, n, value); }
int fmi3DoStep(void *c, double time, double size, bool forward, bool *event, bool *terminate, bool *early, double *last)
{
    (void)forward;
    *event = *terminate = *early = false;
    int status = step(c, time, size);
    *last = ((Instance *)c)->time;
    return status;
}
#endif
