/* Nanoseconds for each of many events of 24 bytes, recorded by LTTng-UST: tick EVENTS THREADS */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "tick-tp.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static uint64_t events;

static void *run(void *unused)
{
	for (uint64_t number = 0; number < events; number++)
		lttng_ust_tracepoint(bench, tick, number, 1, 2, 0.5);
	return unused;
}

int main(int count, char **arguments)
{
	pthread_t threads[64];
	struct timespec begin, end;
	int used = count > 2 ? atoi(arguments[2]) : 1;

	events = strtoull(arguments[1], NULL, 10);
	clock_gettime(CLOCK_MONOTONIC, &begin);
	for (int thread = 0; thread < used; thread++)
		pthread_create(&threads[thread], NULL, run, NULL);
	for (int thread = 0; thread < used; thread++)
		pthread_join(threads[thread], NULL);
	clock_gettime(CLOCK_MONOTONIC, &end);
	printf("%.1f\n", ((end.tv_sec - begin.tv_sec) * 1e9 + (end.tv_nsec - begin.tv_nsec)) / (double)events);
}
