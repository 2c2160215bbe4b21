/* Drives instances of an FMI 2.0 library by hand, as the yardstick of the benchmark: set, step, get. Prints seconds. */

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

typedef struct {
    void (*logger)(void *, const char *, int, const char *, const char *, ...);
    void *(*allocate)(size_t, size_t);
    void (*release)(void *);
    void (*finished)(void *, int);
    void *environment;
} Callbacks;

static void quiet(void *e, const char *n, int s, const char *c, const char *m, ...) { (void)e, (void)n, (void)s, (void)c, (void)m; }

int main(int count, char **words)
{
    int instances = atoi(words[2]);
    long steps = atol(words[3]);
    double size = atof(words[4]);
    void *library = dlopen(words[1], RTLD_NOW | RTLD_LOCAL);
    void *(*make)(const char *, int, const char *, const char *, const Callbacks *, int, int) = dlsym(library, "fmi2Instantiate");
    int (*setup)(void *, int, double, double, int, double) = dlsym(library, "fmi2SetupExperiment");
    int (*set)(void *, const unsigned *, size_t, const double *) = dlsym(library, "fmi2SetReal");
    int (*get)(void *, const unsigned *, size_t, double *) = dlsym(library, "fmi2GetReal");
    int (*step)(void *, double, double, int) = dlsym(library, "fmi2DoStep");
    Callbacks callbacks = {quiet, calloc, free, NULL, NULL};
    void **all = calloc((size_t)instances, sizeof *all);
    double *y = calloc((size_t)instances * 2, sizeof *y);
    unsigned input = 0, outputs[2] = {1, 2};
    struct timespec begin, end;
    (void)count;
    for (int i = 0; i < instances; i++) {
        all[i] = make("i", 1, "{mass}", "file:///", &callbacks, 0, 0);
        setup(all[i], 0, 0, 0, 0, 0);
    }
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (long k = 0; k < steps; k++) {
        for (int i = 0; i < instances; i++) {
            double u = 0.1 * y[2 * ((i + 1) % instances)];
            if (set(all[i], &input, 1, &u) > 1 || step(all[i], (double)k * size, size, 0) > 1)
                return 1;
        }
        for (int i = 0; i < instances; i++)
            if (get(all[i], outputs, 2, y + 2 * i) > 1)
                return 1;
    }
    clock_gettime(CLOCK_MONOTONIC, &end);
    printf("%.9f %.17g\n", (double)(end.tv_sec - begin.tv_sec) + 1e-9 * (double)(end.tv_nsec - begin.tv_nsec), y[0]);
    return 0;
}
