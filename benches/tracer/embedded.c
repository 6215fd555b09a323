/* The greenhouse of examples/embedded, recorded by what barectf generates from barectf.yaml. */
#include <unistd.h>

#include "barectf.h"

static uint8_t buffers[4][256];
static int current, waiting, oldest, asked;
static uint64_t cycles;

static uint64_t now(void *unused)
{
	(void)unused;
	return cycles += 1000;
}

static void poll_packets(void)
{
	while (waiting && (++asked & 3) && write(1, buffers[oldest], sizeof buffers[0]) > 0) {
		oldest = (oldest + 1) % 4;
		waiting--;
	}
}

static int is_full(void *unused)
{
	(void)unused;
	poll_packets();
	return waiting == 4;
}

static void open_packet(void *data)
{
	barectf_main_open_packet(data);
}

static void close_packet(void *data)
{
	barectf_main_close_packet(data);
	waiting++;
	current = (current + 1) % 4;
	barectf_packet_set_buf(data, buffers[current], sizeof buffers[0]);
}

int main(void)
{
	static struct barectf_main_ctx context;
	const struct barectf_platform_callbacks callbacks = {
		.cycles_clock_get_value = now,
		.is_backend_full = is_full,
		.open_packet = open_packet,
		.close_packet = close_packet,
	};
	static const uint8_t frame[300] = { 0x55 };

	barectf_init(&context, buffers[0], sizeof buffers[0], callbacks, &context);
	barectf_main_open_packet(&context);
	barectf_main_trace_boot(&context, "greenhouse 1.4", 2);
	for (uint16_t number = 0; number < 100; number++) {
		const uint16_t raw[4] = { number, 1, 2, 3 };

		/* barectf declares the parameter of a floating-point number as an integer. */
		barectf_main_trace_sample(&context, number / 4, raw);
		if (number % 10 == 0) {
			barectf_main_trace_valve_moved(&context, 3, number % 20 == 0);
			barectf_main_trace_frame(&context, 9, frame);
		}
	}
	barectf_main_trace_fault(&context, 1, 17);
	barectf_main_trace_frame(&context, sizeof frame, frame);
	if (barectf_packet_is_open(&context))
		close_packet(&context);
	while (waiting)
		poll_packets();
	return 0;
}
