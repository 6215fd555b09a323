/* A program to trace: `hello EVENTS THREADS` records EVENTS events on each of THREADS threads.
 *
 *     gcc -O2 -I. -o hello hello.c -llttng-ust -ldl -lpthread
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "hello-tp.h"

static unsigned long events = 40;

static void *work(void *argument)
{
	const long thread = (long) argument;
	char text[64];
	int samples[8];
	cpu_set_t cpu;

	/* LTTng writes a data stream per CPU: see that there is more than one. */
	CPU_ZERO(&cpu);
	CPU_SET((int) (thread % sysconf(_SC_NPROCESSORS_ONLN)), &cpu);
	pthread_setaffinity_np(pthread_self(), sizeof cpu, &cpu);

	for (unsigned long i = 0; i < events; i++) {
		/* Lets the others have a go, so that events of all threads alternate. */
		if (i % 16 == 15)
			usleep(10);
		if (i % 4) {
			lttng_ust_tracepoint(hello, tick, (unsigned int) i);
			continue;
		}
		for (int k = 0; k < 8; k++)
			samples[k] = (int) (i * k) - (int) thread;
		/* Sometimes with what makes text hard to print. */
		snprintf(text, sizeof text, i % 16 ? "hello %lu from thread %ld" : "say \"h\xc3\xa9llo\"\t%lu\\%ld\n", i, thread);
		lttng_ust_tracepoint(hello, greeting, (int) i, text, samples, i % 9 ? i % 9 - 1 : 0,
			(double) i / 3.0);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[64];
	long count = argc > 2 ? atol(argv[2]) : 2;

	events = argc > 1 ? strtoul(argv[1], NULL, 10) : events;
	count = count > 64 ? 64 : count;
	for (long i = 0; i < count; i++)
		pthread_create(&threads[i], NULL, work, (void *) i);
	for (long i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
