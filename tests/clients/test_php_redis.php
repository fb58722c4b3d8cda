<?php
// phpredis makes a status "true", so that IDs are asked for as bulks.
$redis = new Redis();
$redis->connect('127.0.0.1', (int)getenv('PORT'));
$failed = 0;

function check($good, $what)
{
    global $failed;
    echo $good ? 'ok' : 'not ok', " phpredis: $what\n";
    $failed = $good ? $failed : 1;
}

function call(...$words)
{
    global $redis;
    return $redis->rawCommand(...$words);
}

check(call('CLIENT', 'JOB-ID-REPLY', 'BULK') === true, 'IDs as bulks');
$bytes = implode('', array_map('chr', range(0, 255)));
$id = call('ADDJOB', 'php', $bytes, 0, 'RETRY', 7);
$job = call('GETJOB', 'FROM', 'php')[0];
check(str_starts_with($id, 'D-') && $job[1] === $id && $job[2] === $bytes, 'every byte comes back');
check(call('ACKJOB', $id) === 1 && call('ACKJOB', $id) === 0, 'a job is acknowledged once');
check(!call('GETJOB', 'NOHANG', 'FROM', 'php'), 'nothing is nothing');

$pipeline = $redis->pipeline();
for ($i = 0; $i < 100; $i++)
    $pipeline->rawCommand('ADDJOB', 'php', $i, 0);
$ids = $pipeline->exec();
$jobs = call('GETJOB', 'COUNT', 100, 'FROM', 'php');
check(count($ids) === 100 && array_column($jobs, 1) === $ids, 'a pipeline is answered in order');
check(call('ACKJOB', ...$ids) === 100, 'a hundred are acknowledged at once');

try {
    call('SHOW', 'foo');
    $error = '';
} catch (RedisException $e) {
    $error = $e->getMessage();
}
check(str_starts_with($error, 'BADID Invalid Job ID format'), 'an error is thrown');

$redis->multi();
$redis->rawCommand('ADDJOB', 'php', 'x', 0);
$redis->rawCommand('QLEN', 'php');
$replies = $redis->exec();
check($replies[1] === 1, 'a transaction');

$redis->lPush('php-list', 1, 2, 3);
check($redis->lLen('php-list') === 3 && $redis->type('php-list') === Redis::REDIS_LIST, 'a list has a length');
check($redis->lRange('php-list', 0, -1) === ['3', '2', '1'], 'a list is read');
check($redis->brPop(['php-list'], 1) === ['php-list', '1'], 'a list is popped');
check(call('GETJOB', 'TIMEOUT', 1000, 'FROM', 'php-list')[0][2] === '2', 'a list is a queue');
exit($failed);
