/*
 * aicpu-run --script: commands for a card without queues, one a line.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * For tests of the firmware: what the host library asks of it, in any order.
 * Every command prints a line that says how it ended.
 */
#include "qemu/osdep.h"
#include "qemu/cutils.h"
#include "run-card.h"

typedef struct Script {
    RunCard *rc;
    GHashTable *loaded;          /* name to a350_load_param */
    unsigned first;              /* launch that "wait" begins with */
    const char *file;
    unsigned line;
} Script;

static bool bad(Script *s, const char *what, const char *arg)
{
    fprintf(stderr, "aicpu-run: %s:%u: %s '%s'\n", s->file, s->line, what,
            arg ? arg : "");
    return false;
}

static void answer(const char *what, const char *name, uint32_t status,
                   const char *message)
{
    printf("%s %s: status %u%s%s\n", what, name, status, *message ? ": " : "",
           message);
}

/* The kernelSo string of a library. */
static const char *library(Script *s, const char *name)
{
    a350_load_param *p = g_hash_table_lookup(s->loaded, name);

    if (strcmp(name, ".") == 0) {
        return A350_BUILTIN_SO;
    }
    return p ? p->path : g_str_has_prefix(name, "rom/") ? name + 4 : name;
}

static bool do_load(Script *s, char **arg)
{
    a350_load_param *p = g_new0(a350_load_param, 1);

    if (!run_load_files(s->rc, arg[2], p)) {
        g_free(p);
        return false;
    }
    answer("load", arg[1], p->status, p->message);
    g_hash_table_replace(s->loaded, g_strdup(arg[1]), p);
    return true;
}

static bool do_unload(Script *s, char **arg)
{
    a350_load_param *lib = g_hash_table_lookup(s->loaded, arg[1]);
    a350_unload_param p = { 0 };

    if (lib) {
        p.id = lib->id;
    } else if (qemu_strtoui(arg[1], NULL, 0, &p.id)) {
        p.id = 0;
    }
    if (!run_builtin(s->rc, A350_BUILTIN_UNLOAD, &p, sizeof(p))) {
        return false;
    }
    answer("unload", arg[1], p.status, p.message);
    return true;
}

static bool do_lookup(Script *s, char **arg)
{
    a350_lookup_param p = { 0 };

    g_strlcpy(p.path, library(s, arg[1]), sizeof(p.path));
    g_strlcpy(p.function, arg[2], sizeof(p.function));
    if (!run_builtin(s->rc, A350_BUILTIN_LOOKUP, &p, sizeof(p))) {
        return false;
    }
    answer("lookup", arg[2], p.status, p.message);
    return true;
}

static bool do_stats(Script *s)
{
    a350_stats_param p = { 0 };

    if (!run_builtin(s->rc, A350_BUILTIN_STATS, &p, sizeof(p))) {
        return false;
    }
    printf("stats: version %s, heap %" PRIu64 " of %" PRIu64 " KiB, launches %"
           PRIu64 ", failures %" PRIu64 ", loaded %u, cores %u\n", p.version,
           p.heap_used / 1024, p.heap_size / 1024, p.launches, p.failures,
           p.loaded, p.cores);
    return true;
}

static bool launch_option(Script *s, RunLaunch *l, GByteArray *args,
                          const char *opt)
{
    const char *val = strchr(opt, '=');
    unsigned id, dim;

    val = val ? val + 1 : "";
    if (g_str_has_prefix(opt, "args=")) {
        g_autofree char *hex = g_strdup_printf("%s%s", *val == '@' ? "" : "=",
                                               *val == '@' ? val + 1 : val);
        return run_parse_args(s->rc, hex, args);
    }
    if (g_str_has_prefix(opt, "block=") && sscanf(val, "%u/%u", &id,
                                                  &dim) == 2) {
        l->blk_id = id;
        l->blk_dim = dim;
    } else if (g_str_has_prefix(opt, "type=")) {
        l->type = atoi(val);
    } else if (g_str_has_prefix(opt, "limit=")) {
        l->limit = atof(val);
    } else {
        return bad(s, "unknown option", opt);
    }
    return true;
}

static bool do_start(Script *s, char **arg)
{
    g_autoptr(GByteArray) args = g_byte_array_new();
    RunLaunch *l = run_new_launch(s->rc);
    a350_launch_result *res;
    void *block;
    unsigned i;

    l->spec = g_strdup_printf("%s %s", arg[1], arg[2]);
    l->function = g_strdup(arg[2]);
    for (i = 3; arg[i]; i++) {
        if (!launch_option(s, l, args, arg[i])) {
            return false;
        }
    }
    l->so = run_hbm_string(s->rc, library(s, arg[1]));
    l->func = run_hbm_string(s->rc, arg[2]);
    l->args = run_hbm_args(s->rc, args->data, args->len, &res, &block);
    l->result = res;
    run_post(s->rc, l);
    return true;
}

static bool do_wait(Script *s)
{
    for (; s->first < s->rc->num_launches; s->first++) {
        RunLaunch *l = &s->rc->launch[s->first];

        if (!l->spec) {
            continue;            /* a built-in of another command */
        }
        if (!run_wait(s->rc, l)) {
            return false;
        }
        run_report(s->rc, l);
    }
    return true;
}

static bool run_line(Script *s, char **arg)
{
    static const struct {
        const char *name;
        unsigned args;
        bool (*fn)(Script *s, char **arg);
    } cmd[] = {
        { "load", 3, do_load }, { "unload", 2, do_unload },
        { "lookup", 3, do_lookup }, { "start", 3, do_start },
        { "run", 3, do_start },
    };
    unsigned i, n = g_strv_length(arg);

    if (strcmp(arg[0], "stats") == 0) {
        return do_stats(s);
    }
    if (strcmp(arg[0], "wait") == 0) {
        return do_wait(s);
    }
    for (i = 0; i < ARRAY_SIZE(cmd); i++) {
        if (strcmp(arg[0], cmd[i].name) == 0) {
            if (n < cmd[i].args) {
                return bad(s, "too few arguments for", arg[0]);
            }
            return cmd[i].fn(s, arg) &&
                   (strcmp(arg[0], "run") != 0 || do_wait(s));
        }
    }
    return bad(s, "unknown command", arg[0]);
}

int run_script(RunCard *rc, const char *path)
{
    g_autofree char *text = NULL;
    g_auto(GStrv) line = NULL;
    Script s = { .rc = rc, .file = path };
    bool ok = true;
    unsigned i;

    if (!g_file_get_contents(strcmp(path, "-") ? path : "/dev/stdin", &text,
                             NULL, NULL)) {
        fprintf(stderr, "aicpu-run: cannot read '%s'\n", path);
        return RUN_USAGE;
    }
    s.loaded = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    s.first = rc->num_launches;
    line = g_strsplit(text, "\n", -1);
    for (i = 0; line[i] && ok; i++) {
        g_auto(GStrv) arg = g_strsplit_set(g_strstrip(line[i]), " \t", -1);

        s.line = i + 1;
        if (arg[0] && *arg[0] && *arg[0] != '#') {
            ok = run_line(&s, arg);
            fflush(stdout);
        }
    }
    ok = ok && do_wait(&s);
    g_hash_table_destroy(s.loaded);
    return ok ? RUN_OK : RUN_FAILED;
}
