/* Says how many of an article are in stock: `stock ARTICLE`. It traces with LTTng-UST what it does, and for which
 * operation: the metadata of X-Trace in the environment, `X_TRACE`.
 *
 *     gcc -O2 -I. -o stock stock.c -llttng-ust -ldl
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "stock-tp.h"

int main(int argc, char **argv)
{
	const char *x_trace = getenv("X_TRACE");
	const char *article = argc > 1 ? argv[1] : "";
	unsigned int total = 0;

	if (!x_trace)
		x_trace = "";
	lttng_ust_tracepoint(stock, asked, x_trace, article);
	for (unsigned int shelf = 1; shelf <= 3; shelf++) {
		usleep(1000);
		lttng_ust_tracepoint(stock, shelf, shelf, 4 * shelf);
		total += 4 * shelf;
	}
	lttng_ust_tracepoint(stock, answered, x_trace, total);
	printf("%u %s in stock\n", total, article);
	return 0;
}
