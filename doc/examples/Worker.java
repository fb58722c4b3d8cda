import java.io.*;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.*;
import java.util.concurrent.*;

/** A worker without a library: the class Client has the protocol. PORT, QUEUE and HEARTBEAT are environment variables. */
public class Worker {
    static volatile boolean stopping;
    static final Client beats = new Client();

    /** The reply of the server is an error. */
    static class Refused extends RuntimeException {
        Refused(String message) { super(message); }
    }

    /** A connection that connects again after a failure. */
    static class Client {
        private Socket socket;
        private InputStream in;

        /** Sends commands in one write, and returns their replies. A reply may be an error: Refused. */
        synchronized List<Object> send(List<Object[]> commands) throws IOException {
            if (socket == null) {
                socket = new Socket("127.0.0.1", Integer.parseInt(setting("PORT", "7711")));
                socket.setSoTimeout(15000);
                in = new BufferedInputStream(socket.getInputStream());
            }
            ByteArrayOutputStream out = new ByteArrayOutputStream();
            for (Object[] command : commands) append(out, command);
            try {
                socket.getOutputStream().write(out.toByteArray());
                List<Object> replies = new ArrayList<>();
                while (replies.size() < commands.size()) replies.add(read());
                return replies;
            } catch (IOException e) {
                close();
                throw e;
            }
        }

        private static void append(ByteArrayOutputStream out, Object[] command) throws IOException {
            out.write(("*" + command.length + "\r\n").getBytes());
            for (Object word : command) {
                byte[] bytes = word.toString().getBytes(StandardCharsets.UTF_8);
                out.write(("$" + bytes.length + "\r\n").getBytes());
                out.write(bytes);
                out.write("\r\n".getBytes());
            }
        }

        /** Sends commands, again and again while the server is away. */
        List<Object> call(List<Object[]> commands) throws IOException, InterruptedException {
            while (true) {
                try {
                    List<Object> replies = send(commands);
                    if (replies.stream().noneMatch(reply -> isError(reply, "LOADING"))) return replies;
                    if (stopping) throw new IOException("the server starts");
                } catch (IOException e) {
                    if (stopping) throw e;
                }
                Thread.sleep(1000);
            }
        }

        static boolean isError(Object reply, String code) {
            return reply instanceof Refused && ((Refused) reply).getMessage().startsWith(code);
        }

        private String line() throws IOException {
            ByteArrayOutputStream line = new ByteArrayOutputStream();
            for (int c; (c = in.read()) != '\r'; line.write(c))
                if (c < 0) throw new EOFException("the server has closed the connection");
            in.read();
            return line.toString(StandardCharsets.UTF_8);
        }

        private Object read() throws IOException {
            String line = line(), rest = line.substring(1);
            switch (line.charAt(0)) {
            case '-': return new Refused(rest);
            case ':': return Long.parseLong(rest);
            case '$': return rest.equals("-1") ? null : bulk(Integer.parseInt(rest));
            case '*':
                if (rest.equals("-1")) return null;
                List<Object> list = new ArrayList<>();
                for (int n = Integer.parseInt(rest); n > 0; n--) list.add(read());
                return list;
            default: return rest;
            }
        }

        private String bulk(int length) throws IOException {
            byte[] bytes = in.readNBytes(length);
            line();
            return new String(bytes, StandardCharsets.UTF_8);
        }

        void close() throws IOException {
            if (socket != null) socket.close();
            socket = null;
        }
    }

    static String setting(String name, String otherwise) {
        return System.getenv().getOrDefault(name, otherwise);
    }

    /** Your code. Here the body is the number of seconds that the work takes. */
    static void work(String body, CountDownLatch cancelled) throws InterruptedException {
        System.out.println("start " + body);
        if (cancelled.await((long) (Double.parseDouble(body) * 1000), TimeUnit.MILLISECONDS))
            throw new RuntimeException("cancelled");
        System.out.println("done " + body);
    }

    /** Renews the lease until the job has ended, by the connection of the heartbeat. CANCELLED: the work must stop. */
    static Timer heartbeat(String job, CountDownLatch cancelled) {
        long every = (long) (Double.parseDouble(setting("HEARTBEAT", "20")) * 1000);
        Timer timer = new Timer(true);
        timer.schedule(new TimerTask() {
            @Override public void run() {
                try {
                    Object reply = beats.send(List.<Object[]>of(new Object[] { "WORKING", job })).get(0);
                    if (reply instanceof Refused) // STALE: another worker has the job now
                        System.out.println("heartbeat: " + ((Refused) reply).getMessage());
                    if (Client.isError(reply, "CANCELLED")) cancelled.countDown();
                } catch (IOException e) {
                    System.out.println("heartbeat: " + e.getMessage());
                }
            }
        }, every, every);
        return timer;
    }

    /** Returns the command for the end of the job. */
    static Object[] run(List<?> job) throws InterruptedException {
        String name = job.get(1) + ":" + job.get(7);
        long nacks = (Long) job.get(4);
        CountDownLatch cancelled = new CountDownLatch(1);
        Timer timer = heartbeat(name, cancelled);
        try {
            work((String) job.get(2), cancelled);
            return new Object[] { "ACKJOB", name };
        } catch (RuntimeException e) {
            return new Object[] { "NACK", "DELAY", Math.min(1L << Math.min(nacks, 12), 3600), "ERROR", e.getMessage(), name };
        } finally {
            timer.cancel();
        }
    }

    public static void main(String[] args) throws Exception {
        Thread loop = Thread.currentThread();
        // Java runs this thread at SIGTERM, and ends when the thread has ended.
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            stopping = true;
            try {
                loop.join();
            } catch (InterruptedException e) {
                loop.interrupt();
            }
        }));
        Client client = new Client();
        Object[] get = { "GETJOB", "TIMEOUT", 2000, "WITHCOUNTERS", "WITHTOKENS", "FROM", setting("QUEUE", "emails") };
        List<Object[]> commands = new ArrayList<>();
        while (true) {
            // The end of a job and the next GETJOB are one write, and usually one transaction of the server.
            if (!stopping) commands.add(get);
            if (commands.isEmpty()) break;
            List<Object> replies = client.call(commands);
            commands.clear();
            if (replies.get(replies.size() - 1) instanceof Refused) Thread.sleep(1000);
            for (Object reply : replies) {
                if (reply instanceof Refused) // STALE: another worker has the job now
                    System.out.println("refused: " + ((Refused) reply).getMessage());
                if (reply instanceof List)
                    for (Object job : (List<?>) reply) commands.add(run((List<?>) job));
            }
        }
    }
}
