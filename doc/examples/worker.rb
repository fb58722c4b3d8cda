# A worker with redis-rb. PORT, QUEUE and HEARTBEAT (seconds) are environment variables.
require 'redis'

QUEUE = ENV.fetch('QUEUE', 'emails')
HEARTBEAT = ENV.fetch('HEARTBEAT', '20').to_f
$stopping = false
$stdout.sync = true

def connect
  Redis.new(port: ENV.fetch('PORT', '7711').to_i, read_timeout: 15)
end

# Sends a command, again and again while the server is away. A reply that is an error, except LOADING, ends it.
def call(redis, *command)
  redis.call(command)
rescue Redis::BaseConnectionError, Redis::CommandError => e
  raise if $stopping || (e.is_a?(Redis::CommandError) && !e.message.start_with?('LOADING'))
  sleep 1
  retry
end

# Your code. Here the body is the number of seconds that the work takes.
def work(body)
  puts "start #{body}"
  sleep Float(body)
  puts "done #{body}"
end

# Renews the lease until the thread is killed, by a connection of its own.
def heartbeat(name)
  redis = connect
  loop do
    sleep HEARTBEAT
    redis.call(['WORKING', name])
  rescue Redis::BaseError => e # STALE: another worker has the job now
    puts "heartbeat: #{e.message}"
  end
ensure
  redis&.close
end

def run(redis, job)
  _queue, id, body, _, nacks, _, _redeliveries, token = job
  name = "#{id}:#{token}"
  beat = Thread.new { heartbeat(name) }
  begin
    work(body)
    last = ['ACKJOB', name]
  rescue StandardError => e
    last = ['NACK', 'DELAY', [2**nacks, 3600].min, 'ERROR', e.message, name]
  end
  beat.kill.join
  call(redis, *last)
rescue Redis::CommandError => e # STALE: another worker has the job now
  puts "end of the job: #{e.message}"
end

Signal.trap('TERM') { $stopping = true }
redis = connect
until $stopping
  jobs = call(redis, 'GETJOB', 'TIMEOUT', 2000, 'WITHCOUNTERS', 'WITHTOKENS', 'FROM', QUEUE)
  jobs&.each { |job| run(redis, job) }
end
