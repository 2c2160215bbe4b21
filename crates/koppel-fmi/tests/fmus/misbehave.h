/* What a bad FMU does in a step that ends after 0.5 s, by the value of `misbehave`. */

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#ifdef _WIN32
#define NOGDI
#include <windows.h>
#define nanosleep(time, rest) Sleep((DWORD)(1000 * (time)->tv_sec + (time)->tv_nsec / 1000000))
#define fork() (-1)
#define pause() Sleep(INFINITE)
#endif

static void misbehave(int how, double end)
{
    struct timespec second = {1, 0}, moment = {0, 60000000};
    if (how == 19) /* takes a moment for every step */
        nanosleep(&moment, NULL);
    if (end <= 0.5 + 1e-9)
        return;
    switch (how) {
    case 10: { /* writes where it may not; volatile, so that the compiler leaves it alone */
        volatile int *volatile nowhere = NULL;
        *nowhere = 0;
        break;
    }
    case 11:
        abort();
    case 12:
        exit(3);
    case 13: /* computes for ever */
        for (volatile long k = 0;; k++)
            ;
    case 14: /* takes memory until there is none */
        for (;;) {
            volatile char *memory = malloc(1 << 20);
            for (int k = 0; k < 1 << 20; k += 4096)
                memory[k] = 1;
        }
    case 15: { /* divides by zero */
        volatile int zero = 0, result = 10 / zero;
        (void)result;
        break;
    }
    case 16: /* takes a second */
        nanosleep(&second, NULL);
        break;
    case 17: /* leaves a child behind, and waits for ever */
        if (fork() == 0)
            execl("/bin/sleep", "sleep", "1000", (char *)NULL);
        pause();
        break;
    case 18: /* speaks where results may be */
        printf("from the FMU\n");
        fflush(stdout);
        break;
    }
}
