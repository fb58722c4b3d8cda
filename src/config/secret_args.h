#ifndef SECRET_ARGS_H
#define SECRET_ARGS_H

/*
 * Other users can read the arguments of a process. Returns a copy of argv, which lives until the process ends, and
 * overwrites the secrets in argv itself by stars: the values of secret options, and the user and password of an
 * address such as redis://user:password@host.
 */
char **secret_args_take(int argc, char **argv);

#endif
