/* The tracepoints of stock.c. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER stock

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "./stock-tp.h"

#if !defined(STOCK_TP_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define STOCK_TP_H

#include <lttng/tracepoint.h>

/* What the program does for a request. */
LTTNG_UST_TRACEPOINT_EVENT(stock, asked,
    LTTNG_UST_TP_ARGS(const char *, x_trace, const char *, article),
    LTTNG_UST_TP_FIELDS(
        lttng_ust_field_string(x_trace, x_trace)
        lttng_ust_field_string(article, article)))
LTTNG_UST_TRACEPOINT_EVENT(stock, answered,
    LTTNG_UST_TP_ARGS(const char *, x_trace, unsigned int, count),
    LTTNG_UST_TP_FIELDS(
        lttng_ust_field_string(x_trace, x_trace)
        lttng_ust_field_integer(unsigned int, count, count)))

/* What it does in any case, whoever asks. */
LTTNG_UST_TRACEPOINT_EVENT(stock, shelf,
    LTTNG_UST_TP_ARGS(unsigned int, number, unsigned int, count),
    LTTNG_UST_TP_FIELDS(
        lttng_ust_field_integer(unsigned int, number, number)
        lttng_ust_field_integer(unsigned int, count, count)))

#endif

#include <lttng/tracepoint-event.h>
