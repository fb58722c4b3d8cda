#!/bin/sh
# Lists the missing dependencies of a build, run, test or check, and installs them.
#
#   deps.sh [--name-only] group...       groups: build run test shells clients page systems fault fuzz check bench site deb
#                                                packages container citus
#
# Each dependency is tested by its function, not by its package. Only the installation needs Debian's packages. The
# script does nothing if no dependency is missing.
set -eu

name_only=no
if [ "${1-}" = --name-only ]; then
    name_only=yes
    shift
fi

missing=
packages=

# need <description> <package> <test...>: notes a dependency whose test fails.
need() {
    what=$1 package=$2
    shift 2
    case "$packages " in *" $package "*) return ;; esac
    if ! "$@" >/dev/null 2>&1; then
        missing="$missing  $what\n"
        packages="$packages $package"
    fi
}

# offer <description> <package> <test...>: like need, but only if the distribution has the package. Tests that use the
# dependency are skipped if it is missing.
offer() {
    what=$1 package=$2
    shift 2
    "$@" >/dev/null 2>&1 || ! apt-cache show "$package" >/dev/null 2>&1 || need "$what" "$package" "$@"
}

has_postgres() {
    for dir in "$(pg_config --bindir 2>/dev/null)" /usr/lib/postgresql/*/bin; do
        [ -x "$dir/postgres" ] && [ -x "$dir/initdb" ] && return 0
    done
    command -v postgres && command -v initdb
}

has_header() {
    [ -e "/usr/include/$1" ] || [ -e "/usr/local/include/$1" ]
}

# The files of CHART_JS in the Makefile.
has_chart_js() {
    for file in /usr/share/javascript/chart.js/chart.*.js /usr/share/nodejs/chart.js/dist/chart.*.js; do
        case $file in */chart.min.js | */chart.umd.js) [ ! -e "$file" ] || return 0 ;; esac
    done
    return 1
}

# Tests all libraries with one pkg-config first, because usually all of them are installed.
need_libraries() {
    pkg-config --exists $(printf '%s\n' "$@" | cut -d: -f1) 2>/dev/null && return
    for pair; do
        need "the library ${pair%:*}" "${pair#*:}" pkg-config --exists "${pair%:*}"
    done
}

# The oldest libpq with pipelines; Debian 12 and Ubuntu 22.04 are the first to have it.
oldest_libpq=14

# refuse_old_libpq <version>: if the version is too old, prints the supported systems and ends the script.
refuse_old_libpq() {
    case $1 in '' | *[!0-9.]*) return ;; esac
    [ "${1%%.*}" -lt $oldest_libpq ] || return 0
    echo "The library libpq is version $1 here, and pgdisque needs $oldest_libpq or newer." >&2
    echo "Supported systems: Debian 12 (bookworm) and newer, Ubuntu 22.04 and newer, and others that have it." >&2
    exit 1
}

# The installed version, or else the version that apt would install.
libpq_version() {
    pkg-config --modversion libpq 2>/dev/null ||
        apt-cache policy libpq-dev 2>/dev/null | sed -n 's/^ *Candidate: \([0-9.]*\).*/\1/p'
}

# For the build of Citus.
has_server_headers() {
    [ -e "$(pg_config --includedir-server)/postgres.h" ]
}

group_citus() {
    group_run
    need "the headers of Postgres' server" postgresql-server-dev-all has_server_headers
    need flex flex command -v flex
    need bison bison command -v bison
    need "the library lz4" liblz4-dev has_header lz4.h
    need "the library zstd" libzstd-dev has_header zstd.h
    need "the library krb5" libkrb5-dev has_header krb5.h
}

group_build() {
    need "a C compiler" gcc command -v "${CC:-cc}"
    need "the C library's headers" libc6-dev has_header stdlib.h
    need make make command -v make
    need pkg-config pkg-config command -v pkg-config
    need_libraries libpq:libpq-dev libevent_core:libevent-dev libevent_extra:libevent-dev libsodium:libsodium-dev \
        hiredis:libhiredis-dev jansson:libjansson-dev libssl:libssl-dev libcrypto:libssl-dev
    need "the header uthash.h" uthash-dev has_header uthash.h
    # Without Debian's packages the page works without charts.
    ! command -v apt-get >/dev/null || need "Chart.js" libjs-chart.js has_chart_js
}

