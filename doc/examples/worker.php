<?php
// A worker with phpredis. PORT, QUEUE and HEARTBEAT (seconds) are environment variables.
$stopping = false;
$running = null; // the ID and token of the job that runs
$cancelled = false;
$beats = null;   // the connection of the heartbeat

function setting($name, $default)
{
    return getenv($name) === false ? $default : getenv($name);
}

function connect()
{
    $redis = new Redis();
    $redis->connect('127.0.0.1', (int)setting('PORT', 7711));
    $redis->setOption(Redis::OPT_READ_TIMEOUT, 15);
    return $redis;
}

// Sends a command, again and again while the server is away. phpredis gives an error -ERR as false.
function call(&$redis, ...$command)
{
    global $stopping;
    while (true) {
        try {
            $redis = $redis ?? connect();
            return $redis->rawCommand(...$command);
        } catch (RedisException $e) {
            if ($stopping || str_starts_with($e->getMessage(), 'STALE'))
                throw $e;
            $redis = null;
            sleep(1);
        }
    }
}

// Your code. Here the body is the number of seconds that the work takes. A signal interrupts sleep().
function work($body)
{
    echo "start $body\n";
    if (!is_numeric($body))
        throw new Exception("not a number: $body");
    $end = microtime(true) + $body;
    while (microtime(true) < $end) {
        if ($GLOBALS['cancelled'])
            throw new Exception('cancelled');
        usleep(50000);
    }
    echo "done $body\n";
}

function run(&$redis, $job)
{
    global $running, $cancelled, $heartbeat;
    [, $id, $body, , $nacks, , , $token] = $job;
    $running = "$id:$token";
    $cancelled = false;
    pcntl_alarm($heartbeat);
    try {
        work($body);
        $end = ['ACKJOB', $running];
    } catch (Exception $e) {
        $end = ['NACK', 'DELAY', min(2 ** $nacks, 3600), 'ERROR', $e->getMessage(), $running];
    }
    pcntl_alarm(0);
    try {
        call($redis, ...$end);
    } catch (RedisException $e) { // STALE: another worker has the job now
        echo 'end of the job: ', $e->getMessage(), "\n";
    }
}

// Renews the lease of the job that runs, and sets the next alarm. CANCELLED: the work must stop.
function heartbeat()
{
    global $beats, $running, $cancelled, $heartbeat;
    try {
        $beats = $beats ?? connect();
        $beats->rawCommand('WORKING', $running);
    } catch (RedisException $e) { // STALE: another worker has the job now
        echo 'heartbeat: ', $e->getMessage(), "\n";
        $cancelled = str_starts_with($e->getMessage(), 'CANCELLED');
        $beats = null;
    }
    pcntl_alarm($heartbeat);
}

$heartbeat = (int)setting('HEARTBEAT', 20);
pcntl_async_signals(true);
pcntl_signal(SIGTERM, function () use (&$stopping) { $stopping = true; });
pcntl_signal(SIGALRM, 'heartbeat');
$redis = null;
while (!$stopping) {
    $jobs = call($redis, 'GETJOB', 'TIMEOUT', 2000, 'WITHCOUNTERS', 'WITHTOKENS', 'FROM', setting('QUEUE', 'emails'));
    foreach ($jobs ?: [] as $job)
        run($redis, $job);
}
