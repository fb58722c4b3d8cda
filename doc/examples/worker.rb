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

# The job that runs.
Job = Struct.new(:name, :cancelled)

# Your code. Here the body is the number of seconds that the work takes.
def work(body, job)
  puts "start #{body}"
  ends_at = Process.clock_gettime(Process::CLOCK_MONOTONIC) + Float(body)
  while Process.clock_gettime(Process::CLOCK_MONOTONIC) < ends_at
    raise 'cancelled' if job.cancelled
    sleep 0.05
  end
  puts "done #{body}"
end

# Renews the lease until the thread is killed, by a connection of its own. CANCELLED: the work must stop.
def heartbeat(job)
  redis = connect
  loop do
    sleep HEARTBEAT
    redis.call(['WORKING', job.name])
  rescue Redis::BaseError => e # STALE: another worker has the job now
    puts "heartbeat: #{e.message}"
    job.cancelled = true if e.message.start_with?('CANCELLED')
  end
ensure
  redis&.close
end

def run(redis, delivery)
  _queue, id, body, _, nacks, _, _redeliveries, token = delivery
  job = Job.new("#{id}:#{token}", false)
  beat = Thread.new { heartbeat(job) }
  begin
    work(body, job)
    last = ['ACKJOB', job.name]
  rescue StandardError => e
    last = ['NACK', 'DELAY', [2**nacks, 3600].min, 'ERROR', e.message, job.name]
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
