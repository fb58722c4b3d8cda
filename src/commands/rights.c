/* Rights: registers those of all commands, and checks requests. */
#include "commands/rights.h"

#include "commands/command_keys.h"
#include "commands/script.h"

struct sub {
    const char *command;
    const char *name;
    unsigned flags;
};

static const struct sub subs[] = {
#define SUBCOMMAND(command, name, flags) { #command, #command "|" name, flags },
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

void rights_init(void) {
    size_t count;
    const struct command *table = command_table(&count);

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
    int last = range->last < 0 ? argc + range->last : range->last;
    size_t count = 0;

    if (range->movable)
        return (size_t)command_find_keys(cmd, argc, argv, places);
    for (int at = range->first; at > 0 && at <= last && at < argc; at++)
        places[count++] = at;
    return count;
}

/* A script needs the rights of the command that it becomes. */
static void note_queues(struct req *r, const struct command *cmd, struct acl_call *call) {
    struct acl_use *uses = req_alloc(r, (size_t)call->argc * sizeof *uses);
    int *places = req_alloc(r, (size_t)call->argc * sizeof *places);

    call->queues = uses;
    call->queue_count = places_of_keys(cmd, call->argc, call->argv, places);
    for (size_t i = 0; i < call->queue_count; i++)
        uses[i] = (struct acl_use){ places[i], access_of(cmd, i) };
}

static void note_channels(struct req *r, const struct command *cmd, struct acl_call *call) {
    struct acl_use *uses;
    int last = cmd->handler == cmd_publish ? 1 : call->argc - 1;

    if (cmd->handler != cmd_publish && cmd->handler != cmd_subscribe && cmd->handler != cmd_psubscribe)
        return;
    uses = req_alloc(r, (size_t)call->argc * sizeof *uses);
    for (int at = 1; at <= last; at++)
        uses[call->channel_count++].place = at;
    call->channels = uses;
    call->channel_patterns = cmd->handler == cmd_psubscribe;
}

struct acl_call rights_call(struct req *r, const struct command *cmd, int argc, const struct slice *argv) {
    struct acl_call call = {
        .right = rights_needed(cmd, argc, argv),
        .always = (cmd->flags & CMD_NOAUTH) != 0,
        .argc = argc,
        .argv = argv,
    };

    if ((ranges[cmd->id].first != 0 || ranges[cmd->id].movable) && !script_is(cmd))
        note_queues(r, cmd, &call);
    note_channels(r, cmd, &call);
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

static void reply_denial(struct req *r, const struct acl_call *call, enum acl_denial why) {
    struct buf text = { 0 };

    rights_describe_denial(r->user, call, why, NULL, &text);
    reply_error(r, "NOPERM %.*s", (int)buf_len(&text), buf_ptr(&text));
    buf_free(&text);
}

bool rights_allow_or_reply(struct req *r, const struct command *cmd) {
    struct acl_call call = rights_call(r, cmd, r->argc, r->argv);
    enum acl_denial why;
    int place;

    r->right = (unsigned short)call.right;
    if (user_may_call(r->user, &call, &why, &place))
        return true;
    reply_denial(r, &call, why);
    return false;
}
