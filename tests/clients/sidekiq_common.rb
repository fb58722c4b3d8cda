# The parts that the programs about Sidekiq share: the connection, a job class, worker processes, checks.
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

$sidekiq_binary = ENV['SIDEKIQ'] || Gem.bin_path('sidekiq', 'sidekiq')

# Runs the block with a directory for the files of the workers, and shows their log if a check has failed.
def with_directory
  Dir.mktmpdir do |directory|
    ENV['DIRECTORY'] = directory
    File.write(File.join(directory, 'jobs.rb'), JOBS)
    yield
    log = File.join(directory, 'log')
    puts File.read(log).lines.last(30) if $failed != 0 && File.exist?(log)
  end
  exit $failed
end
