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

type command []interface{}

// send sends commands in one write, and returns their replies. A reply may be an error.
func (c *client) send(commands []command) ([]interface{}, error) {
	var err error
	if c.connection == nil || c.connection.Err() != nil {
		if c.connection, err = connect(); err != nil {
			return nil, err
		}
	}
	for _, words := range commands {
		c.connection.Send(words[0].(string), words[1:]...)
	}
	c.connection.Flush()
	replies := make([]interface{}, len(commands))
	for i := range replies {
		reply, err := c.connection.Receive()
		refused, isReply := err.(redis.Error)
		if err != nil && (!isReply || strings.HasPrefix(string(refused), "LOADING")) {
			c.connection.Close()
			return nil, err
		}
		if replies[i] = reply; isReply {
			replies[i] = refused
		}
	}
	return replies, nil
}

// call sends commands, again and again while the server is away.
func (c *client) call(commands ...command) ([]interface{}, error) {
	for {
		replies, err := c.send(commands)
		if err == nil || c.stopping.Err() != nil {
			return replies, err
		}
		time.Sleep(time.Second)
	}
}

// work is your code. Here the body is the number of seconds that the work takes.
func work(body string, cancelled context.Context) error {
	fmt.Println("start", body)
	seconds, err := strconv.ParseFloat(body, 64)
	if err != nil {
		return err
	}
	select {
	case <-cancelled.Done():
		return fmt.Errorf("cancelled")
	case <-time.After(time.Duration(seconds * float64(time.Second))):
		fmt.Println("done", body)
		return nil
	}
}

// heartbeat renews the lease until the job has ended, by a connection of its own. CANCELLED: the work must stop.
func heartbeat(job string, every time.Duration, ended context.Context, cancel context.CancelFunc) {
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
			replies, err := c.call(command{"WORKING", job})
			if err != nil {
				continue
			}
			if refused, isError := replies[0].(redis.Error); isError { // STALE: another worker has the job now
				fmt.Println("heartbeat:", refused)
				if strings.HasPrefix(string(refused), "CANCELLED") {
					cancel()
				}
			}
		}
	}
}

// run returns the command for the end of the job.
func run(job []interface{}, every time.Duration) command {
	nacks, token := job[4].(int64), job[7].(int64)
	name := fmt.Sprintf("%s:%d", job[1], token)
	ended, end := context.WithCancel(context.Background())
	cancelled, cancel := context.WithCancel(context.Background())
	defer end()
	defer cancel()
	go heartbeat(name, every, ended, cancel)
	err := work(string(job[2].([]byte)), cancelled)
	if err == nil {
		return command{"ACKJOB", name}
	}
	delay := 3600
	if nacks < 12 {
		delay = 1 << nacks
	}
	return command{"NACK", "DELAY", delay, "ERROR", err.Error(), name}
}

func main() {
	stopping, _ := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	seconds, _ := strconv.ParseFloat(setting("HEARTBEAT", "20"), 64)
	every := time.Duration(seconds * float64(time.Second))
	get := command{"GETJOB", "TIMEOUT", 2000, "WITHCOUNTERS", "WITHTOKENS", "FROM", setting("QUEUE", "emails")}
	c := client{stopping: stopping}
	var ends []command
	for len(ends) > 0 || stopping.Err() == nil {
		// The end of a job and the next GETJOB are one write, and usually one transaction of the server.
		commands := ends
		if stopping.Err() == nil {
			commands = append(commands, get)
		}
		if len(commands) == 0 {
			break
		}
		replies, err := c.call(commands...)
		if err != nil {
			fmt.Println("stopped while the server was away:", err)
			return
		}
		if _, isError := replies[len(replies)-1].(redis.Error); isError {
			time.Sleep(time.Second)
		}
		ends = nil
		for _, reply := range replies {
			switch reply := reply.(type) {
			case redis.Error: // STALE: another worker has the job now
				fmt.Println("refused:", reply)
			case []interface{}:
				for _, job := range reply {
					ends = append(ends, run(job.([]interface{}), every))
				}
			}
		}
	}
}
