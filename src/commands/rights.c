/* Rights: registers those of all commands, and checks requests. */
#include "commands/rights.h"

#include "base/stats.h"
#include "commands/client_line.h"
#include "commands/command_keys.h"
#include "commands/script.h"
#include "config/config.h"
#include "net/client.h"
#include "queue/pattern_index.h"
#include "queue/queue_rights.h"

static const struct right_sub subs[] = {
#define SUBCOMMAND(command, name, arity, flags) { #command, #command "|" name, arity, flags },
#include "commands/subcommands.def"
#undef SUBCOMMAND
};

static struct right all_rights[RIGHTS_MAX];
/* The places of queue names in all calls, by command. */
static struct key_range ranges[RIGHTS_MAX];

/* ---- categories ---- */

/* True for the groups of commands whose arguments are queues and jobs. */
static const struct group_category {
    const char *group;
    enum acl_category category;
    bool data;
} groups[] = {
    { "job", CATEGORY_JOB, true },
    { "queue", CATEGORY_QUEUE, true },
    { "list", CATEGORY_LIST, true },
    { "schedule", CATEGORY_SCHEDULE, true },
    { "key", CATEGORY_KEYSPACE, true },
    { "string", CATEGORY_STRING, true },
    { "bitmap", CATEGORY_BITMAP, true },
    { "hash", CATEGORY_HASH, true },
    { "set", CATEGORY_SET, true },
    { "sorted-set", CATEGORY_SORTED_SET, true },
    { "connection", CATEGORY_CONNECTION, false },
    { "transactions", CATEGORY_TRANSACTION, false },
    { "pubsub", CATEGORY_PUBSUB, false },
    { "scripting", CATEGORY_SCRIPTING, false },
};

static unsigned category_bit(bool in, enum acl_category category) {
    return in ? 1u << category : 0;
}

static unsigned rights_group_categories(const char *group, unsigned flags) {
    for (size_t i = 0; i < LENGTH(groups); i++) {
        bool writes = (flags & (CMD_WRITE | CMD_KEYS_WRITE)) != 0;

        if (!slice_is(slice_str(group), groups[i].group))
            continue;
        return category_bit(true, groups[i].category) |
               category_bit(groups[i].data, writes ? CATEGORY_WRITE : CATEGORY_READ);
    }
    return 0;
}

static unsigned rights_categories(const char *group, unsigned flags) {
    return rights_group_categories(group, flags) |
           category_bit(true, flags & CMD_FAST ? CATEGORY_FAST : CATEGORY_SLOW) |
           category_bit(flags & CMD_BLOCKING, CATEGORY_BLOCKING) |
           category_bit(flags & CMD_ADMIN, CATEGORY_ADMIN) |
           category_bit(flags & (CMD_ADMIN | CMD_DANGEROUS), CATEGORY_DANGEROUS);
}

/* A command with subcommands is only slow, as in Redis. Otherwise -@admin would refuse all its subcommands. */
static void rights_add_command(const struct command *cmd) {
    bool family = false;

    for (size_t i = 0; i < LENGTH(subs); i++)
        family = family || slice_is(slice_str(subs[i].command), cmd->name);
    all_rights[cmd->id] = (struct right){
        .name = cmd->name,
        .command = -1,
        .family = family,
        .categories = family ? category_bit(true, CATEGORY_SLOW) : rights_categories(cmd->group, cmd->flags),
    };
    ranges[cmd->id] = command_key_range(cmd);
}

static void note_queue_denial(const struct req *r, struct slice queue);

void rights_init(void) {
    size_t count;
    const struct command *table = command_table(&count);

    queue_rights_init(note_queue_denial);
    for (size_t i = 0; i < count; i++)
        rights_add_command(&table[i]);
    for (size_t i = 0; i < LENGTH(subs); i++) {
        const struct command *cmd = command_lookup(slice_str(subs[i].command));

        all_rights[count + i] = (struct right){
            .name = subs[i].name,
            .command = cmd->id,
            .categories = rights_categories(cmd->group, subs[i].flags),
        };
    }
    rights_register(all_rights, count + LENGTH(subs));
}

const struct right_sub *rights_sub(unsigned right) {
    return right_at(right)->command < 0 ? NULL : &subs[right - (rights_count() - LENGTH(subs))];
}

/* ---- calls ---- */

unsigned rights_needed(const struct command *cmd, int argc, const struct slice *argv) {
    size_t len = strlen(cmd->name) + 1;

    if (!all_rights[cmd->id].family || argc < 2)
        return cmd->id;
    for (unsigned i = 0; i < rights_count(); i++) {
        if (all_rights[i].command == cmd->id && slice_is(argv[1], all_rights[i].name + len))
            return i;
    }
    return cmd->id;
}

/* RPOPLPUSH and its like read the first queue and write the second. */
static unsigned access_of(const struct command *cmd, size_t index) {
    unsigned given = cmd->flags & (CMD_KEYS_READ | CMD_KEYS_WRITE);

    if (cmd->flags & CMD_KEYS_MOVE)
        return index == 0 ? ACL_READ : ACL_WRITE;
    if (given == 0)
        return cmd->flags & CMD_WRITE ? ACL_READ_WRITE : ACL_READ;
    return (given & CMD_KEYS_READ ? ACL_READ : 0u) | (given & CMD_KEYS_WRITE ? ACL_WRITE : 0u);
}

static size_t places_of_keys(const struct command *cmd, int argc, const struct slice *argv, int *places) {
    const struct key_range *range = &ranges[cmd->id];
    size_t count = 0;

    if (range->movable)
        return (size_t)command_find_keys(cmd, argc, argv, places);
    for (int at = 0; (at = key_range_next(range, argc, at)) > 0;)
        places[count++] = at;
    return count;
}

