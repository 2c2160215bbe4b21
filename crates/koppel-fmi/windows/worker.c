/* The program that hosts a Windows FMU under Wine.
 *
 * It knows nothing of FMI but the callbacks: it loads a library, looks up functions, and calls addresses with the words it is
 * given. What it is asked and what it answers lies in a file that it shares with koppel (src/wine/memory.rs has the same
 * layout):
 *
 *   0       control, see below
 *   4096    texts of callbacks
 *   36864   messages and the data that they point to
 *
 * Koppel writes a message, counts `request` up and waits for `reply`. A callback of the FMU is a reply as well; koppel then
 * sends requests to the same instance, if it likes, and at last RESUME. Each side waits awake for a while, then asleep: the
 * worker until a byte comes on its standard input, koppel until one comes from the worker's standard output. The end of the
 * standard input is the end of koppel, and so of this process. */

#define WIN32_LEAN_AND_MEAN
#define __USE_MINGW_ANSI_STDIO 1
#include <io.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

struct control {
    uint64_t magic;
    uint64_t size;     /* of the file, by koppel */
    uint64_t base;     /* where the worker has mapped it */
    uint64_t at;       /* offset of the message */
    uint64_t answer;   /* what the reply is */
    uint64_t patience; /* how long to wait awake at least, in microseconds; 0: not at all */
    uint64_t running;  /* index of the call that runs */
    uint64_t exception, address;
    uint64_t addresses[8]; /* of what FMUs are given to call */
    uint64_t unused[111];
    volatile uint32_t request, worker_sleeps; /* byte 1024 */
    uint32_t gap[62];
    volatile uint32_t reply, parent_sleeps; /* byte 1280 */
};

static const uint64_t MAGIC = 0x31206c6570706f6b;           /* "koppel 1" */
enum { CALLS = 1, RESUME, LOAD, FIND, PEEK, FOLLOW, QUIT }; /* requests */
enum { DONE, LOG, UPDATE };                                 /* replies */
enum { TEXTS = 4096, TEXTS_SIZE = 32768, ARGUMENTS = 13 };

/* One call: the function, whether the next ones depend on a good status, its result, its arguments. */
struct call {
    uint64_t function, is_checked, result, arguments[ARGUMENTS];
};

static HANDLE file, wake, way_out;
static char *base;
static uint32_t seen;
static DWORD main_thread;
static CRITICAL_SECTION lock, turn; /* of what is pending; of who talks to koppel */
static char *pending;
static size_t pending_size;

static struct control *control(void) { return (struct control *)base; }

/* Maps the whole file. What was mapped before stays so: the FMU may be using it, if this happens in a callback. */
static int map(void) {
    LARGE_INTEGER size;
    uint64_t known = 0;
    HANDLE mapping;
    if (base) {
        known = control()->size;
    } else if (GetFileSizeEx(file, &size)) {
        known = (uint64_t)size.QuadPart;
    }
    mapping = CreateFileMappingA(file, NULL, PAGE_READWRITE, (DWORD)(known >> 32), (DWORD)known, NULL);
    base = mapping ? MapViewOfFile(mapping, FILE_MAP_ALL_ACCESS, 0, 0, 0) : NULL;
    if (base) control()->base = (uint64_t)(uintptr_t)base;
    return base != NULL;
}

static void end(unsigned code) { TerminateProcess(GetCurrentProcess(), code); }

/* Wakes the main thread; ends the process with koppel. */
static DWORD WINAPI read_input(void *input) {
    char bytes[64];
    DWORD count;
    while (ReadFile((HANDLE)input, bytes, sizeof bytes, &count, NULL) && count) SetEvent(wake);
    end(0);
    return 0;
}

/* Waits awake as long as requests usually take to come, and as long again; what usually takes longer than 2 ms is slept
 * through. */
