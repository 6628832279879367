/* SPDX-License-Identifier: Apache-2.0
 * Doubles to text and back, the same in every locale. No state, no allocation: fit for callbacks and engine threads. */
#ifndef RECLOSER_BASE_NUMBER_H
#define RECLOSER_BASE_NUMBER_H

#include <stdbool.h>
#include <stddef.h>

enum {
	NUMBER_DIGITS = 18, /* seventeen digits and the NUL */
	NUMBER_MAX = 40     /* room enough for number_shortest */
};

/* The fewest decimal digits that read back as the same double, and among those the nearest to it: 0.001234 gives "1234"
 * and exponent -3, so that the value is d.ddd * 10^exponent. The sign is left to the caller; zero gives "0" and 0. `value`
 * must be finite. Returns the number of digits. */
size_t number_digits(double value, char digits[NUMBER_DIGITS], int *exponent);

/* Those digits laid out as JSON and ECMAScript do: 3, -0.5, 1e+21, 1e-7; whole numbers below 1e21 without exponent. "NaN",
 * "Infinity" and "-Infinity" for what JSON does not have. Negative zero is "0". NUL-terminated; returns the length. */
size_t number_shortest(double value, char out[NUMBER_MAX]);

/* A decimal number with a point, optional sign and exponent, and nothing around it; no hexadecimal, no words. False when it
 * is not one or is too large for a double. */
bool number_parse(const char *text, size_t length, double *out);

#endif
