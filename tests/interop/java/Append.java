import org.apache.paimon.fs.Path;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.*;
import org.apache.paimon.table.*;

import java.io.File;
import java.nio.file.Files;

/**
 * Carries out the write and compact steps of a case on a table that somebody else created.
 *
 * <pre>
 * Append TABLE_DIR CASE.json    prints one line per step: the rows of the table after it
 * </pre>
 */
public final class Append {
    public static void main(String[] args) throws Exception {
        work(args);
        System.out.flush();
        System.exit(0);
    }

    static void work(String[] args) throws Exception {
        Path path = new Path(new File(args[0]).getAbsolutePath());
        JsonNode steps = Oracle.M.readTree(new File(args[1])).get("steps");
        File scratch = Files.createTempDirectory("append").toFile();
        Oracle.Runner runner = new Oracle.Runner(new File(scratch, "wh"), new File(scratch, "io"));
        for (JsonNode step : steps) {
            FileStoreTable table = FileStoreTableFactory.create(Storage.local(), path);
            if (step.has("write")) {
                runner.write(table, step);
            } else {
                runner.compact(table, step.get("compact").asText());
            }
            System.out.println(Oracle.M.writeValueAsString(Oracle.rows(table, null)));
        }
        Oracle.Runner.rm(scratch);
    }
}
