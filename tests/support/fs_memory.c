/* SPDX-License-Identifier: Apache-2.0
 * A file system in memory with the crash semantics of a journalled one, at its least helpful: of the changes of names
 * that no sync covered, any subset may survive a power cut, in any combination; a rename is one change (two where there is
 * no journal); content that was not synced is garbage even if its name survives. Syncing a directory covers the names in
 * it and not the name of the directory itself, syncing a file covers its content and not its name.
 *
 * The tree is a sorted array of (path, node); every change and every sync is also an event in a list, from which
 * fs_memory_cut plays the tree of any crash. */
#include "fs_test.h"

#include <errno.h>
#include <string.h>

struct node {
	uint64_t id;
	bool directory, locked;
	char *bytes;
	size_t count;
	int64_t mtime_ns;
	unsigned mode;
};

struct name {
	const char *path;
	struct node *node;
};

enum event_kind { EVENT_ADD, EVENT_REMOVE, EVENT_RENAME, EVENT_SYNC_FILE, EVENT_SYNC_DIRECTORY, EVENT_SYNC_ALL };

struct event {
	enum event_kind kind;
	struct node *node;
	const char *path, *to;
};

struct memory {
	struct fs fs;
	struct arena *arena;
	struct fs_memory_lacks lacks;
	struct name *names;
	size_t count, room;
	struct event *events;
	size_t event_count, event_room;
	uint64_t next_id;
	const char *mount;
	bool mount_is_device;
};

struct fs_file {
	struct node *node;
};

struct fs_lock {
	struct node *node;
};

/* ---- names ---- */

static int compare_names(const struct memory *m, const char *one, const char *other)
{
	if (m->lacks.case_sensitive && text_equal_nocase(one, other))
		return 0;
	return strcmp(one, other);
}

