import org.apache.paimon.data.variant.GenericVariant;
import org.apache.paimon.data.variant.Variant;
import org.apache.paimon.disk.IOManager;
import org.apache.paimon.fs.Path;
import org.apache.paimon.manifest.BucketEntry;
import org.apache.paimon.manifest.ManifestEntry;
import org.apache.paimon.operation.LocalOrphanFilesClean;
import org.apache.paimon.options.ExpireConfig;
import org.apache.paimon.schema.SchemaManager;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.*;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.node.*;
import org.apache.paimon.table.*;
import org.apache.paimon.table.sink.*;
import org.apache.paimon.types.VariantType;

import java.io.*;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.time.Duration;
import java.util.*;
import java.util.concurrent.*;

/**
 * Works on tables as it is told, one command after another, in one JVM: what a test or a benchmark needs that lets
 * Java and somebody else take turns on the same tables.
 *
 * <pre>
 * Driver      for each line of the input, a JSON object {"do": ..., "table": DIR, ...}, prints one line:
 *             {"ok": answer, "wall_ms": t, "cpu_ms": t} or {"error": {"phase", "class", "message"}}
 *
 *   create      {"case": conformance case}                       null
 *   write       {"rows": [[kind, value, ...], ...]}               newest snapshot id
 *   alter       {"changes": [as in an alter step of a conformance case, ...]}   newest schema id
 *   compact     {"mode": "full" | "normal", "threads": n}         newest snapshot id
 *   expire      {"retain": n}                                     earliest snapshot id
 *               {"retain": n, "min": n, "changelogs": n}          of changelogs, n outlive their snapshots
 *   tag         {"name": text}                                    null
 *               {"name": text, "snapshot": id, "seconds": n}      of another snapshot, with a time to live
 *   branch      {"name": text, "tag": text}                       null
 *   delete_tag  {"name": text}                                    null
 *   rollback    {"snapshot": id} or {"tag": text}                 newest snapshot id
 *   read        {"snapshot": id, "tag": text, "columns": [...]}   rows, sorted by primary key
 *   changelog   {"from": id, "to": id}                            [[snapshot id, [[kind, value, ...], ...]], ...]
 *   files       {}                                                [[bucket, level, name, rows, bytes], ...] of the newest snapshot
 *   file_index  {"column": name, "values": [...]}                 [[name, "manifest" | index file | null, [may have the value, ...]], ...]
 *   snapshots   {}                                                [[id, kind], ...]
 *   orphans     {}                                                [path, ...] of what orphan cleaning would delete at any age
 *   variants    {"texts": [JSON text, ...]}                   [[value, metadata, JSON text] | error, ...], of no table
 *   variants    {"values": [[value, metadata], ...]}          [JSON text | error, ...], both base64
 *   program     {"program": class, "arguments": [...]}            {"output": what it printed, "failed": trace, if it did}
 * </pre>
 *
 * Any command takes {"options": {...}}: options of the table for this command alone. A table is opened anew for
 * every command, for somebody else may have changed it.
 */
public final class Driver {
    private static final JsonNodeFactory F = JsonNodeFactory.instance;
    private static Oracle.Runner runner;
    private static File io;