group_run() {
    group_build
    need "a Postgres server" postgres-server has_postgres
    need redis-cli redis-tools command -v redis-cli
}

group_test() {
    group_run
    need_libraries cmocka:libcmocka-dev
    need "Python 3" python3 command -v python3
    need curl curl command -v curl
    need "redis for Python" python3-redis /usr/bin/python3 -c 'import redis'
    need "Celery for Python" python3-celery /usr/bin/python3 -c 'import celery'
    need "RQ for Python" python3-rq /usr/bin/python3 -c 'import rq'
    need "Redis for Perl" libredis-perl perl -MRedis -e 1
    need "redis for Ruby" ruby-redis ruby -rredis -e 1
    need "redis for PHP" php-redis php -r 'new Redis();'
    need PHP php-cli command -v php
    offer "Laravel's queues" php-illuminate-queue has_php Illuminate/Queue/autoload.php
    offer "Laravel's Redis" php-illuminate-redis has_php Illuminate/Redis/autoload.php
    offer "Predis for PHP" php-nrk-predis has_php Predis/autoload.php
    offer "Rack for Ruby" ruby-rack ruby -e 'require "rack/mock"'
    offer Sidekiq ruby-sidekiq ruby -e 'Gem::Specification.find_by_name("sidekiq")'
    need PgBouncer pgbouncer has_pgbouncer
    need "a Redis server" redis-server has_redis
}

# tests/clients and tests/docs skip the libraries for Node.js if Node.js or npm is missing, and the languages below.
# tests/clients skips Prometheus if it is missing.
group_clients() {
    group_test
    need Node.js nodejs command -v node
    need npm npm command -v npm
    need Go golang-go command -v go
    need "redigo for Go" golang-github-gomodule-redigo-dev has_go_source github.com/gomodule/redigo
    need "Java with a compiler" default-jdk-headless command -v javac
    need Prometheus prometheus command -v prometheus
}

has_go_source() {
    [ -d "/usr/share/gocode/src/$1" ]
}

has_mkdocs_theme() {
    /usr/bin/python3 -c 'import sys, mkdocs.utils; sys.exit(sys.argv[1] not in mkdocs.utils.get_theme_names())' "$1"
}

# make site
group_site() {
    need MkDocs mkdocs command -v mkdocs
    need "its theme Material" mkdocs-material has_mkdocs_theme material
}

has_chromium() {
    command -v chromium-headless-shell || command -v chromium
}

# tests/page is skipped if Node.js, npm or Chromium is missing.
group_page() {
    group_run
    need "Python 3" python3 command -v python3
    need Node.js nodejs command -v node
    need npm npm command -v npm
    need Chromium chromium-headless-shell has_chromium
}

# The tests of the completion and of the manual are skipped if these are missing.
group_shells() {
    offer zsh zsh command -v zsh
    offer fish fish command -v fish
    offer "groff for manual pages" groff-base command -v groff
    offer mandoc mandoc command -v mandoc
}

has_pgbouncer() {
    [ -x /usr/sbin/pgbouncer ] || command -v pgbouncer
}

has_php() {
    php -r 'exit(stream_resolve_include_path($argv[1]) ? 0 : 1);' "$1"
}

has_redis() {
    command -v redis-server || command -v valkey-server
}

