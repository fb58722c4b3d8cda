<?php
// Laravel's queue `redis` with phpredis and with Predis: all its methods, and workers of Laravel that are killed.
if (!stream_resolve_include_path('Illuminate/Queue/autoload.php')
    || !stream_resolve_include_path('Illuminate/Redis/autoload.php')) {
    echo "skipped: Laravel is not installed (php-illuminate-queue, php-illuminate-redis)\n";
    exit(0);
}
require_once 'Illuminate/Queue/autoload.php';
require_once 'Illuminate/Redis/autoload.php';
if (stream_resolve_include_path('Predis/autoload.php'))
    require_once 'Predis/autoload.php';

$redis = new Redis();
$redis->connect('127.0.0.1', (int)getenv('PORT'));
$failed = 0;

function check($good, $what)
{
    global $failed, $client;
    echo $good ? 'ok' : 'not ok', " laravel with $client: $what\n";
    $failed = $good ? $failed : 1;
}

// The message of the exception; empty when there was none.
function raised($call)
{
    try {
        $call();
    } catch (Exception $e) {
        return $e->getMessage();
    }
    return '';
}

function refused($call, $what)
{
    $message = raised($call);
    check(str_starts_with($message, 'NOTSUPPORTED '), "$what raises" . ($message ? '' : ': it did not'));
}

function queue_of($client, $retry_after)
{
    $container = new Illuminate\Container\Container();
    Illuminate\Container\Container::setInstance($container);
    // After an error in a transaction phpredis waits for one reply too many, also with Redis.
    $server = ['host' => '127.0.0.1', 'port' => (int)getenv('PORT'), 'password' => null, 'database' => 0,
               'read_timeout' => 10];
    $container->instance('redis', new Illuminate\Redis\RedisManager($container, $client, ['default' => $server]));
    $manager = new Illuminate\Queue\Capsule\Manager($container);
    $manager->addConnection(['driver' => 'redis', 'connection' => 'default', 'queue' => "laravel-$client",
                             'retry_after' => $retry_after, 'block_for' => 1]);
    return $manager;
}

// Waits for a condition. The deadline only ends a test that hangs.
function until($condition)
{
    for ($end = microtime(true) + 60; microtime(true) < $end; usleep(20000)) {
        $value = $condition();
        if ($value)
            return $value;
    }
    return false;
}

// The job of the workers: writes a file. The job `stuck` waits for ever in its first attempt.
class Writer
{
    public function fire($job, $data)
    {
        $file = getenv('LARAVEL_FILES') . '/' . $data['name'];
        if ($data['name'] === 'stuck' && $job->attempts() === 1) {
            touch("$file-began");
            sleep(1000);
        }
        if ($data['name'] === 'failing' && $job->attempts() === 1)
            throw new Exception('the first attempt fails');
        // A file must have its content when it gets its name.
        file_put_contents(dirname($file) . "/.{$data['name']}", $job->attempts());
        rename(dirname($file) . "/.{$data['name']}", $file);
        $job->delete();
    }
}

class Events implements Illuminate\Contracts\Events\Dispatcher
{
    public function listen($events, $listener = null) {}
    public function hasListeners($eventName) { return false; }
    public function subscribe($subscriber) {}
    public function until($event, $payload = []) {}
    public function dispatch($event, $payload = [], $halt = false) {}
    public function push($event, $payload = []) {}
    public function flush($event) {}
    public function forget($event) {}
    public function forgetPushed() {}
}

class Failures implements Illuminate\Contracts\Debug\ExceptionHandler
{
    public function report(Throwable $e) { fwrite(STDERR, 'worker: ' . $e->getMessage() . "\n"); }
    public function shouldReport(Throwable $e) { return true; }
    public function render($request, Throwable $e) {}
    public function renderForConsole($output, Throwable $e) {}
}

// The process of a worker.
function work($name)
{
    global $client;
    $client = $name;
    $manager = queue_of($name, 2)->getQueueManager();
    $worker = new Illuminate\Queue\Worker($manager, new Events(), new Failures(), fn() => false);
    $options = new Illuminate\Queue\WorkerOptions();
    $options->sleep = 0.1;
    $options->maxTries = 5;
    $worker->daemon('default', "laravel-$name", $options);
}

function start_worker()
{
    global $client;
    return proc_open([PHP_BINARY, __FILE__, 'worker', $client], [1 => ['file', '/dev/null', 'w']], $pipes);
}

function kill_worker($process)
{
    proc_terminate($process, 9);
    proc_close($process);
}

// Jobs of three workers, one of which is killed in the middle of a job.
function test_workers($queue)
{
    global $client;
    $files = sys_get_temp_dir() . "/laravel-$client";
    mkdir($files);
    putenv("LARAVEL_FILES=$files");
    $queue->push('Writer', ['name' => 'stuck']);
    $first = start_worker();
    check(until(fn() => file_exists("$files/stuck-began")), 'a worker runs a job');
    $workers = [start_worker(), start_worker()];
    for ($i = 0; $i < 100; $i++)
        $i % 4 ? $queue->push('Writer', ['name' => $i]) : $queue->later(1, 'Writer', ['name' => $i]);
    $queue->push('Writer', ['name' => 'failing']);
    kill_worker($first);
    // 100 jobs, and the files of the jobs `failing` and `stuck`, and of the begin of that.
    check(until(fn() => count(glob("$files/*")) === 103), 'all jobs run, also that of the killed worker');
    foreach (['stuck', 'failing'] as $name) {
        $attempts = file_get_contents("$files/$name");
        check($attempts >= 2, "the job `$name` counts its attempts: " . var_export($attempts, true));
    }
    check(until(fn() => $queue->size() === 0), 'no job is left');
    array_map('kill_worker', $workers);
    array_map('unlink', glob("$files/*"));
}


