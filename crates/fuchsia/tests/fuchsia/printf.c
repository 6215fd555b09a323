/* What the C library's printf makes of format strings, for the test beside it.
 *
 * Each line of the input is a format string in parts, each with the argument of its one conversion:
 *     FORMAT STARS [STAR...] KIND VALUE
 * FORMAT and strings are in hexadecimal; STARS is how many `*` there are, KIND a length modifier and a
 * conversion, such as `lld`, or `-` for text alone. Each line of the output is the result in
 * hexadecimal. The first line says whether the C library is that of GNU, and whether it knows `b`. */
#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char line[1 << 16], result[1 << 16], format[1 << 12], text[1 << 12];
static size_t length;

static void unhex(const char *from, char *to) {
    unsigned byte;
    for (; sscanf(from, "%2x", &byte) == 1; from += 2) *to++ = (char)byte;
    *to = 0;
}

static int stars, star[2];

#define PRINT(value)                                                                                      \
    (stars == 0   ? snprintf(result + length, sizeof result - length, format, value)                      \
     : stars == 1 ? snprintf(result + length, sizeof result - length, format, star[0], value)             \
                  : snprintf(result + length, sizeof result - length, format, star[0], star[1], value))

static int is_one_of(char letter, const char *letters) { return letter && strchr(letters, letter); }

static int signed_integer(const char *modifier, int64_t value) {
    if (!strcmp(modifier, "hh")) return PRINT((signed char)value);
    if (!strcmp(modifier, "h")) return PRINT((short)value);
    if (!strcmp(modifier, "l")) return PRINT((long)value);
    if (!strcmp(modifier, "ll")) return PRINT((long long)value);
    if (!strcmp(modifier, "j")) return PRINT((intmax_t)value);
    if (!strcmp(modifier, "z")) return PRINT((ptrdiff_t)value);
    if (!strcmp(modifier, "t")) return PRINT((ptrdiff_t)value);
    return PRINT((int)value);
}

static int unsigned_integer(const char *modifier, uint64_t value) {
    if (!strcmp(modifier, "hh")) return PRINT((unsigned char)value);
    if (!strcmp(modifier, "h")) return PRINT((unsigned short)value);
    if (!strcmp(modifier, "l")) return PRINT((unsigned long)value);
    if (!strcmp(modifier, "ll")) return PRINT((unsigned long long)value);
    if (!strcmp(modifier, "j")) return PRINT((uintmax_t)value);
    if (!strcmp(modifier, "z")) return PRINT((size_t)value);
    if (!strcmp(modifier, "t")) return PRINT((size_t)value);
    return PRINT((unsigned)value);
}

int main(void) {
    snprintf(text, sizeof text, "%b", 5);
#ifdef __GLIBC__
    fputs("glibc", stdout);
#endif
    puts(strcmp(text, "101") ? "" : " binary");
    while (fgets(line, sizeof line, stdin)) {
        length = 0;
        for (char *word = strtok(line, " \n"); word; word = strtok(NULL, " \n")) {
            unhex(word + 1, format);
            stars = atoi(strtok(NULL, " \n"));
            for (int i = 0; i < stars; i++) star[i] = atoi(strtok(NULL, " \n"));
            char modifier[8] = "", *kind = strtok(NULL, " \n"), *value = strtok(NULL, " \n");
            char letter = kind[strlen(kind) - 1];
            memcpy(modifier, kind, strlen(kind) - 1);
            uint64_t bits = strtoull(value, NULL, 16);
            double number;
            memcpy(&number, &bits, sizeof number);
            int count;
            if (letter == '-') {
                count = snprintf(result + length, sizeof result - length, format, 0);
            } else if (is_one_of(letter, "di")) {
                count = signed_integer(modifier, (int64_t)bits);
            } else if (is_one_of(letter, "ouxXbB")) {
                count = unsigned_integer(modifier, bits);
            } else if (is_one_of(letter, "fFeEgGaA")) {
                count = *modifier == 'L' ? PRINT((long double)number) : PRINT(number);
            } else if (letter == 'c') {
                count = PRINT((int)bits);
            } else if (letter == 'p') {
                count = PRINT((void *)(uintptr_t)bits);
            } else {
                unhex(value + 1, text);
                count = PRINT(text);
            }
            if (count < 0 || length + (size_t)count >= sizeof result) return 1;
            length += (size_t)count;
        }
        for (size_t i = 0; i < length; i++) printf("%02x", (unsigned char)result[i]);
        putchar('\n');
    }
    return 0;
}
