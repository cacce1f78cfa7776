import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.debezium.engine.ChangeEvent;
import io.debezium.engine.DebeziumEngine;
import io.debezium.engine.Header;
import io.debezium.engine.format.Json;
import io.debezium.engine.format.KeyValueHeaderChangeEventFormat;
import java.io.FileOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Properties;

/**
 * Appends the events of an embedded connector to a file, one JSON object per line: topic, key, value and headers as
 * texts.
 *
 * <p>Its arguments are the file of the connector's properties and the file of the events. It runs until it is killed.
 */
public class CapturedEvents {
  public static void main(String[] arguments) throws Exception {
    Properties properties = new Properties();
    try (var file = Files.newInputStream(Path.of(arguments[0]))) {
      properties.load(file);
    }
    PrintStream events =
        new PrintStream(new FileOutputStream(arguments[1], true), false, StandardCharsets.UTF_8);
    // A former connector may have been killed within a line.
    events.println();
    ObjectMapper mapper = new ObjectMapper();
    var format = KeyValueHeaderChangeEventFormat.of(Json.class, Json.class, Json.class);
    DebeziumEngine<ChangeEvent<String, String>> engine =
        DebeziumEngine.create(format)
            .using(properties)
            .using(
                (success, message, error) -> {
                  if (!success) {
                    System.err.println(message);
                    if (error != null) error.printStackTrace();
                    System.exit(1);
                  }
                })
            .notifying(
                (records, committer) -> {
                  for (var record : records) {
                    ObjectNode line = mapper.createObjectNode();
                    line.put("topic", record.destination());
                    line.put("key", record.key());
                    line.put("value", record.value());
                    ObjectNode headers = line.putObject("headers");
                    for (Header<?> header : record.headers()) {
                      headers.put(header.getKey(), String.valueOf(header.getValue()));
                    }
                    events.println(line);
                    committer.markProcessed(record);
                  }
                  events.flush();
                  committer.markBatchFinished();
                })
            .build();
    engine.run();
  }
}
