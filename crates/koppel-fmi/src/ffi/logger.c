/* The logger of FMI 2.0: formats the message and hands it to the function the environment begins with. */

#include <stdarg.h>
#include <stdio.h>

struct environment {
    void (*log)(void *environment, const char *instance, int status, const char *category, const char *text);
};

void koppel_fmi2_logger(void *environment, const char *instance, int status, const char *category,
                        const char *message, ...)
{
    char text[8192];
    va_list arguments;

    if (environment == NULL || message == NULL)
        return;
    va_start(arguments, message);
    if (vsnprintf(text, sizeof text, message, arguments) < 0)
        snprintf(text, sizeof text, "%s", message);
    va_end(arguments);
    ((struct environment *)environment)->log(environment, instance, status, category, text);
}