static void await_request(void) {
    static double usual; /* in microseconds */
    struct control *c = control();
    LARGE_INTEGER begin, now, frequency;
    double waited, patience = usual > 2000 ? 0 : 2 * usual;
    int k;
    for (k = 0; k < 200; k++) {
        if (c->request != seen) {
            usual *= 0.875;
            goto out;
        }
        __builtin_ia32_pause();
    }
    if (patience < c->patience && usual <= 2000) patience = c->patience;
    if (!c->patience) patience = 0;
    QueryPerformanceFrequency(&frequency);
    QueryPerformanceCounter(&begin);
    do {
        for (k = 0; k < 64; k++) {
            if (c->request != seen) goto learn;
            __builtin_ia32_pause();
        }
        QueryPerformanceCounter(&now);
        waited = (double)(now.QuadPart - begin.QuadPart) * 1e6 / (double)frequency.QuadPart;
    } while (waited < patience);
    for (;;) {
        c->worker_sleeps = 1;
        __sync_synchronize();
        if (c->request != seen) break;
        WaitForSingleObject(wake, 1000);
    }
    c->worker_sleeps = 0;
learn:
    QueryPerformanceCounter(&now);
    waited = (double)(now.QuadPart - begin.QuadPart) * 1e6 / (double)frequency.QuadPart;
    usual += 0.125 * ((waited < 4000 ? waited : 4000) - usual);
out:
    __sync_synchronize();
    seen = c->request;
}

static void reply(uint64_t answer) {
    struct control *c = control();
    DWORD count;
    c->answer = answer;
    __sync_synchronize();
    c->reply++;
    __sync_synchronize();
    if (c->parent_sleeps) WriteFile(way_out, "", 1, &count, NULL);
}

static void serve(void);

/* Calls a function with 13 words. The first four arguments of a function are in registers, in one kind for integers and
 * another for numbers with a point: here they are in both. */
uint64_t invoke(uint64_t function, const uint64_t *arguments);
__asm__(
    ".globl invoke\n"
    ".def invoke; .scl 2; .type 32; .endef\n"
    ".seh_proc invoke\n"
    "invoke:\n"
    "pushq %rbp\n .seh_pushreg %rbp\n"
    "movq %rsp, %rbp\n .seh_setframe %rbp, 0\n"
    "subq $112, %rsp\n .seh_stackalloc 112\n"
    ".seh_endprologue\n"
    "movq %rcx, %rax\n"
    "movq 32(%rdx), %r11\n movq %r11, 32(%rsp)\n"
    "movq 40(%rdx), %r11\n movq %r11, 40(%rsp)\n"
    "movq 48(%rdx), %r11\n movq %r11, 48(%rsp)\n"
    "movq 56(%rdx), %r11\n movq %r11, 56(%rsp)\n"
    "movq 64(%rdx), %r11\n movq %r11, 64(%rsp)\n"
    "movq 72(%rdx), %r11\n movq %r11, 72(%rsp)\n"
    "movq 80(%rdx), %r11\n movq %r11, 80(%rsp)\n"
    "movq 88(%rdx), %r11\n movq %r11, 88(%rsp)\n"
    "movq 96(%rdx), %r11\n movq %r11, 96(%rsp)\n"
    "movsd 0(%rdx), %xmm0\n movsd 8(%rdx), %xmm1\n movsd 16(%rdx), %xmm2\n movsd 24(%rdx), %xmm3\n"
    "movq 0(%rdx), %rcx\n movq 16(%rdx), %r8\n movq 24(%rdx), %r9\n movq 8(%rdx), %rdx\n"
    "call *%rax\n"
    "leave\n ret\n"
    ".seh_endproc\n");

/* Tells koppel a text of the FMU. */
static void report(int status, const char *category, const char *text) {
    char *to = base + TEXTS;
    uint64_t *head = (uint64_t *)to;
    size_t first = strlen(category), second = strlen(text), room = TEXTS_SIZE - 24 - 2;
    EnterCriticalSection(&turn);
    if (first > 1000) first = 1000;
    if (second > room - first) second = room - first;
    head[0] = (uint64_t)(int64_t)status;
    head[1] = first;
    head[2] = second;
    memcpy(to + 24, category, first);
    memcpy(to + 24 + first, text, second);
    reply(LOG);
    serve();
    LeaveCriticalSection(&turn);
}

