#!/usr/bin/ruby
# Sidekiq with its own client, poller, worker processes and API: jobs for now and later, retries, dead jobs, statistics.
begin
  require 'sidekiq'
  require 'sidekiq/api'
rescue LoadError
  puts 'skipped: Sidekiq is not installed (ruby-sidekiq)'
  exit 0
end
require 'tmpdir'

URL = "redis://127.0.0.1:#{ENV['PORT']}".freeze
DEADLINE_S = 120
$failed = 0

if Sidekiq.respond_to?(:configure_client)
  Sidekiq.configure_client { |c| c.redis = { url: URL, size: 4 } }
end
Redis.silence_deprecations = true if defined?(Redis) && Redis.respond_to?(:silence_deprecations=)

# Appends its argument to the file DONE, and fails as often as it is told.
JOBS = <<~RUBY.freeze
  require 'sidekiq'
  if Sidekiq::VERSION < '7'
    Sidekiq.options[:poll_interval_average] = 1
  else
    Sidekiq.configure_server { |c| c[:poll_interval_average] = 1 }
  end
  Sidekiq.configure_server { |c| c.redis = { url: '#{URL}' } }
  class SidekiqTestJob
    include Sidekiq::Worker
    sidekiq_options queue: 'sidekiq-test', retry: 1
    sidekiq_retry_in { |_count, _error| 1 }
    def perform(name, fails = 0)
      raise 'told to fail' if name == 'dies'
      if fails > 0
        mark = File.join(ENV['DIRECTORY'], "failed-\#{name}")
        unless File.exist?(mark)
          File.write(mark, '')
          raise 'told to fail once'
        end
      end
      File.open(File.join(ENV['DIRECTORY'], 'done'), 'a') { |f| f.syswrite("\#{name}\\n") }
      sleep 600 if name == 'endless'
    end
  end
RUBY
eval(JOBS.sub(/if Sidekiq.*?^end\n/m, '').sub(/^Sidekiq.configure_server.*\n/, ''))

def check(good, what)
  puts "#{good ? 'ok' : 'not ok'} sidekiq: #{what}"
  $failed = 1 unless good
end

# Waits until the block is true.
def becomes(what)
  limit = Process.clock_gettime(Process::CLOCK_MONOTONIC) + DEADLINE_S
  good = false
  until good || Process.clock_gettime(Process::CLOCK_MONOTONIC) > limit
    good = yield
    sleep 0.05 unless good
  end
  check(good, what)
end

def raised
  yield
  ''
rescue StandardError => e
  e.message
end

def done
  File.readlines(File.join(ENV['DIRECTORY'], 'done'), chomp: true)
rescue Errno::ENOENT
  []
end

def queue
  Sidekiq::Queue.new('sidekiq-test')
end

def start_worker
  spawn({ 'DIRECTORY' => ENV['DIRECTORY'] }, 'ruby', $sidekiq_binary, '-r', File.join(ENV['DIRECTORY'], 'jobs.rb'), '-q', 'sidekiq-test',
        '-c', '2', '-t', '1', %i[out err] => [File.join(ENV['DIRECTORY'], 'log'), 'a'])
end

def producer
  id = SidekiqTestJob.perform_async('one')
  job = queue.first
  check(queue.size == 1 && job.jid == id && job.args == ['one'], 'perform_async adds a job')
  Sidekiq::Client.push_bulk('class' => SidekiqTestJob, 'args' => [['two'], ['three']])
  check(queue.size == 3 && queue.find_job(id).args == ['one'], 'push_bulk adds jobs')
  check(Sidekiq::Queue.all.map(&:name) == ['sidekiq-test'], 'the queue is in the list of all queues')
  check(queue.find_job(id).delete && queue.size == 2, 'a job of a queue is deleted')
  message = raised { Sidekiq.redis { |r| r.zadd('mine', 1.0, 'x') } }
  check(message.start_with?('NOTSUPPORTED ZADD'), 'a sorted set of the application raises')
  message = raised { Sidekiq.redis { |r| r.multi { |m| m.lpush('queue:sidekiq-test', 'y'); m.sadd('mine', ['p']) } } }
  check(message.start_with?('ERR SADD is not supported') && queue.size == 2, 'a refused transaction does nothing')
  queue.clear
  check(queue.size.zero?, 'the queue is cleared')
