/* -DBROKEN=fmi2GetFMUstate -DHOW=CRASH breaks one of the optional functions, those that begin with BREAKS(): it crashes, hangs (HANG),
 * returns an error (FAIL), ends the process (LEAVE), or works and lets the next step hang (LATER). */

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef BROKEN
#define TEXT(name) #name
#define NAME(name) TEXT(name)
enum { CRASH, HANG, FAIL, LEAVE, LATER };

static int is_lost;

static void hang(void)
{
    for (;;)
        pause();
}

static int breaks(const char *function)
{
    if (strcmp(function, NAME(BROKEN)) != 0)
        return 0;
    volatile int *volatile nowhere = NULL;
    if (HOW == CRASH)
        *nowhere = 0;
    if (HOW == HANG)
        hang();
    if (HOW == LEAVE)
        exit(0);
    is_lost = HOW == LATER;
    return HOW == FAIL;
}
#define BREAKS() if (breaks(__func__)) return 3
#define HANGS_IF_LOST() if (is_lost) hang()
#else
#define BREAKS()
#define HANGS_IF_LOST()
#endif