/* Where `path` is or would be. On a file system that folds case the order is not by folded names, so look at all. */
static size_t position(const struct memory *m, const char *path, bool *found)
{
	size_t low = 0, high = m->count;
	while (low < high) {
		size_t middle = (low + high) / 2;
		int order = strcmp(m->names[middle].path, path);
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	*found = low < m->count && strcmp(m->names[low].path, path) == 0;
	for (size_t i = 0; m->lacks.case_sensitive && !*found && i < m->count; i++) {
		*found = compare_names(m, m->names[i].path, path) == 0;
		if (*found)
			return i;
	}
	return low;
}

static struct node *find(const struct memory *m, const char *path)
{
	static struct node top = {.id = 1, .directory = true, .mode = 0777};
	bool found;
	if (strcmp(path, ".") == 0 || strcmp(path, "/") == 0 || *path == '\0')
		return &top;
	size_t at = position(m, path, &found);
	return found ? m->names[at].node : NULL;
}

static const char *parent_of(struct memory *m, const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? arena_strndup(m->arena, path, (size_t)(slash - path)) : ".";
}

static bool is_in(const char *path, const char *directory)
{
	size_t length = strlen(directory);
	if (strcmp(directory, ".") == 0)
		return !strchr(path, '/');
	return strncmp(path, directory, length) == 0 && path[length] == '/' && !strchr(path + length + 1, '/');
}

static bool has_parent(const struct memory *m, const char *path)
{
	char parent[4096];
	const char *slash = strrchr(path, '/');
	if (!slash || (size_t)(slash - path) >= sizeof parent)
		return true;
	memcpy(parent, path, (size_t)(slash - path));
	parent[slash - path] = '\0';
	const struct node *node = find(m, parent);
	return node && node->directory;
}

static void set_name(struct memory *m, const char *path, struct node *node)
{
	bool found;
	size_t at = position(m, path, &found);
	if (found) {
		m->names[at].node = node;
		return;
	}
	if (m->count == m->room) {
		size_t room = m->room ? m->room * 2 : 64;
		m->names = arena_grow(m->arena, m->names, m->count * sizeof *m->names, room * sizeof *m->names);
		m->room = room;
	}
	memmove(&m->names[at + 1], &m->names[at], (m->count - at) * sizeof *m->names);
	m->names[at] = (struct name){arena_strdup(m->arena, path), node};
	m->count++;
}

static void drop_name(struct memory *m, const char *path, const struct node *node)
{
	bool found;
	size_t at = position(m, path, &found);
	if (!found || (node && m->names[at].node != node))
		return;
	m->count--;
	memmove(&m->names[at], &m->names[at + 1], (m->count - at) * sizeof *m->names);
}

static void log_event(struct memory *m, enum event_kind kind, struct node *node, const char *path, const char *to)
{
	if (m->event_count == m->event_room) {
		size_t room = m->event_room ? m->event_room * 2 : 64;
		m->events = arena_grow(m->arena, m->events, m->event_count * sizeof *m->events, room * sizeof *m->events);
		m->event_room = room;
	}
	m->events[m->event_count++] =
		(struct event){kind, node, path ? arena_strdup(m->arena, path) : NULL, to ? arena_strdup(m->arena, to) : NULL};
}

static bool other_mount(const struct memory *m, const char *path)
{
	size_t length = m->mount ? strlen(m->mount) : 0;
	return length && strncmp(path, m->mount, length) == 0 && (path[length] == '/' || path[length] == '\0');
}

static struct node *new_node(struct memory *m, const void *bytes, size_t count, unsigned mode)
{
	struct node *node = arena_alloc(m->arena, sizeof *node);
	node->id = ++m->next_id;
	node->mode = mode;
	node->mtime_ns = (int64_t)node->id * 1000;
	node->count = count;
	node->bytes = arena_alloc(m->arena, count + 1);
	if (count)
		memcpy(node->bytes, bytes, count);
	return node;
}

static int add(struct memory *m, const char *path, struct node *node)
{
	if (!has_parent(m, path))
		return ENOENT;
	if (find(m, path))
		return EEXIST;
	set_name(m, path, node);
	log_event(m, EVENT_ADD, node, path, NULL);
	return 0;
}

/* ---- the table ---- */

#define MEMORY struct memory *m = fs->impl

static int memory_stat(struct fs *fs, const char *path, struct fs_stat *out)
{
	MEMORY;
	const struct node *node = find(m, path);
	if (!node)
		return ENOENT;
	*out = (struct fs_stat){.bytes = node->count,
							.inode = node->id,
							.device = 1,
							.mount = 1,
							.mtime_ns = node->mtime_ns,
							.mode = node->mode,
							.is_directory = node->directory};
	if (other_mount(m, path)) {
		out->mount = 2;
		out->device = m->mount_is_device ? 2 : 1;
	}
	for (size_t i = 0; i < m->count && !node->directory; i++)
		out->links += m->names[i].node == node;
	return 0;
}

static int memory_list(struct fs *fs, const char *path, struct arena *arena, struct strings *names)
{
	MEMORY;
	bool found;
	const struct node *node = find(m, path);
	if (!node)
		return ENOENT;
	if (!node->directory)
		return ENOTDIR;
	const char *prefix = arena_printf(arena, "%s/", path);
	for (size_t i = position(m, prefix, &found); i < m->count && text_starts(m->names[i].path, prefix); i++)
		if (is_in(m->names[i].path, path))
			strings_add(arena, names, arena_strdup(arena, m->names[i].path + strlen(prefix)));
	return 0;
}

static int file_at(const struct memory *m, const char *path, struct node **out)
{
	*out = find(m, path);
	return !*out ? ENOENT : (*out)->directory ? EISDIR : 0;
}

static int memory_read(struct fs *fs, const char *path, struct arena *arena, char **bytes, size_t *count)
{
	MEMORY;
	struct node *node;
	int failed = file_at(m, path, &node);
	if (failed)
		return failed;
	*bytes = arena_strndup(arena, node->bytes, node->count);
	*count = node->count;
	return 0;
}

static int memory_digest(struct fs *fs, const char *path, char hex[SHA256_HEX], uint64_t *bytes)
{
	MEMORY;
	struct node *node;
	int failed = file_at(m, path, &node);
	if (failed)
		return failed;
	sha256_of(node->bytes, node->count, hex);
	if (bytes)
		*bytes = node->count;
	return 0;
}

static int memory_describe(struct fs *fs, const char *path, struct fs_traits *out)
{
	MEMORY;
	(void)path;
	*out = (struct fs_traits){.type = "memory", .name_max = 255, .syncfs = !m->lacks.syncfs, .journal = !m->lacks.journal};
	return 0;
}

static int memory_may_write(struct fs *fs, const char *directory)
{
	(void)fs;
	(void)directory;
	return 0;
}

static int handle_on(struct memory *m, struct node *node, struct fs_file **out)
{
	if (out) {
		*out = arena_alloc(m->arena, sizeof **out);
		(*out)->node = node;
	}
	return 0;
}

static int memory_write(struct fs *fs, const char *path, const void *bytes, size_t count, unsigned mode,
						struct fs_file **keep)
{
	MEMORY;
	struct node *node = new_node(m, bytes, count, mode);
	int failed = add(m, path, node);
	return failed ? failed : handle_on(m, node, keep);
}

static int memory_open(struct fs *fs, const char *path, bool create, struct fs_file **out)
{
	MEMORY;
	struct node *node = find(m, path);
	if (create)
		return memory_write(fs, path, "", 0, 0666, out);
	return node ? handle_on(m, node, out) : ENOENT;
}

static int memory_sync(struct fs *fs, struct fs_file *file)
{
	MEMORY;
	log_event(m, EVENT_SYNC_FILE, file->node, NULL, NULL);
	return 0;
}

static void memory_close(struct fs *fs, struct fs_file *file)
{
	(void)fs;
	(void)file; /* on the arena */
}

static int memory_sync_directory(struct fs *fs, const char *path)
{
	MEMORY;
	const struct node *node = find(m, path);
	if (!node)
		return ENOENT;
	if (m->lacks.directory_sync)
		return EINVAL;
	log_event(m, EVENT_SYNC_DIRECTORY, NULL, path, NULL);
	return 0;
}

static int memory_sync_all(struct fs *fs, struct fs_file *file)
{
	MEMORY;
	(void)file;
	if (m->lacks.syncfs)
		return ENOSYS;
	log_event(m, EVENT_SYNC_ALL, NULL, NULL, NULL);
	return 0;
}

static int memory_make_directory(struct fs *fs, const char *path)
{
	MEMORY;
	if (find(m, path))
		return EEXIST;
	struct node *node = new_node(m, "", 0, 0777);
	node->directory = true;
	return add(m, path, node);
}

static int memory_link(struct fs *fs, const char *from, const char *to)
{
	MEMORY;
	struct node *node;
	int failed = file_at(m, from, &node);
	if (failed)
		return failed;
	if (m->lacks.hard_links)
		return EPERM;
	return other_mount(m, from) != other_mount(m, to) ? EXDEV : add(m, to, node);
}

static int move(struct memory *m, const char *from, const char *to)
{
	struct node *node;
	int failed = file_at(m, from, &node);
	if (failed)
		return failed;
	if (!has_parent(m, to))
		return ENOENT;
	if (other_mount(m, from) != other_mount(m, to))
		return EXDEV;
	const struct node *old = find(m, to);
	if (old == node)
		return 0; /* two names of one file: nothing is done, and that is a success */
	if (old && old->directory)
		return EISDIR;
	drop_name(m, from, node);
	set_name(m, to, node);
	if (m->lacks.journal) {
		log_event(m, EVENT_REMOVE, node, from, NULL);
		log_event(m, EVENT_ADD, node, to, NULL);
	} else {
		log_event(m, EVENT_RENAME, node, from, to);
	}
	return 0;
}

static int memory_rename(struct fs *fs, const char *from, const char *to)
{
	MEMORY;
	return move(m, from, to);
}

static int memory_rename_new(struct fs *fs, const char *from, const char *to)
{
	MEMORY;
	if (m->lacks.rename_new)
		return EINVAL;
	return find(m, to) ? EEXIST : move(m, from, to);
}

static int memory_copy(struct fs *fs, const char *from, const char *to)
{
	MEMORY;
	struct node *node;
	int failed = file_at(m, from, &node);
	return failed ? failed : add(m, to, new_node(m, node->bytes, node->count, node->mode));
}

static int memory_unlink(struct fs *fs, const char *path)
{
	MEMORY;
	struct node *node;
	int failed = file_at(m, path, &node);
	if (failed)
		return failed;
	drop_name(m, path, node);
	log_event(m, EVENT_REMOVE, node, path, NULL);
	return 0;
}

static int memory_remove_directory(struct fs *fs, const char *path)
{
	MEMORY;
	struct node *node = find(m, path);
	if (!node)
		return ENOENT;
	if (!node->directory)
		return ENOTDIR;
	for (size_t i = 0; i < m->count; i++)
		if (is_in(m->names[i].path, path))
			return ENOTEMPTY;
	drop_name(m, path, node);
	log_event(m, EVENT_REMOVE, node, path, NULL);
	return 0;
}

static int memory_chmod(struct fs *fs, const char *path, unsigned mode)
{
	MEMORY;
	struct node *node = find(m, path);
	if (!node)
		return ENOENT;
	node->mode = mode;
	return 0;
}

static int memory_lock(struct fs *fs, const char *path, const char *text, struct fs_lock **out)
{
	MEMORY;
	struct node *node = find(m, path);
	if (!node) {
		int failed = memory_write(fs, path, "", 0, 0666, NULL);
		if (failed)
			return failed;
		node = find(m, path);
	}
	if (m->lacks.locks)
		return ENOLCK;
	if (node->locked)
		return EWOULDBLOCK;
	if (text) {
		node->bytes = arena_strdup(m->arena, text);
		node->count = strlen(text);
	}
	node->locked = true;
	*out = arena_alloc(m->arena, sizeof **out);
	(*out)->node = node;
	return 0;
}

static void memory_unlock(struct fs *fs, struct fs_lock *lock)
{
	(void)fs;
	lock->node->locked = false;
}

static const struct fs_ops memory_ops = {
	.name = "memory",
	.stat = memory_stat,
	.list = memory_list,
	.read = memory_read,
	.digest = memory_digest,
	.describe = memory_describe,
	.may_write = memory_may_write,
	.write = memory_write,
	.open = memory_open,
	.sync = memory_sync,
	.close = memory_close,
	.sync_directory = memory_sync_directory,
	.sync_all = memory_sync_all,
	.make_directory = memory_make_directory,
	.link = memory_link,
	.rename = memory_rename,
	.rename_new = memory_rename_new,
	.copy = memory_copy,
	.unlink = memory_unlink,
	.remove_directory = memory_remove_directory,
	.chmod = memory_chmod,
	.lock = memory_lock,
	.unlock = memory_unlock,
};

struct fs *fs_memory(struct arena *arena, const struct fs_memory_lacks *lacks)
{
	struct memory *m = arena_alloc(arena, sizeof *m);
	m->arena = arena;
	m->next_id = 100;
	if (lacks)
		m->lacks = *lacks;
	m->fs = (struct fs){&memory_ops, m};
	return &m->fs;
}

void fs_memory_mount(struct fs *fs, const char *path, bool device)
{
	MEMORY;
	m->mount = arena_strdup(m->arena, path);
	m->mount_is_device = device;
}

void fs_memory_put(struct fs *fs, const char *path, const char *content)
{
	MEMORY;
	const char *parent = parent_of(m, path), *at = path;
	while ((at = strchr(at, '/')) != NULL && (size_t)(at - path) <= strlen(parent)) {
		const char *level = arena_strndup(m->arena, path, (size_t)(at - path));
		(void)memory_make_directory(fs, level);
		at++;
	}
	struct node *node = new_node(m, content, strlen(content), 0644);
	const struct node *old = find(m, path);
	if (old)
		drop_name(m, path, old);
	set_name(m, path, node);
	log_event(m, EVENT_ADD, node, path, NULL);
	log_event(m, EVENT_SYNC_ALL, NULL, NULL, NULL);
}

/* ---- power cuts ---- */

size_t fs_memory_events(struct fs *fs)
{
	MEMORY;
	return m->event_count;
}

static bool is_change(const struct event *event)
{
	return event->kind == EVENT_ADD || event->kind == EVENT_REMOVE || event->kind == EVENT_RENAME;
}

static bool covers(const struct event *sync, const struct event *change)
{
	if (sync->kind == EVENT_SYNC_ALL)
		return true;
	return sync->kind == EVENT_SYNC_DIRECTORY &&
		   (is_in(change->path, sync->path) || (change->to && is_in(change->to, sync->path)));
}

static bool is_durable(const struct memory *m, size_t change, size_t events)
{
	for (size_t i = change + 1; i < events; i++)
		if (!is_change(&m->events[i]) && covers(&m->events[i], &m->events[change]))
			return true;
	return false;
}

static bool content_is_durable(const struct memory *m, const struct node *node, size_t events)
{
	bool exists = node->directory || node->locked; /* the text of a lock is courtesy */
	for (size_t i = 0; i < events; i++) {
		const struct event *event = &m->events[i];
		if (event->node == node && event->kind == EVENT_SYNC_FILE)
			return true;
		exists = exists || event->node == node;
		if (exists && event->kind == EVENT_SYNC_ALL)
			return true;
	}
	return false;
}

size_t fs_memory_pending(struct fs *fs, size_t events, size_t *pending, size_t room)
{
	MEMORY;
	size_t count = 0;
	for (size_t i = 0; i < events; i++) {
		if (!is_change(&m->events[i]) || is_durable(m, i, events))
			continue;
		if (count < room)
			pending[count] = i;
		count++;
	}
	return count;
}

static void play(struct memory *to, const struct event *event)
{
	switch (event->kind) {
	case EVENT_ADD:
		if (has_parent(to, event->path))
			set_name(to, event->path, event->node);
		break;
	case EVENT_REMOVE:
		drop_name(to, event->path, event->node);
		break;
	case EVENT_RENAME: /* whole or not at all: not at all, where the directory it went to did not survive */
		if (!has_parent(to, event->to))
			break;
		drop_name(to, event->path, event->node);
		set_name(to, event->to, event->node);
		break;
	default:
		break;
	}
}

/* The new tree gets nodes of its own, with the old inode numbers; `copies` maps by number. */
static void copy_nodes(struct memory *to, const struct memory *from, size_t events, bool garbage)
{
	struct node **copies = arena_array(to->arena, from->next_id + 1, sizeof(struct node *));
	for (size_t i = 0; i < to->count; i++) {
		const struct node *old = to->names[i].node;
		if (!copies[old->id]) {
			struct node *copy = arena_alloc(to->arena, sizeof *copy);
			*copy = *old;
			copy->locked = false;
			copy->bytes = arena_strndup(to->arena, old->bytes, old->count);
			if (garbage && !content_is_durable(from, old, events))
				memset(copy->bytes, 0, old->count);
			copies[old->id] = copy;
		}
		to->names[i].node = copies[old->id];
	}
}

struct fs *fs_memory_cut(struct arena *arena, struct fs *fs, size_t events, const bool *survives, bool garbage)
{
	MEMORY;
	struct fs *after = fs_memory(arena, &m->lacks);
	struct memory *to = after->impl;
	to->next_id = m->next_id;
	for (size_t i = 0; i < events; i++)
		if (is_change(&m->events[i]) && (survives[i] || is_durable(m, i, events)))
			play(to, &m->events[i]);
	copy_nodes(to, m, events, garbage);
	/* Names that survived are on the disk now. */
	for (size_t i = 0; i < to->count; i++)
		log_event(to, EVENT_ADD, to->names[i].node, to->names[i].path, NULL);
	log_event(to, EVENT_SYNC_ALL, NULL, NULL, NULL);
	return after;
}
