#!/usr/bin/ruby
# Sidekiq as a producer: jobs for now are queued once, everything else raises before anything is queued.
begin
  require 'sidekiq'
  require 'sidekiq/api'
rescue LoadError
  puts 'skipped: Sidekiq is not installed (ruby-sidekiq)'
  exit 0
end

Sidekiq.configure_client { |c| c.redis = { url: "redis://127.0.0.1:#{ENV['PORT']}", size: 2 } }
Redis.silence_deprecations = true if defined?(Redis) && Redis.respond_to?(:silence_deprecations=)
$failed = 0

class Job
  include Sidekiq::Worker
  sidekiq_options queue: 'sidekiq-test'
end

def check(good, what)
  puts "#{good ? 'ok' : 'not ok'} sidekiq: #{what}"
  $failed = 1 unless good
end

def raised
  yield
  ''
rescue StandardError => e
  e.message
end

def refused(what, &call)
  message = raised(&call)
  check(message.start_with?('NOTSUPPORTED '), "#{what} raises#{': ' + message unless message.start_with?('NOT')}")
end

def length
  Sidekiq.redis { |r| r.llen('queue:sidekiq-test') }
end

id = Job.perform_async(1)
job = Sidekiq::Queue.new('sidekiq-test').first
check(length == 1 && job.jid == id && job.args == [1], 'perform_async adds a job')
Sidekiq::Client.push_bulk('class' => Job, 'args' => [[2], [3]])
check(length == 3, 'push_bulk adds jobs')

refused('perform_in') { Job.perform_in(5, 4) }
refused('the list of all queues') { Sidekiq::Queue.all }
refused('Stats') { Sidekiq::Stats.new }
check(length == 3, 'a refused call adds nothing')

added = Sidekiq.redis { |r| r.multi { |m| m.sadd('queues', ['sidekiq-test']); m.lpush('queue:sidekiq-test', 'x') } }
check(added.last == 4, 'the transaction of earlier versions adds a job')
message = raised { Sidekiq.redis { |r| r.multi { |m| m.lpush('queue:sidekiq-test', 'y'); m.sadd('processes', ['p']) } } }
check(message.start_with?('ERR SADD is not supported') && length == 4, 'a transaction with a refused command does nothing')
check(Sidekiq.redis { |r| r.del('queue:sidekiq-test') } == 1, 'the queue is empty again')
exit $failed