has_faketime() {
    ls /usr/lib/*/faketime/libfaketimeMT.so.1
}

group_fault() {
    group_run
    need "Python 3" python3 command -v python3
    need libfaketime libfaketime has_faketime
    need "the command ip" iproute2 command -v ip
}

has_libfuzzer() {
    printf 'int LLVMFuzzerTestOneInput(void) { return 0; }' |
        clang -fsanitize=fuzzer,address,undefined -x c -o /dev/null -
}

group_fuzz() {
    group_build
    need clang clang command -v clang
    need "libFuzzer for clang" libclang-rt-14-dev has_libfuzzer
}

group_bench() {
    group_run
    need "Python 3" python3 command -v python3
    need "a Redis server" redis-server has_redis
    need beanstalkd beanstalkd command -v beanstalkd
    need Node.js nodejs command -v node
    need npm npm command -v npm
    need gnuplot gnuplot-nox command -v gnuplot
}

group_deb() {
    group_build
    need debhelper debhelper command -v dh
    need dpkg-buildpackage dpkg-dev command -v dpkg-buildpackage
}

group_packages() {
    group_deb
    group_systems
    need lintian lintian command -v lintian
    need systemd-nspawn systemd-container command -v systemd-nspawn
    need Node.js nodejs command -v node
    need npm npm command -v npm
}

group_container() {
    group_systems
    need buildah buildah command -v buildah
    need podman podman command -v podman
    need runc runc command -v runc
    need redis-cli redis-tools command -v redis-cli
}

group_systems() {
    need debootstrap debootstrap command -v debootstrap
}

group_check() {
    group_run
    need clang-format clang-format command -v clang-format
    need cppcheck cppcheck command -v cppcheck
    offer promtool prometheus command -v promtool
}

refuse_old_libpq "$(libpq_version)"
for group; do
    "group_$group"
done
[ -n "$missing" ] || exit 0
packages=$(printf '%s\n' $packages | sort -u | tr '\n' ' ')

# Sets install to the command for the packages. If apt's lists name the newest Postgres server, its package is used
# instead of the package postgresql, which only depends on it.
resolve() {
    server=$(apt-cache depends postgresql 2>/dev/null | sed -n 's/.*Depends: \(postgresql-[0-9]*\)$/\1/p' | head -n 1)
    wanted=$(echo "$packages" | sed "s/postgres-server/${server:-postgresql}/")
    install="apt-get install -y --no-install-recommends $wanted"
}

printf 'Missing:\n%b' "$missing"
if ! command -v apt-get >/dev/null; then
    echo "Please install these; there is no apt-get here that could do it." >&2
    exit 1
fi
resolve

# Prints how to install by hand. Debian's packages start the servers that they install; this script does not.
advise() {
    echo "As root, run  $0 $*  which installs them and starts no server," >&2
    echo "or  apt-get update && $install" >&2
    exit 1
}
root=
[ "$(id -u)" = 0 ] || root=sudo
[ "$name_only" = no ] || advise "$@"
[ -z "$root" ] || command -v sudo >/dev/null || advise "$@"

# Debian's server package makes and starts a cluster at its first installation. This file prevents it, because pgdisque
# starts its own Postgres. An existing cluster stays unchanged.
no_cluster=/etc/postgresql-common/createcluster.d/pgdisque.conf
# This file prevents that Debian starts the other servers after their installation.
no_start=/usr/sbin/policy-rc.d
made=
trap '[ -z "$made" ] || $root rm -f $made' EXIT
case $packages in
*postgres-server*)
    $root mkdir -p "${no_cluster%/*}"
    echo 'create_main_cluster = false' | $root tee "$no_cluster" >/dev/null
    made=$no_cluster
    ;;
esac
case $packages in
*redis-server* | *beanstalkd* | *pgbouncer* | *prometheus*)
    if [ ! -e $no_start ]; then
        printf '#!/bin/sh\nexit 101\n' | $root tee $no_start >/dev/null
        $root chmod 755 $no_start
        made="$made $no_start"
    fi
    ;;
esac

update() {
    $root apt-get update -q >/dev/null
    refuse_old_libpq "$(libpq_version)"
    resolve
}

try_install() {
    $root env DEBIAN_FRONTEND=noninteractive $install </dev/null >/dev/null
}

# The lists of a fresh image are empty, and old lists name versions that the mirror no longer has.
$install --simulate >/dev/null 2>&1 || update
echo "Installing: ${root:+$root }$install"
try_install || { update && try_install; }
