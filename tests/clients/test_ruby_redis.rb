#!/usr/bin/ruby
# redis-rb of Debian: unknown commands go through call.
require 'redis'

redis = Redis.new(host: '127.0.0.1', port: ENV['PORT'].to_i, reconnect_attempts: 0)
$failed = 0

def check(good, what)
  puts "#{good ? 'ok' : 'not ok'} redis-rb: #{what}"
  $failed = 1 unless good
end

bytes = (0..255).to_a.pack('C*')
id = redis.call([:addjob, 'ruby', bytes, 0, 'RETRY', 7])
job = redis.call([:getjob, 'FROM', 'ruby'])[0]
check(id.start_with?('D-') && job[1] == id && job[2].b == bytes, 'every byte comes back')
check(redis.call([:ackjob, id]) == 1 && redis.call([:ackjob, id]).zero?, 'a job is acknowledged once')
check(redis.call([:getjob, 'NOHANG', 'FROM', 'ruby']).nil?, 'nothing is nil')

ids = redis.pipelined { |p| 100.times { |i| p.call([:addjob, 'ruby', i, 0]) } }
jobs = redis.call([:getjob, 'COUNT', 100, 'FROM', 'ruby'])
check(ids.size == 100 && jobs.map { |j| j[1] } == ids, 'a pipeline is answered in order')
check(redis.call([:ackjob, *ids]) == 100, 'a hundred are acknowledged at once')

begin
  redis.call([:show, 'foo'])
  check(false, 'an error is an error')
rescue Redis::CommandError => e
  check(e.message.start_with?('BADID Invalid Job ID format'), 'an error is an error')
end

replies = redis.multi do |t|
  t.call([:addjob, 'ruby', 'x', 0])
  t.call([:qlen, 'ruby'])
end
check(replies[1] == 1, 'a transaction')

redis.lpush('ruby-list', [1, 2, 3])
check(redis.llen('ruby-list') == 3 && redis.type('ruby-list') == 'list', 'a list has a length')
check(redis.lrange('ruby-list', 0, -1) == %w[3 2 1], 'a list is read')
check(redis.brpop('ruby-list', timeout: 1) == %w[ruby-list 1], 'a list is popped')
check(redis.call([:getjob, 'FROM', 'ruby-list'])[0][2] == '2', 'a list is a queue')

# The worker of doc/migrating.md, with classes of an application. The first job is done, the second fails.
lines = File.read("#{__dir__}/../../doc/migrating.md")[/^    # Ruby: Sidekiq, Resque\n(?:    .*\n|\n(?=    ))*/]
lines = lines.sub('7711', ENV['PORT']).sub('"default", "mail"', '"ruby-default", "ruby-mail"')
classes = "class Good; def perform(n); end; end\nclass Bad; def perform(n); raise 'no number'; end; end\n"
good = redis.call([:addjob, 'ruby-default', '{"class":"Good","args":[1]}', 0])
bad = redis.call([:addjob, 'ruby-mail', '{"class":"Bad","args":[1]}', 0, 'BACKOFF', 1000])
worker = spawn('ruby', '-e', classes + lines)
ends_at = Time.now + 60
sleep 0.05 until Time.now > ends_at || (redis.call([:show, good]).nil? && Hash[*redis.call([:show, bad])]['nacks'] == 1)
check(redis.call([:show, good]).nil?, 'the worker of the page acknowledges a job')
check(Hash[*redis.call([:show, bad])]['error'] == 'no number', 'the worker of the page returns a job that fails')
Process.kill(:KILL, worker)
Process.wait(worker)
exit $failed
