#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER bench

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "./tick-tp.h"

#if !defined(TICK_TP_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define TICK_TP_H

#include <lttng/tracepoint.h>
#include <stdint.h>

LTTNG_UST_TRACEPOINT_EVENT(
	bench, tick,
	LTTNG_UST_TP_ARGS(uint64_t, number, uint32_t, a, uint32_t, b, double, load),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_integer(uint64_t, number, number)
		lttng_ust_field_integer(uint32_t, a, a)
		lttng_ust_field_integer(uint32_t, b, b)
		lttng_ust_field_float(double, load, load)
	)
)

#endif

#include <lttng/tracepoint-event.h>