    public static void main(String[] args) throws Exception {
        File scratch = Files.createTempDirectory("driver").toFile();
        io = new File(scratch, "io");
        runner = new Oracle.Runner(new File(scratch, "wh"), io);
        com.sun.management.OperatingSystemMXBean os = (com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(new FileOutputStream(FileDescriptor.out), false, "UTF-8");
        for (String line; (line = in.readLine()) != null; ) {
            ObjectNode answer = F.objectNode();
            long wall = System.nanoTime();
            long cpu = os.getProcessCpuTime();
            try {
                answer.set("ok", answer(Oracle.M.readTree(line)));
                answer.put("wall_ms", (System.nanoTime() - wall) / 1e6);
                answer.put("cpu_ms", (os.getProcessCpuTime() - cpu) / 1e6);
            } catch (Throwable e) {
                answer.set("error", Oracle.error("driver", e));
                e.printStackTrace();
            }
            out.println(Oracle.M.writeValueAsString(answer));
            out.flush();
        }
        Oracle.Runner.rm(scratch);
        System.exit(0);
    }

    /** Runs what is a program of its own elsewhere; what it prints is the answer. */
    private static JsonNode program(JsonNode command) throws Exception {
        List<String> given = new ArrayList<>();
        command.get("arguments").forEach(a -> given.add(a.asText()));
        String[] args = given.toArray(new String[0]);
        ObjectNode done = F.objectNode();
        ByteArrayOutputStream printed = new ByteArrayOutputStream();
        PrintStream before = System.out;
        System.setOut(new PrintStream(printed, true, "UTF-8"));
        try {
            switch (command.get("program").asText()) {
                case "Append": Append.work(args); break;
                case "Oracle": Oracle.work(args); break;
                case "ReadTables": ReadTables.work(args); break;
                default: throw new IllegalArgumentException("unknown program " + command);
            }
        } catch (Throwable e) {
            StringWriter trace = new StringWriter();
            e.printStackTrace(new PrintWriter(trace));
            done.put("failed", trace.toString());
        } finally {
            System.out.flush();
            System.setOut(before);
        }
        return done.put("output", printed.toString("UTF-8"));
    }

    /** Values of JSON texts, or JSON texts of values. */
    private static JsonNode variants(JsonNode command) {
        ArrayNode found = F.arrayNode();
        boolean fromTexts = command.has("texts");
        for (JsonNode given : command.get(fromTexts ? "texts" : "values")) {
            try {
                Variant v = fromTexts
                        ? GenericVariant.fromJson(given.textValue())
                        : (Variant) Vals.from(new VariantType(), given);
                if (fromTexts) found.add(((ArrayNode) Vals.to(new VariantType(), v)).add(v.toJson()));
                else found.add(v.toJson(java.time.ZoneOffset.UTC));
            } catch (RuntimeException | StackOverflowError e) {
                found.add(F.objectNode().put("error", String.valueOf(e.getMessage())));
            }
        }
        return found;
    }

    private static JsonNode answer(JsonNode command) throws Exception {
        if (command.get("do").asText().equals("program")) return program(command);
        if (command.get("do").asText().equals("variants")) return variants(command);
        Path path = new Path(new File(command.get("table").asText()).getAbsolutePath());
        String what = command.get("do").asText();
        if (what.equals("create")) {
            JsonNode c = command.get("case");
            Oracle.Runner.resolve(c);
            new SchemaManager(Storage.local(), path).createTable(runner.schema(c));
            return F.nullNode();
        }
        FileStoreTable table = open(path, command);
        switch (what) {
            case "write": {
                ObjectNode step = F.objectNode();
                step.set("write", command.get("rows"));
                Oracle.Runner.resolve(step);
                runner.write(table, step);
                return newest(table);
            }
            case "alter":
                return F.numberNode(new SchemaManager(Storage.local(), path).commitChanges(Oracle.Runner.changes(command.get("changes"))).id());
            case "compact": {
                int threads = command.has("threads") ? command.get("threads").asInt() : 1;
                compact(table, command.get("mode").asText().equals("full"), threads);
                return newest(table);
            }
            case "expire":
                expire(table, command);
                return F.numberNode(table.snapshotManager().earliestSnapshotId());
            case "tag":
                tag(table, command);
                return F.nullNode();
            case "branch":
                table.createBranch(command.get("name").asText(), command.get("tag").asText());
                return F.nullNode();
            case "delete_tag":
                table.deleteTag(command.get("name").asText());
                return F.nullNode();
            case "rollback":
                if (command.has("tag")) table.rollbackTo(command.get("tag").asText());
                else table.rollbackTo(command.get("snapshot").asLong());
                return newest(table);
            case "read":
                return Oracle.rows(table, command.get("columns"));
            case "changelog":
                return Oracle.changelog(table, command.get("from").asLong(), command.get("to").asLong());
            case "files":
                return files(table);
            case "file_index":
                return FileIndexes.ask(table, command);
            case "snapshots":
                return snapshots(table);
            case "orphans":
                return orphans(table);
            default:
                throw new IllegalArgumentException("unknown command " + what);
        }
    }

    private static FileStoreTable open(Path path, JsonNode command) throws Exception {
        FileStoreTable table = FileStoreTableFactory.create(Storage.local(), path);
        Map<String, String> options = new HashMap<>();
        if (command.has("options")) command.get("options").fields().forEachRemaining(e -> options.put(e.getKey(), e.getValue().asText()));
        if (command.get("do").asText().equals("read")) {
            if (command.has("snapshot")) options.put("scan.snapshot-id", command.get("snapshot").asText());
            if (command.has("tag")) options.put("scan.tag-name", command.get("tag").asText());
        }
        if (command.get("do").asText().equals("compact")) options.put("write-only", "false");
        return options.isEmpty() ? table : table.copy(options);
    }

    private static void tag(FileStoreTable table, JsonNode command) {
        String name = command.get("name").asText();
        if (command.has("snapshot")) {
            Duration life = command.has("seconds") ? Duration.ofSeconds(command.get("seconds").asLong()) : null;
            table.createTag(name, command.get("snapshot").asLong(), life);
        } else {
            table.createTag(name);
        }
    }

    private static JsonNode orphans(FileStoreTable table) throws Exception {
        long later = System.currentTimeMillis() + Duration.ofDays(1).toMillis();
        ArrayNode all = F.arrayNode();
        for (Path path : new LocalOrphanFilesClean(table, later, true).clean().getDeletedFilesPath()) {
            all.add(path.toUri().getPath());
        }
        return all;
    }

    private static void expire(FileStoreTable table, JsonNode command) {
        ExpireConfig.Builder config = ExpireConfig.builder()
                .snapshotRetainMax(command.get("retain").asInt())
                .snapshotRetainMin(command.has("min") ? command.get("min").asInt() : 1)
                .snapshotTimeRetain(Duration.ZERO);
        if (command.has("changelogs")) {
            int kept = command.get("changelogs").asInt();
            config.changelogRetainMax(kept).changelogRetainMin(kept);
        }
        table.newExpireSnapshots().config(config.build()).expire();
        if (command.has("changelogs")) table.newExpireChangelog().config(config.build()).expire();
    }

    private static JsonNode newest(FileStoreTable table) {
        Long id = table.snapshotManager().latestSnapshotId();
        return id == null ? F.nullNode() : F.numberNode(id);
    }

    /** One commit, however many threads: each has a writer, and its share of the buckets, to itself. */
    private static void compact(FileStoreTable table, boolean full, int threads) throws Exception {
        List<BucketEntry> buckets = new ArrayList<>(table.store().newScan().readBucketEntries());
        buckets.sort(Comparator.comparing(BucketEntry::bucket));
        BatchWriteBuilder builder = table.newBatchWriteBuilder();
        ExecutorService pool = Executors.newFixedThreadPool(threads);
        try (BatchTableCommit commit = builder.newCommit()) {
            List<Future<List<CommitMessage>>> shares = new ArrayList<>();
            for (int i = 0; i < threads; i++) {
                int share = i;
                shares.add(pool.submit(() -> {
                    IOManager manager = IOManager.create(io.getPath());
                    try (BatchTableWrite write = builder.newWrite()) {
                        write.withIOManager(manager);
                        for (int b = share; b < buckets.size(); b += threads) {
                            write.compact(buckets.get(b).partition(), buckets.get(b).bucket(), full);
                        }
                        return write.prepareCommit();
                    } finally {
                        manager.close();
                    }
                }));
            }
            List<CommitMessage> messages = new ArrayList<>();
            for (Future<List<CommitMessage>> share : shares) messages.addAll(share.get());
            commit.commit(messages);
        } finally {
            pool.shutdown();
        }
    }

    private static JsonNode files(FileStoreTable table) {
        ArrayNode all = F.arrayNode();
        for (ManifestEntry entry : table.store().newScan().plan().files()) {
            ArrayNode file = F.arrayNode();
            file.add(entry.bucket()).add(entry.file().level()).add(entry.file().fileName());
            file.add(entry.file().rowCount()).add(entry.file().fileSize());
            all.add(file);
        }
        return all;
    }

    private static JsonNode snapshots(FileStoreTable table) throws Exception {
        ArrayNode all = F.arrayNode();
        Long latest = table.snapshotManager().latestSnapshotId();
        if (latest == null) return all;
        for (long id = table.snapshotManager().earliestSnapshotId(); id <= latest; id++) {
            all.add(F.arrayNode().add(id).add(table.snapshotManager().snapshot(id).commitKind().toString()));
        }
        return all;
    }
}