function test($name)
{
    global $client, $redis;
    $client = $name;
    $queue = queue_of($name, 600)->getConnection();
    $hasty = queue_of($name, 2)->getConnection();
    $connection = $queue->getConnection();
    $list = "queues:laravel-$name";

    $id = $queue->push('Job', ['number' => 1]);
    $body = json_decode($redis->lIndex($list, 0), true);
    check($body['id'] === $id && $body['data'] === ['number' => 1], 'push() adds a job');
    $queue->bulk(['Job', 'Job']);
    check($queue->size() === 3 && $redis->lLen($list) === 3, 'bulk() adds jobs, and size() counts them');

    $job = $queue->pop();
    check($job->getJobId() === $id && $job->attempts() === 1 && $queue->size() === 3, 'pop() reserves the first job');
    check($connection->zcard("$list:reserved") === 1, 'the job is reserved');
    $job->release(3600);
    check($queue->size() === 3 && $connection->zcard("$list:delayed") === 1, 'release() delays the job');
    $job->delete();
    check($queue->size() === 3, 'a job that was released is not deleted');
    foreach ([2, 1] as $left) {
        $queue->pop()->delete();
        check($queue->size() === $left, 'delete() removes the job');
    }
    check($queue->pop() === null, 'pop() waits, and finds no job');
    $id = $queue->later(1, 'Job');
    check($connection->zcard("$list:delayed") === 2, 'later() delays a job');
    $job = until(fn() => $hasty->pop());
    check($job->getJobId() === $id, 'pop() waits for a delayed job');
    $again = until(fn() => $queue->pop());
    check($again->getJobId() === $id && $again->attempts() === 2, 'a job returns after retry_after');
    $job->delete();
    check($queue->size() === 2, 'the old reservation does not delete it');
    check($queue->clear("laravel-$name") === 2 && $queue->size() === 0, 'clear() deletes all jobs');

    test_workers($queue);

    refused(fn() => $connection->get('key'), 'get()');
    refused(fn() => $connection->set('key', 'value'), 'set()');
    refused(fn() => $connection->zincrby("$list:reserved", 5, 'body'), 'zincrby()');
    refused(fn() => $connection->zadd("key", 5, 'body'), 'zadd() of another key');

    $message = raised(fn() => $connection->transaction(function ($t) use ($list) {
        $t->rpush($list, 'body');
        $t->zadd("key", 5, 'body');
    }));
    // exec() of phpredis 6 returns false.
    $raises = $name !== 'phpredis' || version_compare(phpversion('redis'), '6', '<');
    check(($message !== '' || !$raises) && $redis->lLen($list) === 0,
          'a transaction with a refused command' . ($raises ? ' raises and' : '') . ' does nothing');
    $queue->push('Job');
    check($redis->lLen($list) === 1, 'the connection is out of the transaction');

    refused(fn() => $connection->pipeline(function ($p) use ($list) {
        $p->rpush($list, 'body');
        $p->zadd("key", 5, 'body');
        $p->rpush($list, 'body');
    }), 'a pipeline with a refused command');
    // Predis disconnects. The server may run the last command later, or not at all.
    check($connection->echo('here') === 'here', 'the next reply is that of the next command');
    check($connection->del($list) === 1, 'the queue is empty again');
}

// A job of an application, and its dispatcher, for the worker of doc/migrating.md.
class JobOfPage
{
    public $fails = false;
}

function app($name)
{
    return new class {
        public function dispatchNow($job) { if ($job->fails) throw new Exception('no number'); }
    };
}

function work_as_page()
{
    preg_match('/^       \$q = null;\n(?:       .*\n)*/m', file_get_contents(__DIR__ . '/../../doc/migrating.md'), $found);
    eval(strtr($found[0], ['7711' => getenv('PORT'), "'default', 'mail'" => "'page-default', 'page-mail'"]));
}

function add_as_laravel($queue, $job)
{
    global $redis;
    $redis->rawCommand('CLIENT', 'JOB-ID-REPLY', 'BULK');
    $body = json_encode(['job' => 'Illuminate\Queue\CallQueuedHandler@call', 'data' => ['command' => serialize($job)]]);
    return $redis->rawCommand('ADDJOB', $queue, $body, '0', 'BACKOFF', '1000');
}

function field_of($id, $name)
{
    global $redis;
    $shown = $redis->rawCommand('SHOW', $id);
    return $shown ? $shown[array_search($name, $shown, true) + 1] : null;
}

function test_page()
{
    global $client;
    $client = 'the page';
    $good = add_as_laravel('page-default', new JobOfPage());
    $bad = new JobOfPage();
    $bad->fails = true;
    $bad = add_as_laravel('page-mail', $bad);
    $process = proc_open([PHP_BINARY, __FILE__, 'page'], [1 => ['file', '/dev/null', 'w']], $pipes);
    until(fn() => field_of($good, 'state') === null && field_of($bad, 'nacks') === 1);
    kill_worker($process);
    check(field_of($good, 'state') === null, 'a job is acknowledged');
    check(field_of($bad, 'error') === 'no number', 'a job that fails is returned');
}

if (($argv[1] ?? '') === 'worker') {
    work($argv[2]);
    exit(0);
}
if (($argv[1] ?? '') === 'page') {
    work_as_page();
    exit(0);
}
test_page();
test('phpredis');
if (class_exists('Predis\Client'))
    test('predis');
else
    echo "skipped: Predis is not installed (php-nrk-predis)\n";
exit($failed);
