/* The tracepoints of hello.c. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER hello

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "./hello-tp.h"

#if !defined(HELLO_TP_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define HELLO_TP_H

#include <stdint.h>
#include <lttng/tracepoint.h>

LTTNG_UST_TRACEPOINT_ENUM(hello, mood,
    LTTNG_UST_TP_ENUM_VALUES(
        lttng_ust_field_enum_value("CALM", 0)
        lttng_ust_field_enum_value("BUSY", 1)
        lttng_ust_field_enum_range("FRANTIC", 2, 9)))

/* What happens most of the time: one small number. */
LTTNG_UST_TRACEPOINT_EVENT(hello, tick,
    LTTNG_UST_TP_ARGS(unsigned int, number),
    LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(unsigned int, number, number)))

/* One of everything that a tracepoint can carry. */
LTTNG_UST_TRACEPOINT_EVENT(hello, greeting,
    LTTNG_UST_TP_ARGS(int, number, const char *, text, const int *, samples, size_t, count, double, load),
    LTTNG_UST_TP_FIELDS(
        lttng_ust_field_integer(int64_t, balance, (int64_t) number * -1000000007)
        lttng_ust_field_integer_hex(uint32_t, hash, (uint32_t) number * 2654435761u)
        lttng_ust_field_integer_network(uint16_t, port, __builtin_bswap16((uint16_t) (8000 + number % 100)))
        lttng_ust_field_string(text, text)
        lttng_ust_field_float(double, load, load)
        lttng_ust_field_float(float, half_load, (float) load / 2)
        lttng_ust_field_enum(hello, mood, uint8_t, mood, number % 10)
        lttng_ust_field_array(int, first_two, samples, 2)
        lttng_ust_field_sequence(int, samples, samples, size_t, count)
        lttng_ust_field_sequence_text(char, initials, text, size_t, 3)))
LTTNG_UST_TRACEPOINT_LOGLEVEL(hello, greeting, LTTNG_UST_TRACEPOINT_LOGLEVEL_NOTICE)

#endif

#include <lttng/tracepoint-event.h>
