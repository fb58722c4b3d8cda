#!/usr/bin/ruby
# Sidekiq with its own client, poller, worker processes and API: jobs for now and later, retries, dead jobs, statistics.
require_relative 'sidekiq_common'

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

with_directory do
  producer
  scheduled
  killed(work)
  Sidekiq::DeadSet.new.clear
end
