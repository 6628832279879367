/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"

#include <openssl/rand.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/digest.h"

enum { US = 1000000 };

int64_t clock_now_us(void)
{
	const char *fixed = getenv("RECLOSER_TEST_NOW");
	int64_t us = fixed ? clock_parse(fixed) : -1;
	if (us >= 0)
		return us;
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * US + now.tv_nsec / 1000;
}

double clock_monotonic(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static struct tm utc_of(int64_t us)
{
	time_t seconds = (time_t)(us / US);
	struct tm parts;
	gmtime_r(&seconds, &parts);
	return parts;
}

const char *clock_text(struct arena *arena, int64_t us)
{
	struct tm t = utc_of(us);
	return arena_printf(arena, "%04d-%02d-%02dT%02d:%02d:%02d.%06dZ", t.tm_year + 1900, t.tm_mon + 1, t.tm_mday,
	                    t.tm_hour, t.tm_min, t.tm_sec, (int)(us % US));
}

int64_t clock_parse(const char *text)
{
	struct tm t = {0};
	int read = 0;
	if (sscanf(text, "%4d-%2d-%2dT%2d:%2d:%2d%n", &t.tm_year, &t.tm_mon, &t.tm_mday, &t.tm_hour, &t.tm_min, &t.tm_sec,
	           &read) != 6)
		return -1;
	text += read;
	int64_t fraction = 0;
	if (*text == '.') {
		int64_t weight = US / 10;
		for (text++; *text >= '0' && *text <= '9'; text++, weight /= 10)
			fraction += (*text - '0') * weight;
	}
	if (text[0] != 'Z' || text[1] != '\0')
		return -1;
	t.tm_year -= 1900;
	t.tm_mon -= 1;
	time_t seconds = timegm(&t);
	return seconds < 0 ? -1 : (int64_t)seconds * US + fraction;
}

const char *clock_run_id(struct arena *arena)
{
	uint8_t random[4];
	char hex[9];
	if (RAND_bytes(random, sizeof random) != 1) {
		/* No entropy source: the monotonic clock still tells two runs of one machine apart. */
		uint64_t ns = (uint64_t)(clock_monotonic() * 1e9);
		for (int i = 0; i < 4; i++)
			random[i] = (uint8_t)(ns >> (8 * i));
	}
	hex_of(random, sizeof random, hex);
	struct tm t = utc_of(clock_now_us());
	return arena_printf(arena, "%04d%02d%02dT%02d%02d%02dZ-%s", t.tm_year + 1900, t.tm_mon + 1, t.tm_mday, t.tm_hour,
	                    t.tm_min, t.tm_sec, hex);
}