/* Memory for the places of one call. */
static struct {
    struct acl_use *uses;
    int *places;
    size_t cap;
} room;

static void room_for(size_t count) {
    if (count <= room.cap)
        return;
    room.cap = count;
    room.uses = xrealloc(room.uses, count * sizeof *room.uses);
    room.places = xrealloc(room.places, count * sizeof *room.places);
}

/* A pattern of GETJOB matches only queues that the user may read: pattern_use(). */
static bool is_get_pattern(const struct command *cmd, struct slice name) {
    return cmd->handler == cmd_getjob && glob_is_special(name);
}

static void note_queues(const struct command *cmd, struct acl_call *call) {
    size_t count = places_of_keys(cmd, call->argc, call->argv, room.places);

    call->queues = room.uses;
    for (size_t i = 0; i < count; i++)
        if (!is_get_pattern(cmd, call->argv[room.places[i]]))
            room.uses[call->queue_count++] = (struct acl_use){ room.places[i], access_of(cmd, i) };
}

/* No command has both queues and channels. */
static void note_channels(const struct command *cmd, struct acl_call *call) {
    int last = cmd->handler == cmd_publish ? 1 : call->argc - 1;

    for (int at = 1; at <= last; at++)
        room.uses[call->channel_count++].place = at;
    call->channels = room.uses;
    call->channel_patterns = cmd->handler == cmd_psubscribe;
}

/* A script needs the rights of the command that it becomes, and its own. */
struct acl_call rights_call(const struct command *cmd, int argc, const struct slice *argv) {
    struct acl_call call = {
        .right = rights_needed(cmd, argc, argv),
        .always = (cmd->flags & CMD_NOAUTH) != 0,
        .argc = argc,
        .argv = argv,
    };

    room_for((size_t)argc);
    if ((ranges[cmd->id].first != 0 || ranges[cmd->id].movable) && !script_is(cmd))
        note_queues(cmd, &call);
    else if (cmd->handler == cmd_publish || cmd->handler == cmd_subscribe || cmd->handler == cmd_psubscribe)
        note_channels(cmd, &call);
    return call;
}

void rights_describe_denial(const struct user *u, const struct acl_call *call, enum acl_denial why,
                            const struct slice *arg, struct buf *out) {
    const char *kind = why == ACL_DENIED_QUEUE ? "key" : "channel";

    if (why == ACL_DENIED_COMMAND)
        buf_printf(out, "User %s has no permissions to run the '%s' command", u->name,
                   right_at(call->right)->name);
    else if (arg == NULL)
        buf_printf(out, "No permissions to access a %s", kind);
    else
        buf_printf(out, "User %s has no permissions to access the '%.*s' %s", u->name, (int)arg->len,
                   arg->ptr, kind);
}

/* ---- requests ---- */

void rights_note_refusal(const struct client *c, enum acl_log_reason reason, enum acl_log_context context,
                         struct slice object, struct slice user) {
    struct buf line = { 0 };

    if (config.acllog_max_len == 0)
        return;
    client_describe(&line, c);
    acl_log_add(reason, context, object, user, (struct slice){ buf_ptr(&line), buf_len(&line) - 1 });
    buf_free(&line);
}

static enum acl_log_context context_of(const struct req *r, const struct client *c) {
    return c->multi != NULL || r->exec != NULL ? ACL_LOG_MULTI
           : script_is(r->cmd)                 ? ACL_LOG_SCRIPT
                                               : ACL_LOG_TOPLEVEL;
}

/* Counts the refusal of a queue that the command found in an option or in a row. ACL LOG describes the client, so a
 * request without a client is only counted. */
static void note_queue_denial(const struct req *r, struct slice queue) {
    stats.denied_queues++;
    if (r->client != NULL)
        rights_note_refusal(r->client, ACL_LOG_KEY, context_of(r, r->client), queue, user_name(r->user));
}

/* Counts the refusal, and adds it to the log. */
static void note_denial(const struct req *r, const struct client *c, const struct acl_call *call,
                        enum acl_denial why, int place) {
    enum acl_log_reason reason = why == ACL_DENIED_COMMAND ? ACL_LOG_COMMAND
                                 : why == ACL_DENIED_QUEUE ? ACL_LOG_KEY
                                                           : ACL_LOG_CHANNEL;
    struct slice object =
        why == ACL_DENIED_COMMAND ? slice_str(right_at(call->right)->name) : call->argv[place];

    stats.denied_commands += why == ACL_DENIED_COMMAND;
    stats.denied_queues += why == ACL_DENIED_QUEUE;
    stats.denied_channels += why == ACL_DENIED_CHANNEL;
    rights_note_refusal(c, reason, context_of(r, c), object, user_name(c->user));
}

bool rights_allow(struct req *r, const struct client *c, const struct command *cmd, struct buf *denial) {
    struct acl_call call = rights_call(cmd, r->argc, r->argv);
    enum acl_denial why;
    int place;

    r->right = (unsigned short)call.right;
    if (user_may_call(c->user, &call, &why, &place))
        return true;
    note_denial(r, c, &call, why, place);
    rights_describe_denial(c->user, &call, why, NULL, denial);
    return false;
}

bool rights_allow_or_reply(struct req *r, const struct command *cmd) {
    struct buf denial = { 0 };
    bool allowed = rights_allow(r, r->client, cmd, &denial);

    if (!allowed)
        reply_error(r, "NOPERM %s%.*s", script_is(r->cmd) && cmd != r->cmd ? "ACL failure in script: " : "",
                    (int)buf_len(&denial), buf_ptr(&denial));
    buf_free(&denial);
    return allowed;
}