/* What other threads of the FMU have said is told when the main thread has the turn. */
static void report_pending(void) {
    while (pending_size) {
        char *all;
        size_t size, at;
        EnterCriticalSection(&lock);
        all = pending, size = pending_size;
        pending = NULL, pending_size = 0;
        LeaveCriticalSection(&lock);
        for (at = 0; at < size;) {
            int status = all[at];
            const char *category = all + at + 1, *text = category + strlen(category) + 1;
            report(status, category, text);
            at = (size_t)(text + strlen(text) + 1 - all);
        }
        free(all);
    }
}

static void say(int status, const char *category, const char *text) {
    if (!category) category = "";
    if (!text) text = "";
    if (GetCurrentThreadId() == main_thread) {
        report(status, category, text);
    } else {
        size_t first = strlen(category) + 1, second = strlen(text) + 1;
        char *grown;
        EnterCriticalSection(&lock);
        grown = pending_size < (1 << 20) ? realloc(pending, pending_size + 1 + first + second) : NULL;
        if (grown) {
            grown[pending_size] = (char)status;
            memcpy(grown + pending_size + 1, category, first);
            memcpy(grown + pending_size + 1 + first, text, second);
            pending = grown;
            pending_size += 1 + first + second;
        }
        LeaveCriticalSection(&lock);
    }
}

/* The logger of FMI 1.0 and 2.0. */
static void log_format(void *environment, const char *instance, int status, const char *category, const char *format, ...) {
    char text[16384];
    va_list list;
    (void)environment, (void)instance;
    va_start(list, format);
    if (vsnprintf(text, sizeof text, format ? format : "", list) < 0) text[0] = 0;
    va_end(list);
    say(status, category, text);
}

/* The logger of FMI 3.0. */
static void log_text(void *environment, int status, const char *category, const char *text) {
    (void)environment;
    say(status, category, text);
}

/* The intermediate update of FMI 3.0. */
static void update(void *environment, double time, unsigned char set, unsigned char get, unsigned char finished,
                   unsigned char can_return, unsigned char *returns, double *return_time) {
    uint64_t *to = (uint64_t *)(base + TEXTS);
    (void)environment, (void)can_return, (void)return_time;
    EnterCriticalSection(&turn);
    memcpy(to, &time, sizeof time);
    to[1] = set, to[2] = get, to[3] = finished;
    reply(UPDATE);
    serve();
    LeaveCriticalSection(&turn);
    if (returns) *returns = 0;
}

static void *allocate(size_t count, size_t size) { return calloc(count, size); }

/* fmi2CallbackFunctions, and fmiCallbackFunctions of FMI 1.0, which is its begin. */
static struct {
    void *logger, *allocate, *release, *finished, *environment;
} callbacks = {log_format, allocate, free, NULL, NULL};

/* Runs calls until one fails that the others depend on. The addresses may change meanwhile: a callback may let memory grow. */
static void run(uint64_t at) {
    uint64_t count = ((uint64_t *)(base + at))[1], k;
    uint64_t first = at + 16;
    for (k = 0; k < count; k++) {
        struct call *one = (struct call *)(base + first) + k;
        uint64_t result;
        control()->running = k;
        result = invoke(one->function, one->arguments);
        one = (struct call *)(base + first) + k;
        one->result = result;
        if (one->is_checked && (uint32_t)result > 1) {
            k++;
            break;
        }
    }
    ((uint64_t *)(base + at))[1] = k;
}