end

def scheduled
  set = Sidekiq::ScheduledSet.new
  id = SidekiqTestJob.perform_in(3600, 'later')
  Sidekiq::Client.push_bulk('class' => SidekiqTestJob, 'args' => [['a'], ['b']], 'at' => [Time.now.to_f + 7200, Time.now.to_f + 7300])
  entry = set.find_job(id)
  check(set.size == 3 && entry.args == ['later'] && (entry.at - Time.now).between?(3000, 3700), 'perform_in schedules a job')
  check(set.map(&:args) == [['b'], ['a'], ['later']], 'the scheduled set is iterated')
  check(set.fetch(entry.score, id).map(&:jid) == [id], 'a scheduled job is found by its score')
  check(set.scan('later').map(&:jid) == [id], 'the scheduled set is scanned')
  entry.reschedule(Time.now + 10_000)
  check((set.find_job(id).at - Time.now) > 9000, 'a job is rescheduled')
  set.find_job(id).add_to_queue
  check(set.size == 2 && queue.first.jid == id, 'a scheduled job is queued now')
  check(set.first.delete && set.size == 1, 'a scheduled job is deleted')
  set.clear
  queue.clear
  check(set.size.zero?, 'the scheduled set is cleared')
end

def work
  pid = start_worker
  SidekiqTestJob.perform_async('now')
  SidekiqTestJob.perform_in(1, 'soon')
  SidekiqTestJob.perform_async('again', 1)
  SidekiqTestJob.perform_async('dies')
  becomes('jobs for now and later are done, and a failed job is done again') { (%w[now soon again] - done).empty? }
  dead = Sidekiq::DeadSet.new
  becomes('a job without further retries is dead') { dead.size == 1 }
  check(done.tally.values.max == 1, 'each job was done once')
  check(dead.first.args == ['dies'] && dead.first['error_message'] == 'told to fail', 'a dead job has its error')
  becomes('the process has a heartbeat') { Sidekiq::ProcessSet.new.any? { |p| p['queues'] == ['sidekiq-test'] } }
  becomes('the statistics count') do
    stats = Sidekiq::Stats.new
    stats.processed >= 4 && stats.failed >= 2 && Sidekiq::Stats::History.new(1).processed.values.sum >= 4
  end
  dead.first.retry
  becomes('a dead job that is retried dies again') { dead.size == 1 && done.size == 3 && queue.size.zero? }
  stats = Sidekiq::Stats.new
  check(stats.dead_size == 1 && stats.enqueued.zero? && stats.processes_size == 1, 'the sizes are those of the sets')
  pid
end

# A killed worker loses the job that it runs, as with Redis. No other job is lost.
def killed(pid)
  SidekiqTestJob.perform_async('endless')
  becomes('an endless job runs') { done.include?('endless') }
  becomes('the work set has the running job') { Sidekiq::WorkSet.new.size == 1 || Sidekiq::WorkSet.new.any? } if ENV['SIDEKIQ_SLOW']
  Process.kill('KILL', pid)
  Process.wait(pid)
  SidekiqTestJob.perform_in(1, 'after the kill')
  SidekiqTestJob.perform_async('waiting')
  pid = start_worker
  becomes('another process does the other jobs') { (['after the kill', 'waiting'] - done).empty? }
  Process.kill('TERM', pid)
  Process.wait(pid)
  check($?.success?, 'the process ends')
  check(Sidekiq::RetrySet.new.size.zero? && Sidekiq::ScheduledSet.new.size.zero?, 'no job is left')
end

$sidekiq_binary = ENV['SIDEKIQ'] || Gem.bin_path('sidekiq', 'sidekiq')
Dir.mktmpdir do |directory|
  ENV['DIRECTORY'] = directory
  File.write(File.join(directory, 'jobs.rb'), JOBS)
  producer
  scheduled
  killed(work)
  Sidekiq::DeadSet.new.clear
  puts File.read(File.join(directory, 'log')).lines.last(30) unless $failed.zero?
end
exit $failed
