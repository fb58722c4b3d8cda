<?php
// Laravel's queue `redis` with phpredis and with Predis: what pushes works, and everything else raises.
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

function queue_of($client)
{
    $container = new Illuminate\Container\Container();
    Illuminate\Container\Container::setInstance($container);
    // After an error in a transaction phpredis waits for one reply too many, also with Redis.
    $server = ['host' => '127.0.0.1', 'port' => (int)getenv('PORT'), 'password' => null, 'database' => 0,
               'read_timeout' => 10];
    $container->instance('redis', new Illuminate\Redis\RedisManager($container, $client, ['default' => $server]));
    $manager = new Illuminate\Queue\Capsule\Manager($container);
    $manager->addConnection(['driver' => 'redis', 'connection' => 'default', 'queue' => "laravel-$client"]);
    return $manager->getConnection();
}

function test($name)
{
    global $client, $redis;
    $client = $name;
    $queue = queue_of($name);
    $connection = $queue->getConnection();
    $list = "queues:laravel-$name";

    $id = $queue->push('Job', ['number' => 1]);
    $body = json_decode($redis->lIndex($list, 0), true);
    check($body['id'] === $id && $body['data'] === ['number' => 1], 'push() adds a job');
    $queue->bulk(['Job', 'Job']);
    check($queue->size() === 3 && $redis->lLen($list) === 3, 'bulk() adds jobs, and size() counts them');

    refused(fn() => $queue->later(5, 'Job'), 'later()');
    refused(fn() => $queue->pop(), 'pop()');
    refused(fn() => $queue->clear("laravel-$name"), 'clear()');
    refused(fn() => $connection->get('key'), 'get()');
    refused(fn() => $connection->set('key', 'value'), 'set()');
    refused(fn() => $connection->zrem("$list:reserved", 'body'), 'zrem()');

    $message = raised(fn() => $connection->transaction(function ($t) use ($list) {
        $t->rpush($list, 'body');
        $t->zadd("$list:delayed", 5, 'body');
    }));
    // exec() of phpredis 6 returns false.
    $raises = $name !== 'phpredis' || version_compare(phpversion('redis'), '6', '<');
    check(($message !== '' || !$raises) && $redis->lLen($list) === 3,
          'a transaction with a refused command' . ($raises ? ' raises and' : '') . ' does nothing');
    $queue->push('Job');
    check($redis->lLen($list) === 4, 'the connection is out of the transaction');

    refused(fn() => $connection->pipeline(function ($p) use ($list) {
        $p->rpush($list, 'body');
        $p->zadd("$list:delayed", 5, 'body');
        $p->rpush($list, 'body');
    }), 'a pipeline with a refused command');
    // Predis disconnects. The server may run the last command later, or not at all.
    check($connection->echo('here') === 'here', 'the next reply is that of the next command');
    check($connection->del($list) === 1, 'the queue is empty again');
}

test('phpredis');
if (class_exists('Predis\Client'))
    test('predis');
else
    echo "skipped: Predis is not installed (php-nrk-predis)\n";
exit($failed);
