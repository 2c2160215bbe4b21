/* Drives instances of an FMI 2.0 library by hand, as the yardstick of the benchmark: set and step all, then get all.
   Built as a library, so that both sides run in one process. */

#include <dlfcn.h>
#include <stdlib.h>

typedef struct {
    void (*logger)(void *, const char *, int, const char *, const char *, ...);
    void *(*allocate)(size_t, size_t);
    void (*release)(void *);
    void (*finished)(void *, int);
    void *environment;
} Callbacks;

typedef struct {
    int instances;
    long steps;
    void **all;
    double *y;
    int (*set)(void *, const unsigned *, size_t, const double *);
    int (*get)(void *, const unsigned *, size_t, double *);
    int (*step)(void *, double, double, int);
} Loop;

static void quiet(void *e, const char *n, int s, const char *c, const char *m, ...) { (void)e, (void)n, (void)s, (void)c, (void)m; }

static const Callbacks CALLBACKS = {quiet, calloc, free, NULL, NULL};

void *loop_new(const char *path, int instances)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL)
        return NULL;
    void *(*make)(const char *, int, const char *, const char *, const Callbacks *, int, int) = dlsym(library, "fmi2Instantiate");
    int (*setup)(void *, int, double, double, int, double) = dlsym(library, "fmi2SetupExperiment");
    Loop *loop = calloc(1, sizeof *loop);
    loop->instances = instances;
    loop->all = calloc((size_t)instances, sizeof *loop->all);
    loop->y = calloc((size_t)instances * 2, sizeof *loop->y);
    loop->set = dlsym(library, "fmi2SetReal");
    loop->get = dlsym(library, "fmi2GetReal");
    loop->step = dlsym(library, "fmi2DoStep");
    unsigned outputs[2] = {1, 2};
    for (int i = 0; i < instances; i++) {
        loop->all[i] = make("i", 1, "{mass}", "file:///", &CALLBACKS, 0, 0);
        setup(loop->all[i], 0, 0, 0, 0, 0);
        loop->get(loop->all[i], outputs, 2, loop->y + 2 * i);
    }
    return loop;
}

/* Takes steps and returns the first output at the end. */
double loop_run(Loop *loop, long steps, double size)
{
    unsigned input = 0, outputs[2] = {1, 2};
    double *y = loop->y;
    for (long end = loop->steps + steps; loop->steps < end; loop->steps++) {
        for (int i = 0; i < loop->instances; i++) {
            double u = 0.1 * y[2 * (i + 1 < loop->instances ? i + 1 : 0)];
            if (loop->set(loop->all[i], &input, 1, &u) > 1 || loop->step(loop->all[i], (double)loop->steps * size, size, 0) > 1)
                return -1;
        }
        for (int i = 0; i < loop->instances; i++)
            if (loop->get(loop->all[i], outputs, 2, y + 2 * i) > 1)
                return -1;
    }
    return y[0];
}
