import java.io.*;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.*;

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

        synchronized Object send(Object... command) throws IOException {
            if (socket == null) {
                socket = new Socket("127.0.0.1", Integer.parseInt(setting("PORT", "7711")));
                socket.setSoTimeout(15000);
                in = new BufferedInputStream(socket.getInputStream());
            }
            ByteArrayOutputStream out = new ByteArrayOutputStream();
            out.write(("*" + command.length + "\r\n").getBytes());
            for (Object word : command) {
                byte[] bytes = word.toString().getBytes(StandardCharsets.UTF_8);
                out.write(("$" + bytes.length + "\r\n").getBytes());
                out.write(bytes);
                out.write("\r\n".getBytes());
            }
            try {
                socket.getOutputStream().write(out.toByteArray());
                return read();
            } catch (IOException e) {
                close();
                throw e;
            }
        }

        /** Sends a command, again and again while the server is away. An error, except LOADING, is thrown. */
        Object call(Object... command) throws IOException, InterruptedException {
            while (true) {
                try {
                    return send(command);
                } catch (IOException e) {
                    if (stopping) throw e;
                } catch (Refused e) {
                    if (stopping || !e.getMessage().startsWith("LOADING")) throw e;
                }
                Thread.sleep(1000);
            }
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
            case '-': throw new Refused(rest);
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
    static void work(String body) throws InterruptedException {
        System.out.println("start " + body);
        Thread.sleep((long) (Double.parseDouble(body) * 1000));
        System.out.println("done " + body);
    }

    /** Renews the lease until the job has ended, by the connection of the heartbeat. */
    static Timer heartbeat(String job) {
        long every = (long) (Double.parseDouble(setting("HEARTBEAT", "20")) * 1000);
        Timer timer = new Timer(true);
        timer.schedule(new TimerTask() {
            @Override public void run() {
                try {
                    beats.send("WORKING", job);
                } catch (IOException | Refused e) { // STALE: another worker has the job now
                    System.out.println("heartbeat: " + e.getMessage());
                }
            }
        }, every, every);
        return timer;
    }

    static void run(Client client, List<?> job) throws IOException, InterruptedException {
        String name = job.get(1) + ":" + job.get(7);
        long nacks = (Long) job.get(4);
        Timer timer = heartbeat(name);
        Object[] end;
        try {
            work((String) job.get(2));
            end = new Object[] { "ACKJOB", name };
        } catch (RuntimeException e) {
            end = new Object[] { "NACK", "DELAY", Math.min(1L << Math.min(nacks, 12), 3600), "ERROR", e.getMessage(), name };
        }
        timer.cancel();
        try {
            client.call(end);
        } catch (Refused e) { // STALE: another worker has the job now
            System.out.println("end of the job: " + e.getMessage());
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
        while (!stopping) {
            Object jobs = client.call("GETJOB", "TIMEOUT", 2000, "WITHCOUNTERS", "WITHTOKENS", "FROM", setting("QUEUE", "emails"));
            if (jobs != null)
                for (Object job : (List<?>) jobs) run(client, (List<?>) job);
        }
    }
}
