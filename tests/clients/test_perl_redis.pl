#!/usr/bin/perl
# Redis.pm: unknown commands are methods of it.
use strict;
use warnings;
use Redis;

my $redis  = Redis->new(server => "127.0.0.1:$ENV{PORT}", reconnect => 0);
my $bytes  = join '', map { chr } 0 .. 255;
my $failed = 0;

sub check {
    my ($good, $what) = @_;
    print $good ? 'ok' : 'not ok', " Redis.pm: $what\n";
    $failed ||= !$good;
}

my $id   = $redis->addjob('perl', $bytes, 0, 'RETRY', 7);
my $jobs = $redis->getjob('FROM', 'perl');
check($id =~ /^D-/ && $jobs->[0][1] eq $id && $jobs->[0][2] eq $bytes, 'every byte comes back');
check($redis->ackjob($id) == 1 && $redis->ackjob($id) == 0, 'a job is acknowledged once');
check(!defined $redis->getjob('NOHANG', 'FROM', 'perl'), 'nothing is undef');

my @ids;
$redis->addjob('perl', $_, 0, sub { push @ids, $_[0] }) for 1 .. 100;
$redis->wait_all_responses;
$jobs = $redis->getjob('COUNT', 100, 'FROM', 'perl');
check(@ids == 100 && "@ids" eq join(' ', map { $_->[1] } @$jobs), 'a pipeline is answered in order');
check($redis->ackjob(@ids) == 100, 'a hundred are acknowledged at once');

eval { $redis->show('foo') };
check($@ =~ /BADID Invalid Job ID format/, 'an error is an error');

$redis->multi;
$redis->addjob('perl', 'x', 0);
$redis->qlen('perl');
my @replies = $redis->exec;
check(@replies == 2 && $replies[1] == 1, 'a transaction');

$redis->lpush('perl-list', 1 .. 3);
check($redis->llen('perl-list') == 3, 'a list has a length');
check(join(' ', $redis->lrange('perl-list', 0, -1)) eq '3 2 1', 'a list is read');
check(join(' ', $redis->brpop('perl-list', 1)) eq 'perl-list 1', 'a list is popped');
check($redis->getjob('FROM', 'perl-list')->[0][2] eq '2', 'a list is a queue');
exit $failed;