/* Loads the library at this path. */
static void load(uint64_t *words) {
    const char *path = (const char *)(words + 4);
    wchar_t wide[4096];
    HMODULE library = NULL;
    if (MultiByteToWideChar(CP_UTF8, 0, path, -1, wide, 4096))
        library = LoadLibraryExW(wide, NULL, LOAD_WITH_ALTERED_SEARCH_PATH);
    words = (uint64_t *)(base + control()->at);
    words[1] = (uint64_t)(uintptr_t)library;
    words[2] = library ? 0 : GetLastError();
}

/* Copies memory of this process; of a text, as much as there is. */
static void peek(uint64_t *words) {
    const char *from = (const char *)(uintptr_t)words[1];
    uint64_t size = words[2], is_text = words[3];
    char *to = (char *)(words + 4);
    if (is_text) {
        uint64_t length = from ? strlen(from) : 0;
        words[1] = length;
        if (length < size) size = length;
    }
    if (from) memcpy(to, from, size);
}

/* Answers requests until one of them is to go on with what a callback has interrupted. */
static void serve(void) {
    for (;;) {
        uint64_t at, *words;
        await_request();
        at = control()->at;
        words = (uint64_t *)(base + at);
        switch (words[0]) {
        case CALLS: run(at); break;
        case RESUME: return;
        case LOAD: load(words); break;
        case FIND:
            words[2] = (uint64_t)(uintptr_t)GetProcAddress((HMODULE)(uintptr_t)words[1], (const char *)(words + 4));
            break;
        case PEEK: peek(words); break;
        case FOLLOW:
            if (!map()) end(3);
            break;
        default: exit(0); /* buffers of the FMU are written, its library is unloaded */
        }
        if (pending_size && GetCurrentThreadId() == main_thread) report_pending();
        control()->at = at;
        reply(DONE);
    }
}

static LONG WINAPI crashed(EXCEPTION_POINTERS *what) {
    control()->exception = what->ExceptionRecord->ExceptionCode;
    control()->address = (uint64_t)(uintptr_t)what->ExceptionRecord->ExceptionAddress;
    end(what->ExceptionRecord->ExceptionCode);
    return EXCEPTION_EXECUTE_HANDLER;
}

/* A handle of this process alone; FMUs find standard error in its place. */
static HANDLE keep(DWORD which) {
    HANDLE own = NULL, process = GetCurrentProcess();
    DuplicateHandle(process, GetStdHandle(which), process, &own, 0, FALSE, DUPLICATE_SAME_ACCESS);
    return own;
}

int main(int count, char **arguments) {
    HANDLE input;
    void *given[] = {&callbacks, log_text, update};
    unsigned k;
    if (count != 2) return 2;
    file = CreateFileA(arguments[1], GENERIC_READ | GENERIC_WRITE, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL,
                       OPEN_EXISTING, 0, NULL);
    if (file == INVALID_HANDLE_VALUE || !map()) return 3;
    if (control()->magic != MAGIC) return 4;
    SetErrorMode(SEM_FAILCRITICALERRORS | SEM_NOGPFAULTERRORBOX | SEM_NOOPENFILEERRORBOX);
    SetUnhandledExceptionFilter(crashed);
    InitializeCriticalSection(&lock);
    InitializeCriticalSection(&turn);
    main_thread = GetCurrentThreadId();
    input = keep(STD_INPUT_HANDLE);
    way_out = keep(STD_OUTPUT_HANDLE);
    SetStdHandle(STD_OUTPUT_HANDLE, GetStdHandle(STD_ERROR_HANDLE));
    _dup2(2, 1);
    SetStdHandle(STD_INPUT_HANDLE, CreateFileA("NUL", GENERIC_READ, FILE_SHARE_READ, NULL, OPEN_EXISTING, 0, NULL));
    k = (unsigned)_open("NUL", 0);
    _dup2((int)k, 0);
    wake = CreateEventA(NULL, FALSE, FALSE, NULL);
    CreateThread(NULL, 65536, read_input, input, 0, NULL);
    for (k = 0; k < sizeof given / sizeof *given; k++) control()->addresses[k] = (uint64_t)(uintptr_t)given[k];
    reply(DONE);
    serve();
    return 0;
}
