/* The model of the test FMUs: a mass on a spring and damper, m a + d v + c x = F, by Runge-Kutta 4 with steps of 1 ms.
 * The parameter `misbehave` makes steps that end after 0.5 s fail: 1 discard, 2 error, 3 fatal, 4 pending, 5 not a number;
 * from 10 on, see misbehave.h. */

#include "misbehave.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { F, X, V, M, C, D, A, REALS };

#define MAX_ORDER 3

typedef struct {
    double r[REALS];
    double slope[MAX_ORDER + 1]; /* derivatives of F at `since` */
    double since;
    double time;
    int steps;
    int misbehave;
    int on;
    char label[64];
} Model;

static void model_start(Model *m)
{
    memset(m, 0, sizeof *m);
    m->r[X] = 1.0;
    m->r[M] = 1.0;
    m->r[C] = 1.0;
    strcpy(m->label, "mass");
}

/* F at a time: its value and derivatives as a Taylor series. */
/* Not used by FMUs that ask for their inputs. */
__attribute__((unused)) static double force(const Model *m, double time)
{
    double tau = time - m->since, term = 1.0, sum = m->r[F];
    for (int k = 1; k <= MAX_ORDER; k++) {
        term *= tau / k;
        sum += term * m->slope[k];
    }
    return sum;
}

typedef double (*Input)(void *owner, double time);

static double acceleration(const Model *m, double x, double v, double f)
{
    return (f - m->r[C] * x - m->r[D] * v) / m->r[M];
}

static void model_step(Model *m, double size, Input input, void *owner)
{
    int parts = (int)ceil(size / 1e-3 - 1e-6);
    double h = size / parts, start = m->time;
    misbehave(m->misbehave, start + size);
    for (int k = 0; k < parts; k++) {
        double t = start + k * h, x = m->r[X], v = m->r[V];
        double f0 = input(owner, t), f1 = input(owner, t + 0.5 * h), f2 = input(owner, t + h);
        double x1 = v, v1 = acceleration(m, x, v, f0);
        double x2 = v + 0.5 * h * v1, v2 = acceleration(m, x + 0.5 * h * x1, v + 0.5 * h * v1, f1);
        double x3 = v + 0.5 * h * v2, v3 = acceleration(m, x + 0.5 * h * x2, v + 0.5 * h * v2, f1);
        double x4 = v + h * v3, v4 = acceleration(m, x + h * x3, v + h * v3, f2);
        m->r[X] = x + h / 6 * (x1 + 2 * x2 + 2 * x3 + x4);
        m->r[V] = v + h / 6 * (v1 + 2 * v2 + 2 * v3 + v4);
    }
    m->time = start + size;
    m->steps++;
}
