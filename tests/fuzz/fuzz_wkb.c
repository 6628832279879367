/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as well-known binary: what is sound has a stored form that is no longer, says the same and is its own stored
 * form; what is not sound has none.
 */
#include "fuzz.h"

#include <string.h>

#include "geo/wkb.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
	struct wkb_facts facts = {0}, stored_facts = {0};
	enum wkb_fault fault = wkb_walk(bytes, count, &facts);
	PROMISE(wkb_fault_text(fault) != NULL);
	uint8_t *stored = malloc(count > 0 ? count : 1), *again = malloc(count > 0 ? count : 1);
	PROMISE(stored != NULL && again != NULL);
	size_t length = wkb_store(bytes, count, stored);
	PROMISE(length <= count);
	if (fault == WKB_SOUND || fault == WKB_EMPTY) {
		PROMISE(length > 0);
		PROMISE(wkb_walk(stored, length, &stored_facts) == fault);
		PROMISE(stored_facts.types == facts.types && stored_facts.any == facts.any && stored_facts.srid == 0);
		for (int axis = 0; axis < 2 && facts.any; axis++)
			PROMISE(facts.minimum[axis] == stored_facts.minimum[axis] && facts.maximum[axis] == stored_facts.maximum[axis]);
		PROMISE(wkb_store(stored, length, again) == length && memcmp(stored, again, length) == 0);
	} else {
		PROMISE(length == 0 || fault == WKB_CURVE); /* sound, and straightened elsewhere */
		struct wkb_facts none = {0};
		PROMISE(memcmp(&facts, &none, sizeof none) == 0);
	}
	free(stored);
	free(again);
	return 0;
}
