/* Facts for cppcheck, which does not read system headers. */
#define _Noreturn __attribute__((noreturn))
#define HASH_ITER(hh, head, el, tmp) for ((el) = (head), (tmp) = NULL; (el); (el) = (tmp))
