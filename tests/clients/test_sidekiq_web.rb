#!/usr/bin/ruby
# Sidekiq::Web: all pages with jobs in all states, and all their buttons.
require_relative 'sidekiq_common'
begin
  require 'rack/mock'
  require 'sidekiq/web'
rescue LoadError
  puts 'skipped: Rack is not installed (ruby-rack)'
  exit 0
end

SESSION = {}
BROWSER = Rack::MockRequest.new(Sidekiq::Web)
FAILURE = { 'error_class' => 'RuntimeError', 'error_message' => 'told to fail', 'retry_count' => 0 }.freeze

# The headers of a browser. Sidekiq 8 looks at Sec-Fetch-Site in place of a token.
def options
  { 'rack.session' => SESSION, 'HTTP_HOST' => 'localhost', 'HTTP_SEC_FETCH_SITE' => 'same-origin' }
end

# The body of a page. It has all these texts.
def page(path, *texts)
  reply = BROWSER.get(path, options)
  missing = texts.reject { |text| reply.body.include?(text) }
  check(reply.status == 200 && missing.empty?, "GET #{path}")
  puts "# status #{reply.status}, without #{missing}: #{reply.body[0, 300]}" if reply.status != 200 || !missing.empty?
  reply.body
end

# Sends the form of a page, and follows the redirection.
def press(path, fields, form: path)
  token = BROWSER.get(form, options).body[/name=['"]authenticity_token['"] value=['"]([^'"]+)/, 1]
  reply = BROWSER.post(path, options.merge(params: fields.merge('authenticity_token' => token)))
  check([302, 303].include?(reply.status), "POST #{path} #{fields.keys.join(' ')}")
  puts "# status #{reply.status}: #{reply.body[0, 300]}" unless [302, 303].include?(reply.status)
end

def entry(name, more = {})
  JSON.generate({ 'class' => 'SidekiqTestJob', 'args' => [name], 'queue' => 'sidekiq-test', 'retry' => 1,
                  'jid' => SecureRandom.hex(12), 'created_at' => Time.now.to_f }.merge(more))
end

def retries(*names)
  Sidekiq.redis do |r|
    names.each { |name| r.zadd('retry', Time.now.to_f + 3600, entry(name, FAILURE.merge('failed_at' => Time.now.to_f))) }
  end
end

def dead(*names)
  names.each { |name| Sidekiq::DeadSet.new.kill(entry(name, FAILURE.merge('failed_at' => Time.now.to_f)), notify_failure: false) }
end

# The name of an entry in the address of its page.
def key_of(set, name)
  found = set.find { |job| job.args == [name] }
  "#{found.score}-#{found.jid}"
end

def names_of(set)
  set.map { |job| job.args.first }.sort
end

def empty_pages
  ['/', '/busy', '/queues', '/retries', '/scheduled', '/morgue', '/stats', '/stats/queues'].each { |path| page(path) }
  page('/?days=180')
  page('/metrics') if Sidekiq::VERSION >= '7'
end

def queues
  30.times { |i| SidekiqTestJob.perform_async("queued #{i}") }
  page('/queues', 'sidekiq-test')
  page('/queues/sidekiq-test', 'queued 29')
  page('/queues/sidekiq-test?page=2', 'queued 0')
  page('/queues/sidekiq-test?direction=asc', 'queued 0')
  page('/stats/queues', '"sidekiq-test":30')
  press('/queues/sidekiq-test/delete', { 'key_val' => queue.find { |job| job.args == ['queued 3'] }.value }, form: '/queues/sidekiq-test')
  check(queue.size == 29 && queue.none? { |job| job.args == ['queued 3'] }, 'the button deletes one job')
  press('/queues/sidekiq-test', { 'delete' => 'Delete' }, form: '/queues')
  check(queue.size.zero?, 'the button clears the queue')
end

def scheduled_jobs
  set = Sidekiq::ScheduledSet.new
  %w[a b c d].each { |name| SidekiqTestJob.perform_in(3600, name) }
  page('/scheduled', 'SidekiqTestJob', 'sidekiq-test')
  page("/scheduled/#{key_of(set, 'a')}", 'SidekiqTestJob')
  press('/scheduled', { 'key[]' => key_of(set, 'a'), 'delete' => 'Delete' })
  press('/scheduled', { 'key[]' => key_of(set, 'b'), 'add_to_queue' => 'Add' })
  check(names_of(set) == %w[c d] && names_of(queue) == ['b'], 'the buttons delete and queue scheduled jobs')
  press("/scheduled/#{key_of(set, 'c')}", { 'add_to_queue' => 'Add' }, form: '/scheduled')
  press("/scheduled/#{key_of(set, 'd')}", { 'delete' => 'Delete' }, form: '/scheduled')
  check(set.size.zero? && names_of(queue) == %w[b c], 'the page of a scheduled job deletes and queues it')
  queue.clear
end

def retried_jobs
  set = Sidekiq::RetrySet.new
  retries('a', 'b', 'c', 'd', 'e')
  page('/retries', 'told to fail', 'RuntimeError')
  page("/retries/#{key_of(set, 'a')}", 'told to fail')
  press('/retries', { 'key[]' => key_of(set, 'a'), 'delete' => 'Delete' })
  press('/retries', { 'key[]' => key_of(set, 'b'), 'retry' => 'Retry' })
  press('/retries', { 'key[]' => key_of(set, 'c'), 'kill' => 'Kill' })
  press("/retries/#{key_of(set, 'd')}", { 'retry' => 'Retry' }, form: '/retries')
  check(names_of(set) == ['e'] && names_of(queue) == %w[b d] && names_of(Sidekiq::DeadSet.new) == ['c'],
        'the buttons delete, retry and kill jobs')
  press('/retries/all/retry', {}, form: '/retries')
  check(set.size.zero? && queue.size == 3, 'the button retries all jobs')
  retries('f', 'g')
  press('/retries/all/kill', {}, form: '/retries')
  check(set.size.zero? && Sidekiq::DeadSet.new.size == 3, 'the button kills all jobs')
  retries('h')
  press('/retries/all/delete', {}, form: '/retries')
  check(set.size.zero?, 'the button deletes all retries')
  queue.clear
end

def dead_jobs
  set = Sidekiq::DeadSet.new
  set.clear
  dead('a', 'b', 'c', 'd')
  page('/morgue', 'told to fail', 'RuntimeError')
  page("/morgue/#{key_of(set, 'a')}", 'told to fail')
  press('/morgue', { 'key[]' => key_of(set, 'a'), 'delete' => 'Delete' })
  press("/morgue/#{key_of(set, 'b')}", { 'retry' => 'Retry' }, form: '/morgue')
  check(names_of(set) == %w[c d] && names_of(queue) == ['b'], 'the buttons delete and retry dead jobs')
  press('/morgue/all/retry', {}, form: '/morgue')
  check(set.size.zero? && queue.size == 3, 'the button retries all dead jobs')
  dead('e')
  press('/morgue/all/delete', {}, form: '/morgue')
  check(set.size.zero?, 'the button deletes all dead jobs')
  queue.clear
end

# A process that runs a job. The buttons reach it by a list of its signals.
def busy_process
  pid = start_worker
  SidekiqTestJob.perform_async('endless')
  becomes('a job runs') { done.include?('endless') }
  becomes('the process has a heartbeat') { Sidekiq::ProcessSet.new.size == 1 }
  becomes('the process reports its job') { Sidekiq::WorkSet.new.size == 1 }
  id = Sidekiq::ProcessSet.new.first['identity']
  page('/busy', id, 'SidekiqTestJob')
  page('/stats', '"processes":1', '"busy":1')
  press('/busy', { 'identity' => id, 'quiet' => '1' })
  becomes('the process is quiet') { Sidekiq::ProcessSet.new.first['quiet'].to_s == 'true' }
  press('/busy', { 'stop' => '1' })
  limit = Process.clock_gettime(Process::CLOCK_MONOTONIC) + DEADLINE_S
  sleep 0.05 until (ended = Process.wait(pid, Process::WNOHANG)) || Process.clock_gettime(Process::CLOCK_MONOTONIC) > limit
  check(ended && $?.success?, 'the process ends')
  check(names_of(queue) == ['endless'], 'its job returns to the queue')
  queue.clear
end

Sidekiq::WorkSet = Sidekiq::Workers unless defined?(Sidekiq::WorkSet)
with_directory do
  # The killed process of another program may be left.
  Sidekiq.redis { |r| r.del('processes') }
  empty_pages
  queues
  scheduled_jobs
  retried_jobs
  dead_jobs
  busy_process
  page('/', 'sidekiq')
end
