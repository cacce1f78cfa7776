import org.apache.paimon.fileindex.FileIndexPredicate;
import org.apache.paimon.fs.Path;
import org.apache.paimon.io.DataFileMeta;
import org.apache.paimon.io.DataFilePathFactory;
import org.apache.paimon.manifest.ManifestEntry;
import org.apache.paimon.predicate.Predicate;
import org.apache.paimon.predicate.PredicateBuilder;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.*;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.node.*;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.types.RowType;

/** What Java makes of the indexes of a table's data files. */
final class FileIndexes {
    private static final JsonNodeFactory F = JsonNodeFactory.instance;

    /** For each live file its name, where its index is, and for each value whether a row may have it. */
    static JsonNode ask(FileStoreTable table, JsonNode command) throws Exception {
        ArrayNode all = F.arrayNode();
        for (ManifestEntry entry : table.store().newScan().plan().files()) {
            DataFileMeta file = entry.file();
            RowType row = table.schemaManager().schema(file.schemaId()).logicalRowType();
            int column = row.getFieldIndex(command.get("column").asText());
            ArrayNode answer = all.addArray().add(file.fileName());
            ArrayNode remain = F.arrayNode();
            answer.add(file.embeddedIndex() != null ? "manifest" : file.extraFiles().isEmpty() ? null : file.extraFiles().get(0));
            for (JsonNode value : command.get("values")) {
                Predicate equal = new PredicateBuilder(row).equal(column, Vals.from(row.getTypeAt(column), value));
                try (FileIndexPredicate index = index(table, entry, row)) {
                    remain.add(index == null || index.evaluate(equal).remain());
                }
            }
            answer.add(remain);
        }
        return all;
    }

    private static FileIndexPredicate index(FileStoreTable table, ManifestEntry entry, RowType row) throws Exception {
        DataFileMeta file = entry.file();
        if (file.embeddedIndex() != null) return new FileIndexPredicate(file.embeddedIndex(), row);
        if (file.extraFiles().isEmpty()) return null;
        DataFilePathFactory paths = table.store().pathFactory().createDataFilePathFactory(entry.partition(), entry.bucket());
        Path path = paths.toAlignedPath(file.extraFiles().get(0), file);
        return new FileIndexPredicate(path, table.fileIO(), row);
    }
}
