import org.apache.paimon.fs.Path;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.paimon.table.*;

import java.io.File;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.*;

/**
 * Reads every snapshot of many tables in one JVM.
 *
 * <pre>
 * ReadTables DIRS.txt    one table directory a line; prints one line for each:
 *   {"1": [[value, ...], ...], "2": "what reading this snapshot raised", ...}
 * </pre>
 */
public final class ReadTables {
    public static void main(String[] args) throws Exception {
        work(args);
        System.out.flush();
        System.exit(0);
    }

    static void work(String[] args) throws Exception {
        for (String dir : Files.readAllLines(Paths.get(args[0]))) {
            Path path = new Path(new File(dir).getAbsolutePath());
            FileStoreTable table = FileStoreTableFactory.create(Storage.local(), path);
            ObjectNode rows = Oracle.F.objectNode();
            Long latest = table.snapshotManager().latestSnapshotId();
            // A commit of nothing makes no snapshot, so there may be none at all.
            long first = latest == null ? 1 : table.snapshotManager().earliestSnapshotId();
            for (long i = first; latest != null && i <= latest; i++) {
                String id = Long.toString(i);
                try {
                    FileStoreTable then = table.copy(Collections.singletonMap("scan.snapshot-id", id));
                    rows.set(id, Oracle.rows(then, null));
                } catch (Exception e) {
                    rows.put(id, e.toString());
                }
            }
            System.out.println(Oracle.M.writeValueAsString(rows));
        }
    }
}
