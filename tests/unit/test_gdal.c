/* SPDX-License-Identifier: Apache-2.0
 * GDAL that is there, that is not, and that lacks a function: the three builds of src/base/gdal.c here say which (gdal.cmake). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/gdal.h"

static bool mapped(const char *name)
{
	char line[4096];
	bool found = false;
	FILE *maps = fopen("/proc/self/maps", "r");
	assert_non_null(maps);
	while (fgets(line, sizeof line, maps))
		found |= strstr(line, name) != NULL;
	fclose(maps);
	return found;
}

static void *call(void *box)
{
	*(double *)box = gdal()->CPLAtof("1.5");
	return NULL;
}

static void test_there(void **state)
{
	enum { THREADS = 4 };
	pthread_t threads[THREADS];
	double numbers[THREADS] = {0};
	(void)state;
	assert_false(mapped("libgdal"));
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, call, &numbers[i]), 0);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		assert_true(numbers[i] == 1.5);
	}
	assert_true(mapped("libgdal"));
	recloser_error error = {0};
	assert_int_equal(gdal_load(&error), RECLOSER_OK);
}

static void refused(const char *words)
{
	for (int i = 0; i < 2; i++) {
		recloser_error error = {0};
		assert_int_equal(gdal_load(&error), RECLOSER_IO);
		assert_string_equal(error.code, "gdal.missing");
		if (!strstr(error.what, words))
			fail_msg("%s does not say %s", error.what, words);
		assert_non_null(error.hint);
	}
	/* Called all the same, the process ends with a word. */
	int ends[2], status;
	char said[512] = "";
	assert_int_equal(pipe(ends), 0);
	pid_t child = fork();
	if (child == 0) {
		signal(SIGABRT, SIG_DFL);
		dup2(ends[1], 2);
		(void)gdal();
		_exit(0);
	}
	close(ends[1]);
	assert_true(read(ends[0], said, sizeof said - 1) > 0);
	close(ends[0]);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
	assert_non_null(strstr(said, words));
}

static void test_absent(void **state)
{
	(void)state;
	refused("libgdal.so.none: cannot open");
	refused("; /nowhere/libgdal.so.none: cannot open");
}

static void test_lacking(void **state)
{
	(void)state;
	refused("libm.so.6 has no CPLAtof");
}

int main(void)
{
	const struct CMUnitTest there[] = {cmocka_unit_test(test_there)};
	const struct CMUnitTest absent[] = {cmocka_unit_test(test_absent)};
	const struct CMUnitTest lacking[] = {cmocka_unit_test(test_lacking)};
	if (strcmp(RECLOSER_GDAL_NAME, "libgdal.so.none") == 0)
		return cmocka_run_group_tests(absent, NULL, NULL);
	if (strcmp(RECLOSER_GDAL_NAME, "libm.so.6") == 0)
		return cmocka_run_group_tests(lacking, NULL, NULL);
	return cmocka_run_group_tests(there, NULL, NULL);
}
