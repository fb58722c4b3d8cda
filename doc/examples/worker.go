// A worker with redigo. PORT, QUEUE and HEARTBEAT (seconds) are environment variables.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/gomodule/redigo/redis"
)

func setting(name, value string) string {
	if found, ok := os.LookupEnv(name); ok {
		return found
	}
	return value
}

func connect() (redis.Conn, error) {
	return redis.Dial("tcp", "127.0.0.1:"+setting("PORT", "7711"), redis.DialReadTimeout(15*time.Second))
}

// A client connects again when its connection has failed.
type client struct {
	connection redis.Conn
	stopping   context.Context
}

// call sends a command, again and again while the server is away. A reply that is an error, except LOADING, ends it.
func (c *client) call(command string, args ...interface{}) (interface{}, error) {
	for {
		var reply interface{}
		var err error
		if c.connection == nil || c.connection.Err() != nil {
			c.connection, err = connect()
		}
		if err == nil {
			reply, err = c.connection.Do(command, args...)
		}
		refused, isReply := err.(redis.Error)
		if err == nil || c.stopping.Err() != nil || isReply && !strings.HasPrefix(string(refused), "LOADING") {
			return reply, err
		}
		time.Sleep(time.Second)
	}
}

// work is your code. Here the body is the number of seconds that the work takes.
func work(body string) error {
	fmt.Println("start", body)
	seconds, err := strconv.ParseFloat(body, 64)
	if err != nil {
		return err
	}
	time.Sleep(time.Duration(seconds * float64(time.Second)))
	fmt.Println("done", body)
	return nil
}

// heartbeat renews the lease until the job has ended, by a connection of its own.
func heartbeat(job string, every time.Duration, ended context.Context) {
	c := client{stopping: ended}
	for ticker := time.NewTicker(every); ; {
		select {
		case <-ended.Done():
			ticker.Stop()
			if c.connection != nil {
				c.connection.Close()
			}
			return
		case <-ticker.C:
			if _, err := c.call("WORKING", job); err != nil { // STALE: another worker has the job now
				fmt.Println("heartbeat:", err)
			}
		}
	}
}

func run(c *client, job []interface{}, every time.Duration) {
	nacks, token := job[4].(int64), job[7].(int64)
	name := fmt.Sprintf("%s:%d", job[1], token)
	ended, end := context.WithCancel(context.Background())
	go heartbeat(name, every, ended)
	err := work(string(job[2].([]byte)))
	end()
	if err == nil {
		_, err = c.call("ACKJOB", name)
	} else {
		delay := 3600
		if nacks < 12 {
			delay = 1 << nacks
		}
		_, err = c.call("NACK", "DELAY", delay, "ERROR", err.Error(), name)
	}
	if err != nil { // STALE: another worker has the job now
		fmt.Println("end of the job:", err)
	}
}

func main() {
	stopping, _ := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	seconds, _ := strconv.ParseFloat(setting("HEARTBEAT", "20"), 64)
	every := time.Duration(seconds * float64(time.Second))
	c := client{stopping: stopping}
	for stopping.Err() == nil {
		reply, err := c.call("GETJOB", "TIMEOUT", 2000, "WITHCOUNTERS", "WITHTOKENS", "FROM", setting("QUEUE", "emails"))
		jobs, err := redis.Values(reply, err)
		if err != nil && err != redis.ErrNil {
			fmt.Println("GETJOB:", err)
			time.Sleep(time.Second)
		}
		for _, job := range jobs {
			run(&c, job.([]interface{}), every)
		}
	}
}
