import org.apache.paimon.data.*;
import org.apache.paimon.disk.IOManager;
import org.apache.paimon.fs.Path;
import org.apache.paimon.fs.local.LocalFileIO;
import org.apache.paimon.predicate.*;
import org.apache.paimon.reader.RecordReader;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.*;
import org.apache.paimon.table.*;
import org.apache.paimon.table.source.*;
import org.apache.paimon.types.*;

import java.io.*;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.util.*;
import java.util.concurrent.*;

/**
 * Reads a table as often as it is asked to, for timings in one JVM.
 *
 * <pre>
 * Scanning TABLE_DIR THREADS    on each line of the input prints one line:
 *   read      takes every value of every row     {"rows": n, "wall_ms": t, "cpu_ms": t}
 *   count     leaves the values where they are   {"rows": n, "wall_ms": t, "cpu_ms": t}
 *   checksum  computes with every value          {"rows": n, "checksum": c}
 * </pre>
 *
 * A request may say more, as JSON behind it: {"columns": ["a", "b"], "where": [["k", ">=", 7]]}. Then only these
 * columns are taken, and of the rows those that fulfil every condition (=, &lt;, &lt;=, &gt;, &gt;=).
 *
 * Splits are shared out among the threads; the plan is part of the time. The checksum is that of
 * benchmarks/merging/checksum.py.
 */
public final class Scanning {
    public static void main(String[] args) throws Exception {
        FileStoreTable t = FileStoreTableFactory.create(LocalFileIO.create(), new Path(new File(args[0]).getAbsolutePath()));
        ExecutorService pool = Executors.newFixedThreadPool(Integer.parseInt(args[1]));
        IOManager io = IOManager.create(System.getProperty("java.io.tmpdir"));
        com.sun.management.OperatingSystemMXBean os = (com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line; (line = in.readLine()) != null; ) {
            boolean summing = line.startsWith("checksum");
            long wall = System.nanoTime();
            long cpu = os.getProcessCpuTime();
            long[] all = new long[2];
            for (Future<long[]> f : start(t, pool, io, line)) {
                long[] part = f.get();
                all[0] += part[0];
                all[1] += part[1];
            }
            double wallMs = (System.nanoTime() - wall) / 1e6;
            double cpuMs = (os.getProcessCpuTime() - cpu) / 1e6;
            System.out.println(summing
                    ? String.format(Locale.ROOT, "{\"rows\": %d, \"checksum\": %s}", all[0], Long.toUnsignedString(all[1]))
                    : String.format(Locale.ROOT, "{\"rows\": %d, \"wall_ms\": %.3f, \"cpu_ms\": %.3f}", all[0], wallMs, cpuMs));
            System.out.flush();
        }
        System.exit(0);
    }

    private static ReadBuilder chosen(FileStoreTable t, JsonNode choice) {
        RowType type = t.rowType();
        ReadBuilder rb = t.newReadBuilder();
        if (choice.has("columns")) {
            int[] places = new int[choice.get("columns").size()];
            for (int i = 0; i < places.length; i++) places[i] = type.getFieldIndex(choice.get("columns").get(i).asText());
            rb.withProjection(places);
        }
        PredicateBuilder pb = new PredicateBuilder(type);
        for (JsonNode c : choice.path("where")) {
            int place = type.getFieldIndex(c.get(0).asText());
            rb.withFilter(comparison(pb, place, c.get(1).asText(), literal(type.getTypeAt(place), c.get(2))));
        }
        return rb;
    }

    private static Predicate comparison(PredicateBuilder pb, int place, String op, Object value) {
        switch (op) {
            case "=": return pb.equal(place, value);
            case "<": return pb.lessThan(place, value);
            case "<=": return pb.lessOrEqual(place, value);
            case ">": return pb.greaterThan(place, value);
            case ">=": return pb.greaterOrEqual(place, value);
            default: throw new IllegalArgumentException("operator " + op);
        }
    }

    private static Object literal(DataType type, JsonNode value) {
        switch (type.getTypeRoot()) {
            case INTEGER: return value.asInt();
            case BIGINT: return value.asLong();
            case DOUBLE: return value.asDouble();
            default: return BinaryString.fromString(value.asText());
        }
    }

    private static List<Future<long[]>> start(FileStoreTable t, ExecutorService pool, IOManager io, String line) throws IOException {
        String[] words = line.split(" ", 2);
        String request = words[0];
        JsonNode choice = new ObjectMapper().readTree(words.length > 1 ? words[1] : "{}");
        ReadBuilder rb = chosen(t, choice);
        List<Future<long[]>> running = new ArrayList<>();
        for (Split split : rb.newScan().plan().splits()) {
            running.add(pool.submit(() -> {
                long[] part = new long[2];
                TableRead read = rb.newRead().withIOManager(io);
                if (choice.has("where")) read = read.executeFilter();
                try (RecordReader<InternalRow> r = read.createReader(split)) {
                    Values values = new Values(rb.readType());
                    switch (request) {
                        case "read":
                            r.forEachRemaining(row -> {
                                part[0]++;
                                part[1] += values.present(row);
                            });
                            break;
                        case "count":
                            r.forEachRemaining(row -> part[0]++);
                            break;
                        case "checksum":
                            r.forEachRemaining(row -> {
                                part[0]++;
                                part[1] += values.sum(row);
                            });
                            break;
                        default:
                            throw new IllegalArgumentException("unknown request " + request);
                    }
                }
                return part;
            }));
        }
        return running;
    }

    private static final class Values {
        private final DataType[] types;
        private final InternalRow.FieldGetter[] getters;

        Values(RowType t) {
            types = t.getFieldTypes().toArray(new DataType[0]);
            getters = new InternalRow.FieldGetter[types.length];
            for (int i = 0; i < types.length; i++) getters[i] = InternalRow.createFieldGetter(types[i], i);
        }

        /** Takes the values as whoever uses a row has to, and computes nothing with them. */
        long present(InternalRow row) {
            long count = 0;
            for (int i = 0; i < types.length; i++) if (getters[i].getFieldOrNull(row) != null) count++;
            return count;
        }

        long sum(InternalRow row) {
            long sum = 0;
            for (int i = 0; i < types.length; i++) sum += (2 * i + 1) * value(types[i], getters[i].getFieldOrNull(row));
            return sum;
        }

        private static long value(DataType t, Object v) {
            if (v == null) return 17;
            switch (t.getTypeRoot()) {
                case INTEGER: return (Integer) v;
                case BIGINT: return (Long) v;
                case DOUBLE: return Double.doubleToRawLongBits((Double) v);
                case CHAR:
                case VARCHAR: {
                    long sum = 0;
                    for (byte b : ((BinaryString) v).toBytes()) sum += b & 0xff;
                    return sum;
                }
                case ARRAY: {
                    DataType e = ((ArrayType) t).getElementType();
                    InternalArray a = (InternalArray) v;
                    InternalArray.ElementGetter g = InternalArray.createElementGetter(e);
                    long sum = a.size();
                    for (int i = 0; i < a.size(); i++) sum += value(e, g.getElementOrNull(a, i));
                    return sum;
                }
                default: throw new UnsupportedOperationException("type " + t);
            }
        }
    }
}
